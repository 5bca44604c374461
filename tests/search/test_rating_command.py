"""``python -m search.arena.rating`` as people run it, and which pairs it plays."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from cluster.errors import UserError, WorkFailedError
from games.config import GameConfig
from learner.config import EngineConfig
from search.arena.rating.__main__ import play_round_robin
from search.arena.rating.config import RatingConfig
from search.arena.rating.ratings import rate
from search.arena.tournament.evaluator import DealsTask, Evaluator
from search.arena.tournament.matches import Matches
from search.arena.tournament.result import TournamentResult
from search.players.kinds import PlayerKind
from search.players.player import Turns
from search.players.random_player import RandomPlayer
from tests.selfplay.commands import here

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


def test_a_new_player_meets_everybody_and_nobody_plays_again(
    config: Callable[..., RatingConfig], played: list[tuple[str, ...]]
) -> None:
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


def test_a_directory_of_other_deals_is_refused_before_anything_is_played(
    config: Callable[..., RatingConfig], played: list[tuple[str, ...]]
) -> None:
    play_round_robin(config(THREE[:2]))
    played.clear()
    message = r"random\.json: holds a tournament with deals=2, and this one has deals=3; remove it, or give"
    with pytest.raises(UserError, match=message):
        play_round_robin(config(["hearts_rules:explore=0.3", *THREE[:2]], deals=3))
    assert played == []


class Breaking(RandomPlayer):
    def act(self, turns: Turns) -> None:  # type: ignore[override]
        raise RuntimeError("out of luck")


BREAKING = PlayerKind("breaking", lambda game, model, settings: Breaking(), "Fails at its first turn.")


def test_a_pair_that_fails_is_named_and_the_others_are_played(config: Callable[..., RatingConfig]) -> None:
    broken = f"{__name__}:BREAKING"
    with pytest.raises(WorkFailedError, match=f"{broken}: RuntimeError.'out of luck'"):
        play_round_robin(config([broken, "random", "hearts_rules"]))
    assert [path.name for path in Path(config(THREE).out).iterdir()] == ["hearts_rules-vs-random.json"]


def test_teams_of_a_cooperative_game_are_rated_by_the_missions_they_fulfil(
    config: Callable[..., RatingConfig],
) -> None:
    crew = GameConfig("crew", {"missions": "1-3"})
    results = play_round_robin(config(["random", "crew_rules"], game=crew, deals=12))
    table = rate(results)
    (pair,) = table.pairs
    rates = {name: results[0].columns[0].points[name] for name in results[0].players}
    assert table.players[0].player == "crew_rules" and rates["crew_rules"] > rates["random"]
    assert table.players[0].ahead == pytest.approx(rates["crew_rules"] - rates["random"])
    assert pair.wins - pair.losses == round(12 * (rates["crew_rules"] - rates["random"]))
