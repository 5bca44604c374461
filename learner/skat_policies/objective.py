"""Objective of the networks of paper 004 (section III).

A step is a batch for each network that still learns; all learn at once and stop one by one. Policies learn by
cross-entropy; networks of values by the squared error at the action that was taken. With ``model.bid_loss=censored``
those of bids also learn from limits of which only a bound is known (``bid_errors``). At the end of each of its epochs a
network is judged by its loss on held-out games, and after ``model.patience`` epochs without a lower one it stops and
takes its best weights (early stopping; the paper does not say by which rule).
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from games.rng import derive
from games.skat.policies.points import BID, CONTINUE
from learner.bits import unpacked
from learner.network_kind import TrainingSetup
from learner.skat_policies.architecture import NETWORKS, VALUE_SCALE, VALUES
from learner.skat_policies.data import load_policies
from learner.skat_policies.network import SkatPolicies, inputs_of
from learner.training.objective import EPOCHS, Objective
from learner.training.sending import Sent

_OF_BIDS = (BID, CONTINUE)
_SHOWN_ROWS = 20_000
"""Training rows of each network that its accuracy in training is measured on."""


def bid_errors(out_BA: torch.Tensor, limit_B: torch.Tensor, censored_B: torch.Tensor) -> torch.Tensor:
    """``float32[B]``: -log P(limit), and of those ``censored`` -log P(limit or more).

    Not in the paper, which learns from limits of losers of duels alone; survivors are right-censored observations.

    Args:
        out_BA: ``float32[B, A]``: logits of the limits.
        limit_B: ``int64[B]``
        censored_B: ``bool[B]``
    """
    limits, least = torch.arange(out_BA.shape[1], device=out_BA.device), limit_B[:, None]
    possible = torch.where(censored_B[:, None], limits >= least, limits == least)
    return out_BA.logsumexp(dim=1) - out_BA.masked_fill(~possible, -torch.inf).logsumexp(dim=1)


class EarlyStopping(nn.Module):
    """The best weights of each network, their held-out ``loss``, the epochs since then, and the step at which it
    ``stopped``, 0 while it learns. Resumable checkpoints hold them, finished ones do not."""

    loss: torch.Tensor
    worse: torch.Tensor
    stopped: torch.Tensor

    def __init__(self, net: SkatPolicies) -> None:
        super().__init__()
        self.nets, self.trunk = (deepcopy(part).requires_grad_(False) for part in (net.nets, net.trunk))
        self.register_buffer("loss", torch.full((len(NETWORKS),), torch.finfo(torch.float32).max))
        for name in ("worse", "stopped"):
            self.register_buffer(name, torch.zeros(len(NETWORKS)))

    def judge(
        self, networks: Sequence[int], net: SkatPolicies, loss: float, patience: int, last: bool, step: int = 1
    ) -> None:
        """Compare the loss of a network, or of all that share their layers, with its best, and keep or stop it: then it
        gets its best weights."""
        first, these = networks[0], list(networks)
        if loss < self.loss[first]:
            self.loss[these], self.worse[these] = loss, 0.0
            _copy(net, self, these)
        else:
            self.worse[these] += 1
        if last or self.worse[first] >= patience:
            _copy(self, net, these)
            self.stopped[these] = float(step)


def _copy(source: "SkatPolicies | EarlyStopping", to: "SkatPolicies | EarlyStopping", networks: Sequence[int]) -> None:
    for network in networks:
        to.nets[network].load_state_dict(source.nets[network].state_dict())
    to.trunk.load_state_dict(source.trunk.state_dict())  # empty unless these are all


@dataclass(frozen=True)
class _Batch:
    """``N`` networks' decisions, ``B`` of each."""

    networks: tuple[int, ...]
    bits: torch.Tensor
    """``uint8[N, B, 49]``; fields as ``PolicyData`` has them."""
    numbers: torch.Tensor
    """``uint8[N, B, 4]``"""
    target: torch.Tensor
    """``int64[N, B]``"""
    value: torch.Tensor
    """``float32[N, B]``"""
    censored: torch.Tensor
    """``bool[N, B]``"""


