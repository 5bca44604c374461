"""The shape of the repository: sizes, presets that compose, dependencies that are explained."""

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster import cli

ROOT = Path(__file__).parents[1]
CONF = ROOT / "conf"
COMMANDS = {
    "doctor": ("selfplay.config", "DoctorConfig", []),
    "generate": ("selfplay.config", "GenerateConfig", ["out=x"]),
    "label": ("selfplay.config", "LabelConfig", ["data=x", "player=hearts_rules", "out=y"]),
    "learn": ("learner.config", "LearnConfig", ["data=x", "out=x"]),
    "openings": ("search.arena.openings.config", "OpeningsConfig", ["checkpoint=x"]),
    "play": ("search.apps.play.config", "PlayConfig", []),
    "serve": ("search.apps.serve.config", "ServeConfig", []),
    "move_engine": ("search.apps.engine.config", "MoveEngineConfig", []),
    "rating": ("search.arena.rating.config", "RatingConfig", ["players=[random,hearts_rules]", "out=x"]),
    "tournament": ("search.arena.tournament.config", "TournamentConfig", ["players=[random,random]"]),
    "values": ("search.arena.values.config", "ValuesConfig", ["checkpoint=x"]),
    "train": ("selfplay.config", "TrainConfig", ["run.dir=x", "experiment=hearts_teacher"]),
}
"""Top-level configuration -> the module and name of its schema, and what must be given."""
LEFT_OPEN = {"experiment=skat_policies_records": "selfplay.initial.shards=DIR"}
"""Preset -> what must be given beside it."""
PACKAGES = ("benchmarks", "cluster", "conf", "games", "learner", "search", "selfplay", "tests")
SOURCES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REQUIREMENTS = sum(PROJECT["optional-dependencies"].values(), PROJECT["dependencies"])
NAMES = [re.split(r"[\[<>=]", requirement)[0] for requirement in REQUIREMENTS]


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def test_no_file_is_longer_than_450_lines_and_no_function_than_90() -> None:
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= 450, f"{path} has {text.count(chr(10))} lines; split it"
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                length = node.end_lineno - node.lineno + 1
                assert length <= 90, f"{path}:{node.lineno} {node.name} has {length} lines; split it"


def test_every_file_of_configurations_and_deployment_is_yaml() -> None:
    paths = [path for folder in (CONF, ROOT / "cluster") for path in folder.rglob("*.y*ml")]
    assert len(paths) > 60
    for path in paths:
        assert isinstance(yaml.safe_load(path.read_text()), dict), path


def build_command(name: str, *overrides: str) -> Any:
    """The configuration of a command, checked as the command line checks it."""
    module, schema_name, required = COMMANDS[name]
    schema = getattr(importlib.import_module(module), schema_name)
    if any(override.startswith("experiment=") for override in overrides):
        required = [override for override in required if not override.startswith("experiment=")]
    more = [LEFT_OPEN[override] for override in overrides if override in LEFT_OPEN]
    return cli.configured(name, schema, [*required, *more, *overrides])


def test_every_configuration_belongs_to_a_command() -> None:
    assert {path.stem for path in CONF.glob("*.yaml")} == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_commands_defaults_fit_its_schema(name: str) -> None:
    build_command(name)


EXPERIMENTS = "\n".join(path.read_text() for path in CONF.glob("experiment/*.yaml"))
"""Presets of whole runs, each of which ``tests/selfplay/test_presets.py`` composes with the presets that it chooses."""


@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param(f"{group}={name}", marks=[pytest.mark.slow] * (f"/{group}: {name}" in EXPERIMENTS))
        for group, name in sorted((path.parent.name, path.stem) for path in CONF.glob("*/*.yaml"))
        if group not in ("experiment", "initial")  # whose players and weights belong together
    ],
)
def test_every_preset_fits_the_schema(chosen: str) -> None:
    more = ["cluster.address=10.0.0.1:6379"] if chosen == "cluster=existing" else []
    build_command("generate" if chosen.startswith("initial=") else "train", chosen, *more)


@pytest.mark.parametrize("name", NAMES)
def test_every_dependency_is_explained_and_pinned_within_its_range(name: str) -> None:
    assert re.search(rf"^\| `{re.escape(name)}` \|", (ROOT / "docs/dependencies.md").read_text(), re.MULTILINE)
    wanted = name.lower().replace("_", "-")
    assert re.search(rf"^{re.escape(wanted)}==", (ROOT / "constraints.txt").read_text(), re.MULTILINE)


def test_everything_imported_is_declared() -> None:
    provided = {
        "hydra": "hydra-core",
        "mlflow": "mlflow-skinny",
        "pyspiel": "open_spiel",
        "xdist": "pytest-xdist",
        "yaml": "pyyaml",
    }
    own = {*PACKAGES, *sys.stdlib_module_names}
    for path in SOURCES:
        for node in ast.walk(tree_of(path)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
            for module in {name.split(".")[0] for name in names} - own:
                assert provided.get(module, module) in NAMES, f"{path} imports {module}, which pyproject.toml lacks"


def test_no_command_of_the_repository_touches_processes_it_did_not_start() -> None:
    scripts = [ROOT / "Makefile", ROOT / ".ci/run", *(ROOT / "cluster").rglob("*")]
    for path in scripts:
        if path.is_file() and path.suffix != ".pyc":
            assert not re.search(r"\bray stop\b|\bpkill\b|\bkillall\b", path.read_text(encoding="utf-8")), path


def test_what_is_built_or_run_is_ignored_by_git() -> None:
    made = ["runs/x/metrics.jsonl", "a.parquet", "x/model.safetensors", ".venv/bin/python", "state.json.12.tmp"]
    result = subprocess.run(["git", "check-ignore", *made], cwd=ROOT, capture_output=True, text=True)
    if result.returncode == 128:
        pytest.skip("not a git checkout")
    assert result.stdout.split() == made
