"""The command line of every program: Hydra composes the configuration, a dataclass checks it, the work starts after.

A command is a schema (nested dataclasses, not frozen, range checks in ``__post_init__``) and a function::

    @dataclass
    class TournamentConfig: ...

    def main(config: TournamentConfig) -> None: ...

    if __name__ == "__main__":
        cli.run("tournament", TournamentConfig, main)

Everything wrong with the configuration ends the command in one line on stderr with exit code 2, before any work and
before anything is written. ``HYDRA_FULL_ERROR=1`` shows the traceback as well.
"""

import logging
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

import hydra
from hydra.conf import HydraConf, JobConf, RunDir, SweepDir
from hydra.core.config_store import ConfigStore
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException
from yaml import YAMLError

from cluster.choices import check_choices, offer_plugins
from cluster.composing import groups_of_kinds, keep_given, over_defaults, register
from cluster.errors import UserError, WorkFailedError, first_line, is_out_of_memory, raised, say
from cluster.files.scratch import scratch
from cluster.reader import check_lasts, end_with_reader
from cluster.sweeps import (
    Point,
    PointFailed,
    Work,
    in_sweep,
    may_wait,
    output_of_sweep,
    swept,
    task_overrides,
    unswept_keys,
    with_own_output,
)

T = TypeVar("T")
R = TypeVar("R")

_FULL_ERROR = "HYDRA_FULL_ERROR"
_HINT = "--cfg job prints the keys and their values"
_NO_SUCH_CHOICE = re.compile(r"Could not find '(.+)/(.+)'\s+Available options in '.+':((?:\n\t.+)*)")
_MUST_CHOOSE = re.compile(r"You must specify '(.+?)'.*\s+Available options:((?:\n\t.+)*)")
"""Hydra's message for an unknown preset of a group, and for a group without a choice."""
_FIRST_CHOICE = "hearts_demo"
"""The preset that examples name, where a group has it."""


def run(
    config_name: str,
    schema: type[T],
    work: Callable[[T], float | None],
    *,
    config_module: str = "conf",
    output_key: str = "run.dir",
    output_ending: str = "",
    sweep: Work[T] | None = None,
    after_sweep: Callable[[str, Sequence[str]], None] = lambda output, points: None,
) -> None:
    """Compose ``<config_module>/<config_name>.yaml`` with the command line, check it against ``schema``, call ``work``.

    Ends the process: exit code 0 when ``work`` is done; 2 for bad input (any configuration error, or a ``UserError``
    from ``work``); 130 for Ctrl-C, 143 for SIGTERM and 141 for SIGPIPE; 1 with a traceback for any other exception. All
    points of a sweep (``--multirun``) are tried, with any launcher. The process ends with the highest code among them;
    of points that fail in other processes, with the first.

    Args:
        config_name: name of the top-level YAML file, without its ending.
        schema: dataclass of the whole configuration, registered as ``<config_name>_schema`` for defaults lists. Unknown
            keys and values of other types are errors even where the YAML file does not list it.
        work: called with an instance of ``schema``, interpolations resolved, without Hydra's keys. Returns an objective
            for a sweeper such as Optuna's to maximise, or None.
        config_module: package that holds the YAML files.
        output_key: key of the output, required in a sweep: every point gets an output below it, named after its swept
            keys.
        output_ending: ending of a point's output, such as ``.json``; empty for directories.
        sweep: runs all points of a sweep together, unless the user chooses another launcher or a sweeper that reads
            their objectives; None runs ``work`` on one after the other.
        after_sweep: called when all points of a sweep have been tried, with the value of ``output_key`` and the outputs
            of the points of this process, failed or not.
    """
    end_with_reader()
    command = _Command(schema, work, sweep, output_key, output_ending)
    signal.signal(signal.SIGTERM, command.end_in_order)
    os.environ[_FULL_ERROR] = "1"  # Hydra raises its exceptions instead of printing them; ``attempt`` reports them
    register(config_name, schema, sweep=bool({"-m", "--multirun", "hydra.mode=MULTIRUN"} & {*sys.argv}))
    sys.argv[1:] = sorted(sys.argv[1:], key=lambda word: word not in ("-m", "--multirun"))  # may stand anywhere so
    offer_plugins(sys.argv[1:])
    output = output_of_sweep(sys.argv[1:], output_key)
    with scratch("kibitz-sweep-") as sweep_dir:
        _settle_hydra(config_name, str(sweep_dir), output_key)
        with_hydra = hydra.main(version_base="1.3", config_path=f"pkg://{config_module}", config_name=config_name)

        def whole() -> None:
            if sweep and output == "":
                raise UserError(f"{output_key} must be given with --multirun, for example {output_key}=DIR")
            check_choices(sys.argv[1:], config_module)
            command.through(with_hydra(command.job))
            if output:
                command.attempt(partial(after_sweep, output.removesuffix(output_ending), command.outputs))

        try:
            command.attempt(whole, (HydraException, OmegaConfBaseException, YAMLError, ValueError))
        except SystemExit:
            if not command.terminated:  # else it may be Ray's: its ``wait`` exits with 1 when a signal interrupts it
                raise
    sys.exit(max(command.codes, default=0))


