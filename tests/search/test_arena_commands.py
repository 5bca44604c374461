"""The commands that measure: what they refuse in one line, print and write, and that a killed one goes on with what
its parts lack."""

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cluster.errors import UserError, WorkFailedError, raised
from games.config import GameConfig
from games.hearts.game import HeartsGame
from games.registry import make_game
from games.shards import read_shard
from learner.config import EngineConfig
from learner.model.checkpoint import save_weights
from search.arena.rating.__main__ import play_round_robin
from search.arena.rating.config import RatingConfig
from search.arena.rating.ratings import rate
from search.arena.recorded import check_out
from search.arena.tournament.checks import checked
from search.arena.tournament.config import TournamentConfig
from search.arena.tournament.evaluator import DealsTask, Evaluator
from search.arena.tournament.matches import Matches
from search.arena.tournament.parts import Tournament, play_tournaments
from search.arena.tournament.result import TournamentResult
from tests.learner.material import tiny_net
from tests.search.state_models import NO_PASS
from tests.search.turns import BREAKING
from tests.selfplay.commands import Command, here

BASE = {
    "tournament": ("game=hearts", "players=[random,hearts_rules]", "deals=1"),
    "rating": ("game=hearts", "players=[random,hearts_rules]", "deals=1"),
    "values": ("checkpoint={network}",),
    "openings": ("checkpoint={q_network}",),
}
"""What each command is given beside the arguments of a row, which count instead of those of the same key."""

