"""A table: many deals played side by side, with any mix of players.

Letters: ``G`` games at the table, ``P`` seats, ``M`` turns of one player at one moment. Generation of self-play games
and tournaments are both tables. A game comes out the same whatever else is played at its table.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from games.game import Game
from games.rng import mix
from search.player import Player, Turns


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


def play_table(game: Game, players: Sequence[Player], seating: np.ndarray, seeds: np.ndarray) -> TableResult:
    """Play one deal per row to its end.

    Args:
        players: everybody who plays; a player may hold any number of seats in any number of games.
        seating: ``int[G, P]``, which player (index into ``players``) has which seat.
        seeds: ``uint64[G]``, the seeds of the deals.

    Raises:
        ValueError: wrong shapes or indices, or a player answered with something that is not a legal action.
    """
    seating, seeds = _checked(game, players, seating, seeds)
    states = game.deal(seeds)
    final = np.empty(len(seeds), states.dtype)
    decisions = np.zeros(len(players), np.int64)
    seconds = np.zeros(len(players), np.float64)
    for player in players:
        player.start(game, len(seeds))
    rows = np.arange(len(seeds))
    while True:
        mover = game.to_move(states).astype(np.int64)
        over = mover < 0
        if over.any():
            final[rows[over]] = states[over]
            states, rows, mover = states[~over], rows[~over], mover[~over]
        if len(rows) == 0:
            break
        turns = _turns(game, states, rows, mover, seeds[rows])
        actions = np.empty(len(rows), np.int64)
        acting = seating[rows, mover]
        for index in np.unique(acting):
            mine = np.flatnonzero(acting == index)
            began = time.perf_counter()
            actions[mine] = _answers(players[index], turns, mine, states)
            seconds[index] += time.perf_counter() - began
            decisions[index] += len(mine)
        game.play(states, actions)
    return TableResult(final, game.outcome(final), game.points(final), decisions, seconds)


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


def _turns(game: Game, states: np.ndarray, rows: np.ndarray, seats: np.ndarray, deal_seeds: np.ndarray) -> Turns:
    """The decisions of all active games, whoever takes them."""
    tokens, lengths = game.histories(states, seats)
    seeds = mix(mix(deal_seeds, seats + 1), lengths)
    return Turns(rows, seats, tokens, lengths, game.legal(states), seeds)


def _answers(player: Player, turns: Turns, mine: np.ndarray, states: np.ndarray) -> np.ndarray:
    """``int64[M]``: what one player answers to its turns (positions ``mine``), checked."""
    asked = Turns(
        game=turns.game[mine],
        seat=turns.seat[mine],
        tokens=turns.tokens[mine],
        lengths=turns.lengths[mine],
        legal=turns.legal[mine],
        seeds=turns.seeds[mine],
        hidden=states[mine] if player.sees_hidden else None,
    )
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
