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
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from cluster.errors import UserError
from games.game import Game, Next
from games.shards import Sequences
from learner.config import PolicyConfig
from learner.model.architecture import same_value
from learner.model.checkpoint import checkpoint_id, load_weights
from learner.model.network import PolicyValueNet
from learner.model.shapes import few_widths
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
    """``float32[D]``: the probability with which it was drawn, above 0."""
    legal: torch.Tensor
    """``bool[D, V]``"""
    place: torch.Tensor
    """``int64[D]``: which decision of its sequence each is, from 0."""
    steps: int
    """Above every ``place`` of a real decision; that of padding is ``steps`` plus 1."""
    whole: torch.Tensor
    """``float32[]``: decisions of the whole batch, other learners' included, at least 1."""


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

    figures, needs_outcomes = FIGURES, True

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
        self.game, self.config, self.reads, self.device = game, config, config.reads, device
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

    def begin(self, net: PolicyValueNet) -> None:
        if not self.config.magnet_weight:
            return
        self.magnet = load_weights(self.config.magnet, self.game).to(self.device)
        for key in ("token_types", "features", "first", "mask_tokens"):  # the magnet is asked with the network's inputs
            found, wanted = getattr(self.magnet.arch, key), getattr(net.arch, key)
            if not same_value(found, wanted):
                raise UserError(
                    f"learner.policy.magnet={self.config.magnet}: has {key}={found}, and the network {wanted}; give "
                    "a checkpoint that reads what the network reads"
                )

    def targets(self, learned: Learned) -> Decisions:
        probabilities = learned.data.probabilities
        assert probabilities is not None
        chances, width = learned.behind(probabilities), learned.width
        drawn = np.flatnonzero(chances[: len(chances) - learned.padding] > 0)
        prefixes = learned.prefixes[drawn]
        row, action = prefixes // width, learned.behind(learned.data.tokens)
        place, steps = places(row)
        steps = few_widths(steps) if learned.padding else steps
        views = learned.views.reshape(-1)[prefixes + prefixes // width + 1]
        assert (learned.game.next(views) == Next.ACTION).all()
        weights = learned.own_weights()
        weights[drawn] = self.config.weight
        return Decisions(
            weights=torch.from_numpy(weights),
            at=learned.filled_up(drawn, len(learned.prefixes) - 1),
            row=learned.filled_up(row, 0),
            action=learned.filled_up(action[drawn].astype(np.int64), action[-1:]),
            probability=learned.filled_up(chances[drawn], 1.0),
            legal=learned.filled_up(np.ascontiguousarray(learned.game.view_legal(views)), learned.last_token),
            place=learned.filled_up(place, steps + 1),
            steps=steps,
            whole=torch.tensor(max(learned.num_drawn, 1), dtype=torch.float32),
        )

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
        real = 1.0 if batch.real is None else batch.real.index_select(0, at)
        figures = {name: (getattr(terms, name) * real).sum() / decisions.whole for name in FIGURES}
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
        at = decisions.row, decisions.place, decisions.steps
        gains = advantages(values, returns, *at, config.advantage_lambda)
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
    logits = magnet.next_token_logits(hidden.index_select(0, batch.prefixes), dtype, batch.inputs)
    return logits.index_select(0, at).float()


def places(row: np.ndarray) -> tuple[np.ndarray, int]:
    """``Decisions.place`` and ``steps`` of decisions of the sequences ``row`` (``int64[D]``, ascending)."""
    place = np.arange(len(row)) - np.searchsorted(row, row)
    return place, int(place.max(initial=-1)) + 1


def advantages(
    values: torch.Tensor, returns: torch.Tensor, row: torch.Tensor, place: torch.Tensor, steps: int, gae_lambda: float
) -> torch.Tensor:
    """``float32[D]``: A(t) = delta(t) + lambda A(t + 1) within a sequence, where delta(t) is the value of the next
    decision less that of this one, behind the last one the sequence's return less it.

    Args:
        values: ``float32[D]`` of the decisions.
        returns: ``float32[B]``: what each sequence came to.
        row, place, steps: as ``Decisions`` has them.
        gae_lambda: lambda.
    """
    if gae_lambda == 1.0:
        return returns[row] - values
    value = returns[:, None].repeat(1, steps + 2)  # the last column is padding's
    value[row, place] = values
    step = torch.arange(steps, device=values.device)
    powers = (gae_lambda ** (step[:, None] - step).clamp(min=0)).tril()  # of deltas, by the steps until they come
    return F.pad(value[:, : steps + 1].diff(dim=1) @ powers, (0, 2))[row, place]
