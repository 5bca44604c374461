"""Machine code that is kept is used again only while nothing it was made of has changed."""

import shutil
from pathlib import Path

import pytest

from games.compiling import sources_fingerprint

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("changed", "compiles_anew"),
    [
        ("games/hearts/rules.py", True),
        ("learner/inference/cpu/vector_attention.py", True),
        ("learner/inference/cpu/vectors.py", True),
        ("search/go_mcts/tree.py", True),
        ("learner/config.py", False),
        ("search/tournament/statistics.py", False),
    ],
)
def test_what_kernels_are_made_of_names_the_directory_of_their_machine_code(tmp_path, changed, compiles_anew):
    for package in ("games", "learner", "search"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    before = sources_fingerprint(tmp_path)
    assert before == sources_fingerprint(ROOT)
    with (tmp_path / changed).open("a") as file:
        file.write("# another line\n")
    assert (sources_fingerprint(tmp_path) != before) is compiles_anew
