"""The training loop's interface to a kind of network."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from games.game import Game
from learner.config import LearnerConfig
from learner.model.network import device_of, dtype_of, precision_of
from learner.training.parallel import Group

EPOCHS = ".epochs"
"""Behind a part's name in ``Objective.figures``: of a network that stops by itself, the epochs until it did."""


class Objective(ABC):
    """Objective of one kind of network: its data, the losses of a step, and metrics."""

    names: tuple[str, ...]
    """Names of the losses, ordered as ``training/state.json`` holds their sums."""
    rows_are: str
    """What a row of the data is: ``sequences`` or ``decisions``."""
    free_at_start: tuple[str, ...] = ()
    """Settings of the architecture that may differ from the initial weights'."""
    has_dropout = False
    """Whether the result depends on the number of learners, each of which draws its own dropout."""
    arch: Any
    """A dataclass."""
    net: Any
    """The network in training; from ``begin`` on."""
    target: Any = None
    """A network of the same shape that is saved with ``net`` for resuming, or None."""
    data: Any
    """The data, with row numbers ``training`` and ``validation``; from ``load`` on."""
    figures: Mapping[str, float] = {}
    """What is told of the data beside the losses; from ``load`` on."""
    rows_at_once: int
    """Held-out rows of one forward pass."""
    steps_per_epoch: int
    """Available after ``load``."""
    in_epochs = False
    """Whether an epoch goes through all rows, and is shown."""

    def __init__(self, game: Game, config: LearnerConfig, seed: int, group: Group | None = None) -> None:
        """``ValueError`` where there is no such device."""
        self.game, self.seed, self.group = game, seed, group
        self.device = device_of(config.device, "learner.device")
        self.config = replace(config, precision=precision_of(config.precision, self.device))
        self.dtype = dtype_of(self.config.precision)

    @property
    def num_steps(self) -> int:
        """Number of steps of the whole training."""
        every = self.steps_per_epoch * self.config.num_epochs
        return min(every, self.config.max_steps or every)

    @property
    def finished(self) -> bool:
        """Whether nothing is left to learn, before ``num_steps`` are done."""
        return False

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Settings of the network and the learner that decide the result, by their names on the command line."""

    @abstractmethod
    def load(self, shards: Sequence[str]) -> None:
        """Read the data. ``ValueError`` naming what cannot be trained on."""

    @abstractmethod
    def fresh(self) -> Any:
        """The network with fresh weights from the seed, on the CPU."""

    @abstractmethod
    def read(self, start: str | Path) -> Any:
        """The network of a checkpoint, on the CPU; ``ValueError`` where it holds no such network."""

    def begin(self, net: Any) -> None:
        """Train ``net``, which is on the device."""
        self.net = net

    @abstractmethod
    def rows(self, step: int) -> np.ndarray:
        """``int64[B]``: the rows of step number ``step``, from 0."""

    @abstractmethod
    def losses(self, rows: np.ndarray, step: int) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """The loss whose gradient this step follows, and its parts by ``names``; ``float32[]`` each. In a group, this
        learner's share of them."""

    def after_step(self, step: int) -> None:
        """Hook after step number ``step``."""
        return

    @abstractmethod
    def line(self, means: Mapping[str, float]) -> dict[str, float]:
        """Metrics to show from mean losses, with the whole ``loss``."""

    @abstractmethod
    def measure(self, rows: np.ndarray) -> dict[str, tuple[torch.Tensor, int]]:
        """Name -> mean over held-out rows, and its number of summands."""

    def amount(self, rows: np.ndarray) -> int:
        """Amount of data of a step on ``rows``, in the unit of ``rates``."""
        return len(rows)

    @abstractmethod
    def rates(self, per_second: float) -> dict[str, float]:
        """The metrics of speed."""
