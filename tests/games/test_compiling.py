"""Machine code that is kept is used again only while nothing it was made of has changed."""

import ast
import os
import shutil
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from games.batches import results

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
    "another/loops.py": (
        "import sys\nimport numpy as np\nfrom games.batches import results\nfrom games.compiling import kernel\n"
        "from stranger.rules import play\nfrom another.player import choose\n\n"
        "plays, choices = results(play), results(choose)\n\n"
        "@kernel\ndef both(cards, first, second):\n    plays(cards, first)\n    choices(cards, second)\n\n"
        "def count(loop, *written):\n    loop(np.array([1, 2]), *written)\n"
        "    print(*(number for row in written for number in row), sum(loop.stats.cache_misses.values()))\n"
    ),
}
"""A game, and a player of it in another package, as somebody outside this repository may write them."""


@pytest.fixture
def printed(tmp_path):
    """The numbers that a line of Python prints in a process of its own, beside a copy of ``games`` and the plug-in."""
    shutil.copytree(ROOT / "games", tmp_path / "games", ignore=shutil.ignore_patterns("__pycache__"))
    for name, source in PLUG_IN.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(source)
    environment = {key: value for key, value in os.environ.items() if key not in ("NUMBA_CACHE_DIR", "PYTHONPATH")}
    environment |= {"KIBITZ_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(code, place=tmp_path, **variables):
        command = [sys.executable, "-c", code]
        done = subprocess.run(
            command, cwd=place, env=environment | variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return list(map(int, done.stdout.split()))

    return run


@pytest.fixture
def choose(printed, tmp_path):
    """The kernel run in a process of its own: its result, and whether its machine code was there already."""
    code = "from another.player import choose; print(choose(1), sum(choose.stats.cache_hits.values()))"

    def run(place=tmp_path, **variables):
        result, hits = printed(code, place, **variables)
        return result, hits == 1

    return run


@pytest.fixture
def change(tmp_path):
    """Write other words into a file of the copy."""

    def write(name, before, after):
        source = (tmp_path / name).read_text()
        assert before in source
        (tmp_path / name).write_text(source.replace(before, after, 1))

    return write


def test_kernels_are_compiled_anew_only_after_a_change_of_what_they_are_made_of(choose, change):
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


@pytest.mark.slow
def test_kernels_that_look_at_indices_are_kept_apart_from_those_that_do_not(choose):
    for hit in (False, True):
        assert choose(NUMBA_BOUNDSCHECK="1") == (1011, hit)
        assert choose() == (1011, hit)


def test_a_copy_elsewhere_finds_what_was_compiled(choose, tmp_path):
    assert choose() == (1011, False)
    (tmp_path / "clone").mkdir()
    for name in ("games", "stranger", "another"):
        shutil.copytree(tmp_path / name, tmp_path / "clone" / name)
        shutil.rmtree(tmp_path / name)
    assert choose(tmp_path / "clone") == (1011, True)


@pytest.mark.slow
def test_a_loop_is_compiled_anew_only_after_a_change_of_the_kernel_that_it_holds(printed, change):
    code = "from another.loops import *; count(plays, np.zeros(2, int))"
    assert printed(code) == [11, 12, 1]
    assert printed(code) == [11, 12, 0]
    change("stranger/words.py", "a game", "another game")
    assert printed(code) == [11, 12, 0]
    change("stranger/scores.py", "card +", "card * 3 +")
    assert printed(code) == [13, 16, 1]
    change("stranger/cards.py", "10", "20")
    assert printed(code) == [23, 26, 1]
    assert printed(code) == [23, 26, 0]


@pytest.mark.slow
def test_loops_of_one_name_that_other_processes_have_compiled_stay_apart(printed):
    """numba numbers functions of one name process by process, and so would give both the same symbol."""
    assert printed("from another.loops import *; count(plays, np.zeros(2, int))") == [11, 12, 1]
    assert printed("from another.loops import *; count(choices, np.zeros(2, int))") == [1011, 1012, 1]
    both = "from another.loops import *; count(both, np.zeros(2, int), np.zeros(2, int))"
    assert printed(both) == [11, 12, 1011, 1012, 1]
    assert printed(both) == [11, 12, 1011, 1012, 0]


def test_processes_that_compile_other_kernels_go_through_the_cards_of_sets_alike(printed, tmp_path) -> None:
    kernels = (f"@kernel\ndef {name}(cards):\n    return [card for card in each(cards)]\n" for name in ("one", "other"))
    imports = "from games.bits import each\nfrom games.compiling import kernel\n\n"
    (tmp_path / "sets.py").write_text(imports + "\n".join(kernels))
    for name in ("one", "other"):
        assert printed(f"from sets import {name}; print(*{name}(0b1011))") == [0, 1, 3]


def test_a_loop_holds_only_what_tells_when_it_changes() -> None:
    def plain(card):
        return card

    with pytest.raises(TypeError, match=r"holds of_row=.*give it a kernel of games.compiling, a number or an array"):
        results(plain)


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


@pytest.mark.slow
def test_answers_of_a_process_that_compiles_are_those_of_one_that_loads(printed) -> None:
    """Attention and outcomes share a kernel whose sums may be reordered; each used to have its own copy of it."""
    code = (
        "import numpy as np\nfrom learner.inference.cpu.attention import attend\n"
        "from learner.inference.cpu.rowwise import expectations\n"
        "def floats(*shape):\n    return np.random.default_rng(1).standard_normal(shape, np.float32)\n"
        "count = np.arange(7)\n"
        "attended = attend(floats(7, 96), floats(9, 2, 64), 0, np.zeros((1, 7), int), count * 0, count, count, 2,"
        " np.array([0, 7]))\n"
        "print(*attended.view(np.int32).sum(1), *expectations(floats(9, 105), floats(105)).view(np.int32))\n"
    )
    compiled = printed(code, ROOT)
    assert len(compiled) == 16 and printed(code, ROOT) == compiled


@pytest.mark.slow
def test_record_types_of_two_processes_do_not_mix_in_a_third(printed) -> None:
    """Boards of two sizes, each compiled by a process of its own, and then both loaded together."""
    code = (
        "import numpy as np\nfrom games.samegame.game import SameGame\n"
        "for side in {sizes}:\n"
        "    game = SameGame(rows=side, columns=side)\n"
        "    states = game.deal(np.arange(9, dtype=np.uint64))\n"
        "    game.playout(states, np.arange(9, dtype=np.uint64))\n"
        "    print(game.points(states).sum().astype(int))\n"
    )
    (six,), (nine,) = printed(code.format(sizes=[6])), printed(code.format(sizes=[9]))
    assert printed(code.format(sizes=[6, 9])) == [six, nine]
    assert printed(code.format(sizes=[9, 6])) == [nine, six]
