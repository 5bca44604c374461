"""Sequential halving, by hand from Danihelka et al. 2022."""

import numpy as np
import pytest

from games.rng import derive_many
from search.single_agent.gumbel import Halving

SEEDS = derive_many(3, 400)


def tried(
    priors: list[float], means: list[float], simulations: int, seeds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Visits of every action and the final choice of each search, where an action always scores its mean."""
    rows, count = len(seeds), len(priors)
    halving = Halving(np.tile(np.array(priors, np.float32), (rows, 1)), seeds, simulations)
    visits, figures = np.zeros((rows, count), np.int64), np.tile(np.array(means, np.float64), (rows, 1))
    for _ in range(simulations):
        chosen = halving.next(visits, figures)
        visits[np.arange(rows), chosen] += 1
    halving.sort(visits, figures)
    return visits, halving.actions[:, 0]


def test_the_better_half_is_tried_on() -> None:
    """16 simulations of 4 actions: 2 rounds, 16 / (2 * 4) = 2 of each, then 16 / (2 * 2) = 4 of two. Values 0, 1/3, 2/3
    and 1 times 0.1 (50 + 2) = 5.2 outweigh the noise mostly, and the highest mean wins."""
    visits, chosen = tried([0.25] * 4, [0, 10, 20, 30], 16, SEEDS)
    assert (np.sort(visits, axis=1) == [2, 2, 6, 6]).all()
    assert (chosen == 3).mean() > 0.8 and (visits[:, 3] == 6).mean() > 0.95


def test_actions_are_drawn_by_the_policy() -> None:
    """With a simulation of each and no difference in score, the first is the highest of Gumbel noise plus log prior: a
    draw from the policy. Illegal actions are never tried."""
    visits, chosen = tried([0.6, 0.0, 0.3, 0.1], [5, 5, 5, 5], 3, SEEDS)
    assert (visits[:, 1] == 0).all()
    shares = np.bincount(chosen, minlength=4) / len(SEEDS)
    assert shares == pytest.approx([0.6, 0.0, 0.3, 0.1], abs=0.08)


@pytest.mark.parametrize(("legal", "simulations", "most"), [(40, 64, 16), (40, 5, 5), (3, 64, 3), (1, 4, 1)])
def test_no_more_actions_than_simulations_and_sixteen(legal, simulations, most) -> None:
    visits, _ = tried([1 / legal] * legal, list(range(legal)), simulations, SEEDS[:50])
    assert ((visits > 0).sum(axis=1) == most).all() and (visits.sum(axis=1) == simulations).all()


def test_a_draw_depends_on_its_own_seed_alone() -> None:
    all_, alone = (tried([0.2] * 5, [1, 2, 3, 4, 5], 20, seeds) for seeds in (SEEDS[:30], SEEDS[7:8]))
    assert (all_[0][7] == alone[0][0]).all() and all_[1][7] == alone[1][0]
