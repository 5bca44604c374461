"""PIMC: sampled worlds, each judged as if everybody saw all cards (paper 001, Algorithm 2).

Letters: ``M`` turns of a batch, ``B`` worlds of all of them, ``V`` tokens.
"""

from collections.abc import Callable, Mapping

import numpy as np

from games.game import Game
from games.rng import mix
from search.config import PimcConfig
from search.players.player import Turns
from search.uct.search import uct, unit_utility

Evaluator = Callable[[Game, np.ndarray, np.ndarray, PimcConfig, float], np.ndarray]
"""(game, worlds ``[B]``, seeds ``uint64[B]``, settings, wall seconds or 0 for no limit) -> ``float64[B, V]``:
PerfectInfoVal(s, a), the value of each action for the seat to act, -inf where it is illegal. A row depends on its world
and its seed alone."""


def _uct(game: Game, worlds: np.ndarray, seeds: np.ndarray, config: PimcConfig, seconds: float) -> np.ndarray:
    utility = unit_utility(game, config.utility)
    return uct(game, worlds, seeds, utility, config.runs, config.exploration, seconds).root_values()


def _playouts(game: Game, worlds: np.ndarray, seeds: np.ndarray, config: PimcConfig, seconds: float) -> np.ndarray:
    """The utility of an action after which everybody plays as the game's scripted player, or at random without one."""
    from search.players import kinds
    from search.playouts import play_out

    legal, movers = game.legal(worlds), game.to_move(worlds)
    rows, actions = np.nonzero(legal)
    ends = game.after(worlds[rows], actions[:, None], np.ones(len(rows), np.int64))
    scripted = kinds.find(kinds.baseline(game) or "random")
    settings = scripted.settings() if scripted.settings else None
    play_out(game, scripted.factory(game, None, settings), ends, mix(seeds[rows], actions))
    labels = game.outcome(ends)[np.arange(len(rows)), movers[rows]]
    values = np.full(legal.shape, -np.inf)
    values[rows, actions] = unit_utility(game, config.utility)[labels]
    return values


def _solver(game: Game, worlds: np.ndarray, seeds: np.ndarray, config: PimcConfig, seconds: float) -> np.ndarray:
    """Skat: 1 for a card that wins against the best play of all, 0 for others; what comes before is played out."""
    from games.skat.cards import NUM_CARDS
    from games.skat.rules import PLAY
    from search.skat_solver.solve import Solver

    values = np.full((len(worlds), game.vocabulary.size), -np.inf)
    playing = worlds["public"]["phase"] == PLAY
    values[~playing] = _playouts(game, worlds[~playing], seeds[~playing], config, seconds)
    worlds = worlds[playing]
    won, legal = Solver().card_wins(worlds), game.legal(worlds)[:, :NUM_CARDS]
    soloist = worlds["public"]["turn"] == worlds["public"]["soloist"]
    values[playing, :NUM_CARDS] = np.where(legal, won == soloist[:, None], -np.inf)
    return values


EVALUATORS: Mapping[str, Evaluator] = {"uct": _uct, "playouts": _playouts, "solver": _solver}
"""By the setting ``evaluator``."""

_ROWS = 128
"""Most worlds searched side by side; more would only take memory."""
_DEAL, _SEARCH = 1, 2
"""Salts of a world's seed."""


class Pimc:
    """Plays the action whose values, summed over the worlds of a turn, are the highest, the first one of equals."""

    name = "pimc"

    def __init__(self, game: Game, config: PimcConfig) -> None:
        """``ValueError`` for a game that cannot sample deals, unless the true one is looked at, or has no solver."""
        if config.evaluator == "solver" and game.name != "skat":
            raise ValueError(f"pimc:evaluator=solver plays skat only, not {game.name}; choose uct or playouts")
        if not (config.cheat or game.can_determinize):
            raise ValueError(f"player pimc samples deals, which {game.name} cannot; only pimc:cheat=true plays it")
        self.config = config
        self.sees_hidden = config.cheat

    def start(self, game: Game, num_games: int) -> None:
        """Remember the game."""
        self._game = game

    def forget(self, games: np.ndarray) -> None:
        """Nothing to forget: every turn tells all."""

    def act(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: one legal token per turn; a forced move costs no search."""
        actions = turns.legal.argmax(axis=1)
        free = np.flatnonzero(turns.legal.sum(axis=1) > 1)
        size = max(1, _ROWS // self.config.worlds)
        for rows in (free[first : first + size] for first in range(0, len(free), size)):
            actions[rows] = self.values(turns.take(rows)).argmax(axis=1)
        return actions

    def values(self, turns: Turns) -> np.ndarray:
        """``float64[M, V]``: the v[a] of Algorithm 2, -inf where an action is illegal."""
        seeds = mix(turns.seeds[:, None], np.arange(self.config.worlds)).reshape(-1)
        seconds = self.config.seconds * len(turns.seeds)
        evaluate = EVALUATORS[self.config.evaluator]
        values = evaluate(self._game, self._worlds(turns, seeds), mix(seeds, _SEARCH), self.config, seconds)
        return np.asarray(values.reshape(len(turns.seeds), self.config.worlds, -1).sum(axis=1))

    def _worlds(self, turns: Turns, seeds: np.ndarray) -> np.ndarray:
        if self.config.cheat:
            assert turns.hidden is not None
            return np.repeat(turns.hidden, self.config.worlds)
        views = self._game.views(turns.tokens, turns.lengths)
        return self._game.determinize(np.repeat(views, self.config.worlds), mix(seeds, _DEAL))[0]