class _Command(Generic[T]):
    """Runs a command's work on composed configurations, and collects outputs and exit codes."""

    def __init__(
        self,
        schema: type[T],
        work: Callable[[T], float | None],
        sweep: Work[T] | None,
        output_key: str,
        output_ending: str,
    ) -> None:
        self._schema, self._work, self._sweep = schema, work, sweep
        self._output = output_key, output_ending
        self._show_traceback = os.environ.get(_FULL_ERROR) == "1"
        self._waiting: list[Point[T]] = []
        self.outputs: list[str] = []
        """Outputs of the points of a sweep so far."""
        self.codes: list[int] = []
        """Exit codes of the failures."""
        self.terminated = False
        """Whether SIGTERM has come."""

    def end_in_order(self, number: int, frame: object) -> None:
        """Unwind the stack on SIGTERM, so that actors end and temporary directories are removed."""
        self.terminated = True
        self.codes.append(128 + number)
        sys.exit(128 + number)

    def attempt(self, call: Callable[[], R], bad_input: tuple[type[Exception], ...] = (UserError,)) -> R | PointFailed:
        """The result of ``call``. Exceptions go to stderr: ``bad_input`` as its message, others with a traceback."""
        try:
            return call()
        except PointFailed as error:
            failed = error
        except bad_input as error:
            if self._show_traceback:
                traceback.print_exc()
            failed = PointFailed(2, str(error) if isinstance(error, UserError) else explain(error))
            say(failed.message)
        except WorkFailedError as error:  # its message suffices; a traceback of this process adds nothing
            if self._show_traceback:
                traceback.print_exc()
            failed = PointFailed(1, str(error))
            say(error, *getattr(error, "__notes__", ()))
        except Exception as error:
            if is_out_of_memory(error) and not self._show_traceback:
                say(f"out of memory ({first_line(error)})")
            else:
                traceback.print_exc()
            failed = PointFailed(1, repr(error))
        self.codes.append(failed.code)
        return failed

    def point(self, composed: DictConfig) -> Point[T] | PointFailed:
        """A composed configuration, checked."""
        for handler in logging.getLogger().handlers:  # Hydra's, on standard output, which is for results
            handler.setLevel(logging.WARNING)

        def checked() -> Point[T]:
            with_output = with_own_output(composed, *self._output)
            output = OmegaConf.select(with_output, self._output[0], throw_on_missing=False) or ""
            check_lasts(output, self._output[0])
            if in_sweep() and output:
                self.outputs.append(output)
            return Point(build(with_output, self._schema, task_overrides()), swept())

        return self.attempt(checked)

    def together(self, points: Sequence[Point[T]]) -> list[float | PointFailed | None]:
        """The objectives of all points, run together where the command can, else one after the other."""
        sweep = self._sweep or (lambda points: [self._work(point.config) for point in points])
        results = self.attempt(lambda: sweep(points))
        if isinstance(results, PointFailed):
            return [results] * len(points)
        return [self.attempt(partial(raised, result)) for result in results]

    def job(self, composed: DictConfig) -> float | None:
        """Hydra's task function: one configuration, or one point of a sweep, perhaps in a process of its own."""
        found = self.point(composed)
        if isinstance(found, PointFailed):
            result: float | PointFailed | None = found
        elif self._sweep and may_wait():
            self._waiting.append(found)
            return None
        elif in_sweep():
            (result,) = self.together([found])
        else:
            result = self.attempt(lambda: self._work(found.config))
        if not isinstance(result, PointFailed):
            return result
        if in_sweep() and not (self._sweep and may_wait()):  # carried to the process that began the sweep
            raise result
        return None

    def through(self, main: Callable[[], None]) -> None:
        """Run Hydra's main function to its end, though points fail, then the points that waited for each other."""
        try:
            _or_help(main)
        except PointFailed as failed:
            self.codes.append(failed.code)
            if failed.process != os.getpid():
                say(failed.message)
        if self._waiting:
            self.together(self._waiting)


