"""Tests and intervals over deals, against small cases computed by hand."""

import numpy as np
import pytest

from games.rng import derive_many, mix
from search.tournament.statistics import bootstrap_interval, wilcoxon_p


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


def test_the_bootstrap_interval_of_a_normal_mean_has_the_textbook_width() -> None:
    values = np.random.default_rng(3).normal(2.0, 3.0, size=(400, 1))
    low, high = bootstrap_interval(values, seed=1)
    half = 1.96 * values.std() / 20
    assert low[0] == pytest.approx(values.mean() - half, abs=0.05 * half)
    assert high[0] == pytest.approx(values.mean() + half, abs=0.05 * half)


def test_the_bootstrap_covers_the_truth_about_as_often_as_it_says() -> None:
    samples = np.random.default_rng(4).normal(0.0, 1.0, size=(60, 300))
    low, high = bootstrap_interval(samples, seed=2, resamples=2000)
    covered = np.mean((low < 0) & (high > 0))
    assert 0.90 < covered < 0.98


def test_equal_seeds_give_equal_intervals_and_others_do_not() -> None:
    values = (mix(derive_many(1, 50), 0) % np.uint64(100)).astype(float)[:, None]
    assert np.array_equal(bootstrap_interval(values, 1), bootstrap_interval(values, 1))
    assert not np.array_equal(bootstrap_interval(values, 1), bootstrap_interval(values, 2))


def test_a_single_deal_has_an_interval_of_no_width() -> None:
    low, high = bootstrap_interval(np.array([[3.0, -1.0]]), seed=1)
    assert low.tolist() == high.tolist() == [3.0, -1.0]
