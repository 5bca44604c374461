"""Decisions for the tests of searches, and players that search them."""

from dataclasses import replace

import numpy as np

from games.game import Game
from games.rng import derive_many
from search.players import table
from search.players.kinds import PlayerKind
from search.players.player import ChoosingPlayer, Turns
from search.players.random_player import RandomPlayer


class Lowest(ChoosingPlayer):
    """Plays the lowest legal action, and finds each worth its number."""

    name = "lowest"

    def choose(self, turns: Turns) -> np.ndarray:
        return np.asarray(turns.legal.argmax(axis=1))

    def action_values(self, turns: Turns) -> np.ndarray:
        return np.where(turns.legal, np.arange(turns.legal.shape[1], dtype=np.float64), -np.inf)


class Recorder(RandomPlayer):
    """A random player that remembers what it was shown."""

    def __init__(self, sees_hidden: bool = False) -> None:
        super().__init__("recorder")
        self.sees_hidden = sees_hidden
        self.seen: list[Turns] = []

    def act(self, turns: Turns) -> np.ndarray:
        self.seen.append(turns)
        return super().act(turns)


class Breaking(ChoosingPlayer):
    """Fails at its first turn with a choice."""

    name = "breaking"

    def choose(self, turns: Turns) -> np.ndarray:
        raise RuntimeError("out of luck")


KIND = PlayerKind("breaking", lambda game, model, settings: Breaking(), "Fails at its first turn.")
BREAKING = f"{__name__}:KIND"
"""By its name."""


def turns_in(game: Game, states: np.ndarray, seeds: np.ndarray | None = None) -> Turns:
    """The decisions of the seats to act in these states, with the states themselves."""
    seats = game.to_move(states).astype(np.int64)
    tokens, lengths = game.histories(states, seats)
    drawn = derive_many(5, len(states)) if seeds is None else seeds
    return Turns(np.arange(len(states)), seats, tokens, lengths, game.legal(states), drawn, states)


def turns_at(game: Game, histories: list[tuple[int, ...]], seeds: np.ndarray) -> Turns:
    tokens = np.full((len(histories), game.max_length), game.vocabulary.eos)
    for row, history in enumerate(histories):
        tokens[row, : len(history)] = history
    lengths = np.array([len(history) for history in histories], np.int32)
    legal = game.view_legal(game.views(tokens, lengths))
    rows = np.arange(len(histories))
    return Turns(rows, np.zeros(len(rows), np.int64), tokens, lengths, legal, seeds)


def decision_histories(game: Game, count: int) -> list[tuple[int, ...]]:
    """Histories of the seat to move with a choice, from random play, early and late in the deal."""
    states = game.deal(derive_many(11, count))
    histories: list[tuple[int, ...]] = []
    ply = 0
    while len(histories) < count:
        legal = game.legal(states)
        tokens, lengths = game.histories(states, game.to_move(states))
        row = len(histories)
        if ply % 7 == 0 and legal[row].sum() > 1:
            histories.append(tuple(int(t) for t in tokens[row, : lengths[row]]))
        over = ~legal.any(1)
        game.play(states, np.where(over, 0, (legal * (1 + np.arange(legal.shape[1]) * 7 % 13)).argmax(1)))
        states[over] = game.deal(derive_many(13 + ply, count))[over]
        ply += 1
    return histories


def turns_of(game: Game, count: int, plies: int) -> Turns:
    """Decisions with a choice, of so many deals each after ``plies`` random actions; true states among them."""
    states = game.deal(derive_many(3, count))
    random = RandomPlayer()
    for ply in range(plies):
        seats = game.to_move(states).astype(np.int64)
        game.play(states, random.act(table.turns_at(game, states, np.arange(count), seats, derive_many(4, count), ply)))
    seats = game.to_move(states).astype(np.int64)
    turns = table.turns_at(game, states, np.arange(count), seats, derive_many(4, count), 1)
    return replace(turns, hidden=states).take(np.flatnonzero(turns.legal.sum(axis=1) > 1))
