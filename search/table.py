"""A table: many deals played side by side, with any mix of players.

Letters: ``G`` deals, ``P`` seats, ``M`` turns of one player at one moment. Generation of self-play games
and tournaments are both tables. A game comes out the same whatever else is played at its table.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from games.game import Game
from games.rng import keyed_hash
from search.players.player import Player, Turns


@dataclass(frozen=True)
class TableResult:
    """How the deals of a table ended."""

    states: np.ndarray
    """Final states ``[G]``; ``game.histories`` gives what each seat saw."""
    labels: np.ndarray
    """``int32[G, P]``: outcome label seen from each seat."""
    points: np.ndarray
    """``float32[G, P]``: points of each seat."""
    decisions: np.ndarray
    """``int64[len(players)]``: turns each player decided."""
    seconds: np.ndarray
    """``float64[len(players)]``: wall time each player took for them."""
    fill: float
    """Mean share of the table's places that were taken, over its steps."""


def play_table(
    game: Game,
    players: Sequence[Player],
    seating: np.ndarray,
    seeds: np.ndarray,
    table_size: int = 0,
    on_finished: Callable[[int], None] | None = None,
    on_decisions: Callable[[int], None] | None = None,
    *,
    secret: int,
) -> TableResult:
    """Play one deal per row to its end.

    Args:
        players: everybody who plays; a player may hold any number of seats in any number of games.
        seating: ``int[G, P]``, which player (index into ``players``) has which seat.
        seeds: ``uint64[G]``, the seeds of the deals.
        table_size: deals played side by side; as one ends, the next takes its place. 0 for all at once.
        on_finished: called now and then with the number of deals that have ended since the last call.
        on_decisions: called with the number of turns a player has just decided, as soon as it has.
        secret: 64 bits that no player knows. Together with deal, seat and length of the history they give the random
            number of a decision, from which nobody can learn the seed of the deal.

    Raises:
        ValueError: wrong shapes or indices, or a player answered with something that is not a legal action.
    """
    seating, seeds = _checked(game, players, seating, seeds)
    table = _Places(game, players, seeds, min(table_size or len(seeds), len(seeds)))
    decisions = np.zeros(len(players), np.int64)
    seconds = np.zeros(len(players), np.float64)
    steps = taken = 0
    while True:
        ended = table.renew()
        if ended and on_finished is not None:
            on_finished(ended)
        if len(table.deal) == 0:
            break
        steps, taken = steps + 1, taken + len(table.deal)
        mover = game.to_move(table.states).astype(np.int64)
        turns = _turns(game, table.states, table.place, mover, seeds[table.deal], secret)
        actions = np.empty(len(mover), np.int64)
        acting = seating[table.deal, mover]
        for index in np.unique(acting):
            mine = np.flatnonzero(acting == index)
            began = time.perf_counter()
            actions[mine] = _answers(players[index], turns, mine, table.states)
            seconds[index] += time.perf_counter() - began
            decisions[index] += len(mine)
            if on_decisions is not None:
                on_decisions(len(mine))
        game.play(table.states, actions)
    final = table.final
    return TableResult(
        final, game.outcome(final), game.points(final), decisions, seconds, taken / max(steps * table.size, 1)
    )


class _Places:
    """The places of a table and the deals at them."""

    def __init__(self, game: Game, players: Sequence[Player], seeds: np.ndarray, size: int) -> None:
        self.size = size
        self.place = np.arange(size)
        """Places that are taken."""
        self.deal = np.arange(size)
        """The deal at each of them."""
        self.states = game.deal(seeds[:size])
        """And how it stands."""
        self.final = np.empty(len(seeds), self.states.dtype)
        """How each deal has ended."""
        self._game, self._players, self._seeds, self._next = game, players, seeds, size
        for player in players:
            player.start(game, size)

    def renew(self) -> int:
        """Clear places whose deals have ended, deal anew there as long as deals are left, and say how many ended."""
        ended = 0
        while (over := self._game.to_move(self.states) < 0).any():
            self.final[self.deal[over]] = self.states[over]
            cleared, going_on = self.place[over], ~over
            for player in self._players:
                player.forget(cleared)
            fresh = np.arange(self._next, min(self._next + len(cleared), len(self._seeds)))
            self._next += len(fresh)
            self.states = self.states[going_on]
            if len(fresh):
                self.states = np.concatenate([self.states, self._game.deal(self._seeds[fresh])])
            self.deal = np.concatenate([self.deal[going_on], fresh])
            self.place = np.concatenate([self.place[going_on], cleared[: len(fresh)]])
            ended += len(cleared)
        return ended


def _checked(
    game: Game, players: Sequence[Player], seating: np.ndarray, seeds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    seating, seeds = np.asarray(seating, np.int64), np.asarray(seeds, np.uint64)
    if seeds.ndim != 1 or len(seeds) == 0:
        raise ValueError(f"a table needs at least one deal and one seed for each; seeds have shape {seeds.shape}")
    if seating.shape != (len(seeds), game.num_players):
        wanted = (len(seeds), game.num_players)
        raise ValueError(f"seating has shape {seating.shape}; {wanted} (deals, seats of {game.name}) is needed")
    if seating.min() < 0 or seating.max() >= len(players):
        raise ValueError(f"seating names players {seating.min()}..{seating.max()}; there are {len(players)}, from 0")
    return seating, seeds


def _turns(
    game: Game, states: np.ndarray, rows: np.ndarray, seats: np.ndarray, deal_seeds: np.ndarray, secret: int
) -> Turns:
    """The decisions of all active games, whoever takes them."""
    tokens, lengths = game.histories(states, seats)
    return Turns(rows, seats, tokens, lengths, game.legal(states), keyed_hash(secret, deal_seeds, seats, lengths))


def _answers(player: Player, turns: Turns, mine: np.ndarray, states: np.ndarray) -> np.ndarray:
    """``int64[M]``: what one player answers to its turns (positions ``mine``), checked."""
    asked = replace(turns.take(mine), hidden=states[mine] if player.sees_hidden else None)
    actions = np.asarray(player.act(asked))
    if actions.shape != mine.shape or actions.dtype.kind not in "iu":
        raise ValueError(
            f"player {player.name!r} answered {len(mine)} turns with {actions.dtype} of shape {actions.shape}; "
            f"one token id per turn is needed"
        )
    actions = actions.astype(np.int64)
    size = asked.legal.shape[1]
    known = (actions >= 0) & (actions < size)
    legal = known & asked.legal[np.arange(len(mine)), np.where(known, actions, 0)]
    if not legal.all():
        bad = int(np.argmin(legal))
        raise ValueError(
            f"player {player.name!r} chose token {actions[bad]} in game {asked.game[bad]}, seat {asked.seat[bad]}; "
            f"legal are {np.flatnonzero(asked.legal[bad]).tolist()}"
        )
    return actions