def game_alone() -> None:
    """Let the name of the game stand alone as the first argument: ``kibitz play hearts``."""
    if len(sys.argv) > 1 and re.fullmatch(r"[A-Za-z_][\w.:]*", sys.argv[1]):
        sys.argv[1] = f"game={sys.argv[1]}"


def build(composed: DictConfig, schema: type[T], overrides: Sequence[str] = ()) -> T:
    """An instance of ``schema`` holding the values of ``composed``, which the command line's ``overrides`` are in.

    Raises ``UserError`` for unknown keys, wrong types, values left ``???``, interpolations that lead nowhere, and
    whatever ``__post_init__`` refuses.
    """
    for group in groups_of_kinds(schema):
        _check_kind(composed, group.name)
    try:
        merged = over_defaults(schema, OmegaConf.to_container(composed))
        keep_given(merged, overrides)
        required = OmegaConf.missing_keys(OmegaConf.structured(schema))
        empty = {key for key in required if OmegaConf.select(merged, key, throw_on_missing=False) == ""}
        missing = sorted(OmegaConf.missing_keys(merged) | empty)
        if not missing:
            return OmegaConf.to_object(merged)  # type: ignore[return-value]
    except OmegaConfBaseException as error:
        raise UserError(explain(error)) from error
    except ValueError as error:
        raise UserError("configuration: " + " ".join(str(error).split())) from error
    raise UserError(f"{', '.join(missing)} must be given, for example {missing[0]}=VALUE")


def _check_kind(composed: DictConfig, group: str) -> None:
    """``UserError`` where another kind is written over that of the preset, or the preset has none."""
    kind, known = composed[group].get("kind"), getattr(OmegaConf.get_type(composed[group]), "kind", None)
    if kind is None:
        begin = f"defaults: [/kinds/{group}@_here_: NAME, _self_]"
        raise UserError(f"{group}: the preset says no kind; begin it with {begin}")
    if known and kind != known:
        raise UserError(f"{group}.kind={kind}: a kind comes with its preset; give {group}=PRESET")


def configured(config_name: str, schema: type[T], overrides: Sequence[str]) -> T:
    """The configuration of a command with these overrides, for programs of our own; raises as ``build`` does."""
    register(config_name, schema)
    with hydra.initialize_config_module("conf", version_base="1.3"):
        return build(hydra.compose(config_name, [*overrides]), schema, overrides)


def values_in_force(config_name: str, schema: type, overrides: Sequence[str]) -> dict[str, Any]:
    """The values that a command has with these arguments, ``???`` for those that must be given, for its help.
    ``UserError`` for arguments that cannot be."""
    register(config_name, schema)
    arguments = [argument if "=" in argument else f"game={argument}" for argument in overrides]
    try:
        with hydra.initialize_config_module("conf", version_base="1.3"):
            composed = OmegaConf.to_container(hydra.compose(config_name, arguments))
        values: Any = OmegaConf.to_container(over_defaults(schema, composed))
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        raise UserError(explain(error)) from error
    return dict(values)


