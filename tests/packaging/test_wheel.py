"""The wheel, installed in an environment of its own, far from the checkout and beside files of the user's that have the
names of our packages."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from games.hearts.game import HeartsGame
from games.shards import read_shard

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PACKAGES = ("cluster", "conf", "games", "learner", "search", "selfplay")


def run(command: Sequence[str | Path], cwd: Path) -> subprocess.CompletedProcess[str]:
    """A command with an environment that knows nothing of the checkout; kernels run as plain Python, which is faster
    than compiling them for a handful of games."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"NUMBA_DISABLE_JIT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=180)


def checked(command: Sequence[str | Path], cwd: Path) -> str:
    """Standard output of a command that succeeds."""
    done = run(command, cwd)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a copy of the checkout."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheels")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    line = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-q"]
    checked([*line, "-w", built, source], cwd=source)
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``bin`` of a fresh environment with the wheel; dependencies come from here, our packages do not: a ``.pth`` file
    adds a directory, but runs no ``.pth`` files there, which an editable installation lives by."""
    root = tmp_path_factory.mktemp("environment")
    checked([sys.executable, "-m", "venv", "--without-pip", root], cwd=root)
    (packages,) = root.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = root / "bin" / "python"
    line = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "-q", wheel]
    checked(line, cwd=root)
    where = checked([python, "-c", "import conf, search; print(conf.__file__, search.__file__)"], cwd=root)
    assert where.count(str(packages)) == 2
    return root / "bin"


@pytest.fixture
def work_dir(tmp_path: Path) -> Path:
    """A directory of a user's who has a ``search.py``, a ``conf`` and a ``games`` too."""
    for name in ("search.py", "conf/__init__.py", "games/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("raise SystemExit('this file is the user\\'s')\n")
    return tmp_path


def test_the_wheel_holds_presets_types_and_licence_and_no_benchmarks(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (archive.read(name).decode() for name in names if name.endswith("METADATA"))
    assert {path.relative_to(ROOT).as_posix() for path in (ROOT / "conf").rglob("*.yaml")} <= names
    assert {f"{package}/py.typed" for package in PACKAGES} <= names
    kinds = (".css", ".html", ".js", ".json", ".safetensors", ".txt")
    asked = set(PACKAGES) - {"cluster"}  # whose dashboard is for those with a checkout
    data = (path for package in asked for path in (ROOT / package).rglob("*") if path.suffix in kinds)
    assert {path.relative_to(ROOT).as_posix() for path in data} <= names
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == set(PACKAGES)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert "License-Expression: Apache-2.0" in metadata
    assert "# Kibitz" in metadata


def test_a_tournament_is_played_beside_a_users_own_files(installed: Path, work_dir: Path) -> None:
    line = [installed / "kibitz", "tournament", "players=[hearts_rules,random]", "deals=1", "out=result.json"]
    assert "hearts_rules" in checked([*line, "game=hearts"], cwd=work_dir)
    assert (work_dir / "result.json").is_file()


def test_workers_too_import_the_installed_packages(installed: Path, work_dir: Path) -> None:
    line = [installed / "kibitz", "generate", "game=hearts", "games=4", "games_per_shard=2", "out=shards"]
    checked([*line, "cluster.generators=1"], cwd=work_dir)
    shards = sorted((work_dir / "shards").glob("*.parquet"))
    assert [len(read_shard(shard, HeartsGame())) for shard in shards] == [8, 8]


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("selfplay", "selfplay.games_per_iteration: int = 3000\n      Deals of every later iteration."),
        ("learn", "learner.batch_size: int = 128\n      Sequences in a step."),
        ("generate", "games_per_shard: int = 10000\n      Deals of one Parquet file: the unit of work"),
        ("label", "share: float = 1.0\n      Share of the decisions"),
        ("tournament", "deals: int = 20\n      Deals; each is played in every seating."),
        ("values", "decisions: int = 1000\n      Number of decisions, one from each deal."),
        ("play", "card_seconds: float = 0.4\n      Seconds before the next card is shown."),
    ],
)
def test_help_names_every_key_with_its_value_without_importing_much(installed, work_dir, command, key) -> None:
    program = (
        "import sys; from cluster.console import main; code = main(); "
        "assert not {'torch', 'ray', 'numba'} & set(sys.modules); sys.exit(code)"
    )
    text = checked([installed / "python", "-P", "-c", program, command, "--help"], cwd=work_dir)
    assert text.startswith(f"usage: kibitz {command} ")
    assert "game        crew, hearts, hearts_no_pass, hearts_paper, leduc_poker" in text and key in text


def test_a_mistyped_command_is_one_line_with_the_names(installed: Path, work_dir: Path) -> None:
    done = run([installed / "kibitz", "turnament"], cwd=work_dir)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        "error: no command 'turnament'; did you mean tournament? there are selfplay, learn, generate, label, "
        "tournament, rating, values, openings, play, serve, engine, review, report, curves, doctor, publish, "
        "show, verify, docs\n"
    )


def version() -> str:
    """The version of the checkout."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


def test_the_version_games_and_players_are_told(installed: Path, work_dir: Path) -> None:
    assert "| `hearts_rules` | hearts |" in checked([installed / "kibitz", "docs", "players"], cwd=work_dir)
    assert "players: random, hearts_rules" in checked([installed / "kibitz", "docs"], cwd=work_dir)
    assert checked([installed / "kibitz", "--version"], cwd=work_dir) == f"kibitz {version()}\n"
