"""Plans of iterations: who plays, what is kept, and seeds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.config import InitialConfig, SelfplayConfig, TeacherConfig
from selfplay.plan import Network, Seating, ShardPlan, draw, plan_shards, replayed, seating_of, seats


def plans(config: SelfplayConfig, iteration: int, seed: int = 0) -> list:
    return plan_shards(config, iteration, seed, cooperative=False, checkpoint_of=lambda i: f"net{i}")


def test_random_games_come_first_then_argmax_val_for_everybody_then_the_population() -> None:
    seatings = [seating_of(iteration, cooperative=False) for iteration in range(4)]
    assert seatings == [Seating.INITIAL, Seating.EVERYBODY, Seating.POPULATION, Seating.POPULATION]


def test_in_a_cooperative_game_everybody_stays_argmax_val() -> None:
    seatings = [seating_of(iteration, cooperative=True) for iteration in range(4)]
    assert seatings == [Seating.INITIAL, Seating.EVERYBODY, Seating.EVERYBODY, Seating.EVERYBODY]


def test_without_a_population_the_newest_network_plays_in_every_seat_and_all_is_kept() -> None:
    config = SelfplayConfig(games_per_iteration=10, games_per_shard=10, population=False)
    (plan,) = plans(config, 4)
    seating, keep = seats(plan, plan.seat_bits(4))
    assert plan.seating is Seating.EVERYBODY and [network.path for network in plan.networks] == ["net3"]
    assert (seating == 0).all() and keep.all()


def test_all_earlier_networks_play_in_the_population_and_the_newest_is_last() -> None:
    config = SelfplayConfig(games_per_iteration=10, games_per_shard=10)
    assert [network.path for network in plans(config, 4)[0].networks] == ["net0", "net1", "net2", "net3"]
    assert [network.path for network in plans(config, 1)[0].networks] == ["net0"]
    assert plans(config, 0)[0].networks == ()


def test_a_bounded_pool_keeps_the_newest_networks() -> None:
    config = SelfplayConfig(games_per_iteration=10, games_per_shard=10, pool_size=2)
    assert [network.path for network in plans(config, 5)[0].networks] == ["net3", "net4"]


@given(games=st.integers(1, 1000), per_shard=st.integers(1, 300))
def test_shards_hold_every_game_once(games: int, per_shard: int) -> None:
    config = SelfplayConfig(games_per_iteration=games, games_per_shard=per_shard)
    shards = plans(config, 2)
    assert sum(plan.num_games for plan in shards) == games
    assert all(1 <= plan.num_games <= per_shard for plan in shards)
    assert [plan.shard for plan in shards] == list(range(len(shards)))


def test_shards_of_iteration_0_may_be_of_another_size() -> None:
    sizes = {"initial_games": 25, "games_per_iteration": 6, "games_per_shard": 3}
    config = SelfplayConfig(**sizes, initial_games_per_shard=10)
    assert [plan.num_games for plan in plans(config, 0)] == [10, 10, 5]
    assert [plan.num_games for plan in plans(config, 1)] == [3, 3]
    assert [plan.num_games for plan in plans(SelfplayConfig(**sizes), 0)] == [3] * 8 + [1]


def test_no_two_games_of_a_run_share_a_deal() -> None:
    config = SelfplayConfig(initial_games=500, games_per_iteration=500, games_per_shard=100)
    seeds = np.concatenate([plan.deal_seeds() for iteration in range(4) for plan in plans(config, iteration)])
    assert len(np.unique(seeds)) == len(seeds)


def test_another_run_seed_deals_other_games() -> None:
    config = SelfplayConfig(games_per_iteration=50, games_per_shard=50)
    here, there = plans(config, 1, seed=1)[0], plans(config, 1, seed=2)[0]
    assert not np.isin(here.deal_seeds(), there.deal_seeds()).any()
    assert not np.isin(here.seat_bits(4), there.seat_bits(4)).any()


def test_seats_are_drawn_by_their_weights() -> None:
    plan = plans(SelfplayConfig(initial_games=20_000, games_per_shard=20_000), 0)[0]
    seating = draw(plan.seat_bits(4), np.array([0.7, 0.0, 0.3]))
    shares = [(seating == player).mean(axis=0) for player in range(3)]
    assert np.abs(np.array(shares) - np.array([[0.7], [0.0], [0.3]])).max() < 0.015


def test_the_newest_network_has_one_seat_and_the_others_are_drawn_uniformly() -> None:
    plan = plans(SelfplayConfig(games_per_iteration=20_000, games_per_shard=20_000), 3)[0]
    seating, keep = seats(plan, plan.seat_bits(4))
    assert (keep.sum(1) == 1).all()
    assert ((seating == 0) == keep).all()
    assert np.abs(keep.mean(0) - 0.25).max() < 0.015
    assert np.abs([(seating[~keep] == player).mean() - 1 / 3 for player in (1, 2, 3)]).max() < 0.015


@pytest.mark.parametrize(
    ("replay_games", "seen"),
    [
        (0, [(2, 0), (2, 1)]),
        (20, [(2, 0), (2, 1)]),
        (21, [(1, 1), (2, 0), (2, 1)]),
        (45, [(0, 4), (1, 0), (1, 1), (2, 0), (2, 1)]),
        (10**9, [*((0, shard) for shard in range(5)), (1, 0), (1, 1), (2, 0), (2, 1)]),
    ],
)
def test_the_learner_sees_the_newest_games(replay_games: int, seen: list[tuple[int, int]]) -> None:
    config = SelfplayConfig(initial_games=50, games_per_iteration=20, games_per_shard=10, replay_games=replay_games)
    shards = replayed(config, 2, lambda iteration: plans(config, iteration))
    assert [(plan.iteration, plan.shard) for plan in shards] == seen


def test_deals_of_iterations_before_the_first_to_replay_are_learned_from_once() -> None:
    config = SelfplayConfig(initial_games=50, games_per_iteration=20, games_per_shard=10, replay_games=45)
    for first, seen in ((1, [(1, 0), (1, 1), (2, 0), (2, 1)]), (2, [(2, 0), (2, 1)]), (9, [(2, 0), (2, 1)])):
        shards = replayed(replace(config, replay_from=first), 2, lambda iteration: plans(config, iteration))
        assert [(plan.iteration, plan.shard) for plan in shards] == seen


# ---- deals of a teacher

PLAYERS = InitialConfig(["hearts_rules", "random"], keep=["hearts_rules"])
TAUGHT = SelfplayConfig(
    initial=PLAYERS, initial_games=40, games_per_iteration=20, teacher_games=25, games_per_shard=10, replay_games=60
)


def taught(iteration: int, config: SelfplayConfig = TAUGHT) -> list[ShardPlan]:
    return plan_shards(config, iteration, 7, cooperative=False, checkpoint_of=lambda i: f"net{i}")


@pytest.mark.parametrize(("iteration", "seating"), [(1, Seating.EVERYBODY), (3, Seating.POPULATION)])
def test_a_later_iteration_has_its_own_shards_and_then_the_teachers(iteration: int, seating: Seating) -> None:
    every = taught(iteration)
    assert [plan.shard for plan in every] == list(range(5)) and {plan.iteration for plan in every} == {iteration}
    assert [plan.num_games for plan in every] == [10, 10, 10, 10, 5]
    assert [plan.seating for plan in every] == [seating] * 2 + [Seating.INITIAL] * 3
    assert [plan.of_teacher for plan in every] == [False] * 2 + [True] * 3
    assert all(plan.networks == () and plan.initial == PLAYERS for plan in every[2:])
    assert every[:2] == taught(iteration, replace(TAUGHT, teacher_games=0)), "the networks' games are the same without"


def test_teachers_of_their_own_play_the_teachers_deals_alone() -> None:
    teacher = TeacherConfig(["hearts_simple"])
    every = taught(2, replace(TAUGHT, teacher=teacher))
    assert [plan.initial for plan in every if plan.of_teacher] == [teacher] * 3
    assert [plan for plan in every if not plan.of_teacher] == taught(2, replace(TAUGHT, teacher_games=0))
    assert taught(0, replace(TAUGHT, teacher=teacher)) == taught(0)


def test_iteration_0_is_what_it_was() -> None:
    assert taught(0) == taught(0, replace(TAUGHT, teacher_games=0)) and not any(plan.of_teacher for plan in taught(0))


def test_no_two_deals_are_the_same_and_seats_are_drawn_anew() -> None:
    every = [plan for iteration in range(4) for plan in taught(iteration)]
    deals, bits = (np.concatenate([each(plan) for plan in every]) for each in (ShardPlan.deal_seeds, first_bits))
    assert len(deals) == 40 + 3 * 45 == len(np.unique(deals)) == len(np.unique(bits))


def first_bits(plan: ShardPlan) -> np.ndarray:
    return plan.seat_bits(4)[:, 0]


def test_the_initial_players_sit_and_are_kept_as_in_iteration_0() -> None:
    plan = taught(2, replace(TAUGHT, teacher_games=5_000, games_per_shard=5_000))[-1]
    seating, keep = seats(plan, plan.seat_bits(4))
    assert np.array_equal(keep, seating == 0) and abs(keep.mean() - 0.5) < 0.02


@pytest.mark.parametrize(
    ("replay_games", "seen"),
    [(0, []), (45, []), (46, [(1, 4)]), (70, [(1, 2), (1, 3), (1, 4)]), (71, [(1, 1), (1, 2), (1, 3), (1, 4)])],
)
def test_replay_counts_a_teachers_deals_of_an_iteration_and_takes_an_earlier_ones_first(
    replay_games: int, seen: list[tuple[int, int]]
) -> None:
    config = replace(TAUGHT, replay_games=replay_games)
    shards = replayed(config, 2, lambda iteration: taught(iteration, config))
    assert [(plan.iteration, plan.shard) for plan in shards] == [*seen, *((2, shard) for shard in range(5))]


# ---- earlier networks in some seats


def mixed(iteration: int) -> list[ShardPlan]:
    config = SelfplayConfig(initial_games=40, games_per_iteration=4000, population=False, past_share=0.25)
    return plan_shards(config, iteration, 7, cooperative=False, checkpoint_of=lambda i: f"net{i}")


def test_earlier_networks_take_their_share_of_the_seats_and_the_newest_has_one_at_least() -> None:
    (plan,) = mixed(3)
    assert plan.seating is Seating.MIXED and [network.name for network in plan.networks] == ["000", "001", "002"]
    seating, keep = seats(plan, plan.seat_bits(4))
    assert (keep == (seating == 0)).all() and keep.any(axis=1).all()
    counts = np.bincount(seating.ravel(), minlength=4) / seating.size
    # A seat in four is the newest network's in any case, of the others a quarter are the two earlier ones'.
    np.testing.assert_allclose(counts, [1 - 0.25 * 0.75, 0.75 * 0.125, 0.75 * 0.125, 0.0], atol=0.01)


def test_with_one_network_it_plays_every_seat() -> None:
    (plan,) = mixed(1)
    assert plan.networks == (Network("000", "net0"),)
    assert (seats(plan, plan.seat_bits(4))[0] == 0).all()
