"""A run that learns by a policy gradient: who sits where, what its shards hold, its magnets."""

from pathlib import Path

import numpy as np

from games.hearts.game import HeartsGame
from games.shards import read_shard
from selfplay.checks import check
from selfplay.config import SelfplayConfig
from selfplay.plan import Network, Seating, ShardPlan, num_kept, plan_shards, seats
from tests.selfplay.material import run
from tests.selfplay.test_resume import by_gradient

GAME = HeartsGame()


def plans(iteration: int, share: float = 0.25) -> list[ShardPlan]:
    config = SelfplayConfig(initial_games=40, games_per_iteration=4000, population=False, past_share=share)
    return plan_shards(config, iteration, 7, cooperative=False, checkpoint_of=lambda i: f"net{i}")


def test_earlier_networks_take_their_share_of_the_seats_and_the_newest_has_one_at_least() -> None:
    (plan,) = plans(3)
    assert plan.seating is Seating.MIXED and [network.name for network in plan.networks] == ["000", "001", "002"]
    seating, keep = seats(plan, plan.seat_bits(4))
    assert (keep == (seating == 0)).all() and keep.any(axis=1).all() and num_kept(plan, 4) == keep.sum()
    counts = np.bincount(seating.ravel(), minlength=4) / seating.size
    # A seat in four is the newest network's in any case, of the others a quarter are the two earlier ones'.
    np.testing.assert_allclose(counts, [1 - 0.25 * 0.75, 0.75 * 0.125, 0.75 * 0.125, 0.0], atol=0.01)


def test_with_one_network_it_plays_every_seat() -> None:
    (plan,) = plans(1)
    assert plan.networks == (Network("000", "net0"),)
    assert (seats(plan, plan.seat_bits(4))[0] == 0).all()


def test_a_run_goes_from_imitation_to_its_own_games(tmp_path: Path) -> None:
    config = by_gradient(tmp_path / "run", iterations=4)
    check(config)
    workers = run(config)
    for iteration in range(5):
        for path in sorted((tmp_path / f"run/iterations/{iteration:03d}/shards").glob("*.parquet")):
            shard = read_shard(path, GAME)
            assert (shard.probabilities is None) == (iteration == 0)
            if iteration > 1:
                assert set(shard.player) == {f"imitation@{iteration - 1:03d}"}
    magnets = [task.learner.policy.magnet[-len("000/checkpoint") :] for task in workers.trained]
    assert magnets == ["", "000/checkpoint", "000/checkpoint", "002/checkpoint", "002/checkpoint"]
