"""What lies in a run directory, read for a page.

A run that is unfinished, or whose files are damaged, is read as far as it goes; what cannot be read is noted. No game
is made and no network loaded.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from omegaconf import MISSING

from cluster.errors import UserError
from cluster.files import storage
from learner.model.checkpoint import WEIGHTS_FILE
from search.tournament.report import interval, marked, signed
from search.tournament.result import TournamentResult, lead
from search.tournament.seatings import PAIRS
from selfplay.config import TrainConfig
from selfplay.evaluation import Evaluation, stored
from selfplay.recorded import SETTINGS_FILE, recorded_settings, typed
from selfplay.run_directory import RunDirectory
from selfplay.successes import read_successes

T = TypeVar("T")

_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError)
"""What reading a file raises that was damaged or edited by hand."""


@dataclass(frozen=True)
class Logged:
    """A line of ``metrics.jsonl``."""

    step: int
    """Of what was measured: an iteration, or while a network is trained the optimiser steps of the whole run."""
    time: float
    """Seconds since 1970."""
    values: Mapping[str, float]


@dataclass(frozen=True)
class Run:
    """A run as its directory tells it."""

    root: str
    settings: Mapping[str, Any]
    """``config.yaml``, with the defaults of settings that it lacks."""
    state: Mapping[str, Any]
    """``state.json``: ``iteration`` and ``stage``; empty before the first stage."""
    curve: Mapping[int, Sequence[TournamentResult]]
    """Iteration -> its tournaments against the baselines."""
    gates: Mapping[int, TournamentResult]
    """Iteration -> its network (A) against the best one before it (B)."""
    final: Sequence[TournamentResult]
    """Those that are asked for, of the best network; what an earlier command played with another one is left out."""
    figures: Mapping[int, Mapping[str, float]]
    """Iteration -> ``metrics.json``: ``generate/...`` and ``train/...``; of finished iterations only."""
    successes: Mapping[int, Mapping[str, tuple[int, int]]]
    """Iteration -> kind of deal -> how many were planned and played, and how many of them succeeded; empty where all
    deals are alike."""
    log: Sequence[Logged]
    commands: Sequence[Mapping[str, Any]]
    """``provenance.json``: an entry for every command that worked on the run."""
    newest: int | None
    """The last iteration whose network is there."""
    notes: Sequence[str]
    """What could not be read, and why."""

    @property
    def name(self) -> str:
        """The last part of its path."""
        return storage.resolve(self.root)[1].rpartition("/")[2] or self.root

    @property
    def iterations(self) -> int:
        """How many iterations were asked for, the first one counted as 0."""
        return int(self.settings["selfplay"]["iterations"])

    @property
    def finished(self) -> bool:
        """Whether all that was asked for has been done."""
        return self.state.get("stage") == "finished" and self.state.get("iteration", -1) >= self.iterations


def read_run(root: str) -> Run:
    """Everything but shards and weights.

    Raises:
        UserError: there is no run in this directory, or its settings cannot be read.
    """
    run, notes = RunDirectory(root), list[str]()
    settings = _settings(run)

    def attempt(path: str, read: Callable[[str], T]) -> T | None:
        try:
            return read(path) if storage.exists(path) else None
        except _UNREADABLE as error:
            notes.append(f"{path}: cannot be read ({type(error).__name__}: {error}); left out")
            return None

    numbers = [int(name) for name in storage.list_names(f"{run.root}/iterations") if name.isdigit()]
    curve = {i: attempt(run.tournament(i), stored) for i in numbers}
    gates = {i: attempt(run.gate(i), stored) for i in numbers}
    figures = {i: attempt(run.metrics(i), _mapping) for i in numbers}
    successes = {i: attempt(run.successes(i), read_successes) for i in numbers}
    log, unreadable = attempt(f"{run.root}/metrics.jsonl", _log) or ([], 0)
    if unreadable:
        notes.append(f"{run.root}/metrics.jsonl: {unreadable} of its lines cannot be read; left out")
    return Run(
        root=run.root,
        settings=settings,
        state=attempt(f"{run.root}/state.json", _mapping) or {},
        curve={i: results for i, results in curve.items() if results},
        gates={i: results[0] for i, results in gates.items() if results},
        final=attempt(run.result("tournament.json"), lambda _: _final(run, settings)) or [],
        figures={i: found for i, found in figures.items() if found},
        successes={i: found for i, found in successes.items() if found},
        log=log,
        commands=attempt(f"{run.root}/provenance.json", _commands) or [],
        newest=max((i for i in numbers if WEIGHTS_FILE in storage.list_names(run.checkpoint(i))), default=None),
        notes=notes,
    )


def _settings(run: RunDirectory) -> Mapping[str, Any]:
    settings = recorded_settings(f"{run.root}/{SETTINGS_FILE}", TrainConfig)
    if settings is None or settings["run"]["dir"] == MISSING:
        raise UserError(
            f"{run.root}: no run lies there; name a directory that was run.dir of a command, one with a "
            f"{SETTINGS_FILE} and iterations/"
        )
    return settings


def _final(run: RunDirectory, settings: Mapping[str, Any]) -> list[TournamentResult]:
    return [result for result in Evaluation(typed(settings, TrainConfig), run).final() if result is not None]


def _mapping(path: str) -> Mapping[str, Any]:
    return dict(storage.read_json(path))


def _commands(path: str) -> list[Mapping[str, Any]]:
    return [dict(entry) for entry in storage.read_json(path)]


def _log(path: str) -> tuple[list[Logged], int]:
    """The lines that can be read, and how many cannot; the last one may be half written, and then is not counted."""
    found, unreadable, text = [], 0, storage.read_text(path, "replace")
    for line in text.splitlines(keepends=True):
        try:
            entry = json.loads(line)
            values = {str(key): float(value) for key, value in entry["values"].items()}
            found.append(Logged(int(entry["step"]), float(entry["time"]), values))
        except _UNREADABLE:
            unreadable += line.endswith("\n")
    return found, unreadable


def labels(roots: Sequence[str]) -> list[str]:
    """The last part of every path where that tells them apart, else the whole paths."""
    names = [storage.resolve(root)[1].rstrip("/").rpartition("/")[2] for root in roots]
    return names if len(set(names)) == len(names) else [root.rstrip("/") for root in roots]


def ahead_text(result: TournamentResult, column: int = -1) -> str:
    """``lead`` as people read it."""
    ahead, low, high = lead(result, column)
    return f"{signed(ahead)} ({interval(low, high)})"


def matched(result: TournamentResult) -> str:
    """Who plays whom in a tournament of two, and how much."""
    names = [marked(result, name) for name in result.players[:2]]
    pairs = " of pairs" if result.seating == PAIRS else ""
    return f"{names[0]} against {names[1]}, {result.deals} deals{pairs}"
