"""Tournaments of pairs (paper 002, Figure 1), of teams, and of players that play alone: statistics by hand, kinds of
deals, what deals show."""

import json
from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from cluster.watching.metrics import MetricsLogger
from games.config import GameConfig
from games.crew.game import CrewGame
from games.hearts.game import HeartsGame
from games.registry import make_game
from games.rng import derive, derive_many
from games.samegame.game import SameGame
from search.arena.tournament.checks import checked
from search.arena.tournament.config import TournamentConfig
from search.arena.tournament.deals import Deals
from search.arena.tournament.evaluator import Evaluator
from search.arena.tournament.matches import Matches, from_arrays, merge, play_deals, to_arrays
from search.arena.tournament.parts import Tournament
from search.arena.tournament.report import indicator_rows, sections, title
from search.arena.tournament.result import TournamentResult, lead, summarize
from search.arena.tournament.seatings import seatings
from search.arena.tournament.statistics import rate_interval
from search.arena.tournament.tournament import run_tournament
from search.config import SearchConfig
from search.players.player import Player
from search.players.random_player import RandomPlayer
from search.players.table import play_table
from search.roster.registry import make_players
from search.scripted.crew.rules.player import CrewRules
from selfplay.config import MatchConfig
from selfplay.evaluation import Evaluation
from selfplay.run_directory import RunDirectory
from tests.selfplay.material import tiny_config

NAMES = ["hearts_rules", "random"]
POINTS = np.array(
    [  # five deals; N, E, S, W with A at North and South, then with A at East and West
        [[0, 13, 3, 10], [20, 1, 5, 0]],
        [[26, 0, 0, 0], [2, 12, 10, 2]],
        [[1, 2, 3, 20], [6, 7, 6, 7]],
        [[26, 0, 26, 26], [0, 26, 26, 26]],
        [[5, 5, 8, 8], [13, 0, 13, 0]],
    ],
    np.float32,
)
DIFFERENTIALS = [(-20, -24), (26, 2), (-18, 2), (26, 26), (0, -26)]
"""Points of A's pair minus those of B's in both matches of every deal, by hand."""


def by_hand() -> TournamentResult:
    matches = Matches(Deals(3, len(POINTS), seating="pairs"), POINTS, np.array([260, 260]), np.ones(2))
    return summarize(HeartsGame(), ["one", "two"], matches)


def tournament(**changes: Any) -> Tournament:
    config = TournamentConfig(GameConfig("hearts"), NAMES, deals=4, seating="pairs")
    config.cluster.mode, config.engine.device = "process", "cpu"
    return checked(replace(config, **changes))


def test_the_statistics_are_those_of_figure_1_with_the_deal_as_unit() -> None:
    result = by_hand()
    assert (result.seating, result.deals, result.matches) == ("pairs", 5, 10)
    assert [column.name for column in result.columns] == ["All", "2A/2B"]
    assert result.pair_differential == sum(map(sum, DIFFERENTIALS)) == -6
    by_deal = np.array(DIFFERENTIALS).sum(axis=1) / 4  # two matches of two seats each
    expected = stats.ttest_1samp(by_deal, 0).confidence_interval(0.95)
    for column in result.columns:
        (pair,) = column.comparisons
        assert pair.delta == -pair.advantage == pytest.approx(-0.3)
        assert (pair.low, pair.high) == pytest.approx((expected.low, expected.high))
        assert pair.p_value == pytest.approx(stats.wilcoxon(by_deal).pvalue)
    assert lead(result)[0] == pytest.approx(0.3)
    assert result.advantage_by_deal == pytest.approx(-by_deal)


def test_its_matches_are_those_of_all_seatings_that_have_these_pairs() -> None:
    game = HeartsGame()
    players = make_players(NAMES, game, SearchConfig())
    pairs = play_deals(game, players, Deals(5, 4, 3, "pairs"))
    everything = play_deals(game, players, Deals(5, 4, 3))
    rows = [seatings(2, 4).tolist().index(seating) for seating in ([0, 1, 0, 1], [1, 0, 1, 0])]
    assert pairs.points.shape == (4, 2, 4)
    np.testing.assert_array_equal(pairs.points, everything.points[:, rows])


def test_a_tournament_fills_its_tables_with_two_matches_a_deal() -> None:
    one = tournament(deals=20, table_size=8)
    assert [(task.deals.count, task.deals.seating) for task in one.tasks(0)] == [(4, "pairs")] * 5
    assert one.matches_at_once() == 8


def test_a_run_takes_no_result_of_another_seating_for_its_own(tmp_path: Path) -> None:
    pairs, every = (
        Evaluation(_evaluating(str(tmp_path), seating), RunDirectory(str(tmp_path))) for seating in ("pairs", "all")
    )
    with MetricsLogger(tmp_path / "metrics", "hearts") as metrics:
        pairs.play_curve(0, Evaluator().evaluate, metrics)
        (result,) = pairs.curve(0)
        assert result is not None and (result.seating, result.matches) == ("pairs", 6)
        assert every.curve(0) == [None]
        every.play_curve(0, Evaluator().evaluate, metrics)
    (other,) = every.curve(0)
    assert other is not None and other.matches == 42 and pairs.curve(0) == [result]


def _evaluating(directory: str, seating: str) -> Any:
    config = tiny_config(directory)
    return replace(config, evaluation=replace(config.evaluation, curve=[MatchConfig(NAMES, 3, seating)], final=[]))


GAME = CrewGame(missions="1,4")
TEAMS = ["crew_rules", "random"]


def played(first: int, count: int, players: Sequence[Player] | None = None) -> Matches:
    return play_deals(GAME, players or [CrewRules(), RandomPlayer()], Deals(5, count, first), table_size=3)