REFUSED = [
    ("tournament", "players=[random,nobody]", "no player 'nobody'; there are random, hearts_rules"),
    ("tournament", "deals=0", "deals=0: must be at least 1"),
    ("tournament", "first=200000000 keep=a", "first=200000000: a shard numbers"),
    ("tournament", "game=crew seating=pairs players=[random,crew_rules]", "everybody plays alone"),
    ("tournament", "--multirun deals=1,2", "out must be given with --multirun, for example out=DIR"),
    ("rating", "players=[random,hearts_rules,random]", "different names (random is there twice)"),
    ("rating", "anchor=rules", "anchor=rules: must be one of random, hearts_rules"),
    ("rating", "out={file}", "is a file; give a directory"),
    ("values", "worlds=5", "worlds=5: must be even"),
    ("values", "thresholds=[0.1,2.0]", "thresholds=[0.1, 2.0]: must be numbers between 0 and 1"),
    ("values", "players=[random]", "players=random: has a row of its own in any case; leave it out"),
    ("openings", "checkpoint={no_pass}", "model_type is 'kibitz_policy_value'; a transformer is for players whose"),
    ("openings", "game=hearts", "use the checkpoint with the game and rule options it was trained on"),
    ("rating", "players=[random]", "players=['random']: must be two players or more"),
    ("values", "decisions=2", "decisions=2: must be at least 3"),
    ("values", "players=['pimc:cheat=true']", "players=pimc:cheat=true: it sees hidden cards"),
    ("values", "game=tests.search.toy:ToyGame", "game=toy: cannot sample hidden hands"),
    ("openings", "game=samegame", "game is 'hearts', the game in use has 'samegame'"),
    ("values", "search.argmax_val.bidding=percentile", "search.argmax_val.bidding=percentile: must be own"),
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
def test_bad_input_ends_in_one_line_before_any_work(command, given, message, paths, tmp_path) -> None:
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
    begun = Command(module, *settings, f"out={out}", log=tmp_path / "log")
    begun.until(lambda: len(list(parts.glob("*.safetensors"))) >= count)
    begun.kill()
    before = len(list(parts.iterdir()))
    assert list(parts.glob(f"{made}*.safetensors")) and not out.exists()

    refused = here(module, *settings, "seed=2", f"out={out}")
    assert refused.returncode == 2 and len(refused.stderr.splitlines()) == 1
    assert "killed.json.parts: holds parts of a " in refused.stderr and "this one has seed=2" in refused.stderr
    assert len(list(parts.iterdir())) == before

    done = here(module, *settings, f"out={out}")
    what = "choices made before" if made.startswith("choices") else " before"
    assert done.returncode == 0 and what in done.stdout and not parts.exists()
    assert here(module, *settings, f"out={tmp_path / 'calm.json'}").returncode == 0
    assert timeless(out) == timeless(tmp_path / "calm.json")


def timeless(path: Path) -> dict[str, Any]:
    """A record, but for how long a turn took."""
    record: dict[str, Any] = json.loads(path.read_text())
    return {key: value for key, value in record.items() if key != "seconds_per_turn"}


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return here("search.arena.tournament", *arguments)


def test_a_tournament_is_printed_and_written_and_a_deal_can_be_played_again_by_its_number_and_kept(tmp_path) -> None:
    played = ("game=hearts", 'players=["hearts_rules:explore=0.2",random]', "seed=1")
    done = command(*played, "deals=4", f"out={tmp_path}/whole.json")
    assert done.returncode == 0 and "1A/3B" in done.stdout and "hearts_rules" in done.stdout, done.stderr
    shard = tmp_path / "deal.parquet"
    again = command(*played, "deals=1", "first=2", f"keep={shard}", f"out={tmp_path}/one.json")
    assert again.returncode == 0 and f"histories: {shard}" in again.stdout, again.stderr
    whole, one = (json.loads((tmp_path / name).read_text()) for name in ("whole.json", "one.json"))
    assert (whole["first"], one["first"], one["deals"]) == (0, 2, 1) and whole["matches"] == 56
    assert whole["columns"][0]["comparisons"][0]["delta"] < -3 and whole["settings"]["checkpoints"] == {}
    assert whole["settings"]["search"]["go_mcts"]["num_runs"] == 100
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


THREE = ["random", "hearts_rules", "imitation"]


@pytest.fixture
def config(network: str, tmp_path: Path) -> Callable[..., RatingConfig]:
    def make(players: list[str], **changes: object) -> RatingConfig:
        base = RatingConfig(GameConfig("hearts"), players, network, deals=2, out=str(tmp_path / "table"))
        base.cluster.mode, base.engine = "process", EngineConfig(device="cpu")
        return replace(base, **changes)  # type: ignore[arg-type]

    return make


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Who has played, task by task."""
    tasks, play = list[tuple[str, ...]](), Evaluator.play

    def counted(self: Evaluator, task: DealsTask) -> Matches:
        tasks.append(task.players)
        return play(self, task)

    monkeypatch.setattr(Evaluator, "play", counted)
    return tasks


def test_the_command_plays_all_pairs_prints_the_table_and_writes_it(network: str, tmp_path: Path) -> None:
    settings = ["players=[random,hearts_rules,imitation]", f"checkpoint={network}", "deals=6", "anchor=random"]
    done = here("search.arena.rating", "game=hearts", *settings, f"out={tmp_path}")
    assert done.returncode == 0, done.stderr
    assert "3 of 3 pairs to play" in done.stdout and "hearts: 3 players, 6 deals a pair; random is 0" in done.stdout
    names = ["hearts_rules-vs-imitation", "hearts_rules-vs-random", "imitation-vs-random"]
    results = [TournamentResult.read(str(tmp_path / f"{name}.json")) for name in names]
    assert json.loads((tmp_path / "ratings.json").read_text()) == rate(results, "random").record()
    assert all(result.deals == 6 and result.matches == 84 for result in results)
    files = [f"{name}.json" for name in (*names, "ratings")] + ["leads.png", "ratings.png", "strength.png"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)
    assert "1 │ hearts_rules" in done.stdout


def test_a_new_player_meets_everybody_and_nobody_plays_again(config, played) -> None:
    before = play_round_robin(config(THREE[:2]))
    assert played == [("hearts_rules", "random")]
    played.clear()
    joined = play_round_robin(config(["imitation", *THREE[:2]]))
    assert sorted(played) == [("hearts_rules", "imitation"), ("imitation", "random")]
    assert [result.players for result in joined] == [*combinations(sorted(THREE), 2)]
    assert before[0] == joined[1]
    played.clear()
    assert play_round_robin(config(THREE)) == joined and played == []
    assert [result.players for result in play_round_robin(config(THREE[::2]))] == [("imitation", "random")]
    assert played == [], "a table of fewer players is read off the files"
    message = r"random\.json: holds a tournament with deals=2, and this one has deals=3; remove it, or give"
    with pytest.raises(UserError, match=message):
        play_round_robin(config(["hearts_rules:explore=0.3", *THREE[:2]], deals=3))
    assert played == [], "a directory of other deals is refused before anything is played"


def test_a_pair_that_fails_is_named_and_the_others_are_played(config: Callable[..., RatingConfig]) -> None:
    with pytest.raises(WorkFailedError, match=f"{BREAKING}: RuntimeError.'out of luck'"):
        play_round_robin(config([BREAKING, "random", "hearts_rules"]))
    assert [path.name for path in Path(config(THREE).out).iterdir()] == ["hearts_rules-vs-random.json"]


def test_teams_of_a_cooperative_game_are_rated_by_the_missions_they_fulfil(config) -> None:
    crew = GameConfig("crew", {"missions": "1-3"})
    results = play_round_robin(config(["random", "crew_rules"], game=crew, deals=12))
    table = rate(results)
    (pair,) = table.pairs
    rates = {name: results[0].columns[0].points[name] for name in results[0].players}
    assert table.players[0].player == "crew_rules" and rates["crew_rules"] > rates["random"]
    assert table.players[0].ahead == pytest.approx(rates["crew_rules"] - rates["random"])
    assert pair.wins - pair.losses == round(12 * (rates["crew_rules"] - rates["random"]))


# ---- finished parts of tournaments lie in files until the result is complete


@pytest.fixture
def tournament_of(network: str, tmp_path: Path) -> Callable[..., TournamentConfig]:
    def make(**changed: Any) -> TournamentConfig:
        given = {"players": ["argmax_val", "random"], "checkpoint": network, "deals": 7, "deals_per_task": 2}
        engine = EngineConfig(device="cpu")
        return TournamentConfig(
            **{"game": GameConfig("hearts"), "out": str(tmp_path / "result.json"), "engine": engine, **given, **changed}
        )

    return make


def begun(asked: TournamentConfig) -> Tournament:
    """The tournament as the command has it before it plays."""
    tournament = checked(asked)
    assert tournament.stored(asked.out) is None
    return tournament.with_parts(asked.out)


def parts_played(tournament: Tournament, parts: int | None = None) -> list[tuple[int, int]]:
    """First deals and numbers of deals of the parts that are played now, of which there may be so many."""
    tasks = tournament.tasks(0)[:parts]
    for _, matches in Evaluator().evaluate(tasks, lambda so_far: None):
        tournament.keep_part(raised(matches))
    return [(task.deals.first, task.deals.count) for task in tasks]


def finish(tournament: Tournament) -> TournamentResult:
    ((_, result),) = play_tournaments([tournament], Evaluator().evaluate)
    return raised(result)


def test_only_missing_deals_are_played_whatever_the_parts_are_now(tournament_of) -> None:
    assert parts_played(begun(tournament_of()), 2) == [(0, 1), (1, 2)]
    other = tournament_of(deals_per_task=5, table_size=14, engine=EngineConfig(device="cpu", max_batch=64))
    assert [(task.deals.first, task.deals.count) for task in begun(other).tasks(0)] == [(3, 4)]
    result = finish(begun(other))
    assert result.by_deal == finish(checked(tournament_of())).by_deal
    assert finish(begun(tournament_of())).by_deal == result.by_deal and begun(tournament_of()).tasks(0) == []
    result.write(tournament_of().out)
    assert not Path(f"{tournament_of().out}.parts").exists()


def test_parts_that_a_command_left_beside_its_result_go_with_the_next(tournament_of) -> None:
    result = finish(tournament := begun(tournament_of(players=["hearts_rules", "random"], checkpoint="")))
    parts = Path(f"{tournament_of().out}.parts")
    assert len(list(parts.iterdir())) == 4
    Path(tournament_of().out).write_text(json.dumps(result.record()))
    assert tournament.stored(tournament_of().out) == result and not parts.exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 2}, "seed=1, and this one has seed=2"),
        ({"deals": 9}, "deals=7, and this one has deals=9"),
        ({"seating": "pairs"}, "seating=all, and this one has seating=pairs"),
        ({"engine": EngineConfig(device="cpu", mask_outcomes=True)}, r"engine\.mask_outcomes=False, and this one"),
        ({"players": ["argmax_val", "hearts_rules"]}, r"players=\['argmax_val', 'random'\], and this"),
    ],
)
def test_parts_of_another_tournament_are_refused_by_what_differs(tournament_of, changes, message) -> None:
    parts_played(begun(tournament_of()), 1)
    with pytest.raises(UserError, match=rf"result\.json\.parts: holds parts of a tournament with {message}") as error:
        begun(tournament_of(**changes))
    assert "\n" not in str(error.value) and str(error.value).endswith("remove it, or give another out")


def test_a_tournament_whose_histories_are_kept_spares_other_results_and_takes_no_part_of_its_own(
    tournament_of, tmp_path: Path
) -> None:
    keep = str(tmp_path / "histories.parquet")
    parts_played(begun(tournament_of()), 1)
    with pytest.raises(UserError, match=r"parts: holds parts of a tournament with seed=1, and this one has seed=2"):
        begun(tournament_of(seed=2, keep=keep))
    assert begun(tournament_of(keep=keep)).deals_played == 0
    result = finish(begun(tournament_of()))
    result.write(tournament_of().out)
    assert begun(tournament_of(keep=keep)).deals_played == 0
    with pytest.raises(UserError, match=r"result\.json: holds a tournament with seed=1, and this one has seed=2"):
        begun(tournament_of(seed=2, keep=keep))


def test_a_directory_in_place_of_a_file_is_refused_by_the_key_that_names_it(tmp_path: Path) -> None:
    for key in ("out", "keep"):
        with pytest.raises(UserError, match=f"^{key}={tmp_path}: is a directory; name the file to write$"):
            check_out(str(tmp_path), key)


def test_parts_of_a_network_that_has_been_replaced_are_refused(tournament_of, tmp_path) -> None:
    own = str(tmp_path / "own")
    save_weights(own, tiny_net(HeartsGame()), HeartsGame())
    parts_played(begun(tournament_of(checkpoint=own)), 1)
    shutil.rmtree(own)
    save_weights(own, tiny_net(HeartsGame(), seed=1), HeartsGame())
    with pytest.raises(UserError, match=r"parts of a tournament with checkpoints\.argmax_val\.id="):
        begun(tournament_of(checkpoint=own))


def test_a_damaged_part_is_named_and_without_it_its_deals_are_played_again(tournament_of) -> None:
    result, parts = finish(begun(tournament_of())), Path(f"{tournament_of().out}.parts")
    damaged = sorted(parts.iterdir())[1]
    data = bytearray(damaged.read_bytes())
    data[-3] ^= 1
    damaged.write_bytes(data)
    with pytest.raises(UserError, match=rf"{damaged.name}: is damaged, .*; remove it to have them made again"):
        begun(tournament_of())
    damaged.unlink()
    assert [(task.deals.first, task.deals.count) for task in begun(tournament_of()).tasks(0)] == [(1, 2)]
    assert finish(begun(tournament_of())).by_deal == result.by_deal


def test_parts_of_two_commands_at_once_count_each_deal_once(tournament_of) -> None:
    one, two = begun(tournament_of()), begun(tournament_of(deals_per_task=3))
    assert parts_played(one, 2) == [(0, 1), (1, 2)] and parts_played(two, 2) == [(0, 2), (2, 2)]
    calm, result = finish(checked(tournament_of())), finish(begun(tournament_of()))
    assert replace(result, seconds_per_turn={}) == replace(calm, seconds_per_turn={})
