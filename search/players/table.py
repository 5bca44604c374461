"""A table: many deals played side by side, with any mix of players.

Letters: ``G`` deals, ``P`` seats, ``M`` turns of one player at one moment. Generation of self-play games
and tournaments are both tables. A game does not depend on the other games at its table.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from games.compiling import compiling
from games.game import Game
from games.rng import keyed_hash
from search.players.asking import deciding, together
from search.players.player import Player, Turns


@dataclass(frozen=True)
class TableResult:
    """Results of the deals of a table."""

    states: np.ndarray
    """Final states ``[G]``; ``game.histories`` gives what each seat saw."""
    labels: np.ndarray
    """``int32[G, P]``: outcome label seen from each seat."""
    points: np.ndarray
    """``float32[G, P]``: points of each seat."""
    decisions: np.ndarray
    """``int64[len(players)]``: turns each player decided."""
    seconds: np.ndarray
    """``float64[len(players)]``: wall time of each player's turns, without compiling kernels."""
    fill: float
    """Mean share of the table's places that were taken, over its steps."""
    indicators: dict[str, np.ndarray]
    """Name -> ``float32[G, P]``: what deals show beside points (``Game.indicators``), what players count, and in a
    game of one seat its ``seconds``; NaN where nobody says it. Empty for games without indicators."""
    probabilities: np.ndarray | None = None
    """``float32[G, P, L]``: at the place of an action in its seat's history the probability with which a player that
    says so drew it, else 0; None unless asked for."""


def play_table(
    game: Game,
    players: Sequence[Player],
    seating: np.ndarray,
    seeds: np.ndarray,
    table_size: int = 0,
    on_progress: Callable[[int, int], None] = lambda ended, decided: None,
    *,
    secret: int,
    with_probabilities: bool = False,
) -> TableResult:
    """Play one deal per row to its end.

    Args:
        players: all that play; a player may hold any number of seats in any number of games.
        seating: ``int[G, P]``, the player (index into ``players``) of each seat.
        seeds: ``uint64[G]``, the seeds of the deals.
        table_size: deals played side by side; as one ends, the next takes its place. 0 for all at once.
        on_progress: called when a player has decided its turns or deals have ended, with the numbers of deals ended and
            turns decided since the last call.
        secret: 64 bits unknown to players. A decision's random number is a hash of it, the deal, the seat and the
            history's length, so that players cannot infer the seed of the deal.
        with_probabilities: of the actions that ``Sampling`` players draw.

    Raises:
        ValueError: wrong shapes or indices, or a player's answer is no legal action.
    """
    seating, seeds = _checked(game, players, seating, seeds)
    size = min(table_size or len(seeds), len(seeds))
    states = game.deal(seeds)
    to_play = np.flatnonzero(game.to_move(states) >= 0)  # a deal may be over at once
    deal, waiting = to_play[:size], to_play[size:]
    place = np.arange(len(deal))  # of each of the deals under way
    for player in players:
        player.start(game, size)
    decisions, seconds = np.zeros(len(players), np.int64), np.zeros(len(players), np.float64)
    counted = {"seconds": np.zeros(seating.shape, np.float32)} if game.num_players == 1 else {}
    if len(to_play) < len(seeds):
        _count(players, counted, seating, np.setdiff1d(np.arange(len(seeds)), to_play), np.zeros(1, np.int64))
        on_progress(len(seeds) - len(to_play), 0)
    shape = (len(seeds), game.num_players, game.max_length)
    drawn = np.zeros(shape, np.float32) if with_probabilities else None
    steps = taken = 0
    while len(deal):
        steps, taken = steps + 1, taken + len(deal)
        current = states[deal]
        mover = game.to_move(current).astype(np.int64)
        turns = turns_at(game, current, place, mover, seeds[deal], secret)
        before = seconds.copy()
        actions, chances = _decide(players, seating[deal, mover], turns, current, decisions, seconds, on_progress)
        if drawn is not None:
            drawn[deal, mover, turns.lengths] = chances
        if "seconds" in counted:
            took = (seconds - before) / np.maximum(np.bincount(seating[deal, mover], minlength=len(players)), 1)
            counted["seconds"][deal, mover] += took[seating[deal, mover]]
        game.play(current, actions)
        states[deal] = current
        over = game.to_move(current) < 0
        if over.any():
            _count(players, counted, seating, deal[over], place[over])
            for player in players:
                player.forget(place[over])
            fresh, waiting = np.split(waiting, [over.sum()])
            deal = np.concatenate([deal[~over], fresh])
            place = np.concatenate([place[~over], place[over][: len(fresh)]])
            on_progress(int(over.sum()), 0)
    fill = taken / max(steps * size, 1)
    shown = game.indicators(states)
    shown = {**shown, **counted} if shown else {}
    return TableResult(states, game.outcome(states), game.points(states), decisions, seconds, fill, shown, drawn)