def test_two_teams_meet_the_same_deals_and_are_compared_by_deal() -> None:
    same = played(0, 40, [RandomPlayer(), RandomPlayer()])
    assert (same.points[:, 0] == same.points[:, 1]).all(), "the same player meets the same cards and random numbers"
    matches = played(0, 40)
    assert matches.points.shape == (40, 2, 4) and set(np.unique(matches.points)) == {0, 1}
    result = summarize(GAME, TEAMS, matches)
    (column,) = result.columns
    assert (column.name, column.matches, result.matches) == ("All", 80, 80)
    rates = matches.points.mean(axis=(0, 2))
    assert [column.points[name] for name in TEAMS] == pytest.approx(rates.tolist()) and rates[0] > rates[1]
    assert lead(result)[0] == pytest.approx(rates[0] - rates[1]) and not result.lower_is_better
    assert result.by_deal["random"] == matches.points[:, 1, 0].tolist()
    assert result.advantage_by_deal.tolist() == (matches.points[:, 0, 0] - matches.points[:, 1, 0]).tolist()


def test_every_kind_of_deal_has_its_rates_with_wilsons_intervals() -> None:
    matches = played(0, 40)
    states = GAME.deal(derive_many(derive(5, "tournament"), 40))
    assert matches.variant.tolist() == GAME.scenario(states).tolist() and len(set(matches.variant)) == 2
    result, kinds = summarize(GAME, TEAMS, matches), sorted(set(matches.variant.tolist()))
    assert [variant.column.name for variant in result.variants] == [GAME.scenarios[kind] for kind in kinds]
    assert sum(variant.deals for variant in result.variants) == 40
    for kind, variant in zip(kinds, result.variants, strict=True):
        points = matches.points[matches.variant == kind][:, :, 0]
        assert variant.column.matches == 2 * variant.deals == points.size
        for team, name in enumerate(result.players):
            assert variant.column.points[name] == pytest.approx(points[:, team].mean())
            ends = variant.intervals[name]
            assert ends and 0 <= ends[0] <= points[:, team].mean() <= ends[1] <= 1 and ends[0] < ends[1]


def test_wilsons_interval_is_that_of_the_textbook() -> None:
    """Of 10 with 2 ones: (2 + z2/2 -+ z sqrt(2 * 8 / 10 + z2 / 4)) / (10 + z2); of no ones it begins at 0."""
    low, high = rate_interval(np.array([[1.0, 0.0]] * 2 + [[0.0, 0.0]] * 8))
    z = 1.959963984540054
    middle, half = 2 + z**2 / 2, z * sqrt(1.6 + z**2 / 4)
    assert [low[0], high[0]] == pytest.approx([(middle - half) / (10 + z**2), (middle + half) / (10 + z**2)])
    assert low[1] == 0 and high[1] == pytest.approx(z**2 / (10 + z**2))


# ---- players that play alone: any number of them, what their deals show, and finite lists of deals


BOARDS = SameGame(rows=4, columns=4, colours=3)
ALONE = ["mcts:simulations=4", "samegame_greedy", "random"]


def players(names):
    return make_players(names, BOARDS, SearchConfig())


def test_one_player_has_a_result_of_its_own() -> None:
    result = run_tournament(BOARDS, players(["random"]), 50, seed=3)
    seeds = Deals(3, 50).seeds(BOARDS)
    assert result.matches == 50 and result.columns[0].comparisons == ()
    (random,) = players(["random"])
    secret = derive(3, "decisions")
    scores = play_table(BOARDS, [random], np.zeros((50, 1), int), seeds, secret=secret).points
    assert result.advantage == pytest.approx(scores.mean())
    mean, low, high = lead(result)
    assert mean == result.advantage and low < mean < high
    assert sections(result)[0][0][0] == "random (A)"
    assert TournamentResult.from_record(json.loads(json.dumps(result.record()))) == result


def test_indicators_are_means_and_deviations_over_deals() -> None:
    """Against the states themselves, each deal played again."""
    entrants = players(ALONE)
    result = run_tournament(BOARDS, entrants, 30, seed=5, table_size=7)
    table = play_table(
        BOARDS, entrants, np.tile(np.arange(3), 30)[:, None], np.repeat(Deals(5, 30).seeds(BOARDS), 3), secret=0
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


# ---- of every kind: the same however deals are shared out


@pytest.mark.parametrize(
    ("game", "names", "seating"),
    [(HeartsGame(), NAMES, "all"), (HeartsGame(), NAMES, "pairs"), (GAME, TEAMS, "all"), (BOARDS, ALONE, "all")],
)
def test_a_tournament_is_the_same_however_its_deals_are_shared_out(game, names, seating) -> None:
    """Its kinds of deals and what they show too, through the files of parts; its record comes back."""
    deals = Deals(5, 14, 3, seating)

    def played(part: Deals, table_size: int) -> Matches:
        return play_deals(game, make_players(names, game, SearchConfig()), part, table_size)

    whole, parts = played(deals, 1000), [played(deals.part(first, count), 20) for first, count in ((11, 6), (3, 8))]
    merged = merge([from_arrays(to_arrays(part), deals) for part in parts], deals)
    assert merged.deals == deals and 0.5 < whole.fill <= 1
    assert merged.fill == pytest.approx((8 * parts[1].fill + 6 * parts[0].fill) / 14)
    found, expected = to_arrays(merged), to_arrays(whole)
    for name in expected.keys() - {"seconds", "fill", "indicator.seconds"}:
        assert np.array_equal(found[name], expected[name], equal_nan=name.startswith("indicator")), name
    result = summarize(game, names, merged)
    assert result.by_deal == summarize(game, names, whole).by_deal
    assert TournamentResult.from_record(json.loads(json.dumps(result.record()))) == result
