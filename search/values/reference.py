"""What actions are worth by playing deals out: the reference that a network's values are compared with.

Letters: ``Z`` candidates (legal actions of all decisions, in order of rows, then of tokens), ``W`` worlds of each
decision.

The worlds of a decision are sampled from what its seat has seen (``Game.determinize``). After each legal action the
same worlds are played out with the same random numbers, so that what two actions differ by has little noise.
"""

from collections.abc import Callable

import numpy as np

from games.game import Game
from games.rng import derive, mix
from search.players.player import Player
from search.playouts import play_out
from search.values.decisions import Decisions


def playout_utilities(
    game: Game,
    decisions: Decisions,
    player: Player | None,
    utility: np.ndarray,
    worlds: int,
    seed: int,
    table_size: int = 512,
    on_progress: Callable[[int], None] = lambda ended: None,
) -> np.ndarray:
    """``float32[Z, W]``: the utility for the deciding seat of every candidate played in every world.

    Args:
        player: plays on in every seat after the action; None for uniformly random actions (``Game.playout``).
        utility: ``float32[K]``, v(o) of every outcome label.
        worlds: ``W``.
        table_size: playouts side by side.
        on_progress: called with the number of playouts that have ended since the last call.
    """
    rows, actions = np.nonzero(decisions.legal)
    found = np.empty(len(rows) * worlds, np.float32)
    world_seeds, playout_seeds = (np.uint64(derive(seed, "values", name)) for name in ("worlds", "playouts"))
    for first in range(0, len(found), table_size):
        number = np.arange(first, min(first + table_size, len(found)))
        candidate = number // worlds
        row = rows[candidate]
        world = row * worlds + number % worlds
        views = game.views(decisions.tokens[row], decisions.lengths[row])
        states, seats = game.determinize(views, mix(world_seeds, world))
        game.play(states, actions[candidate])
        play_out(game, player, states, mix(playout_seeds, world))
        found[number] = utility[game.outcome(states)[np.arange(len(number)), seats]]
        on_progress(len(number))
    return found.reshape(-1, worlds)
