"""The imitation player: samples the model's policy over the legal actions (paper 001, section 6.1), or plays the most
probable one (DI.M of paper 004).

Letters: ``M`` turns of a batch, ``V`` tokens of the vocabulary.
"""

import numpy as np

from learner.observation_model import ObservationModel
from search.players.asking import Deciding
from search.players.bidding import check_bidding, with_bidding
from search.players.config import ImitationConfig
from search.players.histories import AskingPlayer
from search.players.kinds import PlayerKind
from search.players.player import Turns
from search.players.policy import legal_policy


class Imitation(AskingPlayer):
    """Imitates the players of the games that the model was trained on."""

    name = "imitation"

    def __init__(self, model: ObservationModel, config: ImitationConfig) -> None:
        super().__init__(model)
        self._temperature, self._greedy = config.temperature, config.greedy
        self.probabilities = np.empty(0, np.float32)

    def deciding(self, turns: Turns) -> Deciding:
        """See ``AskingPlayer`` and ``Sampling.probabilities``."""
        self._drawn = np.empty(0, np.float32)
        actions = yield from super().deciding(turns)
        self.probabilities = np.zeros(len(actions), np.float32)
        self.probabilities[turns.legal.sum(axis=1) > 1] = self._drawn
        return actions

    def choosing(self, turns: Turns) -> Deciding:
        """``int64[M]``: drawn from the policy with each turn's seed; the most probable action if ``greedy``."""
        answer = yield from self.histories.asking(turns)
        policy = self._played(legal_policy(answer.next_token, turns.legal))
        actions = sample(policy, turns.seeds)
        self._drawn = policy[np.arange(len(actions)), actions]
        return actions

    def _played(self, policy: np.ndarray) -> np.ndarray:
        """The policy raised to ``1 / temperature`` and normalised; scaled first, so that small powers do not vanish. If
        ``greedy``, 1 at the most probable action, ties to the lowest token."""
        if self._greedy:
            most = policy.argmax(axis=1)
            return np.asarray(np.arange(policy.shape[1]) == most[:, None], policy.dtype)
        if self._temperature == 1.0:
            return policy
        scaled = (policy / policy.max(axis=1, keepdims=True)) ** (1.0 / self._temperature)
        return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))


def sample(policy: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """``int64[M]``: one token per row of a policy (``float[M, V]``, rows sum to 1), by inverse transform sampling from
    ``seeds`` (``uint64[M]``, already mixed)."""
    draw = (seeds >> np.uint64(11)).astype(np.float64) * 2.0**-53
    cumulative = np.cumsum(policy, axis=1, dtype=np.float64)
    # Scaled by the row's own total, a draw below 1 lands on a token of positive probability despite rounding.
    return np.asarray((cumulative <= (draw * cumulative[:, -1])[:, None]).sum(axis=1))


KIND = PlayerKind(
    name="imitation",
    summary="Samples the network's policy over the legal actions (paper 001, section 6.1).",
    settings=ImitationConfig,
    needs_model=True,
    samples=None,
    asks_support=True,
    check=lambda game, settings, support: check_bidding("imitation", game, settings, support),
    factory=lambda game, model, settings, support: with_bidding(Imitation(model, settings), settings, support),
)