def _count(
    players: Sequence[Player],
    counted: dict[str, np.ndarray],
    seating: np.ndarray,
    deals: np.ndarray,
    places: np.ndarray,
) -> None:
    """Note what players count in ended deals, at the seats that they hold; ``counted``: name -> ``float32[G, P]``."""
    for index, player in enumerate(players):
        if not hasattr(player, "counts"):
            continue
        held = seating[deals] == index
        for name, numbers in player.counts(places).items():
            column = counted.setdefault(name, np.full(seating.shape, np.nan, np.float32))
            column[deals] = np.where(held, numbers[:, None], column[deals])


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


def turns_at(
    game: Game, states: np.ndarray, rows: np.ndarray, seats: np.ndarray, deal_seeds: np.ndarray, secret: int
) -> Turns:
    """The decisions of all active games, of all players."""
    tokens, lengths = game.histories(states, seats)
    return Turns(rows, seats, tokens, lengths, game.legal(states), keyed_hash(secret, deal_seeds, seats, lengths))


def _decide(
    players: Sequence[Player],
    acting: np.ndarray,
    turns: Turns,
    states: np.ndarray,
    decisions: np.ndarray,
    seconds: np.ndarray,
    on_progress: Callable[[int, int], None],
) -> tuple[np.ndarray, np.ndarray]:
    """``int64[M]``, ``float32[M]``: the action of player ``acting[m]`` at every turn and its probability, 0 where the
    player does not say; adds to ``decisions`` and ``seconds``."""
    actions, chances = np.empty(len(acting), np.int64), np.zeros(len(acting), np.float32)
    present = np.unique(acting)
    rows = [np.flatnonzero(acting == index) for index in present]
    asked = [_asked(players[index], turns, mine, states) for index, mine in zip(present, rows, strict=True)]
    each = [deciding(players[index], these) for index, these in zip(present, asked, strict=True)]
    for n, decided, took in together(each, _clock):
        index, mine = present[n], rows[n]
        actions[mine] = _legal(players[index], asked[n], decided)
        chances[mine] = getattr(players[index], "probabilities", 0.0)
        seconds[index] += took
        decisions[index] += len(mine)
        on_progress(0, len(mine))
    return actions, chances


def _clock() -> float:
    """Seconds, without the time of compiling kernels, which happens once on a machine."""
    return time.monotonic() - compiling.seconds


def answers(player: Player, turns: Turns, mine: np.ndarray, states: np.ndarray | None = None) -> np.ndarray:
    """``int64[M]``: one player's actions at its turns (positions ``mine``), checked; ``states`` for those that see
    hidden cards."""
    asked = _asked(player, turns, mine, states)
    return _legal(player, asked, np.asarray(player.act(asked)))


def _asked(player: Player, turns: Turns, mine: np.ndarray, states: np.ndarray | None) -> Turns:
    """The player's turns as it may see them."""
    asked = turns.take(mine)
    if player.sees_hidden:
        assert states is not None
        asked = replace(asked, hidden=states[mine])
    return asked


def _legal(player: Player, asked: Turns, actions: np.ndarray) -> np.ndarray:
    """What the player answered, as ``int64[M]``; ``ValueError`` for no legal action."""
    count = len(asked.game)
    if actions.shape != (count,) or actions.dtype.kind not in "iu":
        raise ValueError(
            f"player {player.name!r} answered {count} turns with {actions.dtype} of shape {actions.shape}; "
            f"one token id per turn is needed"
        )
    actions = actions.astype(np.int64)
    size = asked.legal.shape[1]
    known = (actions >= 0) & (actions < size)
    legal = known & asked.legal[np.arange(count), np.where(known, actions, 0)]
    if not legal.all():
        bad = int(np.argmin(legal))
        raise ValueError(
            f"player {player.name!r} chose token {actions[bad]} in game {asked.game[bad]}, seat {asked.seat[bad]}; "
            f"legal are {np.flatnonzero(asked.legal[bad]).tolist()}"
        )
    return actions
