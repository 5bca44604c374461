"""ArgmaxVal*: the greedy player (paper 001, equations 2 and 3).

Letters: ``M`` turns of a batch, ``V`` tokens of the vocabulary.
"""

import numpy as np

from games.game import Game
from learner.observation_model import ObservationModel, by_token
from search.config import ArgmaxValConfig
from search.players.histories import Histories
from search.players.player import Turns
from search.players.policy import admitted, legal_policy


class ArgmaxVal:
    """Plays the legal action of the highest value V(h.a) among those the policy finds likely enough."""

    sees_hidden = False

    def __init__(self, model: ObservationModel, config: ArgmaxValConfig, name: str = "argmax_val") -> None:
        self.name = name
        self._threshold = config.threshold
        self._histories = Histories(model)

    def start(self, game: Game, num_games: int) -> None:
        """Forget every earlier history."""
        self._histories.start(game, num_games)

    def forget(self, games: np.ndarray) -> None:
        """Give back what was computed of ended deals."""
        self._histories.forget(games)

    def act(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: one legal token per turn; a forced move costs no query."""
        actions = turns.legal.argmax(axis=1)
        free = np.flatnonzero(turns.legal.sum(axis=1) > 1)
        if len(free):
            asked = turns.take(free)
            answer = self._histories.query(asked, asked.legal)
            values = by_token(answer.action_values, asked.legal)
            actions[free] = argmax_val(answer.next_token, values, asked.legal, self._threshold)
            self._histories.keep(asked, actions[free], asked.legal, answer)
        return actions


def argmax_val(next_token: np.ndarray, action_values: np.ndarray, legal: np.ndarray, threshold: float) -> np.ndarray:
    """``int64[M]``: equations 2 and 3. The action of the highest value with p_legal at or above ``threshold``; where no
    action reaches it, the most probable legal one. Ties go to the lowest token.

    Args:
        next_token: ``float[M, V]``, p(token | h).
        action_values: ``float[M, V]``, V(h.a) of the legal actions; anything elsewhere.
        legal: ``bool[M, V]``.
    """
    policy = legal_policy(next_token, legal)
    likely = admitted(policy, legal & (policy >= threshold))
    return np.asarray(np.where(likely, action_values, -np.inf).argmax(axis=1))
