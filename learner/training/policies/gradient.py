"""``learner.policy.kind=gradient``: clipped policy gradient on the actions played, with a magnet (PPO, Schulman et al.,
arXiv 1707.06347).

Shards hold the probability b(a) with which a player drew each of its actions. With the policy pi normalised over legal
actions, the ratio r = pi(a) / b(a), the advantage A and the clip c the term of a decision is

    -min(r A, clip(r, 1 - c, 1 + c) A) - entropy_weight H(pi) + magnet_weight KL(pi, magnet).

The advantage is generalised advantage estimation over the seat's own decisions of a deal (Schulman et al., arXiv
1506.02438): the reward is the game's default utility, which comes at the end alone, in units of
``learner.policy.temperature``. The value of a decision is what the outcome head expects there.

The magnet is a frozen earlier network, as in R-NaD (Perolat et al., arXiv 2206.15378): it keeps a policy that follows
its own games from going round in circles.

Letters: ``B`` sequences, ``P`` prefixes that are learned, ``D`` decisions, ``V`` tokens, ``K`` outcome labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch

from games.game import Game, Next
from games.shards import Sequences
from learner.config import PolicyConfig
from learner.model.checkpoint import checkpoint_id, load_weights
from learner.model.network import PolicyValueNet
from learner.training.batch import Batch, Learned, Targets
from learner.training.data import iteration_of
from learner.training.policies.policy import Policy
from learner.training.policies.utility import in_temperatures

FIGURES = ("entropy", "clipped", "magnet_kl")
"""Means over decisions that a training shows beside its losses."""


@dataclass(frozen=True, kw_only=True)
class Decisions(Targets):
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
    whole: int
    """Decisions of the whole batch, other learners' included."""

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
        return Decisions(
            at=torch.from_numpy(drawn),
            row=torch.from_numpy(prefixes[drawn] // width),
            action=torch.from_numpy(came[drawn].astype(np.int64)),
            probability=torch.from_numpy(probabilities[drawn]),
            legal=torch.from_numpy(np.ascontiguousarray(game.view_legal(behind))),
            whole=len(drawn),
        )


class Terms(NamedTuple):
    """``float32[D]`` each."""

    loss: torch.Tensor
    entropy: torch.Tensor
    """Entropy of the policy in nats."""
    clipped: torch.Tensor
    """1 where the advantage pulls no further."""
    magnet_kl: torch.Tensor
    """KL(policy, magnet's) in nats, 0 without a magnet."""


class Gradient(Policy):
    """The clipped policy gradient takes the place of imitation at actions with a probability."""

    reads, figures, needs_outcomes = frozenset({"probabilities"}), FIGURES, True

    def __init__(self, game: Game, config: PolicyConfig, device: torch.device) -> None:
        """``ValueError`` for a game whose labels do not say the points, a magnet that is missing, or a temperature that
        suits another game."""
        if not game.outcomes.exact:
            raise ValueError(f"learner.policy.kind=gradient: {game.name} has no exact outcome labels; give played")
        if config.magnet_weight and not config.magnet:
            raise ValueError(
                "learner.policy.magnet: give the checkpoint that "
                f"magnet_weight={config.magnet_weight} pulls to, or set it to 0"
            )
        self.game, self.config, self.device = game, config, device
        self.worth = torch.from_numpy(in_temperatures(game, config)).float().to(device)
        self.magnet: PolicyValueNet | None = None

    def settings(self) -> dict[str, Any]:
        return {"magnet": checkpoint_id(self.config.magnet) if self.config.magnet_weight else ""}

    def split(self, shards: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        """Split shards into fresh ones, at most ``max_staleness`` iterations older than the newest, and stale ones."""
        made = {shard: iteration_of(shard) for shard in shards}
        newest = max(made.values(), default=0)
        stale = [shard for shard in shards if newest - made[shard] > self.config.max_staleness]
        return [shard for shard in shards if shard not in stale], stale

    def check(self, sequences: Sequences, shards: Sequence[str]) -> None:
        if sequences.probabilities is None or not sequences.probabilities.any():
            raise ValueError(
                f"learner.policy.kind=gradient: shards {shards[0]}..{shards[-1]} hold no probabilities of the actions "
                "played; make some with selfplay.probabilities=true (probabilities=true of python -m "
                "selfplay.generate), or set it to played"
            )

    def begin(self) -> None:
        if self.config.magnet_weight:
            self.magnet = load_weights(self.config.magnet, self.game).to(self.device)

    def targets(self, learned: Learned) -> Decisions:
        probabilities = learned.data.columns.probabilities
        assert probabilities is not None
        came, chances = learned.behind(learned.data.host_tokens), learned.behind(probabilities)
        drawn = Decisions.of(learned.game, learned.views, learned.prefixes, came, chances)
        weights = learned.own_weights()
        weights[drawn.at.numpy()] = self.config.weight
        return replace(drawn, weights=torch.from_numpy(weights), whole=learned.num_drawn)

    def losses(
        self, batch: Batch, logits_PV: torch.Tensor, outcomes_PK: torch.Tensor | None, dtype: torch.dtype
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        each, _ = super().losses(batch, logits_PV, outcomes_PK, dtype)
        decisions = batch.policy
        assert isinstance(decisions, Decisions) and outcomes_PK is not None
        at = decisions.at
        magnet_DV = None if self.magnet is None else _magnet_logits(self.magnet, batch, at, dtype)
        terms = self.terms(
            decisions, logits_PV.index_select(0, at), outcomes_PK.index_select(0, at), batch.outcome, magnet_DV
        )
        figures = {name: getattr(terms, name).sum() / max(decisions.whole, 1) for name in FIGURES}
        return each.index_copy(0, at, terms.loss), figures

    def terms(
        self,
        decisions: Decisions,
        logits_DV: torch.Tensor,
        outcomes_DK: torch.Tensor,
        labels_B: torch.Tensor,
        magnet_DV: torch.Tensor | None,
    ) -> Terms:
        """The terms of the decisions.

        Args:
            logits_DV: ``float32`` next-token logits, minus infinity for impossible tokens.
            outcomes_DK: ``float32`` outcome logits there; no gradient flows into them.
            labels_B: ``int64`` outcome label of every sequence.
            magnet_DV: the magnet's logits; None for no magnet.
        """
        config = self.config
        logs = logits_DV.masked_fill(~decisions.legal, -torch.inf).log_softmax(-1)
        values, returns = outcomes_DK.detach().softmax(-1) @ self.worth, self.worth[labels_B]
        gains = advantages(values, returns, decisions.row, config.advantage_lambda)
        ratio = (logs.gather(1, decisions.action[:, None])[:, 0] - decisions.probability.log()).exp()
        near = ratio.clamp(1.0 - config.clip, 1.0 + config.clip)
        loss = -torch.minimum(ratio * gains, near * gains)
        chances, finite = logs.exp(), logs.masked_fill(~decisions.legal, 0.0)
        entropy, distance = -(chances * finite).sum(-1), torch.zeros_like(loss)
        if magnet_DV is not None:
            magnet = magnet_DV.masked_fill(~decisions.legal, -torch.inf).log_softmax(-1)
            distance = (chances * (finite - magnet.masked_fill(~decisions.legal, 0.0))).sum(-1)
        loss = loss - config.entropy_weight * entropy + config.magnet_weight * distance
        return Terms(loss, entropy.detach(), (near * gains < ratio * gains).float(), distance.detach())


@torch.no_grad()
def _magnet_logits(magnet: PolicyValueNet, batch: Batch, at: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """``float32[D, V]``: next-token logits of a frozen network behind some of the ``prefixes``."""
    hidden = magnet.hidden(batch.tokens[:, :-1], dtype, None, batch.inputs).flatten(0, 1)
    return magnet.next_token_logits(hidden[batch.prefixes[at]], dtype, batch.inputs.at(at)).float()


def advantages(values: torch.Tensor, returns: torch.Tensor, row: torch.Tensor, gae_lambda: float) -> torch.Tensor:
    """``float32[D]``: A(t) = delta(t) + lambda A(t + 1) within a sequence, where delta(t) is the value of the next
    decision less that of this one, behind the last one the sequence's return less it.

    Args:
        values: ``float32[D]`` of the decisions, sequence after sequence.
        returns: ``float32[B]``: what each sequence came to.
        row: ``int64[D]``: the sequence of each decision, ascending.
        gae_lambda: lambda.
    """
    if gae_lambda == 1.0:
        return returns[row] - values
    counts = torch.bincount(row, minlength=len(returns))
    place = torch.arange(len(row), device=row.device) - (counts.cumsum(0) - counts)[row]
    steps = int(counts.max()) if len(row) else 0
    value, errors = (values.new_zeros(len(returns), steps) for _ in range(2))
    value[row, place] = values
    error, following = torch.zeros_like(returns), returns
    for t in range(steps - 1, -1, -1):
        there = t < counts
        error = torch.where(there, following - value[:, t] + gae_lambda * error, error)
        following = torch.where(there, value[:, t], following)
        errors[:, t] = error
    return errors[row, place]
