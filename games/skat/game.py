"""Skat as a ``Game``: batches of the scalar kernels, and deals as people write them."""

import numpy as np

from games.batches import Loops
from games.bits import TWO_PARTS
from games.compiled import CompiledGame, options_of
from games.skat import determinize, hidden, outcomes, results, state, view
from games.skat.cards import MAX_LENGTH, VOCABULARY
from games.skat.describe import describe
from games.skat.features import FEATURES, TOKEN_TYPES, next_type
from games.skat.indicators import indicators
from games.skat.rules import SCORINGS, template
from games.skat.state_features import STATE_FEATURES


class SkatGame(CompiledGame):
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
    title = "Skat"
    rules_version = 1
    num_players = 3
    series = 36
    max_length = MAX_LENGTH
    vocabulary = VOCABULARY
    token_types = TOKEN_TYPES
    features = FEATURES
    state_features = STATE_FEATURES
    state_type = state.STATE
    view_type = view.VIEW
    loops = Loops(
        deal=state.deal,
        legal=state.legal,
        act=state.act,
        next_of=view.next_of,
        own_legal=view.own_legal,
        advance=view.advance,
        is_of_kind=view.is_of_kind,
        consistent=hidden.is_consistent,
        next_type=next_type,
        can_stand=determinize.can_stand,
        determinize=determinize.determinize,
        actions=TWO_PARTS,
    )

    def __init__(self, **options: str) -> None:
        self.options = options_of("skat", options, {"scoring": SCORINGS})
        scoring = SCORINGS.index(str(self.options["scoring"]))
        self.template = template(scoring)
        self.outcomes, self._keys = outcomes.build(scoring)
        self._soloists, self._values = outcomes.games(self.outcomes, scoring)

    def outcome(self, states: np.ndarray) -> np.ndarray:
        labels = np.empty((len(states), 3), np.int32)
        outcomes.state_labels(states, self._keys, labels)
        return labels

    def decided(self, states: np.ndarray, seats: np.ndarray, won: np.ndarray) -> np.ndarray:
        """``int32[B]``: outcome labels seen by a seat (``int64[B]``) if the soloist wins (``bool[B]``) or loses, just
        as declared and bid, of states in card play or at its end."""
        labels = np.empty(len(states), np.int32)
        outcomes.decided_labels(states, seats, won, self._keys, labels)
        return labels

    def indicators(self, states: np.ndarray) -> dict[str, np.ndarray]:
        """As ``Game.indicators``: soloists, their games and what these were worth."""
        labels = self.outcome(states)[:, 0]
        lost = self.outcomes.points[labels, self._soloists[labels]] < 0
        return indicators(states, np.where(lost, -2, 1) * self._values[labels])

    def view_outcome(self, views: np.ndarray) -> np.ndarray:
        """As ``Game.view_outcome``; a complete history that is inconsistent, but whose cards give a result that some
        deal gives, has its label too."""
        labels = np.empty(len(views), np.int32)
        outcomes.view_labels(views, self._keys, labels)
        return labels

    def view_outcomes(self, views: np.ndarray) -> np.ndarray:
        """As ``Game.view_outcomes``: by soloist and bid, then by what is known of the contract's value."""
        possible = np.zeros((len(views), self.outcomes.num_labels), np.bool_)
        results.mark_outcomes(views, self._keys, self._soloists, self._values, possible)
        possible[~self.consistent(views)] = True
        return possible

    def observer(self, views: np.ndarray) -> np.ndarray:
        """As ``CompiledGame.observer``: its own place, as seats in a view are absolute."""
        return views["seat"].astype(np.int8)

    def describe(self, tokens: np.ndarray) -> str:
        return describe(np.asarray(tokens))
