"""What a player of paper 004 means to play, as weights of whole plans: of each game, and of each pair of discards.

A method that draws gives plans their probabilities, every other all weight to one. Each token of a plan is then drawn
from the weights of the plans that agree with what was done so far, so that the tokens of a turn fit together with no
memory of the turns before.

Letters: ``M`` turns of one phase.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from games.skat.cards import GRAND, NULL, NUM_CARDS, OUVERT, PLAIN
from games.skat.policies.decisions import inputs
from games.skat.policies.points import CHOICE, DECLARE, DISCARD, NULL_OUVERT, NUM_CHOICES, NUM_DECLARATIONS
from games.skat.policies.walk import mark_all
from games.skat.values import BIDS, NULL_VALUES
from learner.decision_model import DecisionModel
from search.players.player import Turns
from search.players.policy import admitted, legal_policy
from search.skat_policies.config import SkatPoliciesPlayerConfig

PAIRS = np.array([(low, high) for high in range(NUM_CARDS) for low in range(high)])
"""``int64[496, 2]``: the cards of each pair, by ``games.skat.policies.walk.pair_of``."""
GAME_OF = np.array([0, 1, 2, 3, GRAND, NULL, NULL])
"""``int64[7]``: the game of each declaration."""


@dataclass(frozen=True)
class Deciding:
    """``M`` turns of one phase, with what their seats know."""

    model: DecisionModel
    config: SkatPoliciesPlayerConfig
    turns: Turns
    views: np.ndarray
    logs: np.ndarray

    def __len__(self) -> int:
        return len(self.views)

    def take(self, rows: np.ndarray) -> "Deciding":
        """Some of the turns."""
        return replace(self, turns=self.turns.take(rows), views=self.views[rows], logs=self.logs[rows])

    @cached_property
    def features(self) -> tuple[np.ndarray, np.ndarray]:
        """What networks read, ``uint8[M, 385]`` and ``uint8[M, 4]``; discards of no open game."""
        return inputs(self.views, self.logs, np.zeros(len(self), np.bool_))

    def probabilities(self, point: int) -> np.ndarray:
        """``float32[M, A]``: of all actions at a point of decision."""
        return self.model.probabilities(point, *self.features)

    def values(self, point: int) -> np.ndarray:
        """``float32[M, A]``: what each game at ``CHOICE`` or ``DECLARE`` brings its soloist."""
        return self.model.values(point, *self.features)

    def games_by_hand(self) -> np.ndarray:
        """``float64[M, 13]``: weights of pickup and the games by hand."""
        return self._weighed(CHOICE, _legal(self.views["public"], NUM_CHOICES, hand=1))

    def declarations(self) -> np.ndarray:
        """``float64[M, 7]``: weights of the games from twelve cards."""
        return self._weighed(DECLARE, _legal(self.views["public"], NUM_DECLARATIONS, hand=0))

    def discards(self, declaration: int) -> np.ndarray:
        """``float64[M, 496]``: weights of the pairs of discards for a game."""
        bits, numbers = self.features
        if declaration == NULL_OUVERT:
            bits = inputs(self.views, self.logs, np.ones(len(self), np.bool_))[0]
        policy = self.model.probabilities(DISCARD + int(GAME_OF[declaration]), bits, numbers)
        return self._of_policy(policy, _pairs_held(self.views["hand"] | self.views["laid"]))

    def with_discards(self, declarations: np.ndarray) -> np.ndarray:
        """``float64[M, 7, 496]``: weights of each game of ``declarations`` (``[M, 7]``) with each pair of discards."""
        both = np.zeros((len(self), NUM_DECLARATIONS, len(PAIRS)))
        for declaration in range(NUM_DECLARATIONS):
            rows = np.flatnonzero(declarations[:, declaration] > 0)
            if len(rows):
                pairs = self.take(rows).discards(declaration)
                both[rows, declaration] = declarations[rows, declaration, None] * pairs
        return both

    def _weighed(self, point: int, legal: np.ndarray) -> np.ndarray:
        """Weights by the method: equations 4 and 5 where it believes values."""
        method, policy = self.config.method, self.probabilities(point)
        if method not in ("mv", "mlv"):
            return self._of_policy(policy, legal)
        values, policy = self.values(point), legal_policy(policy, legal)
        likely = admitted(policy, legal & (policy >= self.config.threshold)) if method == "mlv" else legal
        return one_hot(np.where(likely, values, -np.inf))

    def _of_policy(self, policy: np.ndarray, legal: np.ndarray) -> np.ndarray:
        policy = legal_policy(policy, legal)
        return policy if self.config.method == "di_s" else one_hot(policy)


def one_hot(scores: np.ndarray) -> np.ndarray:
    """``float64[M, A]``: 1 at the highest score of each row."""
    return np.asarray(np.eye(scores.shape[1])[scores.argmax(axis=1)])


def either(weights: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Rows of ``weights``, or of ``otherwise`` where they have none: after what the player would not have done."""
    return np.where(weights.sum(axis=1, keepdims=True) > 0, weights, otherwise)


def max_bid(limits: np.ndarray, a: float) -> np.ndarray:
    """``int64[M]``: the least limit that so much of the distribution ``float[M, 64]`` does not exceed (equation 1)."""
    sums = np.cumsum(limits, axis=1, dtype=np.float64)  # which are rounded: the last may be below 1
    return np.asarray((sums >= a * sums[:, -1:] - 1e-6).argmax(axis=1))


def _legal(public: np.ndarray, games: int, hand: int) -> np.ndarray:
    """``bool[M, games]``: pickup and trump games always; null and null ouvert, the last two, where they are worth the
    bid, by ``hand`` (1) or from twelve cards (0)."""
    legal = np.ones((len(public), games), np.bool_)
    legal[:, -2:] = NULL_VALUES[hand] >= BIDS[public["bid"]][:, None]
    return legal


def _pairs_held(twelve: np.ndarray) -> np.ndarray:
    """``bool[M, 496]``: pairs of which both cards are among twelve (sets)."""
    held = np.zeros((len(twelve), NUM_CARDS), np.bool_)
    mark_all(twelve, held)
    return np.asarray(held[:, PAIRS[:, 0]] & held[:, PAIRS[:, 1]])


# ---- from plans to tokens ------------------------------------------------------------------------------------------


def pickup_or_hand(plans: np.ndarray) -> np.ndarray:
    """``float64[M, 2]`` of 13 games."""
    return np.column_stack([plans[:, 0], plans[:, 1:].sum(axis=1)])


def games_of(plans: np.ndarray) -> np.ndarray:
    """``float64[M, 6]`` of 13 games by hand or 7 from twelve cards: the games to declare."""
    if plans.shape[1] == NUM_DECLARATIONS:
        return np.column_stack([plans[:, :NULL], plans[:, NULL:].sum(axis=1)])
    return np.column_stack([plans[:, 1:6] + plans[:, 6:11], plans[:, 11:].sum(axis=1)])


def modifiers_of(plans: np.ndarray, game: np.ndarray) -> np.ndarray:
    """``float64[M, 4]``: the modifiers of declared games; schneider and schwarz are never announced."""
    rows, found = np.arange(len(plans)), np.zeros((len(plans), 4))
    if plans.shape[1] == NUM_DECLARATIONS:
        found[:, PLAIN], found[:, OUVERT] = plans[:, NULL], plans[:, NULL_OUVERT]
    else:
        found[:, PLAIN] = plans[rows, np.where(game == NULL, 11, 1 + game)]
        found[:, OUVERT] = plans[rows, np.where(game == NULL, 12, 6 + game)]
    return found
