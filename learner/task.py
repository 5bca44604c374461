"""Training one iteration's network as a unit of work: the work of a learner actor, without Ray."""

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from cluster.errors import UserError, blaming_input, needing_memory
from cluster.files.copies import fetched
from cluster.memory import fits_memory
from cluster.watching.logs import logged
from games.config import GameConfig
from games.game import Game
from games.registry import make_game
from learner import kinds
from learner.config import LearnerConfig, NetworkConfig
from learner.model.checkpoint import Network, Players, checkpoint_id
from learner.network_kind import NetworkKind, TrainingSetup
from learner.training.loop import Progress, train
from learner.training.objective import EPOCHS
from learner.training.parallel import Group

SHOWN = (
    "loss",
    "observation_loss",
    "outcome_loss",
    "branch_loss",
    "entropy",
    "magnet_kl",
    "clipped",
    "tokens_per_second",
    "states_per_second",
    "matmul_share",
)
"""Metrics of a training under way that progress lines show, beside its step."""
KERNELS_KEPT = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
"""Environment variable that oneDNN reads at a process's first matrix product."""


def cut_short(metrics: Mapping[str, float]) -> str:
    """A line for people where ``max_steps`` ended parts of a training before their first epoch had, so that early
    stopping had no say; else empty."""
    epochs = {name.removesuffix(EPOCHS): value for name, value in metrics.items() if name.endswith(EPOCHS)}
    few = [f"{name} {value:.1f}" for name, value in epochs.items() if value < 1]
    return f"epochs of {', '.join(few)}: stopped by learner.max_steps, not by early stopping" if few else ""


@dataclass(frozen=True)
class TrainingTask:
    """All inputs of a training. Two equal tasks give the same weights on the same hardware."""

    game: GameConfig
    model: NetworkConfig
    """Settings of the kind that it names."""
    learner: LearnerConfig
    shards: tuple[str, ...]
    """Paths of the shards, in order."""
    out: str
    """Directory of the finished checkpoint, a path or a URI. ``<out>.partial`` holds what a killed learner resumes
    from, on whatever machine."""
    init_from: str | None
    """Checkpoint whose weights training starts from; None for fresh ones."""
    seed: int
    players: Players = field(default_factory=dict)
    """Settings that come with the network; nothing else depends on them."""


class Learner:
    """Trains one task at a time; another thread may query its progress."""

    def __init__(self) -> None:
        self._progress: Mapping[str, float] = {}
        self._group: Group | None = None
        self._stop = threading.Event()

    @logged("{0.out}")
    def train(self, task: TrainingTask) -> dict[str, float]:
        """``run_task``; ``progress`` reports on it meanwhile."""
        self._progress = {}
        return run_task(task, self._note, self._group, self._stop)

    def stop(self) -> None:
        """Have the training under way write its resumable checkpoint at the next step, and fail."""
        self._stop.set()

    def meet(self, host: str, size: int) -> str:
        """Open a group as its first learner, on this machine's address; returns the address for the others."""
        self._group = Group(host, size)
        return self._group.address

    def train_together(self, task: TrainingTask, host: str, size: int, rank: int, address: str) -> dict[str, float]:
        """``train`` as one of a group, whose first has opened ``address`` by ``meet``; metrics from the first alone."""
        self._group = group = self._group if rank == 0 and self._group else Group(host, size, rank, address)
        try:
            metrics = self.train(task)
            group.end()
            return metrics
        finally:
            self._group = None
            group.leave()

    def progress(self) -> Mapping[str, float]:
        """The latest metrics of the training under way; empty before the first."""
        return self._progress

    def _note(self, metrics: dict[str, float]) -> None:
        self._progress = metrics


def check_size(game: Game, model: NetworkConfig) -> None:
    """``UserError`` for a network whose checkpoints would be taken for another kind, or that is too large for this
    machine: weights, gradients and two moments take 16 bytes a parameter. Batches are not estimated."""
    kind = kinds.find(model.kind)
    arch = kind.architecture(game, model)
    written = _shape(kind, arch).config_record(game)["model_type"]
    if written != kind.model_type:
        raise UserError(f"model.kind={kind.name}: its checkpoints say model_type {written!r}, not {kind.model_type!r}")
    numbers = num_weights(kind, arch)
    fits_memory(f"training a network of {numbers:,} weights", 16 * numbers, f"lower {kind.size_keys}")


def num_weights(kind: NetworkKind, arch: Any) -> int:
    """Numbers that a network of this shape learns."""
    return sum(weights.numel() for weights in _shape(kind, arch).parameters())


def _shape(kind: NetworkKind, arch: Any) -> Network:
    """The network without memory for its weights."""
    with torch.device("meta"):
        return kind.build(arch)


@needing_memory("training", "learner.batch_size, the size of the network, or how much it is trained on")
def run_task(
    task: TrainingTask, on_progress: Progress, group: Group | None = None, stop: threading.Event | None = None
) -> dict[str, float]:
    """Train alone or in a group, or go on where a killed learner stopped, or return at once if the checkpoint is there.

    Returns the final metrics, and raises; see ``learner.training.loop.train``. ``UserError`` for a network that no
    group can train.
    """
    # Each batch with branches has different shapes, and oneDNN would keep kernels for 1,024 of them (docs/learner.md).
    os.environ.setdefault(KERNELS_KEPT, "256")
    game = make_game(task.game.name, task.game.options)
    with blaming_input():
        kind = kinds.find(task.model.kind)
        check_size(game, task.model)  # the driver may be another machine
        kind.check_training(group.size if group else 1, learner=task.learner)
        if task.init_from:  # an error comes before the data is read, which takes long
            checkpoint_id(task.init_from, loaded_later=True)
        with fetched(task.shards) as shards:
            objective = kind.objective(TrainingSetup(kind, game, task.model, task.learner, shards, task.seed, group))
    return train(objective, task.out, task.init_from, on_progress, task.players, stop)
