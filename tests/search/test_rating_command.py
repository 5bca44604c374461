"""``python -m search.arena.rating`` as people run it, and which pairs it plays."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from cluster.errors import UserError, WorkFailedError
from games.config import GameConfig
from games.hearts.game import HeartsGame
from learner.config import EngineConfig
from learner.model.checkpoint import save_weights
from search.arena.rating.__main__ import play_round_robin
from search.arena.rating.config import RatingConfig
from search.arena.rating.ratings import rate
from search.arena.tournament.evaluator import DealsTask, Evaluator
from search.arena.tournament.matches import Matches
from search.arena.tournament.result import TournamentResult
from search.players.kinds import PlayerKind
from search.players.player import Turns
from search.players.random_player import RandomPlayer
from tests.learner.material import tiny_net

ROOT = Path(__file__).parents[2]
THREE = ["random", "hearts_rules", "imitation"]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> str:
    path, game = tmp_path_factory.mktemp("networks") / "tiny", HeartsGame()
    save_weights(path, tiny_net(game), game)
    return str(path)


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
    line = [sys.executable, "-m", "search.arena.rating", "game=hearts", *settings, f"out={tmp_path}"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=120)
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"deals": 3}, r"random\.json: holds a tournament with deals=2, and this one has deals=3; remove it, or give"),
        ({"seed": 9}, r"random\.json: holds a tournament with seed=1, and this one has seed=9; remove it, or give"),
    ],
)
def test_a_directory_of_other_deals_is_refused_before_anything_is_played(
    config: Callable[..., RatingConfig], played: list[tuple[str, ...]], change: dict[str, int], message: str
) -> None:
    play_round_robin(config(THREE[:2]))
    played.clear()
    with pytest.raises(UserError, match=message):
        play_round_robin(config(["hearts_rules:explore=0.3", *THREE[:2]], **change))
    assert played == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"players": ["random", "heart_rules"]}, "no player 'heart_rules'; there are random, hearts_rules"),
        ({"players": ["random", "hearts_rules", "random"]}, r"players=.*different names \(random is there twice\)"),
        ({"players": ["random"]}, r"players=\['random'\]: must be two players or more"),
        ({"anchor": "rules"}, "anchor=rules: must be one of random, hearts_rules"),
        ({"leads_of": "rules"}, "leads_of=rules: must be one of random, hearts_rules"),
        ({"deals": 0}, "deals=0: must be at least 1"),
        ({"checkpoint": "", "players": ["random", "imitation"]}, "player 'imitation' needs a network"),
        ({"out": "{file}"}, "is a file; give a directory"),
    ],
)
def test_bad_input_is_refused_in_one_line_before_anything_is_played(
    config: Callable[..., RatingConfig],
    played: list[tuple[str, ...]],
    changes: dict[str, object],
    message: str,
    tmp_path: Path,
) -> None:
    (file := tmp_path / "file").write_text("")
    changes = {key: str(file) if value == "{file}" else value for key, value in changes.items()}
    with pytest.raises(ValueError, match=message) as raised:
        play_round_robin(config(**{"players": ["random", "hearts_rules"], **changes}))
    assert "\n" not in str(raised.value)
    assert played == [] and [*tmp_path.iterdir()] == [file]


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
