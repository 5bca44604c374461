"""Players that now and then do anything."""

import numpy as np

from games.hearts.game import HeartsGame
from games.rng import derive_many
from search.config import SearchConfig
from search.players.player import Turns
from search.players.table import play_table
from search.roster.registry import make_players

GAME = HeartsGame()


def turns(count: int) -> Turns:
    """The first decisions of so many deals, but for those without passing: which of 13 cards to pass."""
    states = GAME.deal(derive_many(3, count))
    seats = GAME.to_move(states).astype(np.int64)
    tokens, lengths = GAME.histories(states, seats)
    every = Turns(np.arange(count), seats, tokens, lengths, GAME.legal(states), derive_many(9, count))
    return every.take(np.flatnonzero(every.legal.sum(axis=1) == 13))


def test_as_often_as_was_asked_an_action_is_uniform_over_the_legal_ones() -> None:
    players = make_players(["hearts_rules", "hearts_rules:explore=0.3", "hearts_rules:explore=1"], GAME, SearchConfig())
    assert [player.name for player in players][1:] == ["hearts_rules:explore=0.3", "hearts_rules:explore=1"]
    asked = turns(20_000)
    for player in players:
        player.start(GAME, 20_000)
    usual, sometimes, always = (player.act(asked) for player in players)
    assert abs((sometimes != usual).mean() - 0.3 * 12 / 13) < 0.015  # one time in 13 it is the same card
    assert (always == sometimes)[sometimes != usual].all()
    place = (asked.legal.cumsum(axis=1) - 1)[np.arange(len(always)), always]
    assert np.abs(np.bincount(place, minlength=13) / len(place) - 1 / 13).max() < 0.01  # five standard deviations


def test_it_is_a_player_like_any_other() -> None:
    players = make_players(["hearts_rules:explore=1", "random"], GAME, SearchConfig())
    seating = np.tile([0, 1, 0, 1], (400, 1))
    results = [play_table(GAME, players, seating, derive_many(1, 400), size, secret=5) for size in (400, 7)]
    assert np.array_equal(results[0].labels, results[1].labels)
    means = results[0].points.mean(axis=0)
    assert abs(means[[0, 2]].mean() - means[[1, 3]].mean()) < 1.5  # it does nothing but explore
