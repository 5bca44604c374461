"""Hearts as a ``Game``: batches of the scalar kernels, and hands as people write them."""

from collections.abc import Mapping

import numpy as np

from games.batches import Loops
from games.compiled import CompiledGame, check_options, template_of
from games.hearts import determinize, hidden, outcomes, state, view
from games.hearts.cards import HEART_CARDS, MAX_LENGTH, PENALTY_CARDS, QUEEN_SET, VOCABULARY
from games.hearts.describe import describe
from games.hearts.features import FEATURES, STATE_FEATURES, TOKEN_TYPES, next_type
from games.hearts.rules import FREE_FIRST_LEAD, MOONS, OPTIONS, PUBLIC


def _checked(given: Mapping[str, bool | str]) -> dict[str, bool | int | str]:
    """All options with their values in force; ``ValueError`` for what Hearts does not know."""
    check_options("hearts", given, {**dict.fromkeys((*OPTIONS, FREE_FIRST_LEAD), (True, False)), "moon": MOONS})
    options: dict[str, bool | int | str] = {**OPTIONS, "moon": MOONS[0], FREE_FIRST_LEAD: False, **given}
    if options[FREE_FIRST_LEAD] and options["pass_cards"]:
        raise ValueError(f"hearts option {FREE_FIRST_LEAD}=true: needs pass_cards=false")
    return options


class HeartsGame(CompiledGame):
    """Hearts with the rule options of OpenSpiel, its defaults, and ``moon`` (``MOONS``).

    A history, relative to its observer: pass direction; 13 dealt cards by suit and rank; unless the direction is
    hold, 3 cards passed in the order chosen and 3 received by suit and rank; position of the leader; 52 plays;
    ``eos``. Seats 0 to 3 pass one after the other, three cards each; no seat sees any passed card before the last
    has passed. Paper 001, sections 5.1 and 6.1, Tables 1 and 5.

    Args:
        options: any of ``OPTIONS`` and ``FREE_FIRST_LEAD`` (bool), and ``moon`` (one of ``MOONS``); ``ValueError`` for
            anything else.
    """

    name = "hearts"
    title = "Hearts"
    rules_version = 1
    num_players = 4
    max_length = MAX_LENGTH
    vocabulary = VOCABULARY
    token_types = TOKEN_TYPES
    features = FEATURES
    state_features = STATE_FEATURES
    state_type = state.STATE
    view_type = view.VIEW
    loops = Loops(
        deal=state.deal,
        legal=state.legal_actions,
        act=state.act,
        next_of=view.next_of,
        own_legal=view.own_legal,
        advance=view.advance,
        is_of_kind=view.is_of_kind,
        consistent=hidden.is_consistent,
        next_type=next_type,
        can_stand=determinize.can_stand,
        determinize=determinize.determinize,
        to_move=state.to_move,
        length=state.history_length,
    )

    def __init__(self, **options: bool | str) -> None:
        self.options = _checked(options)
        moon = MOONS.index(str(self.options["moon"]))
        self.template = template_of(PUBLIC, turn=-1, **{**self.options, "moon": moon})
        self.outcomes, self._keys, self._shares, self._labels = outcomes.build(self.template)

    def outcome(self, states: np.ndarray) -> np.ndarray:
        labels = np.empty((len(states), 4), np.int32)
        outcomes.write_labels(states, self._keys, labels)
        return labels

    def view_outcome(self, views: np.ndarray) -> np.ndarray:
        """As ``Game.view_outcome``; a complete history that is inconsistent, but whose 52 plays give points that some
        deal gives, has its label too."""
        labels = np.empty((len(views), 1), np.int32)
        outcomes.write_labels(views, self._keys, labels)
        return labels[:, 0]

    def view_outcomes(self, views: np.ndarray) -> np.ndarray:
        """As ``Game.view_outcomes``: hearts and the queen of spades stay with the seat that took them."""
        possible = np.empty((len(views), self.outcomes.num_labels), np.bool_)
        outcomes.view_outcomes(views, self._shares, self._labels, possible)
        return possible

    def indicators(self, states: np.ndarray) -> dict[str, np.ndarray]:
        """As ``Game.indicators``: who shot the moon, and who let another do it, 0 or 1."""
        shot = states["public"]["taken"] & PENALTY_CARDS == PENALTY_CARDS
        conceded = shot.any(axis=1, keepdims=True) & ~shot
        return {"moon": shot.astype(np.float32), "conceded": conceded.astype(np.float32)}

    def points_so_far(self, states: np.ndarray) -> np.ndarray:
        """As ``Game.points_so_far``: hearts and the queen of spades; a moon and bonuses come at the end."""
        taken = states["public"]["taken"]
        return (np.bitwise_count(taken & HEART_CARDS) + 13 * (taken & QUEEN_SET != 0)).astype(np.float32)

    def describe(self, tokens: np.ndarray) -> str:
        return describe(np.asarray(tokens))
