"""UCT in known worlds: values of actions with all cards open.

All worlds advance together, one run of each at a time. A run goes down its tree, plays these actions in its world,
plays the rest at random and backs up the result for every seat. Letters: ``B`` worlds, ``K`` outcome labels.
"""

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from games.game import Game
from search.uct.tree import WorldForest


def uct(
    game: Game,
    states: np.ndarray,
    seeds: np.ndarray,
    utility: np.ndarray,
    runs: int,
    exploration: float,
    seconds: float = 0.0,
) -> WorldForest:
    """A tree for every world, grown by runs with max^n backups and random playouts.

    Args:
        states: ``[B]``, none of them over; not changed.
        seeds: ``uint64[B]``, one for each world's random numbers.
        utility: ``float64[K]``, the value of every outcome label, see ``unit_utility``.
        runs: of every world.
        exploration: C, in the units of ``utility``.
        seconds: wall time after which no further run begins; 0 for no limit. All worlds get equally many.
    """
    forest = WorldForest(seeds, game.vocabulary.size)

    def begin(leaves: np.ndarray, states: np.ndarray, seeds: np.ndarray) -> Callable[[], None]:
        forest.expand(leaves, game.to_move(states), game.legal(states))
        return partial(game.playout, states, seeds)

    grow(forest, game, states, seeds, utility, runs, exploration, seconds, begin)
    return forest


def grow(
    forest: WorldForest,
    game: Game,
    states: np.ndarray,
    seeds: np.ndarray,
    utility: np.ndarray,
    runs: int,
    exploration: float,
    seconds: float,
    begin: Callable[[np.ndarray, np.ndarray, np.ndarray], Callable[[], None]],
) -> None:
    """Grow a forest by runs with max^n backups; the arguments are those of ``uct``.

    Args:
        begin: (leaves ``int32[B]``, their states ``[B]``, ``uint64[B]`` seeds) expands the leaves and returns the
            rollout: a function that plays these states to the end, in place.
    """
    began = time.monotonic()
    depth = min(runs, game.num_players * game.max_length)
    begin(np.zeros(len(states), np.int32), states, seeds)
    for _ in range(runs):
        leaves, actions, lengths, draws = forest.descend(exploration, depth)
        reached = game.after(states, actions, lengths)
        finish = begin(leaves, reached, draws)
        finish()
        forest.backup(leaves, utility[game.outcome(reached)])
        if seconds and time.monotonic() - began > seconds:
            break


def unit_utility(game: Game, name: str = "") -> np.ndarray:
    """``float64[K]``: a utility of the game, the default one for an empty name, scaled to 0 for the worst outcome label
    and 1 for the best, so that C means the same in every game."""
    utility = game.outcomes.utility(name).astype(np.float64)
    return (utility - utility.min()) / max(np.ptp(utility), np.finfo(np.float64).tiny)
