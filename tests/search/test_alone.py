"""Tournaments of players that play alone: any number of them, what their deals show, and finite lists of deals."""

import json

import numpy as np
import pytest

from games.registry import make_game
from games.rng import derive
from games.samegame.game import SameGame
from search.arena.tournament.deals import Deals
from search.arena.tournament.matches import from_arrays, merge, play_deals, to_arrays
from search.arena.tournament.report import indicator_rows, sections, title
from search.arena.tournament.result import TournamentResult, lead, summarize
from search.arena.tournament.tournament import run_tournament
from search.config import SearchConfig
from search.players.table import play_table
from search.roster.registry import make_players

GAME = SameGame(rows=4, columns=4, colours=3)
NAMES = ["mcts:simulations=4", "samegame_greedy", "random"]


def players(names):
    return make_players(names, GAME, SearchConfig())


def test_one_player_has_a_result_of_its_own() -> None:
    result = run_tournament(GAME, players(["random"]), 50, seed=3)
    seeds = Deals(3, 50).seeds(GAME)
    assert result.matches == 50 and result.columns[0].comparisons == ()
    (random,) = players(["random"])
    secret = derive(3, "decisions")
    scores = play_table(GAME, [random], np.zeros((50, 1), int), seeds, secret=secret).points
    assert result.advantage == pytest.approx(scores.mean())
    mean, low, high = lead(result)
    assert mean == result.advantage and low < mean < high
    assert sections(result)[0][0][0] == "random (A)"
    assert TournamentResult.from_record(json.loads(json.dumps(result.record()))) == result


def test_indicators_are_means_and_deviations_over_deals() -> None:
    """Against the states themselves, each deal played again."""
    entrants = players(NAMES)
    result = run_tournament(GAME, entrants, 30, seed=5, table_size=7)
    table = play_table(
        GAME, entrants, np.tile(np.arange(3), 30)[:, None], np.repeat(Deals(5, 30).seeds(GAME), 3), secret=0
    )
    assert list(result.indicators) == [
        "points", "net", "final", "removed", "moves", "cleared", "net_a_move", "seconds", "simulations",
    ]  # fmt: skip
    greedy = table.states[1::3]  # which draws nothing at random
    removed = 16 - greedy["public"]["left"].sum(axis=1)
    shown = result.indicators["removed"]["samegame_greedy"]
    assert (shown.mean, shown.deviation) == (pytest.approx(removed.mean()), pytest.approx(removed.std(ddof=1)))
    half = 2.0452 * removed.std(ddof=1) / np.sqrt(30)  # Student's t at 97.5 % with 29 degrees of freedom
    assert (shown.low, shown.high) == pytest.approx((removed.mean() - half, removed.mean() + half), rel=1e-4)
    assert set(result.indicators["simulations"]) == {"mcts:simulations=4"}
    rows = indicator_rows(result)
    assert rows[0] == ["", "A", "B", "C"] and rows[-1][2:] == ["-", "-"]


def test_parts_of_a_tournament_keep_what_deals_show() -> None:
    whole = play_deals(GAME, players(NAMES), Deals(2, 12))
    parts = [play_deals(GAME, players(NAMES), Deals(2, 12).part(first, 4)) for first in (8, 0, 4)]
    again = [from_arrays(to_arrays(part), Deals(2, 12)) for part in parts]
    joined = merge(again, Deals(2, 12))
    for name, values in whole.indicators.items():
        if name != "seconds":
            assert np.array_equal(joined.indicators[name], values, equal_nan=True)
    assert summarize(GAME, NAMES, joined).by_deal == summarize(GAME, NAMES, whole).by_deal


def test_a_board_that_is_over_at_once_counts_no_simulations(tmp_path) -> None:
    path = tmp_path / "boards.txt"
    path.write_text("01\n10\n\n00\n11\n")
    game = SameGame(rows=2, columns=2, colours=2, boards=str(path))
    result = run_tournament(game, make_players(["mcts"], game, SearchConfig()), 2, seed=1)
    assert result.by_deal["mcts"] == [0.0, 1000.0] and result.indicators["simulations"]["mcts"].mean == 8
    assert result.indicators["moves"]["mcts"].mean == 1 and f"boards={path}" in title(result)


def test_a_list_of_deals_is_played_by_number() -> None:
    game = make_game("samegame", {"rows": 15, "columns": 15, "boards": "standard_20"})
    assert game.num_deals == 20 and Deals(9, 3, first=17).seeds(game).tolist() == [17, 18, 19]
    first, other = game.deal(np.array([0, 20], np.uint64))
    assert np.array_equal(first["public"]["tiles"], other["public"]["tiles"])
    with pytest.raises(ValueError, match="deals=21: samegame has deals 0 to 19, not 20"):
        Deals(9, 21).seeds(game)
    result = run_tournament(game, make_players(["samegame_greedy"], game, SearchConfig()), 20, seed=1)
    assert sum(result.by_deal["samegame_greedy"]) == 1800, "the largest block first, by an independent program"
