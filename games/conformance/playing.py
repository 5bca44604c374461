"""Random deals for the laws."""

from collections.abc import Iterator
from itertools import count

import numpy as np

from games.game import Game
from games.rng import derive, derive_many, mix


def random_play(game: Game, num_deals: int, seed: int) -> Iterator[np.ndarray]:
    """The same batch of deals before every action and at the end, each action uniform over the legal ones."""
    seeds = derive_many(seed, num_deals)
    states = game.deal(seeds)
    for step in count():
        yield states
        if (game.to_move(states) < 0).all():
            return
        game.play(states, random_actions(game.legal(states), mix(seeds, step)))


def random_actions(legal: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """``int64[B]``: one legal token per row (0 where none is), from 64 random bits each."""
    picked = (seeds >> np.uint64(33)).astype(np.int64) * legal.sum(axis=1) >> 31
    return np.argmax(legal.cumsum(axis=1) > picked[:, None], axis=1)


def finished(game: Game, num_deals: int, seed: int) -> np.ndarray:
    """A batch of deals at their end."""
    states = game.deal(derive_many(seed, num_deals))
    game.playout(states, derive_many(derive(seed, "playout"), num_deals))
    return states


def seen(game: Game, states: np.ndarray) -> bytes:
    """All that can be asked of a batch: turns, legal actions, outcomes and the history of every seat."""
    answers = [game.to_move(states), game.legal(states), game.outcome(states)]
    for seat in range(game.num_players):
        answers += game.histories(states, np.full(len(states), seat))
    return b"".join(answer.tobytes() for answer in answers)
