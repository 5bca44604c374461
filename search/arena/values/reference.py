"""Values of actions by playouts: the reference for a network's values.

Letters: ``Z`` candidates (legal actions of all decisions, in order of rows, then of tokens), ``W`` worlds of each
decision.

The worlds of a decision are sampled from the seat's view (``Game.determinize``). After each legal action the same
worlds are played out with the same random numbers, so that differences between actions have little noise.

Playouts are numbered, candidate by candidate; a part is a range of consecutive playouts, which may be kept in a file.
"""

from collections.abc import Callable

import numpy as np

from games.game import Game
from games.rng import derive, mix
from search.arena.partial_results import PartialResults
from search.arena.values.decisions import Decisions
from search.players.player import Player
from search.players.playouts import play_out

PLAYOUTS = "playouts-"
"""Beginning of the name of a part in a file; the number of its first playout follows."""
_PARTS = 100
"""Approximate number of parts: a killed command loses a hundredth of its work, and files are few."""


def playout_utilities(
    game: Game,
    decisions: Decisions,
    player: Player | None,
    utility: np.ndarray,
    worlds: int,
    seed: int,
    table_size: int = 512,
    on_progress: Callable[[int], None] = lambda ended: None,
    kept: PartialResults | None = None,
) -> np.ndarray:
    """``float32[Z, W]``: the utility for the deciding seat of every candidate played in every world.

    Args:
        player: plays every seat after the action; None for uniformly random actions (``Game.playout``).
        utility: ``float32[K]``, v(o) of every outcome label.
        worlds: ``W``.
        table_size: playouts side by side.
        on_progress: called with the number of playouts that have ended since the last call.
        kept: parts in files, which are not played again.
    """
    kept, total = kept or PartialResults(), int(decisions.legal.sum()) * worlds
    rows, actions = np.nonzero(decisions.legal)
    world_seeds, playout_seeds = (np.uint64(derive(seed, "values", name)) for name in ("worlds", "playouts"))

    def ends(numbers: np.ndarray) -> np.ndarray:
        """``float32[N]``: what the playouts ``numbers`` (``int64[N]``) end with, all side by side."""
        candidate = numbers // worlds
        row = rows[candidate]
        world = row * worlds + numbers % worlds
        views = game.views(decisions.tokens[row], decisions.lengths[row])
        states, seats = game.determinize(views, mix(world_seeds, world))
        game.play(states, actions[candidate])
        play_out(game, player, states, mix(playout_seeds, world))
        return utility[game.outcome(states)[np.arange(len(numbers)), seats]].astype(np.float32)

    size = table_size * max(1, round(total / table_size / _PARTS))
    parts, ended = list[np.ndarray](), 0
    while ended < total:
        name = f"{PLAYOUTS}{ended:010d}"
        part = kept.found.get(name, {}).get("utilities")
        if part is None:
            tables = list[np.ndarray]()
            for first in range(ended, end := min(ended + size, total), table_size):
                numbers = np.arange(first, min(first + table_size, end))
                tables.append(ends(numbers))
                on_progress(len(numbers))
            part = np.concatenate(tables)
            kept.keep(name, {"utilities": part})
        parts.append(part)
        ended += len(part)
    return np.concatenate(parts).reshape(-1, worlds)
