"""More deals of the kinds that seldom succeed: counted by kind, bounded, and the same whenever they are played."""

from pathlib import Path

import numpy as np
import pytest

from games.openspiel import OpenSpielGame
from games.rng import derive_many, mix
from games.shards import Sequences, write_shard
from selfplay import successes
from selfplay.successes import Played, Successes, counted, play_on, succeeded, success_metadata


class Hanabi(OpenSpielGame):
    """OpenSpiel's tiny Hanabi, payoffs from 0 to 10, its deals told apart by the first player's card."""

    scenarios = ("first card", "second card")

    def scenario(self, states: np.ndarray) -> np.ndarray:
        return np.array([state.spiel.history()[0] for state in states], np.int16)


GAME = Hanabi("tiny_hanabi")


@pytest.fixture(autouse=True)
def small_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenSpiel deals one state after the other."""
    monkeypatch.setattr(successes, "_ROUND", 500)


def played(seeds: np.ndarray) -> Played:
    """Deals of these seeds, played at random."""
    states = GAME.deal(seeds)
    GAME.playout(states, mix(seeds, 7))
    shape = (len(seeds), GAME.num_players)
    return Played(seeds, states, GAME.outcome(states), np.zeros(shape, np.int64), np.ones(shape, bool), len(seeds))


def by_hand(deals: Played) -> dict[int, list[int]]:
    """Kind -> deals and successes, from OpenSpiel's own returns: 10 is the most there is."""
    counts = {0: [0, 0], 1: [0, 0]}
    for state in deals.states:
        kind = state.spiel.history()[0]
        counts[kind][0] += 1
        counts[kind][1] += state.spiel.returns() == [10.0, 10.0]
    return counts


def test_successes_are_counted_by_kind() -> None:
    deals = played(derive_many(1, 300))
    found = Successes.of(GAME, deals.states, deals.labels)
    assert {i: [found.games[i], found.wins[i]] for i in range(2)} == by_hand(deals)
    assert 0 < found.wins.sum() < 300
    assert succeeded(GAME, deals.labels).sum() == found.wins.sum()


@pytest.mark.parametrize("wins", [5, 40])
def test_rare_kinds_are_played_on_until_enough_have_succeeded(wins: int) -> None:
    first = played(derive_many(2, 30))
    kept, more = play_on(GAME, first, played, wins, most_games=30_000, seed=3)
    counts, before = by_hand(kept), by_hand(first)
    for kind in range(2):
        assert counts[kind][1] == max(wins, before[kind][1])
        added = counts[kind][0] - before[kind][0]
        assert added == 2 * (counts[kind][1] - before[kind][1]), "a failure is kept for each success"
    assert more.wins.sum() >= sum(counts[kind][1] - before[kind][1] for kind in range(2)) > 0
    assert (kept.seeds[: len(first.seeds)] == first.seeds).all()


def test_what_is_played_is_bounded_and_always_the_same() -> None:
    first = played(derive_many(2, 10))
    kept, more = play_on(GAME, first, played, 10_000, most_games=500, seed=3)
    again, _ = play_on(GAME, first, played, 10_000, most_games=500, seed=3)
    other, _ = play_on(GAME, first, played, 10_000, most_games=500, seed=4)
    assert more.games.sum() == 500
    assert (kept.seeds == again.seeds).all()
    assert len(kept.seeds) != len(other.seeds) or (kept.seeds != other.seeds).any()


class Never(Hanabi):
    scenarios = (*Hanabi.scenarios, "never dealt")


@pytest.mark.parametrize("game", [GAME, Never("tiny_hanabi")])
def test_enough_successes_ask_for_nothing_more_and_a_kind_that_never_comes_ends_the_search(game: Hanabi) -> None:
    kept, more = play_on(game, played(derive_many(2, 200)), played, 1, most_games=1_000_000, seed=3)
    assert len(kept.seeds) == 200 and more.games.sum() == 0


def test_shards_keep_the_counts_and_add_up(tmp_path: Path) -> None:
    paths = []
    for number in range(2):
        deals = played(derive_many(number, 20))
        kept, more = play_on(GAME, deals, played, 3, most_games=500, seed=number)
        sequences = Sequences.of_deals(GAME, kept.states, kept.seeds, "random", kept.keep)
        planned = Successes.of(GAME, deals.states, deals.labels)
        paths.append(str(tmp_path / f"{number}.parquet"))
        write_shard(paths[-1], sequences, GAME, success_metadata(planned, more))
    total = counted(paths)
    assert sum(games for games, _ in total["successes"].values()) == 40
    assert total["successes"].keys() == set(Hanabi.scenarios)
    assert total["more_successes"].keys() == set(Hanabi.scenarios)
