"""Tournaments that are killed go on: their finished parts lie in files until the result is complete."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cluster.errors import UserError, raised
from games.config import GameConfig
from games.hearts.game import HeartsGame
from learner.config import EngineConfig
from learner.model.checkpoint import save_weights
from search.arena.recorded import check_out
from search.arena.tournament.checks import checked
from search.arena.tournament.config import TournamentConfig
from search.arena.tournament.evaluator import Evaluator
from search.arena.tournament.parts import Tournament, play_tournaments
from search.arena.tournament.result import TournamentResult
from tests.learner.material import tiny_net


@pytest.fixture
def config(network: str, tmp_path: Path) -> Callable[..., TournamentConfig]:
    def make(**changed: Any) -> TournamentConfig:
        given = {"players": ["argmax_val", "random"], "checkpoint": network, "deals": 7, "deals_per_task": 2}
        engine = EngineConfig(device="cpu")
        return TournamentConfig(
            **{"game": GameConfig("hearts"), "out": str(tmp_path / "result.json"), "engine": engine, **given, **changed}
        )

    return make


def begun(config: TournamentConfig) -> Tournament:
    """The tournament as the command has it before it plays."""
    tournament = checked(config)
    assert tournament.stored(config.out) is None
    return tournament.with_parts(config.out)


def played(tournament: Tournament, parts: int | None = None) -> list[tuple[int, int]]:
    """First deals and numbers of deals of the parts that are played now, of which there may be so many."""
    tasks = tournament.tasks(0)[:parts]
    for _, matches in Evaluator().evaluate(tasks, lambda so_far: None):
        tournament.keep_part(raised(matches))
    return [(task.deals.first, task.deals.count) for task in tasks]


def finish(tournament: Tournament) -> TournamentResult:
    ((_, result),) = play_tournaments([tournament], Evaluator().evaluate)
    return raised(result)


def figures(result: TournamentResult) -> TournamentResult:
    """Everything but times and where its file is."""
    return replace(result, seconds_per_turn={})


def test_only_missing_deals_are_played_whatever_the_parts_are_now(config: Callable[..., TournamentConfig]) -> None:
    assert played(begun(config()), 2) == [(0, 1), (1, 2)]
    other = config(deals_per_task=5, table_size=14, engine=EngineConfig(device="cpu", max_batch=64))
    assert [(task.deals.first, task.deals.count) for task in begun(other).tasks(0)] == [(3, 4)]
    result = finish(begun(other))
    assert result.by_deal == finish(checked(config())).by_deal
    assert finish(begun(config())).by_deal == result.by_deal and begun(config()).tasks(0) == []
    result.write(config().out)
    assert not Path(f"{config().out}.parts").exists()


def test_parts_that_a_command_left_beside_its_result_go_with_the_next(config: Callable[..., TournamentConfig]) -> None:
    result = finish(tournament := begun(config(players=["hearts_rules", "random"], checkpoint="")))
    parts = Path(f"{config().out}.parts")
    assert len(list(parts.iterdir())) == 4
    Path(config().out).write_text(json.dumps(result.record()))
    assert tournament.stored(config().out) == result and not parts.exists()


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
def test_parts_of_another_tournament_are_refused_by_what_differs(config, changes, message) -> None:
    played(begun(config()), 1)
    with pytest.raises(UserError, match=rf"result\.json\.parts: holds parts of a tournament with {message}") as error:
        begun(config(**changes))
    assert "\n" not in str(error.value) and str(error.value).endswith("remove it, or give another out")


def test_a_tournament_whose_histories_are_kept_spares_other_results_and_takes_no_part_of_its_own(
    config: Callable[..., TournamentConfig], tmp_path: Path
) -> None:
    keep = str(tmp_path / "histories.parquet")
    played(begun(config()), 1)
    with pytest.raises(UserError, match=r"parts: holds parts of a tournament with seed=1, and this one has seed=2"):
        begun(config(seed=2, keep=keep))
    assert begun(config(keep=keep)).deals_played == 0
    result = finish(begun(config()))
    result.write(config().out)
    assert begun(config(keep=keep)).deals_played == 0
    with pytest.raises(UserError, match=r"result\.json: holds a tournament with seed=1, and this one has seed=2"):
        begun(config(seed=2, keep=keep))


def test_a_directory_in_place_of_a_file_is_refused_by_the_key_that_names_it(tmp_path: Path) -> None:
    for key in ("out", "keep"):
        with pytest.raises(UserError, match=f"^{key}={tmp_path}: is a directory; name the file to write$"):
            check_out(str(tmp_path), key)


def test_parts_of_a_network_that_has_been_replaced_are_refused(config, tmp_path) -> None:
    own = str(tmp_path / "own")
    save_weights(own, tiny_net(HeartsGame()), HeartsGame())
    played(begun(config(checkpoint=own)), 1)
    shutil.rmtree(own)
    save_weights(own, tiny_net(HeartsGame(), seed=1), HeartsGame())
    with pytest.raises(UserError, match=r"parts of a tournament with checkpoints\.argmax_val\.id="):
        begun(config(checkpoint=own))


def test_a_damaged_part_is_named_and_without_it_its_deals_are_played_again(config) -> None:
    result, parts = finish(begun(config())), Path(f"{config().out}.parts")
    damaged = sorted(parts.iterdir())[1]
    data = bytearray(damaged.read_bytes())
    data[-3] ^= 1
    damaged.write_bytes(data)
    with pytest.raises(UserError, match=rf"{damaged.name}: is damaged, .*; remove it to have them made again"):
        begun(config())
    damaged.unlink()
    assert [(task.deals.first, task.deals.count) for task in begun(config()).tasks(0)] == [(1, 2)]
    assert figures(finish(begun(config()))) == figures(result)


def test_parts_of_two_commands_at_once_count_each_deal_once(config: Callable[..., TournamentConfig]) -> None:
    one, two = begun(config()), begun(config(deals_per_task=3))
    assert played(one, 2) == [(0, 1), (1, 2)] and played(two, 2) == [(0, 2), (2, 2)]
    assert figures(finish(begun(config()))) == figures(finish(checked(config())))
