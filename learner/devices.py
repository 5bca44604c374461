"""Device of an actor, by the share of a GPU that it is assigned."""

import dataclasses
from typing import TypeVar

from cluster.config import ClusterConfig
from cluster.errors import UserError
from learner.config import EngineConfig, LearnerConfig

Device = TypeVar("Device", EngineConfig, LearnerConfig)


def check_devices(config: ClusterConfig, **asked: EngineConfig | LearnerConfig) -> None:
    """Check that every actor with ``device=cuda`` is assigned a GPU.

    Args:
        asked: role (``generator``, ``evaluator``, ``learner``) -> its settings.

    Raises:
        UserError: ``device=cuda`` and no share of a GPU; names both keys.
    """
    for role, settings in asked.items():
        key = "learner.device" if role == "learner" else "engine.device"
        if settings.device == "cuda" and not getattr(config, f"{role}_gpus"):
            raise UserError(
                f"{key}=cuda: cluster.{role}_gpus=0 lends it no GPU; set cluster.{role}_gpus above 0, or {key}=auto"
            )


def on_lent_device(config: Device, gpus: float) -> Device:
    """Resolve ``device=auto`` for an actor with this share of a GPU, independent of the driver's machine: ``cuda`` with
    a share (an error is better than hours on a CPU), else ``cpu``."""
    if config.device != "auto":
        return config
    return dataclasses.replace(config, device="cuda" if gpus else "cpu")
