"""The network that the directory of a run stands for, wherever a checkpoint is named: its newest accepted one."""

import re
from pathlib import Path
from typing import Any

import yaml

from cluster.files import storage

_ITERATIONS = "iterations"


def newest(checkpoint: str | Path) -> str:
    """The checkpoint that a name stands for: for the directory of a run, a path or a URI, its newest network that has
    passed the run's gate (``selfplay.gate``), if there is one; any other name stays as it is.

    A run goes on while others read it, so a command asks once, and gives its processes the answer.

    Raises ``ValueError`` for a run without a network.
    """
    name = str(checkpoint)
    if not name or name.startswith("kibitz:") or not storage.is_directory(f"{name}/{_ITERATIONS}"):
        return name
    margin = _margin(f"{name}/config.yaml")
    for number in sorted(_numbers(name), reverse=True):
        directory = f"{name.rstrip('/')}/{_ITERATIONS}/{number:03d}"
        if storage.is_published(f"{directory}/checkpoint") and (
            margin is None or not number or _lead(f"{directory}/gate.json") > margin
        ):
            return f"{directory}/checkpoint"
    raise ValueError(f"{name}: is a run without a network yet; wait until it has trained one, or name a checkpoint")


def _numbers(run: str) -> list[int]:
    names = storage.list_names(f"{run}/{_ITERATIONS}")
    return [int(name) for name in names if re.fullmatch(r"[0-9]{3,9}", name)]


def _margin(settings: str) -> float | None:
    """What a new network's lead must exceed; None for a run that accepts all."""
    try:
        recorded = yaml.safe_load(storage.read_text(settings))
        gate = recorded["selfplay"]["gate"]
        return float(gate["margin"]) if gate["deals"] else None
    except FileNotFoundError:
        return None
    except (yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _not_of_a_run(settings, error) from error


def _lead(gate: str) -> float:
    """Lead of a network over the best one before it; minus infinity while the gate is unplayed."""
    try:
        first: Any = storage.read_json(gate)[0]
        return float(first["columns"][0]["comparisons"][0]["advantage"])
    except FileNotFoundError:
        return float("-inf")
    except (KeyError, IndexError, TypeError, RecursionError) as error:
        raise _not_of_a_run(gate, error) from error


def _not_of_a_run(file: str, error: Exception) -> ValueError:
    reason = " ".join(str(error).split())
    return ValueError(f"{file}: is not what a run writes there ({reason}); restore it, or name one of its checkpoints")
