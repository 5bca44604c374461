"""A table: many deals played side by side, with any mix of players.

Letters: ``G`` deals, ``P`` seats, ``M`` turns of one player at one moment. Generation of self-play games
and tournaments are both tables. A game does not depend on the other games at its table.
"""

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from games.compiling import compiling
from games.game import Game
from games.rng import keyed_hash
from search.players.asking import deciding, together
from search.players.player import Player, Turns

_PARTS = 2
"""Parts of a table that take turns where a device computes: it works for one while the host plays the other."""
_WIDE = 128
"""Deals of a table that is played in parts: half of a smaller one makes narrow passes."""
_OVER = object()


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
    shape = (len(seeds), game.num_players, game.max_length)
    drawn = np.zeros(shape, np.float32) if with_probabilities else None
    table = _Table(game, players, seating, seeds, secret, on_progress, drawn)
    to_play = np.flatnonzero(game.to_move(table.states) >= 0)  # a deal may be over at once
    deals, table.waiting = to_play[:size], to_play[size:]
    for player in players:
        player.start(game, size)
    if len(to_play) < len(seeds):
        table.count(np.setdiff1d(np.arange(len(seeds)), to_play), np.zeros(1, np.int64))
        on_progress(len(seeds) - len(to_play), 0)
    parts = _PARTS if size >= _WIDE and any(getattr(player, "beside", False) for player in players) else 1
    under_way = [table.play(deals[k::parts], np.arange(len(deals))[k::parts]) for k in range(parts)]
    try:
        while under_way:
            under_way = [part for part in under_way if next(part, _OVER) is not _OVER]
    finally:
        for part in under_way:
            part.close()
    fill, states = table.taken / max(table.places, 1), table.states
    shown = game.indicators(states)
    shown = {**shown, **table.counted} if shown else {}
    return TableResult(
        states, game.outcome(states), game.points(states), table.decisions, table.seconds, fill, shown, drawn
    )


class _Table:
    """Deals under way and what is known of them so far; fields as in ``play_table`` and ``TableResult``."""

    def __init__(
        self,
        game: Game,
        players: Sequence[Player],
        seating: np.ndarray,
        seeds: np.ndarray,
        secret: int,
        on_progress: Callable[[int, int], None],
        drawn: np.ndarray | None,
    ) -> None:
        self._game, self._players, self._seating, self._seeds = game, players, seating, seeds
        self._secret, self._on_progress, self._drawn = secret, on_progress, drawn
        self.states, self.waiting = game.deal(seeds), np.zeros(0, np.int64)
        self.decisions, self.seconds = np.zeros(len(players), np.int64), np.zeros(len(players), np.float64)
        self.counted = {"seconds": np.zeros(seating.shape, np.float32)} if game.num_players == 1 else {}
        self.places = self.taken = 0
        """Places over all steps, and how many of them had a deal."""

    def play(self, deal: np.ndarray, place: np.ndarray) -> Generator[None, None, None]:
        """Play deals (``int64[N]``) at their places, and waiting ones in place of those that end; pauses where a device
        is at work, and another part of the table may go on."""
        size = len(deal)
        while len(deal):
            self.places, self.taken = self.places + size, self.taken + len(deal)
            current = self.states[deal]
            mover = self._game.to_move(current).astype(np.int64)
            turns, acting = (
                turns_at(self._game, current, place, mover, self._seeds[deal], self._secret),
                self._seating[deal, mover],
            )
            actions, chances, took = yield from self._decide(acting, turns, current)
            if self._drawn is not None:
                self._drawn[deal, mover, turns.lengths] = chances
            if "seconds" in self.counted:
                each = took / np.maximum(np.bincount(acting, minlength=len(self._players)), 1)
                self.counted["seconds"][deal, mover] += each[acting]
            self._game.play(current, actions)
            self.states[deal] = current
            over = self._game.to_move(current) < 0
            if over.any():
                deal, place = self._ended(deal, place, over)

    def _ended(self, deal: np.ndarray, place: np.ndarray, over: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Deals and places without those that are ``over``, whose places waiting deals take."""
        self.count(deal[over], place[over])
        for player in self._players:
            player.forget(place[over])
        fresh, self.waiting = np.split(self.waiting, [over.sum()])
        deal = np.concatenate([deal[~over], fresh])
        place = np.concatenate([place[~over], place[over][: len(fresh)]])
        self._on_progress(int(over.sum()), 0)
        return deal, place

    def count(self, deals: np.ndarray, places: np.ndarray) -> None:
        """Note what players count in ended deals, at the seats that they hold."""
        for index, player in enumerate(self._players):
            if not hasattr(player, "counts"):
                continue
            held = self._seating[deals] == index
            for name, numbers in player.counts(places).items():
                column = self.counted.setdefault(name, np.full(self._seating.shape, np.nan, np.float32))
                column[deals] = np.where(held, numbers[:, None], column[deals])

    def _decide(
        self, acting: np.ndarray, turns: Turns, states: np.ndarray
    ) -> Generator[None, None, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """``int64[M]``, ``float32[M]``: the action of player ``acting[m]`` at every turn and its probability, 0 where
        the player does not say; ``float64[len(players)]``: the seconds of each."""
        actions, chances = np.empty(len(acting), np.int64), np.zeros(len(acting), np.float32)
        present, took = np.unique(acting), np.zeros(len(self._players))
        rows = [np.flatnonzero(acting == index) for index in present]
        asked = [_asked(self._players[index], turns, mine, states) for index, mine in zip(present, rows, strict=True)]
        each = [deciding(self._players[index], these) for index, these in zip(present, asked, strict=True)]
        for found in together(each, _clock):
            if found is None:
                yield
                continue
            n, decided, seconds = found
            index, mine = present[n], rows[n]
            actions[mine] = _legal(self._players[index], asked[n], decided)
            chances[mine] = getattr(self._players[index], "probabilities", 0.0)
            took[index] = seconds
            self.decisions[index] += len(mine)
            self._on_progress(0, len(mine))
        self.seconds += took
        return actions, chances, took


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
