"""ArgmaxVal*: the greedy player (paper 001, equations 2 and 3).

Letters: ``M`` turns of a batch, ``V`` tokens of the vocabulary.
"""

import numpy as np

from learner.observation_model import ObservationModel, by_token
from search.players.asking import Deciding
from search.players.bidding import check_bidding, with_bidding
from search.players.config import ArgmaxValConfig
from search.players.histories import AskingPlayer
from search.players.kinds import PlayerKind
from search.players.player import Turns
from search.players.policy import admitted, legal_policy, log_policy


class ArgmaxVal(AskingPlayer):
    """Plays the legal action of the highest value V(h.a) among those above a probability threshold."""

    name = "argmax_val"

    def __init__(self, model: ObservationModel, config: ArgmaxValConfig) -> None:
        super().__init__(model)
        self._threshold, self._policy_weight = config.threshold, config.policy_weight

    def choosing(self, turns: Turns) -> Deciding:
        """``int64[M]``: see ``argmax_val``."""
        answer = yield from self.histories.asking(turns, turns.legal)
        values = by_token(answer.action_values, turns.legal)
        actions = argmax_val(answer.next_token, values, turns.legal, self._threshold, self._policy_weight)
        self.histories.keep(turns, actions, turns.legal, answer)
        return actions


def argmax_val(
    next_token: np.ndarray,
    action_values: np.ndarray,
    legal: np.ndarray,
    threshold: float,
    policy_weight: float = 0.0,
) -> np.ndarray:
    """``int64[M]``: equations 2 and 3. The action of the highest value with p_legal at or above ``threshold``; where no
    action reaches it, the most probable legal one. Ties go to the lowest token.

    Beyond the paper, ``policy_weight`` times log p_legal is added to the value.

    Args:
        next_token: ``float[M, V]``, p(token | h).
        action_values: ``float[M, V]``, V(h.a) of the legal actions; anything elsewhere.
        legal: ``bool[M, V]``.
    """
    policy = legal_policy(next_token, legal)
    likely = admitted(policy, legal & (policy >= threshold))
    scores = action_values + policy_weight * log_policy(policy)
    return np.asarray(np.where(likely, scores, -np.inf).argmax(axis=1))


KIND = PlayerKind(
    name="argmax_val",
    summary="ArgmaxVal*: the action of the highest value among the likely ones (paper 001, equations 2 and 3).",
    settings=ArgmaxValConfig,
    of_network=("threshold", "policy_weight"),
    needs_model=True,
    asks_support=True,
    check=lambda game, settings, support: check_bidding("argmax_val", game, settings, support),
    factory=lambda game, model, settings, support: with_bidding(ArgmaxVal(model, settings), settings, support),
)
