"""The command line, with a small program of its own: in this process, and what needs one of its own in real ones."""

import copy
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from cluster.console import COMMANDS, GROUPS, overview
from cluster.sweeps import PointFailed
from tests.selfplay.commands import here

APP = """
import os
from dataclasses import dataclass, field
from cluster.cli import run
from cluster.errors import UserError

@dataclass
class Optim:
    lr: float = 0.1
    def __post_init__(self):
        if self.lr <= 0:
            raise ValueError(f"optim.lr={self.lr} must be above 0")

@dataclass
class Run:
    dir: str = "???"

@dataclass
class App:
    optim: Optim = field(default_factory=Optim)
    run: Run = field(default_factory=Run)
    count: int = 1
    players: list[str] = field(default_factory=list)
    weights: dict[str, float] = field(default_factory=dict)

def work(config):
    assert isinstance(config.optim, Optim) and type(config.players) is list
    print(f"lr={config.optim.lr} count={config.count} dir={config.run.dir} ", end="")
    print(f"players={config.players} weights={config.weights}")
    if config.count == 13:
        raise UserError("count=13 is unlucky; take another")
    if config.count == 14:
        raise RuntimeError("a bug")
    if config.count == 15:
        bytearray(2**60)
    return config.optim.lr

def together(points):
    print("together:", *(point.overrides for point in points))
    return [UserError("count=13 is unlucky") if point.config.count == 13 else 1.0 for point in points]

def main():
    if "TOGETHER" in os.environ:
        after = lambda output, points: print("after", output, len(points))
        run("app", App, work, config_module="app_conf", output_ending=".json", sweep=together, after_sweep=after)
    run("app", App, work, config_module="app_conf")
"""

SWEEPER = """
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper, BasicSweeperConf
from hydra.core.config_store import ConfigStore

class Told(BasicSweeper):
    def sweep(self, arguments):
        batches = super().sweep(arguments)
        print("told", [job.return_value for batch in batches for job in batch])
        return batches

node = BasicSweeperConf(_target_="hydra_plugins.told.Told")
ConfigStore.instance().store(group="hydra/sweeper", name="told", node=node)
"""
"""A sweeper that prints what it is told about its points."""

