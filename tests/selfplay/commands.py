"""Commands in processes of their own, and the processes below them, found through ``/proc``."""

import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")

ROOT = Path(__file__).parents[2]
_POLL_SECONDS = 0.02

TINY = (
    "experiment=hearts_teacher",
    "cluster={learner_cpus: 1, evaluators: 1}",
    "model={n_layer: 1, n_head: 2, n_embd: 16, n_inner: 32}",
    "learner={batch_size: 16, num_threads: 1, policy: {kind: played}, loss: {branch_weight: 0}}",
    "initial_learner.max_steps=20",
    "engine.precision=fp32",
    "selfplay={branches: 0, labels: '', population: true, gate: {deals: 0}}",
    "evaluation={curve: [], final: []}",
)
"""``python -m selfplay`` with the demo preset, a network of a few thousand weights and no tournaments; how much is
played and trained is left to add."""


@dataclass(frozen=True)
class Process:
    """A process, told apart from a later one of the same number by when it started."""

    pid: int
    parent: int
    started: int
    """Clock ticks since the machine booted."""
    title: str
    """Command line; Ray's workers write there what they are doing."""

    def alive(self) -> bool:
        """Whether it runs; one that has ended and waits to be reaped does not."""
        now = numbered(self.pid)
        return now is not None and now.started == self.started

    def kill(self) -> None:
        """SIGKILL, if it still runs."""
        if self.alive():
            os.kill(self.pid, signal.SIGKILL)


def descendants(pid: int) -> list[Process]:
    """Every process below ``pid``."""
    everything = [numbered(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    found, parents = list[Process](), {pid}
    while below := [p for p in everything if p is not None and p.parent in parents]:
        found += below
        parents = {process.pid for process in below}
    return found


def actors(driver: int, title: str) -> list[Process]:
    """Ray workers below a driver that hold an actor of this title, or are in this method of it."""
    return [process for process in descendants(driver) if process.title.startswith(f"ray::{title}")]


def numbered(pid: int) -> Process | None:
    """The process of this number; None where none of it runs."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        title = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat[stat.rindex(")") + 2 :].split()  # the name before it may hold anything
    return None if fields[0] in "ZX" else Process(pid, int(fields[1]), int(fields[19]), title)


class Command:
    """``python -m MODULE ARGUMENTS`` under way; its output goes to a file."""

    def __init__(
        self,
        module: str,
        *arguments: str,
        log: Path,
        before: Sequence[str] = (),
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """Start it, behind another program (``before``) if need be."""
        self.log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [*before, sys.executable, "-m", module, *arguments],
                cwd=ROOT,
                env={**environment, "TMPDIR": str(log.parent)},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.pid = self._process.pid
        self._seen: set[Process] = set()

    @property
    def output(self) -> str:
        """What it has printed so far, to standard output and error."""
        return self.log.read_text(errors="replace")

    def until(self, condition: Callable[[], T], seconds: float = 240) -> T:
        """Wait until something is so, and what it is; fails if the command ends first or takes longer than this."""
        limit = time.monotonic() + seconds
        while not (answer := condition()):
            assert self._process.poll() is None, f"it ended with {self._process.returncode}:\n{self.output}"
            assert time.monotonic() < limit, f"still not so after {seconds} s:\n{self.output}"
            time.sleep(_POLL_SECONDS)
        return answer

    def poll(self) -> int | None:
        """Exit code if it has ended."""
        return self._process.poll()

    def wait(self, seconds: float = 240) -> int:
        """Exit code, once it has ended."""
        return self._process.wait(seconds)

    def kill(self) -> list[Process]:
        """SIGKILL to the command alone; the processes that were below it."""
        below = descendants(self.pid)
        self._seen.update(below)
        self._process.kill()
        self._process.wait()
        return below

    def terminate(self, seconds: float = 60) -> int:
        """SIGTERM to the command, which ends in order; its exit code."""
        self._process.terminate()
        return self.wait(seconds)

    def clean_up(self) -> None:
        """End whatever is left of it."""
        if self._process.poll() is None:
            self.kill()
        for process in self._seen:
            process.kill()


def gone(processes: list[Process], seconds: float = 60) -> bool:
    """Whether all of these end by themselves within this time."""
    limit = time.monotonic() + seconds
    while any(process.alive() for process in processes):
        if time.monotonic() > limit:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def call(monkeypatch: pytest.MonkeyPatch, module: str, *arguments: str) -> int:
    """Exit code of ``python -m MODULE ARGUMENTS``, run in this process to save the start of another."""
    monkeypatch.setattr("sys.argv", [module, *arguments])
    monkeypatch.setenv("HYDRA_FULL_ERROR", "0")  # the command sets it and leaves it
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(module, run_name="__main__")
    assert isinstance(ended.value.code, int)
    return ended.value.code


def here(module: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Exit code and outputs of ``python -m MODULE ARGUMENTS``, run in this process."""
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = call(patch, module, *arguments)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())
