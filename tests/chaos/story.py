"""One disturbed run, from its first command to the end that it would have had anyway."""

import random
import re
import signal
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos import strikes
from tests.chaos.places import Bucket, Place
from tests.chaos.records import BY_ITSELF, REFUSED, RESUMED, Fault, Story, say
from tests.chaos.worlds import WORLDS
from tests.selfplay.commands import Command, Process, gone

_PAUSE = (0.5, 2.5)
"""Seconds between two faults."""
_MOST_STRIKES = 15
"""Faults of processes in one command, so that it gets somewhere."""
_STARTS = 60
_SAME_ENDS = 4
"""Commands after which a run that still has not finished never will, and how many in a row that say the same."""
_COMMAND_SECONDS = 600.0
"""Time after which a command hangs."""
_AT_ONCE_SHARE = 0.8
"""How often the command is given again while actors of a killed one are still ending."""
_ENDS_SECONDS = 90.0
"""Time in which actors end whose command was killed."""


@dataclass
class Play:
    """A story under way."""

    root: Path
    world: str
    place: Place
    random: random.Random
    wanted: int
    """Faults."""
    story: Story = field(default_factory=Story)
    started: list[Command] = field(default_factory=list)
    stopped: list[Process] = field(default_factory=list)
    orphans: list[Process] = field(default_factory=list)
    """Actors of killed commands, which end by themselves."""
    given_up: Counter[str] = field(default_factory=Counter)
    """Commands that ended over the line, by what has done it."""

    def live(self) -> None:
        """The same command again and again, until it has finished."""
        while len(self.started) < _STARTS and not self._stuck():
            if self._command() == 0:
                return
        self.story.defects.append(f"not finished after {_STARTS} commands")

    def _stuck(self) -> bool:
        """Whether nothing that is done helps any more."""
        last = [(command.poll(), tuple(error_lines(command.output))) for command in self.started[-_SAME_ENDS:]]
        return len(last) == _SAME_ENDS and last[0][0] in (1, 2) and len(set(last)) == 1

    def left(self) -> int:
        """Faults that are still to come."""
        line = self.place.line if isinstance(self.place, Bucket) else None
        return self.wanted - len(self.story.faults) - (line.faults.total() if line else 0)

    def finish(self) -> None:
        """Add what the line has done to what was done on purpose."""
        if isinstance(self.place, Bucket):
            drawn = [kind for kind, times in sorted(self.place.line.faults.items()) for _ in range(times)]
            self.story.faults += [Fault(kind) for kind in drawn]
        for kind, times in self.given_up.items():
            to_blame = [fault for fault in self.story.faults if fault.kind == kind][-times:]
            for fault in to_blame:
                fault.outcome = RESUMED
            if len(to_blame) < times:
                self.story.defects.append(f"{times} commands ended over {len(to_blame)} times {kind}")

    def clean_up(self) -> None:
        """End what killed commands have left, and what was stopped and never went on."""
        for command in self.started:
            command.clean_up()
        for process in (*self.stopped, *self.orphans):
            process.kill()

    # ---- one command

    def _command(self) -> int | None:
        """Start it, strike until it ends, and judge how it ended; its exit code, None where it was killed."""
        number = len(self.started) + 1
        log, where = self.root / f"command-{number}.log", self.place.settings(number)
        outside = {"before": self.place.before, "environment": self.place.environment}
        command = Command("selfplay", *WORLDS[self.world], *where, log=log, **outside)
        self.started.append(command)
        say(f"command {number}, {self.left()} faults to go")
        code, ended_by = self._strike(command)
        self.story.commands += 1
        self.story.requeued += command.output.count("doing it again")
        if code != 0:
            said = error_lines(command.output)
            say(f"  ended with {code}: {said[-1] if said else ''}")
        self._judge(code, command.output, ended_by)
        return code

    def _strike(self, command: Command) -> tuple[int | None, Fault | None]:
        """Faults at random moments until the command ends: its exit code, and what ended it."""
        limit, strikes_left = time.monotonic() + _COMMAND_SECONDS, _MOST_STRIKES
        if isinstance(self.place, Bucket):
            self.place.line.left = max(self.left() - _MOST_STRIKES, 0)
        while (code := wait(command, self.random.uniform(*_PAUSE))) is None:
            if time.monotonic() > limit:
                self.story.defects.append(f"{command.log.name}: a hang")
                command.clean_up()
                return None, None
            if strikes_left <= 0 or self.left() <= 0:
                continue
            strike = strikes.draw(command, self.place, self.random)
            if strike is None:
                continue
            self.story.note(strike.fault)
            strikes_left -= 1
            if strike.fault.kind.startswith("stop") and strike.victim:
                self.stopped.append(strike.victim)
            strike.strike(command, self.place, self.random)
            if strike.fault.kind in strikes.ENDING:
                return self._end(command, strike), strike.fault
        return code, None

    def _end(self, command: Command, strike: strikes.Strike) -> int | None:
        """Exit code of a command that was told to end, or whose Ray or disk was taken; its processes are gone then."""
        kind, log = strike.fault.kind, command.log.name
        seconds, _, _ = strikes.ENDING[kind]
        code: int | None
        try:
            code = command.wait(seconds)
        except subprocess.TimeoutExpired:
            self.story.defects.append(f"{log}: {kind}: has not ended in {seconds} s")
            command.clean_up()
            code = None
        strike.fault.outcome = BY_ITSELF if code == 0 else REFUSED if code == 2 else RESUMED
        self.place.mend()
        below = [process for process in strike.below if process not in self.stopped]
        if kind == "kill driver" and self.random.random() < _AT_ONCE_SHARE:
            self.orphans += below
        elif not gone(below, _ENDS_SECONDS):
            left = [process.title for process in below if process.alive()]
            self.story.defects.append(f"{log}: {kind}: still there after {_ENDS_SECONDS} s: {left}")
        return None if code == -signal.SIGKILL else code

    def _judge(self, code: int | None, output: str, ended_by: Fault | None) -> None:
        """Note what should not have been."""
        log, said = self.started[-1].log.name, error_lines(output)
        if "Traceback" in output or "Unhandled error" in output:
            self.story.defects.append(f"{log}: a traceback")
        if code == 0 or (ended_by and (code, True) == _expected(ended_by, output)):
            return
        if code in (1, 2) and len(said) == 1 and isinstance(self.place, Bucket) and "s3://" in said[0]:
            self.given_up["S3 answer cut short" if "response stream" in said[0] else "S3 outage"] += 1
            return
        why = f" after {ended_by.kind}" if ended_by else ""
        self.story.defects.append(f"{log}: ended with {code}{why}: {said or output[-300:]}")


def _expected(ended_by: Fault, output: str) -> tuple[int | None, bool]:
    """The exit code of a command that was ended so, and whether it has said what it should."""
    _, code, line = strikes.ENDING[ended_by.kind]
    return code, bool(re.search(line, output)) if line else not error_lines(output)


def error_lines(output: str) -> list[str]:
    """The lines that say why a command has ended."""
    return [line for line in output.splitlines() if line.startswith("error: ")]


def wait(command: Command, seconds: float) -> int | None:
    """Exit code of a command that ends within this time."""
    limit = time.monotonic() + seconds
    while (code := command.poll()) is None and time.monotonic() < limit:
        time.sleep(0.05)
    return code
