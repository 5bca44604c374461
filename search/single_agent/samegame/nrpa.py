"""Nested rollout policy adaptation in SameGame (Rosin 2011).

A rollout of level 0 draws each block by softmax of a weight that belongs to its colour and cells. A search of level n
makes some of level n - 1, and after each moves the weights towards the best game so far.

Letters: ``T`` moves of a game, ``A`` blocks of a board, ``W`` weights.
"""

import time
from typing import NamedTuple

import numpy as np

from games.compiling import kernel
from games.game import Game
from games.rng import derive_many, mix, next_state, output, uniform
from games.samegame.state import act
from search.players.player import Turns
from search.single_agent.config import NrpaConfig
from search.single_agent.lines import LinePlayer
from search.single_agent.samegame.rollouts import commonest
from search.single_agent.trees import Positions

_WEIGHTS = 1 << 16
"""A block's weight has its place by a hash; two may share one."""


class _Line(NamedTuple):
    """A game from the root on, with all that adapting needs."""

    codes: np.ndarray
    """``int32[T, A]``: the weights of the blocks before every move."""
    counts: np.ndarray
    """``int32[T]``: blocks before every move; 0 behind the last."""
    chosen: np.ndarray
    """``int32[T]``: which of them was taken."""
    score: np.ndarray
    """``float64[1]``"""
    tokens: np.ndarray
    """``int64[T]``"""


class Nrpa(LinePlayer):
    """Searches one game after the other; its levels above the first are Python."""

    name, plays = "nrpa", "samegame"

    def __init__(self, config: NrpaConfig) -> None:
        self._config = config

    def start(self, game: Game, num_games: int) -> None:
        """A new table begins."""
        super().start(game, num_games)
        cells = int(game.options["rows"]) * int(game.options["columns"])
        self._keys = derive_many(cells, cells * int(game.options["colours"])).reshape(-1, cells)
        """``uint64[colours, cells]``: a block's hash is the sum of its cells'."""

    def find(self, turns: Turns) -> None:
        """The best games found."""
        positions = Positions.of(self.game, turns)
        for m, place in enumerate(turns.game):
            self._root, self._place = positions.states[m : m + 1], place
            self._counter = np.uint64(mix(turns.seeds[m], 0))
            until = time.monotonic() + (self._config.seconds or np.inf)
            best = self._line()
            for _ in range(self._config.restarts):
                found = self._search(self._config.level, np.zeros(_WEIGHTS), until)
                best = found if found.score[0] > best.score[0] else best
                if time.monotonic() > until:
                    break
            length = turns.lengths[m]
            self.lines[place] = self.game.vocabulary.eos
            self.lines[place, :length] = turns.tokens[m, :length]
            moves = best.tokens[: np.count_nonzero(best.counts)]
            self.lines[place, length : length + len(moves)] = moves

    def _search(self, level: int, weights: np.ndarray, until: float) -> _Line:
        """The best game of a search of this level; changes ``weights``."""
        best, config = self._line(), self._config
        if level == 1:
            with np.errstate(over="ignore"):
                spares = config.rollout == "tabu"
                counter = _level_one(
                    self._root, self._keys, weights, self._counter, config.iterations, config.alpha, spares, best,
                    self._line(),
                )  # fmt: skip
            self._counter = np.uint64(counter)
            self.simulations[self._place] += config.iterations
            return best
        for _ in range(config.iterations):
            found = self._search(level - 1, weights.copy(), until)
            best = found if found.score[0] >= best.score[0] else best
            if time.monotonic() > until:
                break
            _adapt(weights, best, config.alpha)
        return best

    def _line(self) -> _Line:
        moves = self._keys.shape[1] // 2
        counts, chosen = np.zeros((2, moves), np.int32)
        codes = np.zeros((moves, moves), np.int32)
        return _Line(codes, counts, chosen, np.full(1, -np.inf), np.zeros(moves, np.int64))


@kernel
def _level_one(root, keys, weights, counter, iterations, alpha, spares, best, line):
    """Rollouts, after each of which ``weights`` move to the best game so far, which ``best`` gets; returns the counter
    of random numbers."""
    state = root.copy()
    for _ in range(iterations):
        state[0] = root[0]
        counter = _roll_out(state[0], keys, weights, counter, spares, line)
        if line.score[0] >= best.score[0]:
            best.codes[:], best.counts[:], best.chosen[:] = line.codes, line.counts, line.chosen
            best.score[:], best.tokens[:] = line.score, line.tokens
        _adapt(weights, best, alpha)
    return counter


@kernel
def _roll_out(state, keys, weights, counter, spares, line):
    """Play ``state`` to the end and note it in ``line``."""
    public, move = state["public"], 0
    line.counts[:] = 0
    spared = commonest(public) if spares else 0
    hashes, cells = np.empty(keys.shape[1], np.uint64), np.empty(keys.shape[1], np.int64)
    chances = np.empty(keys.shape[1])
    while public["turn"] >= 0:
        number = _blocks(public, keys, hashes, cells, spared)
        if number == 0:
            number = _blocks(public, keys, hashes, cells, 0)
        for block in range(number):
            line.codes[move, block] = hashes[block] % np.uint64(len(weights))
        total = _exponentials(weights, line.codes[move, :number], chances)
        counter = next_state(counter)
        left, taken = uniform(output(counter)) * total, 0
        while taken < number - 1:
            left -= chances[taken]
            if left < 0:
                break
            taken += 1
        line.counts[move], line.chosen[move] = number, taken
        line.tokens[move] = public["colours"] + cells[taken]
        act(state, line.tokens[move])
        move += 1
    line.score[0] = public["score"]
    return counter


@kernel
def _blocks(public, keys, hashes, cells, spared):
    """Hashes and first cells of the blocks that are not of the colour ``spared``; returns their number."""
    tiles, block, size = public["tiles"], public["block"], public["size"]
    sums, number = np.zeros(len(tiles), np.uint64), 0
    for cell in range(len(tiles)):
        if block[cell] > 0:
            sums[block[cell] - 1] += keys[tiles[cell] - 1, cell]
    for cell in range(len(tiles)):
        if size[cell] > 0 and tiles[cell] != spared:
            hashes[number], cells[number] = sums[cell], cell
            number += 1
    return number


@kernel
def _exponentials(weights, codes, written):
    """Write what softmax divides by their sum, which is returned; the largest is 1, so that none overflows."""
    top, total = -np.inf, 0.0
    for code in codes:
        top = max(top, weights[code])
    for place in range(len(codes)):
        written[place] = np.exp(weights[codes[place]] - top)
        total += written[place]
    return total


@kernel
def _adapt(weights, line, alpha):
    """Move the weights towards a game: its moves gain ``alpha``, and all moves lose as much by their probability, as it
    was before."""
    before, moves = np.zeros(line.codes.shape), 0
    while moves < len(line.counts) and line.counts[moves] > 0:
        number = line.counts[moves]
        total = _exponentials(weights, line.codes[moves, :number], before[moves])
        before[moves] /= total
        moves += 1
    for move in range(moves):
        for block in range(line.counts[move]):
            weights[line.codes[move, block]] -= alpha * before[move, block]
        weights[line.codes[move, line.chosen[move]]] += alpha