CONF = {
    "app.yaml": "defaults:\n  - app_schema\n  - optim: adam\n  - _self_\n  - experiment: ???\n"
    "run:\n  dir: ???\ncount: 3\nplayers: [a]\nweights: {a: 1.0}\n",
    "optim/adam.yaml": "lr: 0.5\n",
    "optim/linked.yaml": "lr: ${count}\n",
    "optim/stray.yaml": "lr: 1\nmomentum: 2\n",
    "optim/broken.yaml": "lr: {1\n",
    "experiment/none.yaml": "# @package _global_\n{}\n",
    "experiment/small.yaml": "# @package _global_\ndefaults:\n  - override /optim: linked\n"
    "count: 7\nrun: {dir: here}\n",
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("program")
    (root / "app_work.py").write_text(APP)  # launchers find its classes by name in other processes
    (root / "app.py").write_text("from app_work import main\n\nmain()\n")
    (root / "app_conf").mkdir()
    (root / "app_conf/__init__.py").touch()
    for name, text in CONF.items():
        (root / "app_conf" / name).parent.mkdir(exist_ok=True)
        (root / "app_conf" / name).write_text(text)
    return root


def chosen(arguments: Iterable[str]) -> list[str]:
    there = any("experiment=" in argument for argument in arguments)
    return [*arguments, *(() if there else ("experiment=none",))]


def call(program: Path, cwd: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The program with these arguments, and with ``experiment=none`` where they choose none."""
    return plain_call(program, cwd, *chosen(arguments), **environment)


Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def called(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Like ``call`` in ``tmp_path``, but in this process."""
    monkeypatch.syspath_prepend(program)
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: here("app", *chosen(arguments))


def plain_call(program: Path, cwd: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(program), str(cwd), str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "app", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_help_has_every_command_once_and_begins_with_play() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(COMMANDS)
    assert overview().index("  serve ") < overview().index("  selfplay ")


def test_hydra_still_shows_configurations_and_help(called: Call) -> None:
    shown, helped = called("--cfg", "job", "run.dir=x"), called("--help")
    assert shown.returncode == 0 and "lr: 0.5" in shown.stdout
    assert helped.returncode == 0 and "adam" in helped.stdout


def test_groups_experiments_overrides_and_interpolations_reach_the_work_resolved(called: Call, tmp_path: Path) -> None:
    assert called("run.dir=x").stdout == "lr=0.5 count=3 dir=x players=['a'] weights={'a': 1.0}\n"
    small = called("experiment=small", "players=[b,c]")
    assert small.stdout == "lr=7.0 count=7 dir=here players=['b', 'c'] weights={'a': 1.0}\n"
    assert "weights={'a': 1.0, 'b': 2.0}" in called("run.dir=x", "weights.b=2").stdout  # without a plus
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["optim.lrr=2", "run.dir=x"], ["optim.lrr", "--cfg job"]),
        (["+other=2", "run.dir=x"], ["other", "--cfg job"]),
        (["optim=stray", "run.dir=x"], ["optim.momentum", "--cfg job"]),
        (["count=many", "run.dir=x"], ["count", "many", "Integer"]),
        (["optim=sgd", "run.dir=x"], ["optim=sgd: no such choice; there are adam, broken, linked, stray"]),
        (["optim=broken", "run.dir=x"], ["optim/broken.yaml"]),
        (
            ["optim=3", "run.dir=x"],
            ["optim=3: optim takes the name of a preset; there are adam, broken, linked, stray"],
        ),
        (["optim=null", "run.dir=x"], ["optim=null: optim takes the name of a preset"]),
        ([], ["run.dir", "must be given"]),
        (["experiment=smal", "run.dir=x"], ["experiment=smal: no such choice; there are none, small"]),
        (["optim.lr=-1", "run.dir=x"], ["optim.lr=-1.0 must be above 0"]),
        (["optim.lr=${nowhere}", "run.dir=x"], ["optim.lr", "nowhere"]),
        (["count=1,2", "run.dir=x"], ["count=1,2", "--multirun"]),
        (["count"], ["'count'"]),
        (["run.dir=a=b"], ["cannot read 'run.dir=a=b'", "quotes"]),
        (["run.dir=j\u00fcrgen/run"], ["cannot read 'run.dir=j\u00fcrgen/run'", "letters outside ASCII wants quotes"]),
        (["run.dir={a:b=1: 2}"], ["cannot read", "backslashes"]),
        (["run.dir=x", "count=13"], ["count=13 is unlucky; take another"]),
        (["--multirun", "optim.lrr=1,2"], ["optim.lrr"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input_ends_in_one_line_with_code_2_and_leaves_nothing(
    called: Call, tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    result = called(*arguments)
    assert result.returncode == 2
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert all(word in result.stderr for word in words), result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_choice_that_must_be_made_is_asked_for_and_help_does_without(program: Path, tmp_path: Path) -> None:
    refused = plain_call(program, tmp_path, "run.dir=x")
    assert refused.returncode == 2 and refused.stdout == ""
    assert refused.stderr == "error: experiment must be given, for example experiment=none; there are none, small\n"
    helped = plain_call(program, tmp_path, "--help")
    assert helped.returncode == 0 and "experiment: none, small" in helped.stdout


@pytest.mark.parametrize(
    ("argument", "environment", "code", "words"),
    [
        ("count=14", {}, 1, ["Traceback", "RuntimeError: a bug"]),
        ("count=15", {}, 1, ["error: out of memory (MemoryError)\n"]),
        ("count=many", {"HYDRA_FULL_ERROR": "1"}, 2, ["Traceback", "error: count"]),
    ],
    ids=["a bug", "no memory", "bad input with HYDRA_FULL_ERROR"],
)
def test_what_is_no_bad_input_or_is_to_be_shown_in_full_ends_with_a_code_and_says_why(
    argument: str, environment: dict[str, str], code: int, words: list[str], program: Path, tmp_path: Path
) -> None:
    result = call(program, tmp_path, "run.dir=x", argument, **environment)
    assert result.returncode == code and all(word in result.stderr for word in words), result.stderr
    assert ("Traceback" in result.stderr) == ("Traceback" in words)


def test_every_job_of_a_sweep_runs_in_a_directory_of_its_own_and_one_failure_shows(
    program: Path, tmp_path: Path
) -> None:
    result = call(program, tmp_path, "--multirun", "run.dir=out", "count=2,13,4", "players=[a/b]")
    directories = [line.split("dir=")[1].split()[0] for line in result.stdout.splitlines() if line.startswith("lr=")]
    assert len(set(directories)) == 3 and all(name.startswith("out/") for name in directories)
    assert [name.count("/") for name in directories] == [1, 1, 1]
    assert result.returncode == 2
    assert "error: count=13 is unlucky" in result.stderr and "overrides: ['run.dir=out', 'count=13'" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_may_be_asked_for_by_its_mode(called: Call) -> None:
    swept = called("hydra.mode=MULTIRUN", "run.dir=out", "count=2,4")
    assert swept.returncode == 0 and swept.stdout.count("lr=") == 2
    wrong = called("hydra.mode=MULTI", "run.dir=out")
    assert wrong.returncode == 2 and "expected one of [RUN, MULTIRUN]" in wrong.stderr


@pytest.mark.slow
def test_jobs_are_named_after_what_the_sweep_varies_and_nothing_else(program: Path, tmp_path: Path) -> None:
    long = ",".join(f"[{letter * 90},a/b]" for letter in "xy")
    result = call(
        program, tmp_path, "-m", "run.dir=out", "count=2", f"players={long}", "optim.lr=1,2", "players=[a],[b]"
    )
    assert result.returncode == 0
    names = [line.split("dir=out/")[1].split()[0] for line in result.stdout.splitlines() if line.startswith("lr=")]
    assert sorted(name.rpartition("-")[0] for name in names) == [
        f"optim.lr={rate},players=_{player}_" for rate in (1, 2) for player in "ab"
    ]
    unnamed = call(program, tmp_path, "run.dir=out", "-m", "count=2")  # the option may stand between keys
    assert "dir=out/count=2,experiment=none " in unnamed.stdout  # nothing is swept: all that is given names it
    cut = call(program, tmp_path, "-m", "run.dir=out", f"players={long},[{'z' * 300}]")
    names = [line.split("dir=out/")[1].split()[0] for line in cut.stdout.splitlines() if line.startswith("lr=")]
    assert len(set(names)) == 3 and max(map(len, names)) < 230


@pytest.mark.slow
def test_points_are_worked_on_together_and_a_bad_one_spoils_no_other(program: Path, tmp_path: Path) -> None:
    sweep = ("-m", "run.dir=out", "count=2,13,4", "optim.lr=1,-1")
    result = call(program, tmp_path, *sweep, TOGETHER="1")
    assert result.returncode == 2
    points = [{"count": str(count), "optim.lr": "1"} for count in (2, 13, 4)]
    assert result.stdout.splitlines() == [f"together: {' '.join(map(str, points))}", "after out 6"]
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert errors.count("error: configuration: optim.lr=-1.0 must be above 0") == 3
    assert errors.count("error: count=13 is unlucky") == 1 and len(errors) == 4
    missing = call(program, tmp_path, "-m", "count=2,3", TOGETHER="1")
    assert missing.returncode == 2 and missing.stdout == ""
    assert missing.stderr == "error: run.dir must be given with --multirun, for example run.dir=DIR\n"
    garbled = call(program, tmp_path, "-m", "run.dir=out", "name=a=b,c", TOGETHER="1")
    assert garbled.returncode == 2 and garbled.stderr.startswith("error: cannot read 'name=a=b,c' (")
    alone = call(program, tmp_path, "run.dir=x", TOGETHER="1")
    assert alone.returncode == 0 and alone.stdout.startswith("lr=0.5 count=3 dir=x ")


@pytest.mark.slow
def test_a_failed_points_own_exit_code_comes_through_the_joblib_launcher(program: Path, tmp_path: Path) -> None:
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher")
    unlucky, bug = (13, 2, "error: count=13 is unlucky"), (14, 1, "RuntimeError('a bug')")
    for (count, code, words), settings in ((unlucky, {}), (unlucky, {"TOGETHER": "1"}), (bug, {})):
        sweep = ("-m", "run.dir=out", f"count=2,{count},4", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2")
        result = call(program, tmp_path, *sweep, **settings)
        assert (result.returncode, words in result.stderr) == (code, True), result.stderr


@pytest.mark.parametrize(
    "launcher", ["basic", *(pytest.param(name, marks=pytest.mark.slow) for name in ("together", "joblib"))]
)
def test_what_the_task_returns_reaches_the_sweeper(program: Path, tmp_path: Path, launcher: str) -> None:
    if launcher == "joblib":
        pytest.importorskip("hydra_plugins.hydra_joblib_launcher")
    (tmp_path / "hydra_plugins").mkdir()
    (tmp_path / "hydra_plugins/told.py").write_text(SWEEPER)
    chosen = ("hydra/sweeper=told", f"hydra/launcher={launcher.replace('together', 'basic')}")
    settings = {"TOGETHER": "1"} if launcher == "together" else {}
    result = call(program, tmp_path, "-m", "run.dir=out", "optim.lr=1,0.25", *chosen, **settings)
    expected = [1.0, 1.0] if launcher == "together" else [1.0, 0.25]
    assert result.returncode == 0 and f"told {expected}" in result.stdout, result.stderr


def test_a_failed_point_travels_between_processes() -> None:
    failed = PointFailed(2, "bad", process=7)
    returned = copy.copy(failed)  # as pickle takes it apart and makes it again
    assert (returned.code, returned.message, returned.process) == (2, "bad", 7)
