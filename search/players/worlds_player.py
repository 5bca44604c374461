"""Base of players that evaluate deals with all cards open: sampled deals, or the true one.

Letters: ``M`` turns of a batch, ``W`` worlds of each, ``B`` worlds of all of them, ``V`` tokens.
"""

import time
from collections.abc import Iterator

import numpy as np

from games.rng import mix
from search.players.beliefs import Beliefs
from search.players.player import ChoosingPlayer, Turns
from search.players.worlds import weighted_worlds

_DEAL, _SEARCH = 1, 2
"""Salts of a world's seed: what its deal is sampled from, and what its search draws from."""
_CANDIDATES = 16_384
"""Most candidates weighed side by side; more would only take memory."""
_LEAST_SECONDS = 1e-9
"""Rest of a time limit that drawing the worlds has used up: each world gets one run."""


class WorldsPlayer(ChoosingPlayer):
    """Plays the action with the highest sum of values over the worlds of a turn, ties to the first."""

    def __init__(
        self,
        worlds: int,
        cheat: bool,
        seconds: float,
        side_by_side: int,
        candidates: int = 0,
        beliefs: Beliefs | None = None,
    ) -> None:
        """
        Args:
            worlds: of every decision.
            cheat: whether all of them are the true deal.
            seconds: wall time for each decision, including drawing and weighing its worlds; 0 for no limit.
            side_by_side: most worlds evaluated at once, but at least a whole decision's; more would only take memory.
            candidates: number of deals to draw the worlds of a decision from by weight (``search.players.worlds``); 0
                for equally likely worlds.
            beliefs: what weighs candidates.
        """
        assert beliefs is not None or candidates == 0
        self.sees_hidden = cheat
        self._num_worlds, self._seconds, self._side_by_side = worlds, seconds, side_by_side
        self._num_candidates, self._beliefs = candidates, beliefs

    def choose(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: see above."""
        return np.concatenate([self.values(part).argmax(axis=1) for part in self._parts(turns)])

    def decided(self, turns: Turns) -> tuple[np.ndarray, np.ndarray]:
        """What ``act`` and ``action_values`` return, of one search."""
        actions, means = list[np.ndarray](), list[np.ndarray]()
        for part in self._parts(turns):
            found, independent = self.world_values(part)
            actions.append(self.scores(part, found, independent).argmax(axis=1))
            means.append(found.mean(axis=1))
        return np.concatenate(actions), np.concatenate(means)

    def action_values(self, turns: Turns) -> np.ndarray:
        """See ``search.players.player.Valuing``: means over the worlds of a turn, in units of the utility."""
        return np.concatenate([self.world_values(part)[0].mean(axis=1) for part in self._parts(turns)])

    def _parts(self, turns: Turns) -> Iterator[Turns]:
        """The turns, as many at a time as may be evaluated side by side."""
        size = max(1, min(self._side_by_side // self._num_worlds, _CANDIDATES // max(1, self._num_candidates)))
        for first in range(0, len(turns.seeds), size):
            yield turns.take(np.arange(first, min(first + size, len(turns.seeds))))

    def values(self, turns: Turns) -> np.ndarray:
        """``float64[M, V]``: the ``scores`` of actions over all worlds."""
        return self.scores(turns, *self.world_values(turns))

    def scores(self, turns: Turns, found: np.ndarray, independent: np.ndarray) -> np.ndarray:
        """``float64[M, V]``: by what actions are chosen, -inf where illegal: sums of what ``world_values`` returns."""
        return np.asarray(found.sum(axis=1))

    def world_values(self, turns: Turns) -> tuple[np.ndarray, np.ndarray]:
        """``float64[M, W, V]``: values of the turns' legal actions in each world, -inf elsewhere; ``float64[M]``: how
        many independent worlds they are worth."""
        began, seconds = time.monotonic(), self._seconds * len(turns.seeds)
        seeds = mix(turns.seeds[:, None], np.arange(self._num_worlds)).reshape(-1)
        if self.sees_hidden:
            assert turns.hidden is not None
            worlds, independent = np.repeat(turns.hidden, self._num_worlds), np.full(len(turns.seeds), np.inf)
        else:
            worlds, independent = self.sampled(turns, seeds)
        if seconds:
            seconds = max(_LEAST_SECONDS, seconds - (time.monotonic() - began))
        considered = np.repeat(turns.legal, self._num_worlds, axis=0)
        values = self.evaluate(worlds, considered, mix(seeds, _SEARCH), seconds)
        return values.reshape(len(turns.seeds), self._num_worlds, -1), independent

    def sampled(self, turns: Turns, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``[B]``: deals consistent with the seats' histories, one for each seed (``uint64[B]``); with candidates,
        drawn from these by the likelihood of the others' actions. ``float64[M]``: see ``world_values``."""
        views = self.game.views(turns.tokens, turns.lengths)
        if self._num_candidates:
            assert self._beliefs is not None
            sizes = self._num_worlds, self._num_candidates
            found = weighted_worlds(self.game, self._beliefs, views, mix(turns.seeds, _DEAL), *sizes)
            return found.states.reshape(-1), np.minimum(found.effective, self._num_worlds)
        states = self.game.determinize(np.repeat(views, self._num_worlds), mix(seeds, _DEAL))[0]
        return states, np.full(len(views), float(self._num_worlds))

    def evaluate(self, worlds: np.ndarray, considered: np.ndarray, seeds: np.ndarray, seconds: float) -> np.ndarray:
        """``float64[B, V]``: the value of each action for the seat to act, -inf where it is not considered.

        Args:
            worlds: ``[B]``.
            considered: ``bool[B, V]``: legal actions, at least one each.
            seeds: ``uint64[B]``; a row depends on its world and its seed alone.
            seconds: wall time for all of them, 0 for no limit.
        """
        raise NotImplementedError
