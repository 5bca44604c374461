"""Machine code that is kept is used again only while nothing it was made of has changed."""

import ast
import os
import shutil
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUG_IN = {
    "stranger/__init__.py": "",
    "stranger/cards.py": "NUM_CARDS = 10\n",
    "stranger/words.py": "NAME = 'a game'\n",
    "stranger/scores.py": (
        "from games.compiling import kernel\nfrom stranger.cards import NUM_CARDS\n\n"
        "@kernel\ndef score(card):\n    return card + NUM_CARDS\n"
    ),
    "stranger/rules.py": (
        "import numpy as np\nfrom games.compiling import kernel\nfrom games.rng import next_state\n"
        "from .scores import score\n\n"
        "@kernel\ndef play(card):\n    next_state(np.uint64(card))\n    return score(card)\n"
    ),
    "another/__init__.py": "",
    "another/player.py": (
        "from games.compiling import kernel\nfrom stranger.rules import play\n\n"
        "@kernel\ndef choose(card):\n    return play(card) + 1000\n"
    ),
}
"""A game, and a player of it in another package, as somebody outside this repository may write them."""


@pytest.fixture
def choose(tmp_path):
    """The kernel run in a process of its own: its result, and whether its machine code was there already."""
    shutil.copytree(ROOT / "games", tmp_path / "games", ignore=shutil.ignore_patterns("__pycache__"))
    for name, source in PLUG_IN.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(source)
    environment = {key: value for key, value in os.environ.items() if key not in ("NUMBA_CACHE_DIR", "PYTHONPATH")}
    environment |= {"KIBITZ_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    code = "from another.player import choose; print(choose(1), sum(choose.stats.cache_hits.values()))"

    def run(place=tmp_path):
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        result, hits = map(int, done.stdout.split())
        return result, hits == 1

    return run


def test_kernels_are_compiled_anew_only_after_a_change_of_what_they_are_made_of(choose, tmp_path):
    def change(name, before, after):
        source = (tmp_path / name).read_text()
        assert before in source
        (tmp_path / name).write_text(source.replace(before, after, 1))

    assert choose() == (1011, False)
    change("stranger/words.py", "a game", "another game")
    change("games/show.py", "\n", "\n# another line\n")
    assert choose() == (1011, True)
    change("stranger/cards.py", "10", "20")  # a number that a kernel of another file of another package imports
    assert choose() == (1021, False)
    change("stranger/scores.py", "card +", "card * 3 +")
    assert choose() == (1023, False)
    change("games/rng.py", "\n", "\n# another line\n")
    assert choose() == (1023, False)


def test_a_copy_elsewhere_finds_what_was_compiled(choose, tmp_path):
    assert choose() == (1011, False)
    (tmp_path / "clone").mkdir()
    for name in ("games", "stranger", "another"):
        shutil.copytree(tmp_path / name, tmp_path / "clone" / name)
        shutil.rmtree(tmp_path / name)
    assert choose(tmp_path / "clone") == (1011, True)


def test_no_kernels_call_each_other_in_a_circle() -> None:
    """numba crashes when it loads such kernels from the directory, so this looks at their sources."""
    calls: dict[str, set[str]] = {}
    for path in (path for package in ("games", "learner", "search") for path in (ROOT / package).rglob("*.py")):
        module, tree = ".".join(path.relative_to(ROOT).with_suffix("").parts), ast.parse(path.read_text("utf-8"))
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        known = {node.name: f"{module}.{node.name}" for node in functions}
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                known |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        for node in functions:
            if any(ast.unparse(decorator).startswith("kernel") for decorator in node.decorator_list):
                called = {ast.unparse(call.func) for call in ast.walk(node) if isinstance(call, ast.Call)}
                others = (called & known.keys()) - {node.name}  # one that calls itself alone can be loaded
                calls[known[node.name]] = {known[name] for name in others}
    assert len(calls) > 100 and "games.bits.count" in calls["games.skat.cards.points_of"]
    TopologicalSorter(calls).prepare()  # CycleError names the circle
