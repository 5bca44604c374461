"""Which device an actor computes on, by the share of a GPU that it is lent."""

import dataclasses
from typing import TypeVar

from cluster.config import ClusterConfig
from cluster.errors import UserError
from learner.config import EngineConfig, LearnerConfig

Device = TypeVar("Device", EngineConfig, LearnerConfig)


def check_devices(config: ClusterConfig, **asked: EngineConfig | LearnerConfig) -> None:
    """Check that every actor that is to compute on a GPU is lent one.

    Args:
        asked: role (``generator``, ``evaluator``, ``learner``) -> what it computes with.

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
    """``device=auto`` as it is for an actor with this share of a GPU, whatever the driver's machine has: ``cuda`` with
    one, as an error is better than hours on a CPU, and ``cpu`` without."""
    if config.device != "auto":
        return config
    return dataclasses.replace(config, device="cuda" if gpus else "cpu")