class SkatPoliciesObjective(Objective):
    """Cross-entropy and squared errors of 18 networks. ``loss`` is the mean over those that still learn; values count
    in units of ``VALUE_SCALE`` points."""

    names = tuple(point.name for point in NETWORKS)
    rows_are, rows_at_once, in_epochs = "decisions", 8192, False
    net: SkatPolicies
    target: EarlyStopping

    def __init__(self, setup: TrainingSetup) -> None:
        super().__init__(setup)
        self.policies, self._censored = setup.model, setup.model.bid_loss == "censored"
        self._order_of: dict[int, tuple[int, np.ndarray]] = {}
        self.data = load_policies(self.game, setup.shards, self.config, self.policies.value_label, self._censored)
        self.training, self.validation = self.data.training, self.data.validation
        self._training = [self.data.of(network, self.training) for network in range(len(NETWORKS))]
        self._epochs = [len(rows) // self.config.batch_size for rows in self._training]
        self.steps_per_epoch = max(self._epochs)

    def begin(self, net: SkatPolicies) -> None:
        super().begin(net)
        self.target = EarlyStopping(net).to("cpu")  # where it is asked at every step who has stopped

    @property
    def finished(self) -> bool:
        """Whether all have stopped."""
        return bool(self.target.stopped.all())

    @property
    def learning(self) -> list[int]:
        """The networks that have not stopped."""
        return np.flatnonzero(self.target.stopped.numpy() == 0).tolist()

    def rows(self, step: int) -> np.ndarray:
        """A batch of each network that learns, from its own epoch's order."""
        return np.concatenate([self._batch(network, step) for network in self.learning])

    def _batch(self, network: int, step: int) -> np.ndarray:
        epoch, place = divmod(step, self._epochs[network])
        if self._order_of.get(network, (-1,))[0] != epoch:
            rng = np.random.default_rng(derive(self.seed, "order", network, epoch))
            self._order_of[network] = epoch, rng.permutation(self._training[network])
        size = self.config.batch_size
        return self._order_of[network][1][place * size : (place + 1) * size]

    def batch(self, rows: np.ndarray, step: int) -> Sent[_Batch]:
        self.generator.manual_seed(derive(self.seed, "dropout", step) % 2**63)
        learning = self.learning
        return self._sent(learning, rows.reshape(len(learning), -1))

    def _sent(self, networks: Sequence[int], rows_NB: np.ndarray) -> Sent[_Batch]:
        data = self.data
        found = (each[rows_NB] for each in (data.bits, data.numbers, data.target, data.value, data.censored))
        bits, numbers, target, value, censored = map(torch.from_numpy, found)
        return Sent(_Batch(tuple(networks), bits, numbers, target.long(), value, censored), self.device)

    def losses(self, batch: _Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        parts = {name: torch.zeros((), device=self.device) for name in self.names}
        for place, network in enumerate(batch.networks):
            parts[self.names[network]], _ = self._error(batch, place, self.generator)
        return torch.stack(list(parts.values())).sum(), parts

    def _error(
        self, batch: _Batch, place: int, generator: torch.Generator | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean loss of a network's rows, and how many of them a policy gets right: none of values, nor of those where
        a bound alone is known; dropout by ``generator``."""
        network, target, censored = batch.networks[place], batch.target[place], batch.censored[place]
        bits = unpacked(batch.bits[place], 8 * batch.bits.shape[2])
        out = self.net(network, inputs_of(NETWORKS[network], bits, batch.numbers[place]), self.dtype, generator)
        if network in VALUES:
            values = batch.value[place] / VALUE_SCALE
            return F.mse_loss(out.gather(1, target[:, None])[:, 0], values), torch.zeros((), device=self.device)
        right = ((out.argmax(dim=1) == target) & ~censored).sum()
        mixed = self._censored and network in _OF_BIDS
        return bid_errors(out, target, censored).mean() if mixed else F.cross_entropy(out, target), right

    def after_step(self, step: int) -> None:
        """Judge the networks whose epoch has ended, and at the end of the training those that still learn."""
        at_end, learning = step == self.num_steps, self.learning
        for networks in [learning] if self.arch.shared and learning else [[network] for network in learning]:
            epoch, rest = divmod(step, max(self._epochs[network] for network in networks))
            if rest == 0 or at_end:
                losses = [self._mean_error(each, self.data.of(each, self.data.validation))[0] for each in networks]
                last = at_end or epoch == self.config.num_epochs
                self.target.judge(networks, self.net, float(np.mean(losses)), self.policies.patience, last, step)

    @torch.no_grad()
    def _mean_error(self, network: int, rows: np.ndarray) -> tuple[float, float]:
        """Mean loss without dropout, and the share that a policy gets right."""
        total, right = 0.0, 0.0
        for first in range(0, len(rows), self.rows_at_once):
            part = rows[first : first + self.rows_at_once]
            loss, correct = self._error(self._sent([network], part[None]).arrived(), 0)
            total, right = total + loss.item() * len(part), right + correct.item()
        return total / len(rows), right / len(rows)

    def line(self, means: Mapping[str, float]) -> dict[str, float]:
        shown = {name: mean for name, mean in means.items() if mean}
        return {"loss": sum(shown.values()) / max(len(shown), 1), **shown}

    def measure(self, rows: np.ndarray) -> dict[str, tuple[torch.Tensor, int]]:
        """Losses of held-out rows by network."""
        found: dict[str, tuple[torch.Tensor, int]] = {}
        for network, name in enumerate(self.names):
            if len(own := self.data.of(network, rows)):
                found[name] = torch.tensor(self._mean_error(network, own)[0]), len(own)
        return found

    @property
    def figures(self) -> Mapping[str, float]:  # type: ignore[override]
        """For each network the number of decisions, the epochs until it stopped, and its accuracy on training and
        held-out games beside the share of the most frequent action; for values the mean squared error in points, and
        their variance. Only known actions count; limits of which a bound is known are counted apart."""
        found: dict[str, float] = {}
        for network, name in enumerate(self.names):
            rows, apart = (self.data.known(network, part) for part in (self.data.training, self.data.validation))
            some = rows[:: max(len(rows) // _SHOWN_ROWS, 1)]
            found[f"{name}.decisions"] = len(rows)
            found[f"{name}{EPOCHS}"] = self.target.stopped[network].item() / self._epochs[network]
            if self._censored and network in _OF_BIDS:
                found[f"{name}.censored"] = len(self._training[network]) - len(rows)
            index, unit = (0, VALUE_SCALE**2) if network in VALUES else (1, 1.0)
            what = "error" if network in VALUES else "accuracy"
            found[f"{name}.train_{what}"] = self._mean_error(network, some)[index] * unit
            found[f"{name}.test_{what}"] = self._mean_error(network, apart)[index] * unit
            if network not in VALUES:
                counts = np.bincount(self.data.target[apart])
                found[f"{name}.most_frequent"] = counts.max() / counts.sum()
            else:
                found[f"{name}.variance"] = float(self.data.value[apart].var())
        return found
