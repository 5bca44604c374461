"""A critic that is told true states, in training alone: q(s, .) of the seat to act, all cards seen.

The noise of an advantage comes from cards that the seat does not see and from later draws. A critic of actions takes
some of it out: where a seat decides it knows what the policy expects over all legal actions, V(s) = the sum over a of
pi(a) q(s, a), and so how lucky the draw was. With Expected SARSA(lambda), as in VRPO (arXiv 2605.19235), the errors of
a seat's own decisions t = 1 ... T in a deal that comes to ``end`` are

    delta(t) = V(s(t + 1)) - q(s(t), a(t)),    at the last one end - q(s(T), a(T)),
    G(t) = q(s(t), a(t)) + the sum over l of lambda^l delta(t + l),

and the advantage of the action is G(t) - V(s(t)) (``learner.training.policy_gradient.advantages``). q learns G by
squared errors. Nothing is discounted, points come at the end alone, and lambda is ``learner.advantage_lambda``: with 0
G is the next V; with 1 it is the end less the luck of all later draws of the seat.

q is the value that the outcome head expects from what the seat has seen, which many deals have taught, plus what this
network says of the true state. That is 0 while it is fresh, so training begins with the advantages of no critic.

The policy never sees the critic or its input. Players read ``model.safetensors``; the critic lies in ``training/``.

Letters: ``D`` decisions, ``F`` numbers of a state, ``V`` tokens.
"""

from collections.abc import Sequence

import numpy as np
import torch

from games.game import Game
from games.rng import derive
from games.shards import read_shard
from learner.config import LearnerConfig
from learner.model.shapes import filled_up
from learner.q_network.architecture import QArchitecture, state_features
from learner.q_network.bits import unpacked
from learner.q_network.decisions import decisions_of
from learner.q_network.network import QNet, initialise


class Critic(QNet):
    """Three hidden layers, one number for every token: q less the outcome head's value, in ``policy_temperature``s."""

    features_version: torch.Tensor
    """``float32[]``: of its input (``StateFeatures.version``)."""

    def __init__(self, game: Game, width: int) -> None:
        features = state_features(game, f"learner.critic_width={width}", "set it to 0")
        super().__init__(QArchitecture("fc", width, features.size, features.version, game.vocabulary.size))
        self.register_buffer("features_version", torch.tensor(float(features.version)))

    @staticmethod
    def of(game: Game, learner: LearnerConfig, seed: int) -> "Critic | None":
        """A fresh one; None where no policy learns from any. ``ValueError`` for a game without ``state_features``."""
        if learner.policy_targets != "gradient" or not learner.critic_width:
            return None
        critic = Critic(game, learner.critic_width)
        initialise(critic, derive(seed, "critic"))
        torch.nn.init.zeros_(critic.head.weight)
        return critic

    def corrections(self, bits: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """``float32[D, V]``: what it says of states ``uint8[D, F]`` kept as bits."""
        return self(filled_up(unpacked(bits, self.arch.num_features)), dtype)[: len(bits)]

    def take(self, tensors: dict[str, torch.Tensor], file: str) -> None:
        """Take the weights of ``file``; ``ValueError`` where they are a critic's of another width or input."""
        weights = tensors["plain.0.weight"]
        if len(weights) != self.arch.width:
            raise ValueError(
                f"learner.critic_width={self.arch.width}: {file} has width {len(weights)}; give that, or start from "
                "weights without a critic (python -m learner.export)"
            )
        told = int(tensors["features_version"]), weights.shape[1]
        if told != (self.arch.features_version, self.arch.num_features):
            raise ValueError(
                f"{file}: is told other numbers of a state than the game has by now; start from weights without a "
                "critic (python -m learner.export)"
            )
        self.load_state_dict(tensors)


def drawn_states(game: Game, shards: Sequence[str], critic_width: int, first: int = 0) -> np.ndarray:
    """``uint8[D, ceil(F / 8)]``, states as bits before every action with a probability behind place ``first``, sequence
    after sequence. ``ValueError`` naming a shard of which deals lack seats or are not those of their seeds."""
    found = [np.empty((0, -(-state_features(game).size // 8)), np.uint8)]
    for shard in shards:
        sequences = read_shard(shard, game)
        if sequences.probabilities is None:
            continue
        made = decisions_of(game, sequences, f"learner.critic_width={critic_width}: {shard}")
        by_deal = np.lexsort((sequences.seat, sequences.game))
        row = by_deal[made.deal * game.num_players + made.seat]
        order = np.lexsort((made.place, row))
        drawn = (sequences.probabilities[row, made.place] > 0) & (made.place > first)
        found.append(made.features[order[drawn[order]]])
    return np.concatenate(found)