def explain(error: Exception) -> str:
    """An exception of Hydra or OmegaConf in one line: what is wrong with the configuration, and what to do."""
    unread = getattr(error, "override", None)
    if unread is not None:  # an override that Hydra cannot parse
        reason = str(error).splitlines()[0]
        return (
            f"cannot read {unread!r} ({reason}); a value with = : , brackets or letters outside ASCII wants quotes, as "
            "in 'key=\"a=b\"', and a name inside braces wants backslashes, as in 'key={a\\:b\\=1: 0.5}'"
        )
    absent = _NO_SUCH_CHOICE.search(str(error))
    if absent:
        return f"{absent[1]}={absent[2]}: no such choice; there are {', '.join(absent[3].split())}"
    open_choice = _MUST_CHOOSE.search(str(error))
    if open_choice:
        group, names = open_choice[1], open_choice[2].split()
        return f"{group} must be given, for example {group}={_example(names)}; there are {', '.join(names)}"
    group = re.match(r"Error merging override ([\w.]+)=(.*)", str(error))
    if group and re.match(r"Invalid type assigned|Cannot assign", str(error.__cause__)):
        return f"{group[1]}={group[2]}: {group[1]} has keys of its own and no presets; give {group[1]}.KEY=VALUE"
    if group and isinstance(error.__cause__, OmegaConfBaseException):
        return explain(error.__cause__)
    inside = re.match(r"In '(.+?)': \w+ raised while composing config", str(error))
    if inside and isinstance(error.__context__, OmegaConfBaseException):
        group = (error.__context__.full_key or "").partition(".")[0]
        given = next((word for word in sys.argv if word.startswith(f"{group}=")), "")
        if given and inside[1].startswith("experiment/"):
            what = "network" if group == "model" else group
            return (
                f"{inside[1]}: this preset is for another kind of {what} than {given} (unknown key "
                f"{error.__context__.full_key!r}); leave out {given}, or take another experiment"
            )
        return f"{inside[1]}: {explain(error.__context__)}"
    unknown = re.match(r"Could not override '(.+?)'", str(error))
    if unknown:
        key = getattr(error.__cause__, "full_key", None) or unknown[1]
        return f"unknown key {key!r}; {_HINT if key == unknown[1] else f'+{unknown[1]}=... adds it'}"
    if isinstance(error, OmegaConfBaseException):
        message = (error.msg or str(error)).splitlines()[0]
        if isinstance(error, ConfigKeyError | ConfigAttributeError):
            return f"unknown key {error.full_key!r}; {_HINT}"
        return f"{error.full_key}: {message}; {_HINT}" if error.full_key else f"{message}; {_HINT}"
    message = re.split(r"Config search path:|See https://", str(error))[0]
    parts = [line.strip() for line in message.splitlines() if line.strip()]
    if isinstance(error.__cause__, OmegaConfBaseException):
        parts.append(explain(error.__cause__))
    return " ".join(parts)


def _or_help(main: Callable[[], None]) -> None:
    """Run Hydra's main function; ``--help`` shows an example where a choice must be made."""
    try:
        main()
    except HydraException as error:
        open_choice = _MUST_CHOOSE.search(str(error))
        if open_choice is None or not {"--help", "-h"} & set(sys.argv):
            raise
        sys.argv.append(f"{open_choice[1]}={_example(open_choice[2].split())}")
        main()


def _example(choices: Sequence[str]) -> str:
    return _FIRST_CHOICE if _FIRST_CHOICE in choices else choices[0]


def _settle_hydra(job_name: str, sweep_dir: str, output_key: str) -> None:
    """Keep Hydra from writing its own directories."""
    settings = HydraConf(
        run=RunDir("."),
        sweep=SweepDir(dir=sweep_dir, subdir="."),
        output_subdir=None,
        job=JobConf(name=job_name),
    )
    ours = {"job_logging": "stdout"}
    if not any(word.startswith("hydra/sweeper=") for word in sys.argv):  # others say what they found
        ours["hydra_logging"] = "none"
    settings.defaults = [{**entry, **{key: ours[key] for key in entry if key in ours}} for entry in settings.defaults]
    settings.job.config.override_dirname.exclude_keys = [output_key, *unswept_keys(sys.argv[1:])]
    ConfigStore.instance().store(group="hydra", name="config", node=settings, provider="kibitz")
