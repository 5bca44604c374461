"""``python -m search.tournament`` as people run it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def command(*arguments: str) -> subprocess.CompletedProcess:
    line = [sys.executable, "-m", "search.tournament", *arguments]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=120)


def test_the_command_prints_the_table_and_writes_the_json(tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    done = command("game=hearts", "players=[hearts_rules,random]", "deals=10", "seed=1", f"out={out}")
    assert done.returncode == 0, done.stderr
    assert "1A/3B" in done.stdout and "hearts_rules" in done.stdout
    record = json.loads(out.read_text())
    assert record["deals"] == 10 and record["matches"] == 140
    assert record["columns"][0]["comparisons"][0]["delta"] < -4
    assert record["settings"]["search"]["go_mcts"]["num_runs"] == 100
    assert record["settings"]["checkpoints"] == {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("players=[random,nobody]",), "no player 'nobody'; there are random, hearts_rules"),
        (("players=[argmax_val,random]",), "give checkpoint=DIR"),
        (('players=["pimc:evaluator=solver",random]',), "pimc:evaluator=solver: for hearts it must be one of uct"),
        (("players=[random]", "deals=0"), "deals=0: must be at least 1"),
        ((), "players"),
        (("players=[random,hearts_rules]", "engine.device=cuda"), "device=cuda: torch finds no CUDA device here"),
    ],
)
def test_bad_input_ends_in_one_line_before_any_work(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = command("game=hearts", f"out={tmp_path / 'result.json'}", *arguments)
    assert done.returncode == 2
    assert message in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
