"""``learner.policy.kind=values``: at decisions with branches the policy learns from the values of all actions.

A branch shows what the seat made of the deal after an action. The value of an action is the mean over its branches of
the game's default utility, or the value that a player gave it; in units of ``learner.policy.temperature``. Branches
hold every legal action of a decision, or all that the player considered, so no value has to be completed. What all
actions have in common, such as the points made before, changes nothing.

The term of a decision is -sum over a of policy(a) (value(a) - baseline), with the policy normalised over the legal
actions and baseline = sum over a of policy(a) value(a) without gradient: the policy gradient over all actions (Sutton
et al., 2000). The term itself is always 0, its gradient is not. It hardly moves a policy that is sure of another action
than the best one.

With ``learner.policy.improved`` it is the cross-entropy to softmax(logits + values), without gradient: the improved
policy of Gumbel MuZero (Danihelka et al., ICLR 2022, section 4), whose pull does not fade where the policy is sure. An
action takes over where it is better by as many temperatures as its log-probability is behind.

Letters: ``B`` sequences, ``P`` prefixes that are learned, ``D`` decisions with branches, ``V`` tokens, ``K`` outcome
labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from games.branches import NO_OUTCOME, Branches
from games.game import Game
from games.shards import Sequences
from learner.config import PolicyConfig
from learner.training.batch import Batch, Learned, Targets, branches_of
from learner.training.data import check_branches
from learner.training.policies.labels import Labels
from learner.training.policies.policy import PLAYED, Policy
from learner.training.policies.utility import in_temperatures


@dataclass(frozen=True, kw_only=True)
class ValueTargets(Targets):
    """The decisions of a batch whose actions have values."""

    at: torch.Tensor
    """``int64[D]``: the prefixes before them, as places among the batch's ``prefixes``; ascending."""
    legal: torch.Tensor
    """``bool[D, V]``"""
    values: torch.Tensor
    """``float32[D, V]``: in temperatures; 0 where not legal."""

    def losses(self, logits_DV: torch.Tensor, improved: bool = False) -> torch.Tensor:
        """``float32[D]``: the term of each decision, from its next-token logits (``float32``, minus infinity for
        impossible tokens)."""
        legal_DV = logits_DV.masked_fill(~self.legal, -torch.inf)
        if improved:
            target = (legal_DV.detach() + self.values).softmax(-1)
            return -(target * legal_DV.log_softmax(-1).masked_fill(~self.legal, 0.0)).sum(-1)
        policy = legal_DV.softmax(-1)
        baseline = (policy.detach() * self.values).sum(-1, keepdim=True)
        return -(policy * (self.values - baseline)).sum(-1)


class Values(Policy):
    """Values of branches take the place of the actions played; at other decisions labels, where they are read, do."""

    def __init__(self, game: Game, config: PolicyConfig) -> None:
        """``ValueError`` for a temperature that suits another game."""
        self.config, self.reads = config, config.reads
        self.worth = in_temperatures(game, config)
        self._elsewhere = Labels(game, config) if config.label_weight else PLAYED

    def check(self, sequences: Sequences, shards: Sequence[str]) -> None:
        count = 0 if sequences.branches is None else len(sequences.branches.place)
        check_branches(count, "policy.kind=values", "played", shards)
        self._elsewhere.check(sequences, shards)

    def targets(self, learned: Learned) -> ValueTargets:
        other, data = self._elsewhere.targets(learned), learned.data
        branches = data.policy_branches
        assert branches is not None
        lengths = data.lengths[learned.rows]
        found = self.of_branches(branches_of(branches, data, learned.rows), lengths, learned.game.vocabulary.size)
        at = np.searchsorted(learned.prefixes, learned.every[found.at.numpy()])
        weights = torch.ones(len(learned.prefixes)) if other.weights is None else other.weights
        weights[at] = self.config.weight
        return replace(
            found,
            weights=weights,
            tokens=other.tokens,
            at=learned.filled_up(at, len(learned.prefixes) - 1),
            legal=learned.filled_up(found.legal.numpy(), learned.last_token),
            values=learned.filled_up(found.values.numpy(), 0.0),
        )

    def of_branches(self, branches: Branches, lengths: np.ndarray, num_tokens: int) -> ValueTargets:
        """The decisions of all prefixes that are no padding, ``at`` their places among these.

        Args:
            branches: of the ``B`` sequences. A decision before anything was seen has no prefix, and is left out.
            lengths: ``int64[B]`` tokens of each sequence, ``eos`` included.
            num_tokens: ``V``.
        """
        behind = branches.place > 0
        first = np.cumsum(lengths - 1) - (lengths - 1)
        prefix = first[branches.row[behind]] + branches.place[behind] - 1
        at, decision = np.unique(prefix, return_inverse=True)
        counts, sums = np.zeros((2, len(at), num_tokens))
        place = decision, branches.token[behind]
        np.add.at(counts, place, 1.0)
        worth = self.worth[branches.outcome[behind]]
        if branches.value is not None:
            valued = branches.outcome[behind] == NO_OUTCOME
            worth = np.where(valued, branches.value[behind] / self.config.temperature, worth)
        np.add.at(sums, place, worth)
        values = (sums / np.maximum(counts, 1.0)).astype(np.float32)
        return ValueTargets(
            at=torch.from_numpy(at), legal=torch.from_numpy(counts > 0), values=torch.from_numpy(values)
        )

    def losses(
        self, batch: Batch, logits_PV: torch.Tensor, outcomes_PK: torch.Tensor | None, dtype: torch.dtype
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        each, figures = super().losses(batch, logits_PV, outcomes_PK, dtype)
        targets = batch.policy
        assert isinstance(targets, ValueTargets)
        terms = targets.losses(logits_PV.index_select(0, targets.at), self.config.improved)
        return each.index_copy(0, targets.at, terms), figures
