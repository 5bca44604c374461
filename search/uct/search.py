"""UCT in known worlds: what each action is worth if everybody sees all cards.

All worlds advance together, a run of each at a time. A run goes down its tree, plays the actions on the way in its
world, plays the rest at random and counts the result for every seat. Letters: ``B`` worlds, ``K`` outcome labels.
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
        states: ``[B]``, none of them over; they stay as they are.
        seeds: ``uint64[B]``, from which everything random in a world's runs follows.
        utility: ``float64[K]``, the value of every outcome label, see ``unit_utility``.
        runs: of every world.
        exploration: C, in the units of ``utility``.
        seconds: no further runs begin after so much wall time; 0 for no limit. Every world gets equally many.
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
        begin: begins a rollout: (leaves ``int32[B]``, their states ``[B]``, ``uint64[B]`` seeds) expands the leaves and
            returns what plays these states on, in place, until all are over.
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
    and 1 for the best, so that C is the same share of it in every game."""
    utility = game.outcomes.utility(name).astype(np.float64)
    return (utility - utility.min()) / max(np.ptp(utility), np.finfo(np.float64).tiny)
