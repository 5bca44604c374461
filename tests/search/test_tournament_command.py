"""``python -m search.arena.tournament`` as people run it."""

import json
import subprocess
from pathlib import Path

import numpy as np

from games.registry import make_game
from games.shards import read_shard
from tests.selfplay.commands import here


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return here("search.arena.tournament", *arguments)


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


def test_a_deal_of_a_tournament_can_be_played_again_by_its_number_and_its_histories_kept(tmp_path: Path) -> None:
    played = ("game=hearts", 'players=["hearts_rules:explore=0.2",random]', "seed=1")
    assert command(*played, "deals=4", f"out={tmp_path}/whole.json").returncode == 0
    shard = tmp_path / "deal.parquet"
    again = command(*played, "deals=1", "first=2", f"keep={shard}", f"out={tmp_path}/one.json")
    assert again.returncode == 0 and f"histories: {shard}" in again.stdout, again.stderr
    whole, one = (json.loads((tmp_path / name).read_text()) for name in ("whole.json", "one.json"))
    assert (whole["first"], one["first"], one["deals"]) == (0, 2, 1)
    for player, points in whole["by_deal"].items():
        assert one["by_deal"][player] == points[2:3]
    game = make_game("hearts")
    kept = read_shard(shard, game)
    assert len(kept) == 14 * 4 and len(set(kept.deal_seed)) == 1 and set(kept.game) == set(range(28, 42))
    points = game.outcomes.points[kept.outcome, 0]
    for player, (mean,) in one["by_deal"].items():  # the mean over seatings of the mean over the player's seats
        matches = [points[(kept.game == match) & (kept.player == player)] for match in set(kept.game)]
        assert np.isclose(np.mean([seats.mean() for seats in matches if len(seats)]), mean)
    other = command(*played, "deals=1", "first=2", f"keep={tmp_path}/new.parquet", f"out={tmp_path}/whole.json")
    assert other.returncode == 2 and "whole.json: holds a tournament with deals=4, and this one has" in other.stderr
    assert json.loads((tmp_path / "whole.json").read_text()) == whole and not (tmp_path / "new.parquet").exists()
    refused = command(*played, "deals=1", "first=2", f"keep={shard}")
    assert refused.returncode == 2 and f"keep={shard}: is there already; name a new file" in refused.stderr
    twice = command("--multirun", *played, "deals=1,2", f"keep={tmp_path}/a.parquet", f"out={tmp_path}/sweep")
    assert twice.returncode == 2 and "one shard holds one tournament; leave out --multirun" in twice.stderr
