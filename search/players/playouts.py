"""Playing positions out to the end.

Letter: ``B`` playouts side by side.
"""

import numpy as np

from games.game import Game
from games.rng import mix
from search.players.player import Player, Turns
from search.players.table import answers


def play_out(
    game: Game,
    player: Player | None,
    states: np.ndarray,
    seeds: np.ndarray,
    until: np.ndarray | None = None,
    nth: int = 1,
) -> None:
    """Play every row to its end in place, or until the row's seat in ``until`` is to act for the ``nth`` time.

    Args:
        player: in every seat; None for uniformly random actions.
        states: ``[B]``; finished rows do not change.
        seeds: ``uint64[B]``, one for the random numbers of each row; they must not depend on hidden cards.
        until: ``int[B]``, the seat at whose turn a row stops; None for no stop, required without a player.
        nth: at which of its turns; a turn of its own before the first move counts.
    """
    if player is None:
        assert until is None
        game.playout(states, seeds)
        return
    stops = np.full(len(states), -1) if until is None else until
    player.start(game, len(states))
    rows, turns_left = np.arange(len(states)), np.full(len(states), nth)
    while len(rows):
        current = states[rows]
        seats = game.to_move(current).astype(np.int64)
        turns_left[rows] -= seats == stops[rows]
        over = (seats < 0) | (turns_left[rows] == 0)
        player.forget(rows[over])
        rows, current, seats = rows[~over], current[~over], seats[~over]
        if len(rows):
            tokens, lengths = game.histories(current, seats)
            draws = mix(mix(seeds[rows], seats), lengths)
            turns = Turns(rows, seats, tokens, lengths, game.legal(current), draws)
            game.play(current, answers(player, turns, np.arange(len(rows)), current))
            states[rows] = current
