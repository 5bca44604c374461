"""Hearts as a ``Game``: batches of the scalar kernels, and hands as people write them."""

from collections.abc import Mapping

import numpy as np

from games.game import Game
from games.hearts import determinize, outcomes, state, view
from games.hearts.cards import MAX_LENGTH, VOCABULARY
from games.hearts.describe import describe
from games.hearts.features import FEATURES, TOKEN_TYPES, next_types
from games.hearts.rules import MOONS, OPTIONS, PUBLIC, blank


def _checked(given: Mapping[str, bool | str]) -> dict[str, bool | int | str]:
    """All options with their values in force; ``ValueError`` for what Hearts does not know."""
    for name, value in given.items():
        if name == "moon":
            if value not in MOONS:
                raise ValueError(f"hearts option moon={value!r}: choose one of {', '.join(MOONS)}")
        elif name not in OPTIONS:
            raise ValueError(f"hearts has no option {name!r}; its options are {', '.join((*OPTIONS, 'moon'))}")
        elif not isinstance(value, bool):
            raise ValueError(f"hearts option {name}={value!r}: give true or false")
    return {**OPTIONS, "moon": MOONS[0], **given}


class HeartsGame(Game):
    """Hearts with the rule options of OpenSpiel, its defaults, and ``moon`` (``MOONS``).

    A history, relative to its observer: pass direction; 13 dealt cards by suit and rank; unless the direction is
    hold, 3 cards passed in the order chosen and 3 received by suit and rank; position of the leader; 52 plays;
    ``eos``. Seats 0 to 3 pass one after the other, three cards each, and nobody sees anything of it before the last
    has passed. Paper 001, sections 5.1 and 6.1, Tables 1 and 5.

    Args:
        options: any of ``OPTIONS`` (bool) and ``moon`` (one of ``MOONS``); ``ValueError`` for anything else.
    """

    name = "hearts"
    rules_version = 1
    num_players = 4
    max_length = MAX_LENGTH
    vocabulary = VOCABULARY
    can_determinize = True
    token_types = TOKEN_TYPES
    features = FEATURES

    def __init__(self, **options: bool | str) -> None:
        self.options = _checked(options)
        self._template = np.zeros(1, PUBLIC)
        for name in OPTIONS:
            self._template[name] = self.options[name]
        self._template["moon"] = MOONS.index(str(self.options["moon"]))
        self.outcomes, self._keys, self._shares, self._labels = outcomes.build(self._template)

    # ---- the true state

    def deal(self, seeds: np.ndarray) -> np.ndarray:
        states = blank(state.STATE, self._template, len(seeds))
        with np.errstate(over="ignore"):
            state.deal_batch(states, np.asarray(seeds, np.uint64))
        return states

    def to_move(self, states: np.ndarray) -> np.ndarray:
        seats = np.empty(len(states), np.int8)
        state.to_move_batch(states, seats)
        return seats

    def legal(self, states: np.ndarray) -> np.ndarray:
        legal = np.zeros((len(states), VOCABULARY.size), np.bool_)
        state.legal_batch(states, legal)
        return legal

    def play(self, states: np.ndarray, actions: np.ndarray) -> None:
        row = state.act_batch(states, np.asarray(actions, np.int64))
        if row >= 0:
            raise self.refusal(states, row, int(actions[row]))

    def outcome(self, states: np.ndarray) -> np.ndarray:
        labels = np.empty((len(states), 4), np.int32)
        outcomes.state_labels(states, self._keys, labels)
        return labels

    def histories(self, states: np.ndarray, seats: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        tokens = np.empty((len(states), MAX_LENGTH), np.uint8)
        lengths = np.empty(len(states), np.int32)
        state.histories_batch(states, np.asarray(seats, np.int64), tokens, lengths)
        return tokens, lengths

    def playout(self, states: np.ndarray, seeds: np.ndarray) -> None:
        with np.errstate(over="ignore"):
            state.play_out_batch(states, np.asarray(seeds, np.uint64))

    # ---- what one seat knows

    def views(self, tokens: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        views = blank(view.VIEW, self._template, len(tokens))
        view.replay_batch(views, np.asarray(tokens), np.asarray(lengths, np.int64))
        return views

    def prefixes(self, tokens: np.ndarray) -> np.ndarray:
        views = np.empty((len(tokens), tokens.shape[1] + 1), view.VIEW)
        views[:, 0] = blank(view.VIEW, self._template, len(tokens))
        view.prefixes_batch(views, np.asarray(tokens))
        return views

    def advance(self, views: np.ndarray, tokens: np.ndarray) -> None:
        view.advance_batch(views, np.asarray(tokens, np.int64))

    def next(self, views: np.ndarray) -> np.ndarray:
        following = np.empty(len(views), np.int8)
        view.next_batch(views, following)
        return following

    def view_legal(self, views: np.ndarray) -> np.ndarray:
        legal = np.zeros((len(views), VOCABULARY.size), np.bool_)
        view.own_legal_batch(views, legal)
        return legal

    def view_possible(self, views: np.ndarray) -> np.ndarray:
        possible = np.zeros((len(views), VOCABULARY.size), np.bool_)
        view.possible_batch(views, np.zeros(1, view.VIEW), possible)
        return possible

    def view_outcome(self, views: np.ndarray) -> np.ndarray:
        """As ``Game.view_outcome``; a complete history that is inconsistent, but whose 52 plays give points that some
        deal gives, has its label too."""
        labels = np.empty(len(views), np.int32)
        outcomes.view_labels(views, self._keys, labels)
        return labels

    def view_outcomes(self, views: np.ndarray) -> np.ndarray:
        """As ``Game.view_outcomes``: nobody gives back hearts or the queen of spades."""
        possible = np.zeros((len(views), self.outcomes.num_labels), np.bool_)
        outcomes.view_outcomes(views, self._shares, self._labels, possible)
        return possible

    def next_type(self, views: np.ndarray) -> np.ndarray:
        types = np.empty(len(views), np.int8)
        next_types(views, types)
        return types

    def consistent(self, views: np.ndarray) -> np.ndarray:
        verdicts = np.empty(len(views), np.bool_)
        view.consistent_batch(views, verdicts)
        return verdicts

    def determinize(self, views: np.ndarray, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As ``Game.determinize``, every consistent division of the unseen cards equally likely; the observer sits at
        seat 0. ``ValueError`` also for a history that stops where no state can: before the 13th card, or between the
        first received card and the leader."""
        possible = self.consistent(views)
        if not possible.all():
            raise ValueError(f"row {int(np.argmin(possible))}: no deal agrees with this history, it is inconsistent")
        states = blank(state.STATE, self._template, len(views))
        with np.errstate(over="ignore"):
            row = determinize.determinize_batch(views, states, np.asarray(seeds, np.uint64))
        if row >= 0:
            length = int(views[row]["length"])
            raise ValueError(f"row {row}: a history of {length} tokens stops amid what is seen at once; add the rest")
        return states, np.zeros(len(views), np.int8)

    # ---- for people

    def describe(self, tokens: np.ndarray) -> str:
        return describe(np.asarray(tokens))
