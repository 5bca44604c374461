"""Playing deals out: what may follow a position.

Letter: ``B`` playouts side by side.
"""

import numpy as np

from games.game import Game
from games.rng import mix
from search.players.player import Player, Turns
from search.table import answers


def play_out(game: Game, player: Player | None, states: np.ndarray, seeds: np.ndarray) -> None:
    """Play every row to its end in place.

    Args:
        player: in every seat; None for uniformly random actions.
        states: ``[B]``; rows that are over stay as they are.
        seeds: ``uint64[B]``, from which every random number of a row follows; they must tell nothing of hidden cards.
    """
    if player is None:
        game.playout(states, seeds)
        return
    player.start(game, len(states))
    rows = np.flatnonzero(game.to_move(states) >= 0)
    while len(rows):
        current = states[rows]
        seats = game.to_move(current).astype(np.int64)
        tokens, lengths = game.histories(current, seats)
        draws = mix(mix(seeds[rows], seats), lengths)
        turns = Turns(rows, seats, tokens, lengths, game.legal(current), draws)
        game.play(current, answers(player, turns, np.arange(len(rows)), current))
        states[rows] = current
        over = game.to_move(current) < 0
        player.forget(rows[over])
        rows = rows[~over]
