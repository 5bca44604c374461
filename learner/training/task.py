"""Training one iteration's network as a unit of work: what a learner actor does, without Ray."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch

from cluster.errors import UserError, blaming_input, needing_memory
from cluster.memory import fits_memory
from cluster.watching.logs import logged
from games.config import GameConfig
from games.game import Game
from games.registry import make_game
from learner.config import LearnerConfig, ModelConfig, QNetworkConfig
from learner.model.architecture import architecture
from learner.model.network import PolicyValueNet
from learner.q_network.network import QNet, q_architecture
from learner.q_network.objective import QObjective
from learner.training.loop import Progress, train
from learner.training.objective import Objective
from learner.training.parallel import Group
from learner.training.sequences import SequenceObjective

KERNELS_KEPT = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
"""Environment variable that oneDNN reads at a process's first matrix product."""


@dataclass(frozen=True)
class TrainingTask:
    """Everything that fixes what is trained. Two equal tasks give the same weights on the same hardware."""

    game: GameConfig
    model: ModelConfig
    learner: LearnerConfig
    shards: tuple[str, ...]
    """Paths of the shards, in order."""
    out: str
    """Directory of the finished checkpoint, a path or a URI. ``<out>.partial`` holds what a killed learner resumes
    from, on whatever machine."""
    init_from: str | None
    """Checkpoint whose weights training starts from; None for fresh ones."""
    seed: int
    q_network: QNetworkConfig = field(default_factory=QNetworkConfig)
    """A Q-network in place of ``model``, if it is wanted."""


class Learner:
    """Trains one task at a time and can be asked meanwhile how far it is."""

    def __init__(self) -> None:
        self._progress: Mapping[str, float] = {}
        self._group: Group | None = None

    @logged("{0.out}")
    def train(self, task: TrainingTask) -> dict[str, float]:
        """``run_task``; ``progress`` tells meanwhile how far it is."""
        self._progress = {}
        return run_task(task, self._note, self._group)

    def meet(self, host: str, size: int) -> str:
        """Be the first of a group, on this machine's address; where the others find it."""
        self._group = Group(host, size)
        return self._group.address

    def train_together(self, task: TrainingTask, host: str, size: int, rank: int, address: str) -> dict[str, float]:
        """``train`` as one of a group, whose first has opened ``address`` by ``meet``; metrics from the first alone."""
        self._group = group = self._group if rank == 0 and self._group else Group(host, size, rank, address)
        try:
            return self.train(task)
        finally:
            self._group = None
            group.leave()

    def progress(self) -> Mapping[str, float]:
        """The latest metrics of the training under way; empty before the first."""
        return self._progress

    def _note(self, metrics: dict[str, float]) -> None:
        self._progress = metrics


def check_size(game: Game, model: ModelConfig, q_network: QNetworkConfig) -> None:
    """``UserError`` for a network that this machine cannot train: weights, gradients and two moments, 16 bytes each
    number. Batches are no larger than the data, so no estimate of them is made beforehand."""
    with torch.device("meta"):
        net = QNet(q_architecture(game, q_network)) if q_network.wanted else PolicyValueNet(architecture(game, model))
    numbers = sum(weights.numel() for weights in net.parameters())
    group = "q_network.width" if q_network.wanted else "model.n_layer, n_embd or n_inner"
    fits_memory(f"training a network of {numbers:,} weights", 16 * numbers, f"lower {group}")


@needing_memory("training", "learner.batch_size, the size of the network, or how much it is trained on")
def run_task(task: TrainingTask, on_progress: Progress, group: Group | None = None) -> dict[str, float]:
    """Train alone or in a group, or go on where a killed learner stopped, or return at once if the checkpoint is there.

    Returns the final metrics, and raises; see ``learner.training.loop.train``. ``UserError`` for a Q-network that a
    group is to train.
    """
    # Each batch with branches has shapes of its own, and oneDNN would keep kernels of the last 1,024 (docs/learner.md).
    os.environ.setdefault(KERNELS_KEPT, "32")
    game = make_game(task.game.name, task.game.options)
    with blaming_input():
        check_size(game, task.model, task.q_network)  # the driver may be another machine
        objective = _objective(task, game, group)
    return train(objective, task.shards, task.out, task.init_from, on_progress)


def _objective(task: TrainingTask, game: Game, group: Group | None) -> Objective:
    if not task.q_network.wanted:
        return SequenceObjective(game, task.model, task.learner, task.seed, group)
    if group:
        raise UserError(f"cluster.learners={group.size}: a Q-network is trained by one learner; give 1")
    return QObjective(game, task.q_network, task.learner, task.seed)
