"""What a training starts from: the settings that decide its result, and its first weights."""

from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from cluster.errors import UserError
from games.game import Game
from games.rng import derive
from learner.config import LearnerConfig
from learner.model.architecture import Architecture
from learner.model.checkpoint import checkpoint_id, game_record, load_weights
from learner.model.network import PolicyValueNet, initialise
from learner.model.outcome_init import start_outcome_head
from learner.training.data import HELD_OUT
from learner.training.resume import HELD_OUT_KEY

_FREE_TO_CHANGE = ("device", "num_threads", "checkpoint_every_steps", "log_every_steps", "min_rows")
"""Learner settings that a resumed run may change: they do not decide what is learned."""
HOLDING_OUT = {HELD_OUT_KEY: f"one deal in {HELD_OUT} by its seed"}
"""Which deals no training sees; trainings of before, which chose by their own seeds, do not go on."""
_FREE_AT_START = ("embd_pdrop", "resid_pdrop", "outcome_init", "initializer_range")
"""Model settings in which a run may differ from the weights it starts from."""


def training_settings(
    game: Game, arch: Architecture, config: LearnerConfig, seed: int, init_from: str | Path | None, digest: str
) -> dict[str, Any]:
    """Everything the result depends on, by the name it has on the command line."""
    learner = {f"learner.{key}": value for key, value in asdict(config).items() if key not in _FREE_TO_CHANGE}
    for key, unset in (("branch_weight", 0.0), ("others_weight", 1.0)):
        if getattr(config, key) == unset:
            del learner[f"learner.{key}"]  # so that trainings begun before there was such a setting can go on
    return {
        **game_record(game),
        **HOLDING_OUT,
        **{f"model.{key}": value for key, value in arch.record().items()},
        **learner,
        "seed": seed,
        "init_from": checkpoint_id(init_from, loaded_later=True) if init_from else None,
        "data": digest,
    }


def check_initial(init_from: str | Path | None) -> None:
    """Of a training that resumes, and does not load again what it began with: that it is still what it was."""
    if init_from:
        checkpoint_id(init_from)


def check_dropout(partial: str, arch: Architecture, before: int, now: int) -> None:
    """``UserError`` where dropout was drawn by another number of learners; nothing else depends on it."""
    if before != now and (arch.embd_pdrop or arch.resid_pdrop):
        raise UserError(
            f"{partial}: was trained with cluster.learners={before}, and {now} draw other dropout; use "
            f"{before} until this network is finished, or remove that directory to train it anew"
        )


def first_network(game: Game, arch: Architecture, start: str | Path | None, seed: int) -> PolicyValueNet:
    """The network training starts or goes on from."""
    net = PolicyValueNet(arch)
    if start is None:
        initialise(net, derive(seed, "weights"))
        if arch.outcome_init == "points":
            start_outcome_head(
                net.val_head.weight, game.outcomes.points, arch.initializer_range, derive(seed, "outcome head")
            )
        return net
    weights = load_weights(start, game)
    for key in (field.name for field in fields(Architecture) if field.name not in _FREE_AT_START):
        if getattr(weights.arch, key) != getattr(arch, key):
            raise ValueError(
                f"{start}: has {key}={getattr(weights.arch, key)}, but model.{key}={getattr(arch, key)} is asked for; "
                "start from weights of the same shape"
            )
    net.load_state_dict(weights.state_dict())
    return net
