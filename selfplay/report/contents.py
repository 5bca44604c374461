"""The contents of a run directory, read for a page.

Of an unfinished or damaged run all readable files are read, and the others noted. Makes no game that files may not
name, and loads no network.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from cluster.errors import UserError
from cluster.files import storage
from cluster.foreign import parse_json
from cluster.watching.trackers import run_name
from games.game import Game
from games.registry import recorded_game
from learner.model.checkpoint import WEIGHTS_FILE
from search.arena.tournament.result import TournamentResult
from selfplay.config import TrainConfig
from selfplay.evaluation import Evaluation, stored
from selfplay.recorded import SETTINGS_FILE, plain, recorded_settings, typed
from selfplay.run_directory import RunDirectory

T = TypeVar("T")

_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError)
"""Exceptions from files that are damaged or were edited by hand."""
STAGES = ("self-play", "training", "tournaments")
_MARKS = {
    "games_total": "self-play",
    "decisions_per_second": "self-play",
    "loss": "training",
    "validation_loss": "training",
}
"""Keys that only this stage logs; all other lines of the log are of tournaments."""
_COMMAND: dict[str, Any] = {"began": "", "version": "", "revision": "", "diff": "", "untracked": []}
"""What an entry of ``provenance.json`` has, with values of its types."""
_OTHER_STEPS = {"games_total", "loss", "validation_loss"}
"""Keys of lines of the log whose step is not the iteration."""


@dataclass(frozen=True)
class Logged:
    """A line of ``metrics.jsonl``."""

    step: int
    """The iteration, or during training the optimiser step of the whole run."""
    time: float
    """Seconds since 1970."""
    values: Mapping[str, float]


@dataclass(frozen=True)
class Run:
    """A run, read from its directory."""

    root: str
    settings: Mapping[str, Any]
    """``config.yaml``."""
    state: Mapping[str, Any]
    """``state.json``: ``iteration`` and ``stage``; empty before the first stage."""
    curve: Mapping[int, Sequence[TournamentResult]]
    """Iteration -> its tournaments against the baselines."""
    gates: Mapping[int, TournamentResult]
    """Iteration -> its network (A) against the best earlier one (B)."""
    final: Sequence[TournamentResult]
    """Configured final tournaments of the best network; results of other networks are left out."""
    figures: Mapping[int, Mapping[str, float]]
    """Iteration -> ``metrics.json``: ``generate/...`` and ``train/...``; of finished iterations only."""
    log: Sequence[Logged]
    commands: Sequence[Mapping[str, Any]]
    """``provenance.json``: an entry for every command on the run."""
    newest: int | None
    """The last iteration with a network."""
    notes: Sequence[str]
    """Unreadable files and the errors."""

    @property
    def name(self) -> str:
        """The last part of its path."""
        return run_name(self.root) or self.root

    @property
    def iterations(self) -> int:
        """``selfplay.iterations``: the number of the last iteration, counted from 0."""
        return int(self.settings["selfplay"]["iterations"])

    @property
    def finished(self) -> bool:
        """Whether the run is complete."""
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
            said = str(error).removeprefix(f"{path}: ")
            notes.append(f"{path}: cannot be read ({type(error).__name__}: {said}); left out")
            return None

    names = storage.list_names(f"{run.root}/iterations")
    numbers = [int(name) for name in names if name.isascii() and name.isdigit()]
    curve = {i: attempt(run.tournament(i), stored) for i in numbers}
    gates = {i: attempt(run.gate(i), stored) for i in numbers}
    figures = {i: attempt(run.metrics(i), _figures) for i in numbers}
    log, unreadable = attempt(f"{run.root}/metrics.jsonl", _log) or ([], 0)
    if unreadable:
        notes.append(f"{run.root}/metrics.jsonl: {unreadable} of its lines cannot be read; left out")
    return Run(
        root=run.root,
        settings=settings,
        state=attempt(f"{run.root}/state.json", lambda _: run.state()) or {},
        curve={i: results for i, results in curve.items() if results},
        gates={i: results[0] for i, results in gates.items() if results},
        final=attempt(run.result("tournament.json"), lambda _: _final(run, settings)) or [],
        figures={i: found for i, found in figures.items() if found},
        log=log,
        commands=attempt(f"{run.root}/provenance.json", _commands) or [],
        newest=max((i for i in numbers if WEIGHTS_FILE in storage.list_names(run.checkpoint(i))), default=None),
        notes=notes,
    )


def _settings(run: RunDirectory) -> Mapping[str, Any]:
    settings = recorded_settings(path := f"{run.root}/{SETTINGS_FILE}")
    if settings is None or "run" not in settings:
        raise UserError(
            f"{run.root}: no run lies there; name a directory that was run.dir of a command, one with a "
            f"{SETTINGS_FILE} and iterations/"
        )
    try:
        return plain(typed(settings, TrainConfig))
    except UserError as error:
        raise UserError(f"{path}: {error}") from error


def _final(run: RunDirectory, settings: Mapping[str, Any]) -> list[TournamentResult]:
    def make(name: str, options: Mapping[str, Any]) -> Game | None:
        try:
            return recorded_game(f"{run.root}/{SETTINGS_FILE}", name, options)
        except ValueError:  # a game of the user's own, whose name is not given here
            return None

    return [result for result in Evaluation(typed(settings, TrainConfig), run, make).final() if result is not None]


def _figures(path: str) -> Mapping[str, float]:
    return {key: float(value) for key, value in dict(storage.read_json(path)).items()}


def _commands(path: str) -> list[Mapping[str, Any]]:
    commands: list[Mapping[str, Any]] = [{**_COMMAND, **entry} for entry in storage.read_json(path)]
    for entry in commands:
        if wrong := [key for key, empty in _COMMAND.items() if not isinstance(entry[key], type(empty))]:
            raise ValueError(f"{wrong[0]} is {entry[wrong[0]]!r}")
    return commands


def _log(path: str) -> tuple[list[Logged], int]:
    """The readable lines, and the number of unreadable ones; a half-written last line is not counted."""
    found, unreadable, text = [], 0, storage.read_text(path, "replace")
    for line in text.splitlines(keepends=True):
        try:
            entry = parse_json(line)
            values = {str(key): float(value) for key, value in entry["values"].items()}
            int(values.get("iteration", 0))  # which NaN and infinity are not
            datetime.fromtimestamp(logged_at := float(entry["time"]), UTC)
            found.append(Logged(int(entry["step"]), logged_at, values))
        except _UNREADABLE:
            unreadable += line.endswith("\n")
    return found, unreadable


def labels(roots: Sequence[str]) -> list[str]:
    """The last part of every path if these are distinct, else the whole paths."""
    names = [run_name(root) for root in roots]
    return names if len(set(names)) == len(names) else [root.rstrip("/") for root in roots]


def seconds_by_stage(log: Sequence[Logged]) -> dict[int, dict[str, float]]:
    """Iteration -> stage -> seconds of wall time, as the times of the log have it.

    The time between two lines counts for the stage of the second. The loop writes a line with ``iteration`` when an
    iteration begins for the first time, and when a command resumes the run; the time before such a line, as until a
    killed run is resumed, counts for no stage.
    """
    spent: dict[int, dict[str, float]] = {}
    iteration, before = 0, None
    for line in log:
        if "iteration" in line.values:
            iteration = int(line.values["iteration"])
        elif before is not None:
            stage = next((stage for key, stage in _MARKS.items() if key in line.values), "tournaments")
            stages = spent.setdefault(iteration if _OTHER_STEPS & line.values.keys() else line.step, {})
            stages[stage] = stages.get(stage, 0.0) + max(line.time - before, 0.0)
        before = line.time
    return spent
