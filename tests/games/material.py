"""Deals that the tests of games share."""

from collections.abc import Iterator

import numpy as np

from games.crew.game import CrewGame
from games.crew.public import DISTRESS
from games.game import Game
from games.rng import derive_many


def played(game: Game, count: int, seed: int) -> np.ndarray:
    """States of random deals at their end."""
    states = game.deal(derive_many(seed, count))
    game.playout(states, derive_many(seed + 1, count))
    return states


def decisions(game: Game, count: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Turn by turn of random deals: the states in which a seat is to act, these seats, and their views."""
    rng, states = np.random.default_rng(seed), game.deal(derive_many(seed, count))
    while len(acting := states[game.to_move(states) >= 0]):
        seats = game.to_move(acting).astype(np.int64)
        yield acting, seats, game.views(*game.histories(acting, seats))
        legal = game.legal(states)
        game.play(states, np.argmax(legal * rng.random(legal.shape), axis=1))


def members(cards: int) -> set[int]:
    """The cards of a set."""
    return {card for card in range(62) if int(cards) >> card & 1}


class Signalling(CrewGame):
    """Everybody agrees to the distress signal, which random replies would send once in sixteen deals."""

    def legal(self, states: np.ndarray) -> np.ndarray:
        return self._without_no(states, super().legal(states))

    def view_legal(self, views: np.ndarray) -> np.ndarray:
        return self._without_no(views, super().view_legal(views))

    def _without_no(self, rows: np.ndarray, legal: np.ndarray) -> np.ndarray:
        legal[rows["public"]["phase"] == DISTRESS, self.vocabulary.names.index("no")] = False
        return legal
