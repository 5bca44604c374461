"""Deals that the tests of games share."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from games.compiled import CompiledGame
from games.crew.game import CrewGame
from games.crew.public import DISTRESS
from games.game import Game
from games.rng import derive_many


def played(game: Game, count: int, seed: int) -> np.ndarray:
    """States of random deals at their end."""
    states = game.deal(derive_many(seed, count))
    game.playout(states, derive_many(seed + 1, count))
    return states


def histories_of(game: Game, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Histories of random deals at their end and their lengths, each as one seat saw it, the seats in turn."""
    return game.histories(played(game, count, seed), np.arange(count) % game.num_players)


@dataclass
class Deal:
    """A deal under way: its true state, and who did what."""

    game: Game
    states: np.ndarray
    seats: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)

    def do(self, token: int) -> None:
        self.seats.append(int(self.game.to_move(self.states)[0]))
        self.tokens.append(int(token))
        self.game.play(self.states, np.array([token]))

    @property
    def over(self) -> bool:
        return bool(self.game.to_move(self.states)[0] < 0)


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


def subsets(cards: int, size: int) -> list[int]:
    """The sets of so many cards of a set."""
    return [sum(chosen) for chosen in combinations([1 << card for card in members(cards)], size)]


class Named:
    """A compiled game by the names of its tokens, two words of a name joined by ``_``; ``states`` are one deal."""

    def __init__(self, game: CompiledGame) -> None:
        self.game = game
        self.token = {name: token for token, name in enumerate(game.vocabulary.names)}

    def names(self, tokens: np.ndarray) -> list[str]:
        return [self.game.vocabulary.name(token) for token in tokens]

    def seen(self, states: np.ndarray, seat: int) -> list[str]:
        return self.names(states[0]["tokens"][seat, : states[0]["lengths"][seat]])

    def legal(self, states: np.ndarray) -> set[str]:
        legal = np.zeros((1, len(self.token)), np.bool_)
        self.game.loops.legal(states[:1], legal)
        return set(self.names(np.flatnonzero(legal[0])))

    def do(self, states: np.ndarray, text: str) -> None:
        """Act; each action must be legal."""
        for word in text.replace("no tile", "no_tile").split():
            name = word.replace("_", " ")
            refused = self.game.loops.act(states, np.array([self.token[name]])) != -1
            assert not refused, f"{name} is not among {self.legal(states)}"


class Signalling(CrewGame):
    """Everybody agrees to the distress signal, which random replies would send once in sixteen deals."""

    def legal(self, states: np.ndarray) -> np.ndarray:
        return self._without_no(states, super().legal(states))

    def view_legal(self, views: np.ndarray) -> np.ndarray:
        return self._without_no(views, super().view_legal(views))

    def _without_no(self, rows: np.ndarray, legal: np.ndarray) -> np.ndarray:
        legal[rows["public"]["phase"] == DISTRESS, self.vocabulary.names.index("no")] = False
        return legal
