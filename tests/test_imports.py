"""Imports only go down: games <- learner <- search <- selfplay, with cluster beside them; and who may import what."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BELOW = {
    "games": {"games", "cluster"},
    "learner": {"games", "learner", "cluster"},
    "search": {"games", "learner", "search", "cluster"},
    "selfplay": {"games", "learner", "search", "selfplay", "cluster"},
    "benchmarks": {"games", "learner", "search", "selfplay", "cluster", "benchmarks"},
    "cluster": {"cluster"},
    "conf": {"conf"},
}
"""Package -> packages of ours that it may import."""

COMMANDS = """
learner.__main__ search.apps.engine.__main__ search.apps.play.__main__ search.apps.serve.__main__
search.arena.openings.__main__ search.arena.rating.__main__ search.arena.tournament.__main__
search.arena.values.__main__ selfplay.__main__ selfplay.doctor selfplay.generate selfplay.label selfplay.verify
"""
"""Modules that are commands: they alone meet Hydra, through ``cluster.cli``."""

ONLY_IN = {
    module: tuple(allowed.split())
    for module, allowed in {
        "hydra": "cluster.choices cluster.cli cluster.composing cluster.sweeps",
        "cluster.cli": f"cluster.* {COMMANDS}",
        "cluster": f"""
            cluster.* selfplay.* benchmarks benchmarks.* games.compiling games.shards *.config {COMMANDS}
            learner.model.checkpoint learner.model.runs learner.training.* learner.task learner.devices learner.export
            learner.publish learner.q_network.data learner.skat_policies.data search.arena.recorded
            search.arena.partial_results search.arena.rating.* search.arena.tournament.* search.arena.values.*
            search.apps.play.saved search.apps.review.* search.apps.serve.* search.roster.engines
            search.roster.registry search.players.memory search.scripted.skat.records.* search.docs""",
        "omegaconf": f"""cluster.cli cluster.composing cluster.sweeps *.config selfplay.recorded
            selfplay.report.contents {COMMANDS}""",
        "ray": "cluster.* benchmarks.scaling",
        "torch": "learner.* cluster.inspector cluster.watching.trackers cluster.actors.stages selfplay.* benchmarks.*",
        "transformers": "learner.model.pretrained",
        "huggingface_hub": "learner.publish",
        "safetensors": "learner.* search.arena.partial_results",
        "pyspiel": "games.openspiel* search.openspiel_bot search.openspiel.player benchmarks.*",
        "open_spiel": "search.openspiel.player benchmarks.*",
        "pettingzoo": "games.pettingzoo_env",
        "gymnasium": "games.pettingzoo_env",
        "pyarrow": """
            games.shards games.shard_format cluster.files.copies cluster.files.storage cluster.files.uris
            benchmarks.*""",
        "learner": f"""
            learner.* selfplay.* benchmarks.* search.roster.engines search.roster.registry search.arena.judges
            search.arena.tournament.checks search.arena.tournament.evaluator {COMMANDS}""",
        "learner.inference.cpu": "learner.inference.cpu.* learner.inference.trunk",
        "aiohttp": "search.apps.serve.* benchmarks.serve",
        "pydantic": "search.checked_json search.apps.* search.arena.recorded",
        "jinja2": "search.apps.pictures.pages",
        "matplotlib": """selfplay.report.pictures search.arena.tournament.pictures search.arena.openings.report
            search.arena.rating.report benchmarks.*""",
        "plotly": "selfplay.report.charts selfplay.report.page",
        "tensorboard": "cluster.watching.trackers",
        "mlflow": "cluster.watching.trackers",
        "wandb": "cluster.watching.trackers",
        "textual": "search.apps.play.app search.apps.play.widgets",
        **dict.fromkeys(("pickle", "cloudpickle", "joblib", "dill"), ""),
    }.items()
}
"""Module -> the modules that may import it or anything below it."""

SEAMS = (
    "learner.observation_model",
    "learner.state_model",
    "learner.decision_model",
    "learner.config",
    "learner.kinds",
    "learner.network_kind",
    "cluster.foreign",
    "cluster.reader",
)
"""Modules that everybody may import whose floor allows it: numpy and dataclasses, no torch."""


@dataclass(frozen=True)
class Import:
    line: int
    module: str
    """What is imported, names taken out of modules included: ``from games.rng import mix`` is ``games.rng.mix``."""
    typing: bool = False
    """Whether it is there for type checkers alone."""


def imports(tree: ast.Module, importer: str) -> Iterator[Import]:
    """Every import of a module, inside functions too."""
    guarded = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    typing = {inner for guard in guarded for inner in ast.walk(guard)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(node.lineno, alias.name, node in typing) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = importer.split(".")[: -node.level] if node.level else []
            prefix = ".".join([*above, *([node.module] if node.module else [])])
            yield from (Import(node.lineno, f"{prefix}.{alias.name}", node in typing) for alias in node.names)


def violations(importer: str, source: str) -> list[str]:
    """What the source of module ``importer`` does against the rules."""
    tree = ast.parse(source)
    package = importer.split(".")[0]
    found = []
    for item in imports(tree, importer):
        parts = item.module.split(".")
        where = f"{importer}:{item.line} imports {item.module}"
        if parts[0] in BELOW and parts[0] not in BELOW[package]:
            found.append(f"{where}: imports only go down")
        if parts[0] == "tests":
            found.append(f"{where}: tests are nobody's library")
        if parts[0] in BELOW and parts[0] != package and any(_private(part) for part in parts):
            found.append(f"{where}: a private name of another package")
        for module, allowed in ONLY_IN.items():
            inside = f"{item.module}.".startswith(f"{module}.")
            seam = module in ("learner", "cluster") and item.module.startswith(SEAMS)
            if inside and not seam and not any(fnmatch(importer, pattern) for pattern in allowed):
                found.append(f"{where}: only {', '.join(allowed) or 'nobody'} may")
    found += [f"{importer}:{line} {what}" for line, what in _dangerous_calls(tree)]
    return found


def _private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def _dangerous_calls(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Calls that would unpickle, or draw from a global random state."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        if name in ("torch.load", "np.random.seed", "random.seed", "torch.manual_seed"):
            yield node.lineno, f"calls {name}"
        if any(keyword.arg == "allow_pickle" and ast.unparse(keyword.value) != "False" for keyword in node.keywords):
            yield node.lineno, "allows pickle"


SEARCH = """
search.players search.apps.pictures search.checked_json
search.uct search.go_mcts
search.alphahearts search.pimc search.openspiel search.single_agent
search.scripted
search.skat_policies
search.config
search.roster search.arena.partial_results
search.arena.recorded
search.arena.tournament
search.arena.openings search.arena.rating search.arena.values
search.arena.judges
search.openspiel_bot search.apps.play
search.apps.review
search.apps.engine
search.apps.serve
search.docs
"""
"""The rooms of ``search`` from the ground up: the seam, the searches, players of single games, the roster, the arena
that measures them, and the apps. What stands on one floor does not import each other: pictures know no layout."""

LEARNER = """
learner.config learner.bits
learner.devices learner.network_kind learner.observation_model learner.state_model learner.decision_model
learner.model
learner.inference
learner.training
learner.transformer learner.q_network learner.skat_policies
learner.kinds
learner.task learner.export learner.publish learner.conformance learner.networks
learner.__main__
"""
"""The same of ``learner``: the network in plain torch, what asks it, what trains it, then each kind of network."""


def floor_of(module: str) -> tuple[int, str]:
    """Number of the floor and name of the room that a module of ``search`` or ``learner`` belongs to."""
    for number, rooms in enumerate((LEARNER if module.startswith("learner.") else SEARCH).splitlines()):
        for room in rooms.split():
            if f"{module}.".startswith(f"{room}."):
                return number, room
    raise AssertionError(f"{module}: which floor is it on?")


@pytest.mark.parametrize("package", ["search", "learner"])
def test_no_import_of_a_package_goes_up_and_none_across(package: str) -> None:
    for module in modules():
        if module.startswith(f"{package}.") and module not in ("search.apps", "search.arena"):
            floor, room = floor_of(module)
            for item in imports(tree_of(module), module):
                if item.module.startswith(f"{package}.") and not item.typing:
                    below, other = floor_of(item.module)
                    assert other == room or below < floor, f"{module}:{item.line} imports {item.module}"


def test_no_two_modules_import_each_other_not_even_around_corners() -> None:
    known = set(modules())
    below = {
        module: {
            found
            for item in imports(tree_of(module), module)
            for found in (item.module, item.module.rpartition(".")[0])
            if found in known and found != module
        }
        for module in known
    }
    assert len(list(TopologicalSorter(below).static_order())) == len(known)  # CycleError names a circle


def modules() -> list[str]:
    """Every module of the packages, by its dotted name."""
    paths = [path for package in BELOW for path in sorted((ROOT / package).rglob("*.py"))]
    names = (".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths)
    return [name.removesuffix(".__init__") if name.endswith("__init__") else name for name in names]


@cache
def source_of(module: str) -> str:
    path = ROOT / module.replace(".", "/")
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(source_of(module))


def test_every_module_imports_only_what_its_floor_allows() -> None:
    assert [found for module in modules() for found in violations(module, source_of(module))] == []


def test_games_need_nothing_but_numpy_and_numba() -> None:
    spiel = {"games.openspiel_counterpart": {"pyspiel"}, "games.openspiel_loading": {"pyspiel"}}
    pettingzoo = {"games.pettingzoo_env": {"pettingzoo", "gymnasium"}}
    shards = {"games.shards": {"pyarrow", "cluster"}, "games.shard_format": {"pyarrow"}}
    extra = {**shards, "games.compiling": {"cluster"}, **spiel, **pettingzoo}
    for module in modules():
        if module.startswith("games"):
            used = {item.module for item in imports(tree_of(module), module)}
            outside = {name.split(".")[0] for name in used if not name.startswith(SEAMS)}
            outside -= set(sys.stdlib_module_names)
            parts = (module, module.rpartition(".")[0])
            allowed = {"games", "numpy", "numba"}.union(*(extra.get(part, ()) for part in parts))
            assert outside <= allowed, f"{module} imports {outside - allowed}"


def test_shards_use_storage_and_nothing_that_needs_ray_or_torch() -> None:
    used = {item.module for item in imports(ast.parse(source_of("games.shards")), "games.shards")}
    assert {module for module in used if module.startswith("cluster")} == {
        "cluster.files.storage",
        "cluster.files.uris",
        "cluster.foreign.parse_json",
    }
    loads = "import sys, games.shards; sys.exit(bool({'ray', 'torch', 'hydra'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", loads], cwd=ROOT).returncode == 0


@pytest.mark.parametrize(
    ("importer", "source"),
    [
        ("games.hearts.rules", "import torch"),
        ("games.hearts.rules", "def f():\n    from learner.model.pretrained import PolicyValueModel"),
        ("games.docs", "from cluster import errors"),
        ("learner.training.loop", "import search.players.player"),
        ("search.go_mcts", "import ray"),
        ("selfplay.generator", "import ray"),
        ("search.go_mcts", "from torch import nn"),
        ("search.go_mcts", "from learner.inference.engine import QueryEngine"),
        ("search.go_mcts", "from cluster import cli"),
        ("search.players.table", "from games.hearts.rules import _deal"),
        ("search.players.table", "from games._private import deal"),
        ("cluster.actors.pool", "from games import rng"),
        ("learner.inference.engine", "from transformers import GPT2Model"),
        ("learner.inference.engine", "from learner.inference.cpu.trunk import CpuTrunk"),
        ("learner.inference.engine", "import pickle"),
        ("learner.inference.engine", "import torch\ntorch.load('x')"),
        ("learner.inference.engine", "import torch\ntorch.manual_seed(1)"),
        ("games.shards", "import numpy as np\nnp.load('x', allow_pickle=True)"),
        ("selfplay.loop", "import hydra"),
        ("benchmarks.plain", "from tests.learner.material import tiny_net"),
        ("games.hearts.state", "from ...learner import model"),
    ],
)
def test_a_broken_rule_is_found(importer: str, source: str) -> None:
    assert len(violations(importer, source)) >= 1
