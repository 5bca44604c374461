"""Checks of settings, with one form of message: ``group.key=value: must be at least 1``.

Configurations call them in ``__post_init__``, so that a bad value is refused before any work starts.
"""

import math
from collections.abc import Collection


def require(holds: bool, group: str, config: object, key: str, wanted: str) -> None:
    """``ValueError`` naming ``group.key``, its value and what is ``wanted`` of it, unless that ``holds``.

    Args:
        group: name of the group of settings, empty at the top level.
        config: object that holds the value as attribute ``key``.
    """
    if not holds:
        name = f"{group}.{key}" if group else key
        raise ValueError(f"{name}={getattr(config, key)}: must be {wanted}")


def finite(group: str, config: object, *keys: str) -> None:
    """Each of these settings must be a number other than infinity and NaN, which YAML can write too."""
    for key in keys:
        require(math.isfinite(getattr(config, key)), group, config, key, "a finite number")


def at_least(group: str, config: object, low: float, *keys: str) -> None:
    """Each of these settings must be finite and at least ``low``."""
    finite(group, config, *keys)
    for key in keys:
        require(getattr(config, key) >= low, group, config, key, f"at least {low}")


def above(group: str, config: object, low: float, *keys: str) -> None:
    """Each of these settings must be finite and above ``low``."""
    finite(group, config, *keys)
    for key in keys:
        require(getattr(config, key) > low, group, config, key, f"above {low}")


def at_least_below(group: str, config: object, low: float, high: float, *keys: str) -> None:
    """Each of these settings must be at least ``low`` and below ``high``."""
    for key in keys:
        require(low <= getattr(config, key) < high, group, config, key, f"at least {low} and below {high}")


def within(group: str, config: object, low: float, high: float, *keys: str) -> None:
    """Each of these settings must lie in ``low .. high``, both included."""
    for key in keys:
        require(low <= getattr(config, key) <= high, group, config, key, f"between {low} and {high}")


def one_of(group: str, config: object, choices: Collection[str], *keys: str) -> None:
    """Each of these settings must be one of ``choices``."""
    for key in keys:
        require(getattr(config, key) in choices, group, config, key, f"one of {', '.join(choices)}")
