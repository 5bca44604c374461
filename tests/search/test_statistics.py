"""Tests and intervals over deals, against small cases computed by hand."""

import subprocess
import sys

import numpy as np
import pytest

from games.hearts.game import HeartsGame
from search.arena.tournament.deals import Deals
from search.arena.tournament.matches import play_deals
from search.arena.tournament.seatings import seatings
from search.arena.tournament.statistics import mean_interval, wilcoxon_p
from search.players.player import Turns
from search.players.random_player import RandomPlayer
from search.scripted.hearts.rules import HeartsRules


def test_wilcoxon_p_of_five_equal_signs_is_two_in_thirty_two() -> None:
    """All 2**5 sign patterns are equally likely; two of them are as extreme as all-positive."""
    assert wilcoxon_p(np.array([1.0, 2.0, 3.0, 4.0, 5.0])) == pytest.approx(2 / 32)


def test_wilcoxon_p_of_a_mixed_case_counts_the_patterns() -> None:
    """Ranks 1, 2, 3 with signs -, +, +: rank sums at most 1 or at least 5 are 4 of 8 patterns."""
    assert wilcoxon_p(np.array([-1.0, 2.0, 3.0])) == pytest.approx(4 / 8)


def test_deals_without_a_difference_do_not_count() -> None:
    assert wilcoxon_p(np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])) == pytest.approx(
        wilcoxon_p(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    )
    assert wilcoxon_p(np.zeros(7)) == 1.0


def test_the_interval_of_five_numbers_is_the_textbooks() -> None:
    """1..5: mean 3, variance 2.5; the 97.5 % point of t with 4 degrees of freedom is 2.776."""
    ends = mean_interval(np.array([[1.0, 7.0], [2.0, 7.0], [3.0, 7.0], [4.0, 7.0], [5.0, 7.0]]))
    assert ends is not None
    assert ends[0].tolist() == pytest.approx([3 - 2.776 * 0.5**0.5, 7], abs=1e-3)
    assert ends[1].tolist() == pytest.approx([3 + 2.776 * 0.5**0.5, 7], abs=1e-3)


def test_fewer_than_five_deals_have_no_interval() -> None:
    assert [mean_interval(np.zeros((deals, 1))) is None for deals in range(1, 7)] == [True] * 4 + [False] * 2


class Careless(HeartsRules):
    """Plays its first legal card in every tenth turn."""

    def act(self, turns: Turns) -> np.ndarray:
        return np.where(turns.seeds % np.uint64(10) == 0, turns.legal.argmax(axis=1), super().act(turns))


@pytest.fixture(scope="module")
def differences() -> dict[str, np.ndarray]:
    """Points by deal (``float64[D]``) that a rule-based player is ahead of a careless one: what resampling takes for
    the truth. Two columns, "All" and the most discrete one; and the most skewed of all, one rule-based seat against
    three random ones."""
    seats, deals = seatings(2, 4), 600
    points = play_deals(HeartsGame(), [HeartsRules(), Careless()], Deals(5, deals), table_size=2048).points
    weights = (seats == 0) / (seats == 0).sum(1, keepdims=True) - (seats == 1) / (seats == 1).sum(1, keepdims=True)
    ahead = (points * weights).sum(axis=2)
    lone = (seats == 0).sum(1) == 1
    others = play_deals(HeartsGame(), [HeartsRules(), RandomPlayer()], Deals(5, deals), table_size=2048).points
    far = (others * weights).sum(axis=2)[:, lone].mean(axis=1)
    return {"All": ahead.mean(axis=1), "1A/3B": ahead[:, lone].mean(axis=1), "far better": far}


def samples(population: np.ndarray, deals: int, count: int) -> np.ndarray:
    """``float64[deals, count]``: tournaments of so many deals, drawn from a population."""
    return population[np.random.default_rng(deals).integers(0, len(population), (deals, count))]


@pytest.mark.parametrize("column", ["All", "1A/3B"])
@pytest.mark.parametrize("deals", [10, 20, 50, 200])
def test_the_interval_covers_the_truth_as_often_as_it_says(differences, column, deals) -> None:
    population = differences[column]
    ends = mean_interval(samples(population, deals, 10_000))
    assert ends is not None
    assert 0.935 <= np.mean((ends[0] <= population.mean()) & (population.mean() <= ends[1])) <= 0.965


@pytest.mark.parametrize(("deals", "covered"), [(10, 0.90), (20, 0.92), (50, 0.94)])
def test_where_one_seat_is_far_better_it_covers_as_often_as_the_docs_say(differences, deals, covered) -> None:
    population = differences["far better"]
    ends = mean_interval(samples(population, deals, 10_000))
    assert ends is not None
    share = np.mean((ends[0] <= population.mean()) & (population.mean() <= ends[1]))
    assert share == pytest.approx(covered, abs=0.015)


@pytest.mark.slow
def test_commands_and_actors_do_not_load_what_wilcoxons_test_alone_needs() -> None:
    code = "import search.arena.tournament.__main__, selfplay.__main__, sys; assert 'scipy.stats' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
