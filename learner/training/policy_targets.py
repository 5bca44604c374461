"""Policy targets: at decisions with branches the next token is learned from the values of all actions.

A branch tells what the seat made of the deal after an action. The value of an action is the mean over its branches of
the game's default utility, or the value that a player gave it; in units of ``learner.policy_temperature``. Branches
hold every legal action of a decision, or all that the player considered, so no value has to be completed. What all
actions have in common, such as the points made before, changes nothing.

With ``advantage`` the term of a decision is -sum over a of policy(a) (value(a) - baseline), with the policy normalised
over the legal actions and baseline = sum over a of policy(a) value(a) without gradient: the policy gradient over all
actions (Sutton et al., 2000). The term itself is always 0, its gradient is not. It hardly moves a policy that is sure
of another action than the best one.

With ``improved`` it is the cross-entropy to softmax(logits + values), without gradient: the improved policy of Gumbel
MuZero (Danihelka et al., ICLR 2022, section 4), whose pull does not fade where the policy is sure. An action takes over
where it is better by as many temperatures as its log-probability is behind.

Letters: ``B`` sequences, ``D`` decisions with branches, ``V`` tokens, ``K`` outcome labels.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch

from games.branches import NO_OUTCOME, Branches
from games.game import Game
from learner.config import OF_BRANCHES, LearnerConfig


def in_temperatures(game: Game, learner: LearnerConfig) -> np.ndarray:
    """``float64[K]``: the default utility of every outcome label in units of ``learner.policy_temperature``.

    ``ValueError`` for a temperature above a quarter of what a deal can gain: a policy would learn next to nothing.
    """
    utility = game.outcomes.utility().astype(np.float64)
    most = float(np.ptp(utility)) / 4
    if learner.policy_temperature > most:
        raise ValueError(
            f"learner.policy_temperature={learner.policy_temperature}: must be at most {most:.3g} in {game.name}, a "
            f"quarter of what lies between a deal's best and worst {game.outcomes.default_utility!r} utility, whose "
            "unit it has"
        )
    return utility / learner.policy_temperature


@dataclass(frozen=True)
class PolicyTargets:
    """The decisions of a batch whose actions have values."""

    at: torch.Tensor
    """``int64[D]``: the prefixes before them, as places among the batch's ``prefixes``; ascending."""
    legal: torch.Tensor
    """``bool[D, V]``"""
    values: torch.Tensor
    """``float32[D, V]``: in temperatures; 0 where not legal."""
    improved: bool = False
    """Whether the target is the improved policy; else the term is the policy gradient's."""

    def to(self, device: torch.device) -> "PolicyTargets":
        """The same on a device."""
        return replace(self, at=self.at.to(device), legal=self.legal.to(device), values=self.values.to(device))

    def losses(self, logits_DV: torch.Tensor) -> torch.Tensor:
        """``float32[D]``: the term of each decision, from its next-token logits (``float32``, minus infinity for
        impossible tokens)."""
        legal_DV = logits_DV.masked_fill(~self.legal, -torch.inf)
        if self.improved:
            target = (legal_DV.detach() + self.values).softmax(-1)
            return -(target * legal_DV.log_softmax(-1).masked_fill(~self.legal, 0.0)).sum(-1)
        policy = legal_DV.softmax(-1)
        baseline = (policy.detach() * self.values).sum(-1, keepdim=True)
        return -(policy * (self.values - baseline)).sum(-1)


@dataclass(frozen=True)
class PolicyOperator:
    """The settings ``learner.policy_*`` in a game."""

    worth: np.ndarray
    """``float64[K]``: the default utility of every outcome label, in temperatures."""
    weight: float
    temperature: float = 1.0
    """Of values that a player gave."""
    improved: bool = False

    @staticmethod
    def of(game: Game, learner: LearnerConfig) -> "PolicyOperator | None":
        """None where the policy learns what was played."""
        if learner.policy_targets not in OF_BRANCHES:
            return None
        worth, improved = in_temperatures(game, learner), learner.policy_targets == "improved"
        return PolicyOperator(worth, learner.policy_weight, learner.policy_temperature, improved)

    def targets(self, branches: Branches, lengths: np.ndarray, num_tokens: int) -> PolicyTargets:
        """The targets of a batch, on the host.

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
            worth = np.where(valued, branches.value[behind] / self.temperature, worth)
        np.add.at(sums, place, worth)
        values = (sums / np.maximum(counts, 1.0)).astype(np.float32)
        of_each = torch.from_numpy(at), torch.from_numpy(counts > 0), torch.from_numpy(values)
        return PolicyTargets(*of_each, self.improved)

    def weigh(self, targets: PolicyTargets, weights: np.ndarray) -> np.ndarray:
        """``float32[...]``: the ``weights`` of a batch's prefixes, with this operator's at the targets."""
        weights[targets.at.numpy()] = self.weight
        return weights
