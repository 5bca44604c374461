"""Ratings: the model against formulas, a general optimiser and simulation; the table against its tournaments."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize
from scipy.special import expit

from games.hearts.game import HeartsGame
from search.arena.rating.__main__ import pairs
from search.arena.rating.bradley_terry import _fit, bootstrap, strengths
from search.arena.rating.ratings import rate
from search.arena.rating.report import heat_map, leads, render, strength, title
from search.arena.tournament.report import wide_console
from search.arena.tournament.result import TournamentResult, lead
from search.arena.tournament.tournament import run_tournament
from search.config import SearchConfig
from search.roster.registry import make_players

PLAYERS = ("random", "hearts_rules", "hearts_rules:explore=0.3")


def scores_of(results: np.ndarray) -> np.ndarray:
    """``float[D, N, N]`` from what the first of each pair made of each deal, ``float[D, C]``."""
    num_players = next(n for n in range(2, 10) if n * (n - 1) // 2 == results.shape[1])
    scores = np.full((len(results), num_players, num_players), 0.5)
    for column, (i, j) in enumerate(combinations(range(num_players), 2)):
        scores[:, i, j], scores[:, j, i] = results[:, column], 1 - results[:, column]
    return scores


def simulated(true: np.ndarray, deals: int, rng: np.random.Generator, shared: bool = False) -> np.ndarray:
    """What players of these strengths make of deals; ``shared``: one number a deal decides all its comparisons."""
    chances = expit([true[i] - true[j] for i, j in combinations(range(len(true)), 2)])
    return scores_of((rng.random((deals, 1 if shared else len(chances))) < chances).astype(float))


@pytest.mark.parametrize(("wins", "draws", "losses"), [(7, 0, 3), (3, 4, 1), (20, 0, 0), (0, 0, 20), (0, 6, 0)])
def test_two_players_differ_by_the_log_odds_of_their_wins(wins: int, draws: int, losses: int) -> None:
    first, second = strengths(scores_of(np.array([[1.0]] * wins + [[0.5]] * draws + [[0.0]] * losses)))
    half = draws / 2 + 0.5  # of the virtual draw
    assert first - second == pytest.approx(math.log((wins + half) / (losses + half)), abs=1e-9)
    assert first + second == pytest.approx(0, abs=1e-9)


@settings(max_examples=40)
@given(hnp.arrays(float, st.tuples(st.integers(1, 6), st.sampled_from([3, 6])), elements=st.sampled_from([0, 0.5, 1])))
def test_more_players_have_the_strengths_that_a_general_optimiser_finds(results: np.ndarray) -> None:
    scores = scores_of(results)
    num_players = scores.shape[1]

    def minus_log_likelihood(strength: np.ndarray) -> float:
        total = 0.0
        for i, j in combinations(range(num_players), 2):
            for score in (*scores[:, i, j], 0.5):
                total += score * math.log1p(math.exp(strength[j] - strength[i]))
                total += (1 - score) * math.log1p(math.exp(strength[i] - strength[j]))
        return total

    best = minimize(minus_log_likelihood, np.zeros(num_players), options={"gtol": 1e-8}).x
    assert strengths(scores) == pytest.approx(best - best.mean(), abs=1e-4)


@settings(max_examples=60)
@given(st.integers(1, 10_000), hnp.arrays(float, st.sampled_from([6, 36]), elements=st.sampled_from([0, 0.5, 1])))
def test_at_the_maximum_everybody_wins_as_often_as_expected_however_one_sided_the_deals(deals, every_time) -> None:
    scores = scores_of(np.tile(every_time, (deals, 1)))
    found = strengths(scores)
    expected = (deals + 1) * expit(found[:, None] - found[None, :])
    assert expected.sum(axis=1) == pytest.approx((scores.sum(axis=0) + 0.5).sum(axis=1))


@pytest.mark.parametrize("shared", [False, True])
def test_errors_are_as_large_as_estimates_scatter_also_where_one_deal_favours_the_same_player_everywhere(
    shared: bool,
) -> None:
    true, rng = np.array([0.5, 0.0, -0.5]), np.random.default_rng(2)
    tables = [simulated(true, 60, rng, shared) for _ in range(300)]
    scatter = np.std([strengths(scores) for scores in tables], axis=0)
    errors = np.mean([bootstrap(scores, 60, seed).std(axis=0) for seed, scores in enumerate(tables[:60])], axis=0)
    assert errors == pytest.approx(scatter, rel=0.2)


def test_whoever_has_won_everything_is_far_ahead_with_a_large_error() -> None:
    scores = scores_of(np.ones((50, 1)))
    found, errors = strengths(scores), bootstrap(scores, 1000, seed=1).std(axis=0)
    assert found[0] - found[1] == pytest.approx(math.log(101))
    # The strength is half the log odds; a weight of the virtual deal is exponential, and its logarithm has this spread.
    assert errors[0] == pytest.approx(math.pi / math.sqrt(6) / 2, rel=0.1)


# ---- the table


@pytest.fixture(scope="module")
def results() -> list[TournamentResult]:
    game = HeartsGame()
    return [run_tournament(game, make_players(pair, game, SearchConfig()), deals=12, seed=3) for pair in pairs(PLAYERS)]


def test_the_table_sums_up_its_tournaments(results: list[TournamentResult]) -> None:
    table = rate(results)
    assert [rated.player for rated in table.players] == ["hearts_rules", "hearts_rules:explore=0.3", "random"]
    assert sum(rated.rating for rated in table.players) == pytest.approx(0, abs=1e-3)
    by_names = {frozenset(result.players): result for result in results}
    for pair in table.pairs:
        result = by_names[frozenset((pair.a, pair.b))]
        assert result.players == (pair.a, pair.b)  # alphabetical, which here is best first
        assert (pair.ahead, pair.low, pair.high) == pytest.approx(lead(result, column=0))
        own, other = (np.array(result.by_deal[name]) for name in (pair.a, pair.b))
        fewer = [(own < other).sum(), (own == other).sum(), (own > other).sum()]  # fewer points win a deal of Hearts
        assert [pair.wins, pair.draws, pair.losses] == fewer
    best, middle, last = table.players
    first, second, third = table.pairs
    assert best.ahead == pytest.approx((first.ahead + second.ahead) / 2)
    assert last.ahead == pytest.approx(-(second.ahead + third.ahead) / 2)
    assert best.score == pytest.approx((first.wins + second.wins + (first.draws + second.draws) / 2) / 24)
    assert middle.standard_error > 0 and middle.player == "hearts_rules:explore=0.3"


def test_time_a_turn_is_the_mean_over_all_turns(results: list[TournamentResult]) -> None:
    given = {("hearts_rules", "random"): (100, 0.004), ("hearts_rules:explore=0.3", "random"): (300, 0.008)}
    timed = []
    for result in results:
        turns, seconds = (dict.fromkeys(result.players, each) for each in given.get(result.players, (1, 1.0)))
        timed.append(replace(result, decisions=turns, seconds_per_turn=seconds))
    assert rate(timed).players[-1].seconds_per_turn == pytest.approx(0.007)


def test_the_order_of_results_does_not_matter_and_the_anchor_is_0_without_error_where_differences_stay(results) -> None:
    free, anchored = rate(results), rate(results, anchor="random")
    assert rate([replace(result, players=result.players[::-1]) for result in reversed(results)]) == free
    assert anchored.players[-1].rating == 0 and anchored.players[-1].standard_error == 0
    shift = free.players[-1].rating
    assert [r.rating + shift for r in anchored.players] == pytest.approx([r.rating for r in free.players], abs=1e-2)
    assert anchored.pairs == free.pairs


def test_who_draws_every_deal_is_as_likely_stronger_as_weaker(results: list[TournamentResult]) -> None:
    (one,) = (result for result in results if result.players == ("hearts_rules", "random"))
    twin = dict.fromkeys(("hearts_rules", "random"), one.by_deal["random"])
    (pair,) = rate([replace(one, by_deal=twin)]).pairs
    assert (pair.draws, pair.superiority, pair.ahead) == (12, 0.5, 0)
    (clear,) = rate([one]).pairs
    assert (clear.a, clear.wins) == ("hearts_rules", 12) and clear.superiority > 0.99


def test_every_report_marks_players_who_see_hidden_cards(results: list[TournamentResult]) -> None:
    table = rate([replace(result, sees_hidden=tuple({"random"} & {*result.players})) for result in results])
    console = wide_console()
    with console.capture() as printed:
        console.print(render(table))
    assert printed.get().count("(sees hidden cards)") == 1 and "random (sees hidden cards)" in printed.get()
    assert [player["sees_hidden"] for player in table.record()["players"]] == [False, False, True]
    assert rate([replace(result, seating="pairs") for result in results]).record()["seating"] == "pairs"
    assert "North/South against East/West" in title(replace(table, seating="pairs"))
    for picture in (heat_map, strength, leads):
        assert picture(table).startswith(b"\x89PNG")
        assert picture(table) != picture(rate(results)), "the mark is in the picture"


def test_the_leads_of_a_player_are_its_tournaments_seen_from_its_side(results: list[TournamentResult]) -> None:
    table = rate(results)
    best, middle, last = table.players
    first, second, third = table.pairs  # best against middle, best against last, middle against last
    assert [found[0] for found in table.leads(best.player)] == [first.ahead, second.ahead]
    assert first.low is not None and first.high is not None
    assert table.leads(middle.player) == [(-first.ahead, -first.high, -first.low), (third.ahead, third.low, third.high)]
    for player in (best, middle, last):
        assert np.mean([found[0] for found in table.leads(player.player)]) == pytest.approx(player.ahead)
    without = replace(table, pairs=tuple(replace(pair, low=None, high=None) for pair in table.pairs))
    assert without.leads(last.player) == [(-second.ahead, None, None), (-third.ahead, None, None)]


@pytest.mark.parametrize("players", [2, 6])
def test_players_that_lose_everything_stop_no_replicate(players: int) -> None:
    """Their variance is next to nothing, and their step the rounding error of a gradient."""
    virtual = np.random.default_rng(1).beta(1, 100_000, size=(4000, 1, 1)) / 2  # weights of the deal that all draw
    mean = np.where(np.triu(np.ones((players, players), bool), 1), 1 - virtual, virtual)
    mean[:, range(players), range(players)] = 0.5
    found = _fit(mean)
    assert (np.diff(found, axis=1) < 0).all()
    if players == 2:
        np.testing.assert_allclose(found[:, 0] - found[:, 1], np.log(1 / virtual[:, 0, 0] - 1), rtol=1e-5)
