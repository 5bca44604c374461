"""The imitation player: samples the model's policy over the legal actions (paper 001, section 6.1).

Letters: ``M`` turns of a batch, ``V`` tokens of the vocabulary.
"""

import numpy as np

from games.game import Game
from learner.observation_model import ObservationModel
from search.config import ImitationConfig
from search.players.histories import Histories
from search.players.player import Turns
from search.players.policy import legal_policy


class Imitation:
    """Plays as those played whose games the model was trained on."""

    sees_hidden = False

    def __init__(self, model: ObservationModel, config: ImitationConfig, name: str = "imitation") -> None:
        self.name = name
        self._temperature = config.temperature
        self._histories = Histories(model)

    def start(self, game: Game, num_games: int) -> None:
        """Forget every earlier history."""
        self._histories.start(game, num_games)

    def forget(self, games: np.ndarray) -> None:
        """Give back what was computed of ended deals."""
        self._histories.forget(games)

    def act(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: one legal token per turn, drawn with the turn's seed; a forced move costs no query."""
        actions = turns.legal.argmax(axis=1)
        free = np.flatnonzero(turns.legal.sum(axis=1) > 1)
        if len(free):
            asked = turns.take(free)
            policy = legal_policy(self._histories.query(asked).next_token, asked.legal)
            actions[free] = sample(self._heated(policy), asked.seeds)
        return actions

    def _heated(self, policy: np.ndarray) -> np.ndarray:
        """The policy raised to ``1 / temperature`` and normalised; scaled first, so that small powers do not vanish."""
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
