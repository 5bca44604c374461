"""Faults of processes, of Ray, of the disk and of the line while a command works."""

import os
import random
import signal
import threading
from dataclasses import dataclass

from tests.chaos.places import Place
from tests.chaos.records import Fault
from tests.selfplay.commands import Command, Process, descendants, numbered

_ROLES = ("generator", "learner", "evaluator")
_ACTOR_WEIGHTS = {"kill": 4, "SIGTERM": 2, "stop": 1, "pause": 3}
"""What is done to actors; a stop is for good, a pause for a moment."""
_DRIVER_WEIGHTS = {"kill driver": 3, "SIGTERM driver": 3, "SIGINT driver": 2, "pause driver": 4}
_SIGNALS = {
    "kill": signal.SIGKILL,
    "SIGTERM": signal.SIGTERM,
    "SIGINT": signal.SIGINT,
    "stop": signal.SIGSTOP,
    "pause": signal.SIGSTOP,
}
_PROGRAMS = {"kill raylet": "/raylet/raylet", "kill head": "/gcs/gcs_server"}
"""Programs of Ray that are killed."""
_AT_WORK = (".generate", ".train", ".play")
_AT_WORK_WEIGHT = 8
"""How much likelier an actor is struck that works than one that starts or waits."""
_IDLE_SHARE = 0.2
"""How often something is done where nobody works: one that is killed again and again never starts."""
_PAUSE_SECONDS = (0.5, 2.5)
ENDING = {
    "kill driver": (30.0, None, ""),
    "SIGTERM driver": (120.0, 143, ""),
    "SIGINT driver": (120.0, 130, ""),
    "kill raylet": (180.0, 1, "error: Ray has died"),
    "kill head": (240.0, 1, "Failed to connect to GCS"),
    "full disk": (240.0, 2, r"cannot be written \(No space left on device\); free some space"),
}
"""Faults that end the command: within how many seconds, with which exit code, and what its line says."""


@dataclass
class Strike:
    """A fault that can be done now."""

    fault: Fault
    victim: Process | None
    """An actor; None for what strikes the whole command."""
    below: list[Process]
    """Processes of the command when it is struck."""

    def strike(self, command: Command, place: Place, drawn: random.Random) -> None:
        """Do it."""
        kind, seconds = self.fault.kind, drawn.uniform(*_PAUSE_SECONDS)
        what = kind.split()[0]
        victim = self.victim or numbered(command.pid)
        if kind == "kill driver":
            command.kill()
        elif kind in _PROGRAMS:
            for found in descendants(command.pid):
                if found.title.split()[0].endswith(_PROGRAMS[kind]):
                    send(found, signal.SIGKILL)
        elif kind in place.faults:
            place.strike(kind, drawn)
        elif victim:
            if what == "pause":
                threading.Timer(seconds, send, (victim, signal.SIGCONT)).start()
            send(victim, _SIGNALS[what])


def draw(command: Command, place: Place, drawn: random.Random) -> Strike | None:
    """Something that can be done now; None where no actor is there yet."""
    below = place.processes(command)
    options: list[tuple[float, str, Process | None]] = []
    working = False
    for role in _ROLES:
        for actor in (found for found in below if found.title.startswith(f"ray::{role.title()}")):
            weight = _AT_WORK_WEIGHT if actor.title.split()[0].endswith(_AT_WORK) else 1
            working |= weight > 1
            options += [(much * weight, f"{what} {role}", actor) for what, much in _ACTOR_WEIGHTS.items()]
    if not options or (not working and drawn.random() > _IDLE_SHARE):
        return None
    options += [(much, kind, None) for kind, much in {**_DRIVER_WEIGHTS, **place.faults}.items()]
    ((_, kind, victim),) = drawn.choices(options, [option[0] for option in options])
    return Strike(Fault(kind, victim.title.split()[0] if victim else ""), victim, below)


def send(to: Process, number: signal.Signals) -> None:
    """A signal, if it is still there."""
    if to.alive():
        os.kill(to.pid, number)
