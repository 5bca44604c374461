"""Skat as a ``Game``: batches of the scalar kernels, and deals as people write them."""

import numpy as np

from games.game import Game
from games.skat import determinize, hidden, outcomes, state, view
from games.skat.cards import MAX_LENGTH, VOCABULARY
from games.skat.describe import describe
from games.skat.features import FEATURES, TOKEN_TYPES, next_types
from games.skat.rules import OVER, PUBLIC, SCORINGS, blank


class SkatGame(Game):
    """Skat by the international rules: auction with jumps, hand and announcements, overbids, null.

    A history: own place; 10 dealt cards; the calls; ``pickup`` or ``hand``; for the soloist after ``pickup`` the two
    cards of the talon and its two discards; game, and a modifier after ``hand`` and in null; for defenders against
    ouvert the soloist's cards; the plays; after a suit or grand game cut short, what the seat has not seen of the
    soloist's hand and the talon; ``eos``. Cards that arrive together are sorted. Seats 0 to 2 are forehand, middlehand
    and rearhand; no token is relative to the observer but its own place. Paper 001, section 6.2, Table 1.

    Args:
        scoring: one of ``SCORINGS``; ``ValueError`` for anything else.
    """

    name = "skat"
    rules_version = 1
    num_players = 3
    max_length = MAX_LENGTH
    vocabulary = VOCABULARY
    can_determinize = True
    token_types = TOKEN_TYPES
    features = FEATURES

    def __init__(self, **options: str) -> None:
        for name, value in options.items():
            if name != "scoring":
                raise ValueError(f"skat has no option {name!r}; its option is scoring")
            if value not in SCORINGS:
                raise ValueError(f"skat option scoring={value!r}: choose one of {', '.join(SCORINGS)}")
        self.options = {"scoring": SCORINGS[0], **options}
        scoring = SCORINGS.index(str(self.options["scoring"]))
        self._template = np.zeros(1, PUBLIC)
        self._template["scoring"] = scoring
        self.outcomes, self._keys = outcomes.build(scoring)
        self._soloists = outcomes.soloists(self.outcomes)

    # ---- the true state

    def deal(self, seeds: np.ndarray) -> np.ndarray:
        states = blank(state.STATE, self._template, len(seeds))
        with np.errstate(over="ignore"):
            state.deal_batch(states, np.asarray(seeds, np.uint64))
        return states

    def to_move(self, states: np.ndarray) -> np.ndarray:
        return states["public"]["turn"].astype(np.int8)

    def legal(self, states: np.ndarray) -> np.ndarray:
        legal = np.zeros((len(states), VOCABULARY.size), np.bool_)
        state.legal_batch(states, legal)
        return legal

    def play(self, states: np.ndarray, actions: np.ndarray) -> None:
        row = state.act_batch(states, np.asarray(actions, np.int64))
        if row >= 0:
            raise self.refusal(states, row, int(actions[row]))

    def outcome(self, states: np.ndarray) -> np.ndarray:
        labels = np.empty((len(states), 3), np.int32)
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
        hidden.possible_batch(views, np.zeros(1, view.VIEW), possible)
        return possible

    def view_outcome(self, views: np.ndarray) -> np.ndarray:
        """As ``Game.view_outcome``; a complete history that is inconsistent, but whose cards give a result that some
        deal gives, has its label too."""
        labels = np.empty(len(views), np.int32)
        outcomes.view_labels(views, self._keys, labels)
        return labels

    def view_outcomes(self, views: np.ndarray) -> np.ndarray:
        """As ``Game.view_outcomes``: after a bid nobody passes in, and after the auction the soloist is known."""
        public = views["public"]
        relative = np.where(public["soloist"] < 0, -1, (public["soloist"] - views["seat"]) % 3)[:, None]
        possible = (relative < 0) | (self._soloists == relative)
        possible &= (public["bid"] < 0)[:, None] | (self._soloists >= 0)
        over = (public["phase"] == OVER) & (public["soloist"] < 0)
        possible &= ~over[:, None] | (self._soloists < 0)
        possible[~self.consistent(views)] = True
        return possible

    def next_type(self, views: np.ndarray) -> np.ndarray:
        types = np.empty(len(views), np.int8)
        next_types(views, types)
        return types

    def consistent(self, views: np.ndarray) -> np.ndarray:
        verdicts = np.empty(len(views), np.bool_)
        hidden.consistent_batch(views, verdicts)
        return verdicts

    def determinize(self, views: np.ndarray, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As ``Game.determinize``, every consistent division of the unseen cards equally likely, and every pair of
        another soloist's twelve cards equally likely to have been the talon. ``ValueError`` also for a history that
        stops amid cards that arrive together."""
        possible = self.consistent(views)
        if not possible.all():
            raise ValueError(f"row {int(np.argmin(possible))}: no deal agrees with this history, it is inconsistent")
        states = blank(state.STATE, self._template, len(views))
        with np.errstate(over="ignore"):
            row = determinize.determinize_batch(views, states, np.asarray(seeds, np.uint64))
        if row >= 0:
            length = int(views[row]["length"])
            raise ValueError(f"row {row}: a history of {length} tokens stops amid what is seen at once; add the rest")
        return states, views["seat"].astype(np.int8)

    # ---- for people

    def describe(self, tokens: np.ndarray) -> str:
        return describe(np.asarray(tokens))
