"""Plans of iterations: who plays, what is kept, and seeds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.errors import UserError
from selfplay.config import InitialConfig, SelfplayConfig
from selfplay.plan import Network, Seating, ShardPlan, draw, plan_shards, replayed, seating_of, seats
from selfplay.run_directory import RunDirectory
from selfplay.shard_sizes import idle_generators, shard_size, sized


def plans(config: SelfplayConfig, iteration: int, seed: int = 7) -> list[ShardPlan]:
    return plan_shards(config, iteration, seed, cooperative=False, checkpoint_of=lambda i: f"net{i}")


def plan_of(iteration: int, games: int, **changes: object) -> ShardPlan:
    """The one shard of an iteration of so many games."""
    sizes = {"initial_games": games, "games_per_iteration": games, "games_per_shard": games}
    (plan,) = plans(SelfplayConfig(**{**sizes, **changes}), iteration)
    return plan


def of(shards: list[ShardPlan]) -> list[tuple[int, int]]:
    return [(plan.iteration, plan.shard) for plan in shards]


def test_the_initial_players_come_first_then_argmax_val_for_everybody_then_the_population() -> None:
    kinds = [Seating.INITIAL, Seating.EVERYBODY, Seating.POPULATION, Seating.POPULATION]
    assert [seating_of(iteration, cooperative=False) for iteration in range(4)] == kinds
    together = [Seating.INITIAL, *[Seating.EVERYBODY] * 3]
    assert [seating_of(iteration, cooperative=True) for iteration in range(4)] == together


def test_without_a_population_the_newest_network_plays_in_every_seat_and_all_is_kept() -> None:
    plan = plan_of(4, 10, population=False)
    seating, keep = seats(plan, plan.seat_bits(4))
    assert plan.seating is Seating.EVERYBODY and plan.networks == (Network("003", "net3"),)
    assert (seating == 0).all() and keep.all()


@pytest.mark.parametrize(
    ("iteration", "pool_size", "networks"),
    [(4, 0, ["net0", "net1", "net2", "net3"]), (1, 0, ["net0"]), (0, 0, []), (5, 2, ["net3", "net4"])],
)
def test_earlier_networks_play_in_the_population_of_which_a_pool_keeps_the_newest(iteration, pool_size, networks):
    assert [network.path for network in plan_of(iteration, 10, pool_size=pool_size).networks] == networks


@given(games=st.integers(1, 1000), per_shard=st.integers(1, 300))
def test_shards_hold_every_game_once(games: int, per_shard: int) -> None:
    shards = plans(SelfplayConfig(games_per_iteration=games, games_per_shard=per_shard), 2)
    assert sum(plan.num_games for plan in shards) == games
    assert all(1 <= plan.num_games <= per_shard for plan in shards)
    assert [plan.shard for plan in shards] == list(range(len(shards)))


def test_shards_of_iteration_0_may_be_of_another_size() -> None:
    sizes = {"initial_games": 25, "games_per_iteration": 6, "games_per_shard": 3}
    config = SelfplayConfig(**sizes, initial_games_per_shard=10)
    assert [plan.num_games for plan in plans(config, 0)] == [10, 10, 5]
    assert [plan.num_games for plan in plans(config, 1)] == [3, 3]
    assert [plan.num_games for plan in plans(SelfplayConfig(**sizes), 0)] == [3] * 8 + [1]


@given(games=st.integers(1, 10**6), generators=st.integers(1, 2000), table=st.sampled_from([1, 128, 1024]))
def test_shards_that_are_cut_for_generators_leave_none_idle_and_fill_tables(games, generators, table) -> None:
    size = shard_size(games, generators, table)
    shards = -(-games // size)
    assert 1 <= size <= 10_000
    assert idle_generators(games, 0, generators) == 0
    each = -(-games // generators)
    assert shards >= -(-games // each), "as many generators work as with a share for each"
    assert size >= min(table, each, games)
    rounds = -(-shards // generators)
    assert rounds * size <= each + 4 or size == 10_000, "equal shares, up to rounding"
    if 4 * max(table, 16) * generators <= games:
        assert shards > 3 * generators, "four each, but for rounding"


def test_the_size_of_an_iterations_shards_is_kept_though_generators_come_and_go(tmp_path) -> None:
    """What hearts_paper does on a thousand generators, of which 16 are left in the next command."""
    config = SelfplayConfig(games_per_shard=0, games_per_table=1024)
    run = RunDirectory(str(tmp_path))
    assert sized(config, run, 1).games_per_shard == 10_000, "nobody looks for what nobody has played"
    assert sized(config, run, 1, 1000).games_per_shard == 500
    for later in (16, 0):
        assert len(plans(sized(config, run, 1, later), 1)) == 1000
    assert len(plans(sized(config, run, 2, 16), 2)) == 64
    assert len(plans(sized(config, run, 0, 16), 0)) == 400, "a file of 10,000 deals is the largest"
    for none in ({"first_network": "kibitz:hearts"}, {"initial": InitialConfig(players=[], shards="DIR")}):
        given, other = SelfplayConfig(games_per_shard=0, **none), RunDirectory(str(tmp_path / "given"))
        assert sized(given, other, 0, 16).games_per_shard and not (tmp_path / "given").exists()
    fixed = SelfplayConfig(games_per_shard=77)
    assert sized(fixed, run, 1, 16) is fixed and not (tmp_path / "iterations/003").exists()
    assert idle_generators(500_000, 10_000, 1000) == 950


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"games_per_shard": 0}', '{"games_per_shard": "7"}', None])
def test_a_size_that_is_damaged_or_lost_is_named_and_shards_are_not_cut_anew(content, tmp_path) -> None:
    config, run = SelfplayConfig(games_per_shard=0), RunDirectory(str(tmp_path))
    size = sized(config, run, 1, 3).games_per_shard
    record, shard = tmp_path / "iterations/001/shards.json", tmp_path / "iterations/001/shards/00000.parquet"
    shard.parent.mkdir()
    shard.touch()
    assert sized(config, run, 1, 50).games_per_shard == size
    record.unlink() if content is None else record.write_text(content)
    with pytest.raises(UserError, match=r"iterations/001/shards\.json: is (damaged|missing).*restore it"):
        sized(config, run, 1, 50)


def test_another_run_seed_deals_other_games() -> None:
    config = SelfplayConfig(games_per_iteration=50, games_per_shard=50)
    here, there = plans(config, 1, seed=1)[0], plans(config, 1, seed=2)[0]
    assert not np.isin(here.deal_seeds(), there.deal_seeds()).any()
    assert not np.isin(here.seat_bits(4), there.seat_bits(4)).any()


def test_seats_are_drawn_by_their_weights() -> None:
    seating = draw(plan_of(0, 20_000).seat_bits(4), np.array([0.7, 0.0, 0.3]))
    shares = [(seating == player).mean(axis=0) for player in range(3)]
    assert np.abs(np.array(shares) - np.array([[0.7], [0.0], [0.3]])).max() < 0.015


def test_the_newest_network_has_one_seat_and_the_others_are_drawn_uniformly() -> None:
    plan = plan_of(3, 20_000)
    seating, keep = seats(plan, plan.seat_bits(4))
    assert (keep.sum(1) == 1).all()
    assert ((seating == 0) == keep).all()
    assert np.abs(keep.mean(0) - 0.25).max() < 0.015
    assert np.abs([(seating[~keep] == player).mean() - 1 / 3 for player in (1, 2, 3)]).max() < 0.015


def test_no_two_deals_of_a_run_are_the_same_and_seats_are_drawn_anew() -> None:
    every = [plan for iteration in range(4) for plan in plans(OWN, iteration)]
    deals = np.concatenate([plan.deal_seeds() for plan in every])
    bits = np.concatenate([plan.seat_bits(4)[:, 0] for plan in every])
    assert len(deals) == 50 + 3 * 20 == len(np.unique(deals)) == len(np.unique(bits))


# ---- what is learned from again

OWN = SelfplayConfig(initial_games=50, games_per_iteration=20, games_per_shard=10)
FIRST = [(0, shard) for shard in range(5)]


@pytest.mark.parametrize(
    ("config", "replay_games", "replay_from", "seen"),
    [
        (OWN, 0, 0, []),
        (OWN, 20, 0, []),
        (OWN, 21, 0, [(1, 1)]),
        (OWN, 45, 0, [(0, 4), (1, 0), (1, 1)]),
        (OWN, 45, 1, [(1, 0), (1, 1)]),  # what came before is learned from once
        (OWN, 45, 2, []),
        (OWN, 45, 9, []),
        (OWN, 10**9, 0, [*FIRST, (1, 0), (1, 1)]),
    ],
)
def test_the_learner_sees_the_newest_games(config, replay_games, replay_from, seen) -> None:
    config = replace(config, replay_games=replay_games, replay_from=replay_from)
    own = [(2, shard) for shard in range(2)]
    assert of(replayed(config, 2, lambda iteration: plans(config, iteration))) == [*seen, *own]
