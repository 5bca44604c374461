"""The commands that measure: what each refuses in one line, and that one that is killed goes on."""

import json
from pathlib import Path
from typing import Any

import pytest

from learner.model.checkpoint import save_weights
from tests.learner.material import tiny_net
from tests.search.killing import kill_after
from tests.search.state_models import NO_PASS
from tests.selfplay.commands import here

BASE = {
    "tournament": ("game=hearts", "players=[random,hearts_rules]", "deals=1"),
    "rating": ("game=hearts", "players=[random,hearts_rules]", "deals=1"),
    "values": ("checkpoint={network}",),
    "openings": ("checkpoint={q_network}",),
}
"""What each command is given beside the arguments of a row, which count instead of those of the same key."""

REFUSED = [
    ("tournament", "players=[random,nobody]", "no player 'nobody'; there are random, hearts_rules"),
    ("tournament", "players=[argmax_val,random]", "give checkpoint=DIR"),
    ("tournament", "players=['pimc:evaluator=solver',random]", "pimc:evaluator=solver: for hearts it must be one of u"),
    ("tournament", "players=???", "players"),
    ("tournament", "deals=0", "deals=0: must be at least 1"),
    ("tournament", "deals=99999999999999999999", "deals=99999999999999999999: must be at most 256000000"),
    ("tournament", "first=99999999999999999999", "first=99999999999999999999: must be between 0 and"),
    ("tournament", "first=200000000 keep=a", "first=200000000: a shard numbers"),
    ("tournament", "engine.device=cuda", "device=cuda: torch finds no CUDA device here"),
    ("tournament", "game=crew seating=pairs players=[random,crew_rules]", "everybody plays alone"),
    ("tournament", "--multirun deals=1,2", "out must be given with --multirun, for example out=DIR"),
    ("rating", "players=[random,heart_rules]", "no player 'heart_rules'; there are random, hearts_rules"),
    ("rating", "players=[random,hearts_rules,random]", "different names (random is there twice)"),
    ("rating", "players=[random]", "players=['random']: must be two players or more"),
    ("rating", "anchor=rules", "anchor=rules: must be one of random, hearts_rules"),
    ("rating", "leads_of=rules", "leads_of=rules: must be one of random, hearts_rules"),
    ("rating", "players=[random,imitation]", "player 'imitation' needs a network"),
    ("rating", "out={file}", "is a file; give a directory"),
    ("values", "worlds=5", "worlds=5: must be even"),
    ("values", "worlds=0", "worlds=0: must be at least 2"),
    ("values", "decisions=2", "decisions=2: must be at least 3"),
    ("values", "thresholds=[0.1,2.0]", "thresholds=[0.1, 2.0]: must be numbers between 0 and 1"),
    ("values", "policy_weights=[-1.0]", "policy_weights=[-1.0]: must be numbers between 0 and 100"),
    ("values", "search.argmax_val.bidding=percentile", "search.argmax_val.bidding=percentile: must be own"),
    ("values", "checkpoint=/nowhere/at/all", "/nowhere/at/all: no such directory"),
    ("values", "players=[no_such]", "no_such"),
    ("values", "players=[random]", "players=random: has a row of its own in any case; leave it out"),
    ("values", "players=[argmax_val]", "players=argmax_val: has a row of its own in any case; leave it out"),
    ("values", "players=['pimc:cheat=true']", "players=pimc:cheat=true: it sees hidden cards"),
    ("values", "game=tests.search.toy:ToyGame", "game=toy: cannot sample hidden hands"),
    ("openings", "deals=0", "deals=0: must be at least 1"),
    ("openings", "seed=-1", "seed=-1"),
    ("openings", "checkpoint=/nowhere/at/all", "/nowhere/at/all: no such directory"),
    ("openings", "checkpoint={no_pass}", "model_type is 'kibitz_policy_value'; a transformer is for players whose"),
    ("openings", "game=hearts", "use the checkpoint with the game and rule options it was trained on"),
    ("openings", "game=samegame", "samegame has no numbers for a whole deal"),
    ("openings", "out={file}", "is a file; give a directory"),
]


@pytest.fixture(scope="module")
def paths(network: str, q_network: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What names in braces stand for."""
    directory = tmp_path_factory.mktemp("given")
    save_weights(directory / "no_pass", tiny_net(NO_PASS), NO_PASS)
    (directory / "file").write_text("")
    given = {name: str(directory / name) for name in ("no_pass", "file")}
    return {"network": network, "q_network": q_network, **given}


@pytest.mark.parametrize(("command", "given", "message"), REFUSED)
def test_bad_input_ends_in_one_line_before_any_work(
    command: str, given: str, message: str, paths: dict[str, str], tmp_path: Path
) -> None:
    asked = given.split()
    keys = [one.partition("=")[0] for one in asked] + ["out"] * ("--multirun" in asked)
    base = [*BASE[command], f"out={tmp_path / 'result'}"]
    arguments = [*asked, *(one for one in base if one.partition("=")[0] not in keys)]
    done = here(f"search.arena.{command}", *(one.format(**paths) for one in arguments))
    assert done.returncode == 2
    assert message in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


KILLED = [
    ("tournament", "players=[argmax_val,hearts_rules] deals=24 deals_per_task=1", 2, ""),
    ("values", "decisions=24 worlds=20 table_size=8", 3, "playouts-"),
    ("values", "decisions=12 worlds=2 table_size=3 players=[go_mcts] search.go_mcts.num_runs=3", 3, "choices-0-"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "given", "count", "made"), KILLED)
def test_a_killed_command_goes_on_and_finds_what_an_undisturbed_one_finds(
    command: str, given: str, count: int, made: str, network: str, tmp_path: Path
) -> None:
    module, settings = f"search.arena.{command}", [f"checkpoint={network}", *given.split()]
    out, parts = tmp_path / "killed.json", tmp_path / "killed.json.parts"
    kill_after([module, *settings, f"out={out}"], parts, count)
    before = len(list(parts.iterdir()))
    assert list(parts.glob(f"{made}*.safetensors")) and not out.exists()

    refused = here(module, *settings, "seed=2", f"out={out}")
    assert refused.returncode == 2 and len(refused.stderr.splitlines()) == 1
    assert "killed.json.parts: holds parts of a " in refused.stderr and "this one has seed=2" in refused.stderr
    assert len(list(parts.iterdir())) == before

    done = here(module, *settings, f"out={out}")
    assert done.returncode == 0 and " before" in done.stdout and not parts.exists()
    assert here(module, *settings, f"out={tmp_path / 'calm.json'}").returncode == 0
    assert timeless(out) == timeless(tmp_path / "calm.json")


def timeless(path: Path) -> dict[str, Any]:
    """A record, but for how long a turn took."""
    record: dict[str, Any] = json.loads(path.read_text())
    return {key: value for key, value in record.items() if key != "seconds_per_turn"}
