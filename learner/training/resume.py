"""Training state beside the weights, from which a killed learner resumes.

``<out>.partial/step-N`` is a whole checkpoint whose ``training/`` directory holds the optimiser, the target network
where there is one (both safetensors) and ``state.json``: step and schedule, data cursor, random state, loss history,
and the settings all of it belongs to. Each appears whole; only then is the one before it removed. The finished
checkpoint has the same ``training/`` without the target. All of it lies beside ``out``, a path or a URI, so that
another machine can resume.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save

from cluster.files import copies, storage, uris
from cluster.files.digests import check_digests, write_digests
from cluster.foreign import check_format
from cluster.leaving import leaving
from games.game import Game
from learner.model.architecture import same_value
from learner.model.checkpoint import CONFIG_FILE, TRAINING, Network, Players, read_tensors, write_model
from learner.training.optimizer import Optimizer

SAVE_SECONDS = 300.0
"""Training time after which a resumable checkpoint is written before ``checkpoint_every_steps``, which may take hours
on a CPU."""
_LEAVING_SECONDS = 5.0
"""The same while this machine is about to go, behind a checkpoint at the first step that knows of it."""

_FORMAT = 1
_OPTIMIZER_FILE = "optimizer.safetensors"
_TARGET_FILE = "target.safetensors"
_STATE_FILE = "state.json"


@dataclass
class TrainingState:
    """State of training after ``step`` optimiser steps."""

    settings: dict[str, Any]
    """Everything the result depends on: architecture, learner settings, seed, data, first weights, game."""
    step: int = 0
    epoch: int = 0
    """Data cursor: epoch under way ..."""
    batch: int = 0
    """... and batches of it that are done."""
    random_state: dict[str, int] = field(default_factory=dict)
    """Seed and step, from which dropout, outcome positions and the order of an epoch follow."""
    schedule: dict[str, float] = field(default_factory=dict)
    """``num_steps``, and the learning rate of the last step."""
    pending: list[float] = field(default_factory=list)
    """Sums of the losses since the last line of the history, in the order of ``Objective.names``."""
    history: list[dict[str, float]] = field(default_factory=list)
    """Mean losses every ``log_every_steps`` steps."""
    seconds: float = 0.0
    """Training time so far, over all commands."""
    metrics: dict[str, float] = field(default_factory=dict)
    """Final metrics; empty until training is finished."""


@dataclass(frozen=True)
class Kept:
    """Contents of a training's checkpoint."""

    game: Game
    net: Network
    optimizer: Optimizer
    state: TrainingState
    target: Any = None
    """Target network, of the same shape, or None."""
    players: Players = field(default_factory=dict)
    """See ``learner.model.checkpoint.read_players``."""

    def write(self, directory: Path) -> None:
        """Write all of it into an existing directory."""
        write_model(directory, self.net, self.game, players=self.players)
        training = directory / TRAINING
        training.mkdir()
        tensors = {name: moment.cpu() for name, moment in self.optimizer.moments(self.state.step).items()}
        (training / _OPTIMIZER_FILE).write_bytes(save(tensors))  # raises OSError for a full disk, unlike save_file
        if self.target:
            weights = {name: tensor.cpu().contiguous() for name, tensor in self.target.state_dict().items()}
            (training / _TARGET_FILE).write_bytes(save(weights))
        record = {"format": _FORMAT, **asdict(self.state)}
        (training / _STATE_FILE).write_text(json.dumps(record, indent=1) + "\n")
        write_digests(directory)

    def read_moments(self, checkpoint: Path) -> None:
        """Take the moments and the target network of a resumable checkpoint; ``UserError`` where they are damaged."""
        tensors = _tensors(checkpoint, _OPTIMIZER_FILE)
        for name, moment in self.optimizer.moments(self.state.step).items():
            moment.copy_(tensors[name])
        if self.target:
            self.target.load_state_dict(_tensors(checkpoint, _TARGET_FILE))


def _tensors(checkpoint: Path, name: str) -> dict[str, torch.Tensor]:
    check_digests(checkpoint, [f"{TRAINING}/{name}"])
    return read_tensors(checkpoint / TRAINING / name)


