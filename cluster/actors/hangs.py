"""When an actor that does not report its death counts as hung."""

from dataclasses import dataclass
from typing import Any

from cluster.actors.worker import Worker

SILENT_SECONDS = 120.0
"""Longest time without an answer. Python answers no query while a compiled kernel holds the interpreter."""
STUCK_SECONDS, STUCK_ITEMS = 600.0, 10
"""Longest time without progress: this multiple of the slowest item so far, and at least these seconds."""
STUCK_AT_FIRST_SECONDS = 3600.0
"""Longest time without progress while there is no estimate of an item's duration."""
FEW_ITEMS = 3
"""Fewer finished items than this give none."""
MOST_SECONDS = 2.0
"""Cap on the time that one tick counts: an actor is not blamed for a driver that was stopped or busy."""


@dataclass
class Pace:
    """How long items have taken so far. It outlives the pools of stages that take turns."""

    items_done: int = 0
    slowest: float = 0.0
    """Seconds."""


def hung(worker: Worker[Any], pace: Pace, item_timeout_s: float) -> str:
    """Why a worker counts as hung; empty if it does not. ``item_timeout_s``: see ``ActorPool``."""
    if worker.silent > (item_timeout_s or SILENT_SECONDS):
        return f"no answer for {worker.silent:.0f} s, cluster.item_timeout_s"
    if worker.silent > MOST_SECONDS:
        return ""  # nobody knows whether it makes progress
    still_limit = item_timeout_s or STUCK_SECONDS
    if not worker.started:
        late = worker.still > max(still_limit, STUCK_SECONDS)
        return f"not started after {worker.still:.0f} s" if late else ""
    if pace.items_done < FEW_ITEMS:
        late = worker.still > max(still_limit, STUCK_AT_FIRST_SECONDS)
        return f"no progress for {worker.still:.0f} s" if late else ""
    if worker.still > max(still_limit, STUCK_ITEMS * pace.slowest):
        return f"no progress for {worker.still:.0f} s; the slowest item before took {pace.slowest:.0f} s"
    return ""
