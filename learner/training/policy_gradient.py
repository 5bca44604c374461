"""Clipped policy gradient on the actions played (PPO, Schulman et al., arXiv 1707.06347), with a magnet.

Shards hold the probability b(a) with which a player drew each of its actions. With the policy pi normalised over legal
actions, the ratio r = pi(a) / b(a), the advantage A and the clip c the term of a decision is

    -min(r A, clip(r, 1 - c, 1 + c) A) - entropy_weight H(pi) + magnet_weight KL(pi, magnet).

The advantage is generalised advantage estimation over the seat's own decisions of a deal (Schulman et al., arXiv
1506.02438): the reward is the game's default utility, which comes at the end alone, in units of
``learner.policy_temperature``. The value of a decision is what the outcome head expects there, or a critic that is told
the true state (``learner.training.critic``).

The magnet is a frozen earlier network, as in R-NaD (Perolat et al., arXiv 2206.15378): it keeps a policy that follows
its own games from going round in circles.

Letters: ``B`` sequences, ``D`` decisions of theirs, ``V`` tokens, ``K`` outcome labels.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch

from games.game import Game, Next
from learner.config import LearnerConfig
from learner.training.policy_targets import in_temperatures

FIGURES = ("entropy", "clipped", "magnet_kl")
"""Means over decisions that a training shows beside its losses."""
CRITIC_FIGURE = "critic_loss"
"""The one that a critic adds, which learns from it."""


@dataclass(frozen=True)
class Decisions:
    """The decisions of a batch that were drawn from a policy, in the order of the sequences."""

    at: torch.Tensor
    """``int64[D]``: the prefixes before them, as places among the batch's ``prefixes``; ascending."""
    row: torch.Tensor
    """``int64[D]``: the sequence of each."""
    action: torch.Tensor
    """``int64[D]``: what was played."""
    probability: torch.Tensor
    """``float32[D]``: with which it was drawn, above 0."""
    legal: torch.Tensor
    """``bool[D, V]``"""
    states: torch.Tensor | None = None
    """``uint8[D, F]`` as bits (``learner.q_network.bits``): the true states, for a critic; None without one."""

    @staticmethod
    def of(
        game: Game, views: np.ndarray, prefixes: np.ndarray, came: np.ndarray, probabilities: np.ndarray
    ) -> "Decisions":
        """The decisions of a batch with a probability, on the host.

        Args:
            views: ``[B, T + 1]`` of the prefixes of sequences, the empty one first.
            prefixes: ``int64[P]``: those that are learned, as indices into the flat ``[B * T]`` order.
            came: ``int[P]``: the token behind each.
            probabilities: ``float32[P]``: of these tokens, 0 where nobody said.
        """
        width = views.shape[1] - 1
        drawn = np.flatnonzero(probabilities > 0)
        behind = views.reshape(-1)[prefixes[drawn] + prefixes[drawn] // width + 1]
        assert (game.next(behind) == Next.ACTION).all()
        legal = game.view_legal(behind)
        columns = drawn, prefixes[drawn] // width, came[drawn].astype(np.int64), probabilities[drawn], legal
        return Decisions(*(torch.from_numpy(np.ascontiguousarray(column)) for column in columns))

    def to(self, device: torch.device) -> "Decisions":
        """The same on a device."""
        return replace(self, **{name: part.to(device) for name, part in vars(self).items() if part is not None})


class Terms(NamedTuple):
    """``float32[D]`` each."""

    loss: torch.Tensor
    entropy: torch.Tensor
    """Of the policy, in nats."""
    clipped: torch.Tensor
    """1 where the advantage pulls no further."""
    magnet_kl: torch.Tensor
    """KL(policy, magnet's) in nats, 0 without a magnet."""
    errors: torch.Tensor | None = None
    """Squared errors of a critic, in temperatures; None without one."""


@dataclass(frozen=True)
class PolicyGradient:
    """The settings of ``learner.policy_targets=gradient`` in a game."""

    worth: torch.Tensor
    """``float32[K]``: the default utility of every outcome label, in temperatures."""
    clip: float
    entropy_weight: float
    magnet_weight: float
    trace: float
    """Lambda of the advantages."""
    weight: float

    @staticmethod
    def of(game: Game, learner: LearnerConfig, device: torch.device) -> "PolicyGradient | None":
        """None where the policy learns otherwise. ``ValueError`` for a game whose labels do not say the points."""
        if learner.policy_targets != "gradient":
            return None
        if not game.outcomes.exact:
            raise ValueError(f"learner.policy_targets=gradient: {game.name} has no exact outcome labels; give none")
        worth = torch.from_numpy(in_temperatures(game, learner)).float()
        kept = learner.policy_clip, learner.entropy_weight, learner.magnet_weight, learner.advantage_lambda
        return PolicyGradient(worth.to(device), *kept, learner.policy_weight)

    def terms(
        self,
        decisions: Decisions,
        logits_DV: torch.Tensor,
        outcomes_DK: torch.Tensor,
        labels_B: torch.Tensor,
        magnet_DV: torch.Tensor | None,
        critic_DV: torch.Tensor | None = None,
    ) -> Terms:
        """The terms of the decisions.

        Args:
            logits_DV: ``float32`` next-token logits, minus infinity for impossible tokens.
            outcomes_DK: ``float32`` outcome logits there; no gradient flows into them.
            labels_B: ``int64`` outcome label of every sequence.
            magnet_DV: the magnet's logits; None for no magnet.
            critic_DV: ``float32``: what a critic adds to the values for each action; None without one.
        """
        logs = logits_DV.masked_fill(~decisions.legal, -torch.inf).log_softmax(-1)
        values, ends, errors = outcomes_DK.detach().softmax(-1) @ self.worth, self.worth[labels_B], None
        if critic_DV is None:
            gains = advantages(values, ends, decisions.row, self.trace)
        else:
            played = values + critic_DV.gather(1, decisions.action[:, None])[:, 0]
            values = values + (logs.detach().exp() * critic_DV.detach()).sum(-1)
            gains = advantages(values, ends, decisions.row, self.trace, played.detach())
            errors = (played - (values + gains)) ** 2
        ratio = (logs.gather(1, decisions.action[:, None])[:, 0] - decisions.probability.log()).exp()
        near = ratio.clamp(1.0 - self.clip, 1.0 + self.clip)
        loss = -torch.minimum(ratio * gains, near * gains)
        chances, finite = logs.exp(), logs.masked_fill(~decisions.legal, 0.0)
        entropy, distance = -(chances * finite).sum(-1), torch.zeros_like(loss)
        if magnet_DV is not None:
            theirs = magnet_DV.masked_fill(~decisions.legal, -torch.inf).log_softmax(-1)
            distance = (chances * (finite - theirs.masked_fill(~decisions.legal, 0.0))).sum(-1)
        loss = loss - self.entropy_weight * entropy + self.magnet_weight * distance
        return Terms(loss, entropy.detach(), (near * gains < ratio * gains).float(), distance.detach(), errors)


def advantages(
    values: torch.Tensor, ends: torch.Tensor, row: torch.Tensor, trace: float, played: torch.Tensor | None = None
) -> torch.Tensor:
    """``float32[D]``: A(t) = played(t) - value(t) + e(t), where e(t) = delta(t) + trace e(t + 1) within a sequence and
    delta(t) is the value of the next decision less what was played, behind the last one the sequence's end less it.

    Args:
        values: ``float32[D]`` of the decisions, sequence after sequence.
        ends: ``float32[B]``: what each sequence came to.
        row: ``int64[D]``: the sequence of each decision, ascending.
        trace: lambda.
        played: ``float32[D]``: what a critic of actions expects of the one played; None for ``values``.
    """
    if played is None:
        if trace == 1.0:
            return ends[row] - values
        played = values
    counts = torch.bincount(row, minlength=len(ends))
    place = torch.arange(len(row), device=row.device) - (counts.cumsum(0) - counts)[row]
    steps = int(counts.max()) if len(row) else 0
    value, base, errors = (values.new_zeros(len(ends), steps) for _ in range(3))
    value[row, place], base[row, place] = values, played
    error, following = torch.zeros_like(ends), ends
    for t in range(steps - 1, -1, -1):
        there = t < counts
        error = torch.where(there, following - base[:, t] + trace * error, error)
        following = torch.where(there, value[:, t], following)
        errors[:, t] = error
    return played - values + errors[row, place]


def split_stale(shards: list[tuple[str, int]], max_staleness: int) -> tuple[list[str], list[str]]:
    """Of shards with the iterations of their games those that are at most so many older than the newest, and the
    others."""
    newest = max((iteration for _, iteration in shards), default=0)
    old = [path for path, iteration in shards if newest - iteration > max_staleness]
    return [path for path, _ in shards if path not in old], old