class Clock:
    """Training time over all commands, and the times of saving."""

    def __init__(self, state: TrainingState, every_steps: int) -> None:
        """``every_steps``: ``learner.checkpoint_every_steps``, 0 for never."""
        self._state, self._every_steps = state, every_steps
        self._began = self._saved = time.perf_counter()
        self._before = state.seconds
        self._leaving = False

    def stop(self) -> float:
        """Write the seconds of all commands so far into the state, and return them."""
        self._state.seconds = self._before + time.perf_counter() - self._began
        return self._state.seconds

    def save_due(self, ends: bool) -> bool:
        """Whether a resumable checkpoint is due after this step, as where training ``ends`` here; if so, updates the
        state's ``seconds``."""
        if not self._every_steps:
            return False
        before, self._leaving = self._leaving, leaving()
        late = time.perf_counter() - self._saved >= (_LEAVING_SECONDS if self._leaving else SAVE_SECONDS)
        if due := ends or late or self._leaving > before or self._state.step % self._every_steps == 0:
            self._saved = time.perf_counter()
            self.stop()
        return due


def partial_path(out: str | Path) -> str:
    """Directory of the resumable checkpoints of ``out``."""
    return uris.beside(out, ".partial")


def save_partial(out: str | Path, kept: Kept) -> None:
    """Write the resumable checkpoint of this step, then remove earlier ones."""
    directory, current = partial_path(out), f"step-{kept.state.step:09d}"
    if not storage.is_published(f"{directory}/{current}"):
        storage.write_directory_atomic(f"{directory}/{current}", kept.write)
    for other in storage.list_names(directory):
        if other != current:
            storage.remove_directory(f"{directory}/{other}")


def save_finished(out: str | Path, kept: Kept) -> None:
    """Publish the finished checkpoint, without a target, and remove resumable ones."""
    storage.write_directory_atomic(out, replace(kept, target=None).write)
    storage.remove_directory(partial_path(out))


def read_finished(out: str | Path, settings: Mapping[str, Any]) -> TrainingState | None:
    """The state of the finished checkpoint ``out``, if it is finished; ``ValueError`` as ``read_state``, or where any
    file of it is damaged."""
    if not storage.is_published(out):
        return None
    finished = copies.local_copy(out)
    state = read_state(finished, settings)
    check_digests(finished)
    return state


def find_partial(out: str | Path) -> Path | None:
    """A local directory with the newest resumable checkpoint of ``out``, if there is one."""
    directory = partial_path(out)
    steps = [name for name in storage.list_names(directory) if storage.is_published(f"{directory}/{name}")]
    return copies.local_copy(directory) / steps[-1] if steps else None


def _said(key: str, settings: Mapping[str, Any]) -> str:
    value = settings.get(key)
    return f"no {key}" if value is None else f"{key}={value}"


def read_state(checkpoint: Path, settings: Mapping[str, Any]) -> TrainingState:
    """The training state of a checkpoint; ``ValueError`` naming the first setting that differs. Checks only small files
    for damage; loading checks weights and moments, which take long to hash."""
    file = checkpoint / TRAINING / _STATE_FILE
    if not file.is_file():
        raise ValueError(
            f"{file}: no such file; {checkpoint} was not written by the learner; remove it, or train into "
            "another directory"
        )
    check_digests(checkpoint, [f"{TRAINING}/{_STATE_FILE}", CONFIG_FILE])
    record = storage.read_json(file)
    try:
        check_format(record.pop("format", None), _FORMAT)
    except ValueError as error:
        raise ValueError(f"{file}: {error}; train into another directory") from error
    state, expected = TrainingState(**record), json.loads(json.dumps(dict(settings)))
    for key in [*expected, *state.settings]:
        was, is_now = state.settings.get(key), expected.get(key)
        if not (same_value(was, is_now) if key.startswith("model.") else was == is_now):
            before, now = (_said(key, kept) for kept in (state.settings, expected))
            raise ValueError(
                f"{checkpoint}: was trained with {before}, now {now} is asked for; use the same settings, train into "
                "another directory, or remove that training"
            )
    return state
