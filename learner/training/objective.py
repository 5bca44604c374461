"""What the training loop follows: one class for each kind of network."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from games.rng import derive
from learner.model.network import device_of, dtype_of, precision_of
from learner.network_kind import TrainingSetup
from learner.training.data import data_digest
from learner.training.sending import Sent

EPOCHS = ".epochs"
"""Suffix in ``Objective.figures``: the epochs after which a part of the network stopped by itself."""
_LEARNER_KEYS = (
    *("learning_rate", "schedule", "warmup_steps", "num_epochs", "max_steps", "batch_size"),
    *("weight_decay", "betas", "grad_clip", "precision"),
)


class Objective(ABC):
    """The data of a training and the losses of its steps.

    A class reads the data in ``__init__``, sets ``training`` and ``validation``, and defines ``losses``. By default an
    epoch goes through all rows in an order of its own, and held-out rows are measured by the same losses.
    """

    names: tuple[str, ...] = ("loss",)
    """Names of the losses, ordered as ``training/state.json`` holds their sums."""
    rows_are = "rows"
    """What a row of the data is, in the names of metrics: ``sequences`` or ``decisions``."""
    training: np.ndarray
    """``int64[...]``: the rows to train on."""
    validation: np.ndarray
    """``int64[...]``: the held-out rows, of whole deals; may be empty."""
    rows_at_once = 4096
    """Held-out rows of one forward pass."""
    in_epochs = True
    """Whether metrics show the epoch."""
    has_dropout = False
    """Whether the result depends on the number of learners, each of which draws its own dropout."""
    net: Any
    """The network in training, from ``begin`` on."""
    target: Any = None
    """A torch module that resumable checkpoints hold beside the network, or None."""
    generator: torch.Generator
    """On the device: where the losses draw from."""
    figures: Mapping[str, float] = {}
    """Final metrics beside the losses."""

    def __init__(self, setup: TrainingSetup) -> None:
        """``ValueError`` where there is no such device or shard, or where the game does not fit."""
        self.setup, self.game, self.arch = setup, setup.game, setup.arch
        self.seed, self.group = setup.seed, setup.group
        self.device = device_of(setup.learner.device, "learner.device")
        self.config = replace(setup.learner, precision=precision_of(setup.learner.precision, self.device))
        self.dtype, self.generator = dtype_of(self.config.precision), torch.Generator(self.device)
        self.data_digest = data_digest(setup.shards)
        self._orders: dict[int, np.ndarray] = {}

    @cached_property
    def steps_per_epoch(self) -> int:
        """Steps of an epoch; the last batch may be smaller than the others."""
        return -(-len(self.training) // self.config.batch_size)

    @property
    def num_steps(self) -> int:
        """Number of steps of the whole training."""
        every = self.steps_per_epoch * self.config.num_epochs
        return min(every, self.config.max_steps or every)

    @property
    def finished(self) -> bool:
        """Whether nothing is left to learn, before ``num_steps`` are done."""
        return False

    def settings(self) -> dict[str, Any]:
        """Settings of the network and the learner that decide the result, by their names on the command line."""
        model = asdict(self.arch) | asdict(self.setup.model)
        del model["kind"]
        learner = {f"learner.{key}": getattr(self.config, key) for key in _LEARNER_KEYS}
        learner["learner.schedule_steps"] = self.config.schedule_steps or None  # none: the schedule ends with training
        return {f"model.{key}": value for key, value in model.items()} | learner

    def begin(self, net: Any) -> None:
        """Train ``net``, which is on the device."""
        self.net = net

    def rows(self, step: int) -> np.ndarray:
        """``int64[B]``: the rows of step number ``step``, from 0."""
        epoch, batch = divmod(step, self.steps_per_epoch)
        orders = self._orders
        if epoch not in orders:  # threads may still make batches of the epoch before
            earlier = {known: order for known, order in orders.items() if known == epoch - 1}
            self._orders = orders = earlier | {epoch: epoch_order(self.training, self.seed, epoch)}
        return orders[epoch][batch * self.config.batch_size :][: self.config.batch_size]

    def batch(self, rows: np.ndarray, step: int) -> Sent[Any]:
        """What ``losses`` takes of some rows, in a group this learner's part of it; here the rows. Before a step it
        also seeds the ``generator``."""
        return Sent(torch.from_numpy(rows), self.device)

    @abstractmethod
    def losses(self, batch: Any) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """The loss whose gradient a step follows, and its parts by ``names``; ``float32[]`` each. In a group, this
        learner's share of them. On a GPU it becomes a CUDA graph: it depends on the tensors of ``batch`` and on what
        changes in place alone, and never waits for the device."""

    def after_step(self, step: int) -> None:
        """Hook after step number ``step``, from 1."""
        return

    def measure(self, rows: np.ndarray) -> dict[str, tuple[torch.Tensor, int]]:
        """Name -> mean over held-out rows, and its number of summands."""
        return {name: (part, len(rows)) for name, part in self.losses(self.batch(rows, 0).arrived())[1].items()}

    def line(self, means: Mapping[str, float]) -> dict[str, float]:
        """Metrics to show from mean losses, with the whole ``loss``."""
        return dict(means)

    def amount(self, rows: np.ndarray) -> int:
        """Amount of data of a step on ``rows``, in the unit of ``rates``."""
        return len(rows)

    def rates(self, per_second: float) -> dict[str, float]:
        """Metrics of speed."""
        return {f"{self.rows_are}_per_second": per_second}


def epoch_order(training: np.ndarray, seed: int, epoch: int) -> np.ndarray:
    """``int64[...]``: the training rows in the order of one epoch, a function of seed and epoch alone."""
    return np.random.default_rng(derive(seed, "epoch", epoch)).permutation(training)
