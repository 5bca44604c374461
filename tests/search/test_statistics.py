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


@pytest.mark.parametrize(
    ("differences", "p", "why"),
    [
        ([1.0, 2.0, 3.0, 4.0, 5.0], 2 / 32, "of 2**5 equally likely patterns of signs two are as extreme"),
        ([-1.0, 2.0, 3.0], 4 / 8, "ranks 1, 2, 3 with signs -, +, +: rank sums at most 1 or at least 5"),
        ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], 2 / 32, "deals without a difference do not count"),
        ([0.0] * 7, 1.0, "nothing differs"),
    ],
)
def test_wilcoxon_p_counts_the_patterns_of_signs(differences: list[float], p: float, why: str) -> None:
    assert wilcoxon_p(np.array(differences)) == pytest.approx(p), why


def test_the_interval_of_five_numbers_is_the_textbooks_and_fewer_have_none() -> None:
    """1..5: mean 3, variance 2.5; the 97.5 % point of t with 4 degrees of freedom is 2.776."""
    ends = mean_interval(np.array([[1.0, 7.0], [2.0, 7.0], [3.0, 7.0], [4.0, 7.0], [5.0, 7.0]]))
    assert ends is not None
    for end, sign in zip(ends, (-1, 1), strict=True):
        assert end.tolist() == pytest.approx([3 + sign * 2.776 * 0.5**0.5, 7], abs=1e-3)
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


@pytest.mark.parametrize(
    ("column", "deals", "covered"),
    [
        *((column, deals, 0.95) for column in ("All", "1A/3B") for deals in (10, 20, 50, 200)),
        *(("far better", deals, covered) for deals, covered in ((10, 0.90), (20, 0.92), (50, 0.94))),
    ],
)
def test_the_interval_covers_the_truth_as_often_as_the_docs_say(differences, column, deals, covered) -> None:
    population = differences[column]
    ends = mean_interval(samples(population, deals, 10_000))
    assert ends is not None
    share = np.mean((ends[0] <= population.mean()) & (population.mean() <= ends[1]))
    assert share == pytest.approx(covered, abs=0.015)


def test_a_percentile_bootstrap_covers_less_of_ten_deals(differences: dict[str, np.ndarray]) -> None:
    """Ends at the 2.5th and 97.5th percentile of the means of samples drawn again."""
    population, rng, covered = differences["All"], np.random.default_rng(6), []
    for sample in samples(population, 10, 2000).T:
        low, high = np.quantile(sample[rng.integers(0, 10, (400, 10))].mean(axis=1), [0.025, 0.975])
        covered.append(low <= population.mean() <= high)
    assert np.mean(covered) < 0.92


@pytest.mark.slow
def test_commands_and_actors_do_not_load_what_wilcoxons_test_alone_needs() -> None:
    code = "import search.arena.tournament.__main__, selfplay.__main__, sys; assert 'scipy.stats' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
