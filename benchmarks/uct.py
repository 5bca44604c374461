"""UCT runs a second on one core, for ``python -m benchmarks.opponents``.

Decisions all over hands of Hearts, 50 worlds each, random playouts. Ours: ``search.uct`` on the worlds of a decision,
2,000 runs in each. Theirs, on one of the worlds of the same decisions:

* ``python``: ``search.uct.plain``, the same algorithm in plain Python over the same compiled rules, one action at a
  time, in playouts too.
* ``python, compiled playouts``: the same with playouts in one call, as ours has them.
* ``openspiel``: OpenSpiel's MCTS in Python on its hearts.
* ``openspiel, compiled``: OpenSpiel's MCTS in C++ on its hearts. The last case is a whole decision at that rate.

Time is processor time of this process. Every side searches each decision in turn, so that all meet the same machine.
"""

import time
from collections.abc import Callable

import numpy as np
import pyspiel
from open_spiel.python.algorithms import mcts

from benchmarks.plain import hearts_turns
from benchmarks.report import Case
from games.hearts.cards import DEALT_AT, DIRECTIONS, NUM_CARDS, PASS_SIZE, PASSED_AT
from games.hearts.game import HeartsGame
from games.hearts.rules import first_place
from games.rng import mix
from search.players.player import Turns
from search.players.random_player import choose_uniformly
from search.uct.plain import PlainUct
from search.uct.search import uct, unit_utility

WORLDS, RUNS, EXPLORATION = 50, 2000, 0.4
GAME, SPIEL = HeartsGame(), pyspiel.load_game("hearts")
UTILITY = unit_utility(GAME)
Search = Callable[[np.ndarray, np.ndarray], int]
"""(worlds of a decision, seeds) -> runs made."""


class PythonPlayouts(HeartsGame):
    """Hearts whose playouts are a loop in Python."""

    def playout(self, states: np.ndarray, seeds: np.ndarray) -> None:
        step = 0
        while self.to_move(states)[0] >= 0:
            self.play(states, choose_uniformly(self.legal(states), mix(seeds, step)))
            step += 1


def ours(worlds: np.ndarray, seeds: np.ndarray) -> int:
    """All worlds side by side."""
    uct(GAME, worlds, seeds, UTILITY, RUNS, EXPLORATION)
    return RUNS * len(worlds)


def plain(game: HeartsGame, runs: int) -> Search:
    """The plain version, in the first of the worlds."""

    def search(worlds: np.ndarray, seeds: np.ndarray) -> int:
        PlainUct(game, worlds[:1], int(seeds[0]), UTILITY, EXPLORATION).search(runs)
        return runs

    return search


def peer_in_python(runs: int) -> Search:
    """OpenSpiel's search in Python, in the first of the worlds."""

    def search(worlds: np.ndarray, seeds: np.ndarray) -> int:
        rng = np.random.RandomState(int(seeds[0]) % 2**32)
        evaluator = mcts.RandomRolloutEvaluator(1, rng)
        mcts.MCTSBot(SPIEL, EXPLORATION, runs, evaluator, solve=False, random_state=rng).mcts_search(peer(worlds[0]))
        return runs

    return search


def peer_compiled(worlds: np.ndarray, seeds: np.ndarray) -> int:
    """OpenSpiel's search in C++, in the first of the worlds."""
    seed = int(seeds[0]) % 2**31
    evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
    pyspiel.MCTSBot(SPIEL, evaluator, EXPLORATION, RUNS, 1000, False, seed, False).mcts_search(peer(worlds[0]))
    return RUNS


def peer(world: np.void) -> pyspiel.State:
    """The same position in OpenSpiel's hearts."""
    tokens, public = world["tokens"], world["public"]
    state = SPIEL.new_initial_state()
    state.apply_action(int(tokens[0, 0]) - DIRECTIONS)
    for number in range(NUM_CARDS):
        state.apply_action(int(tokens[number % 4, DEALT_AT + number // 4]))
    num_passed = int(world["num_passed"])
    for number in range(num_passed):
        state.apply_action(int(tokens[number // PASS_SIZE, PASSED_AT + number % PASS_SIZE]))
    first = first_place(public)
    for place in range(first, first + int(public["num_played"])):
        state.apply_action(int(tokens[0, place]))
    legal = GAME.legal(np.array([world]))[0]
    if state.legal_actions() != np.flatnonzero(legal).tolist():
        raise RuntimeError("OpenSpiel's position is another one")
    return state


def timed(search: Search, turns: Turns, row: int) -> tuple[int, float]:
    """Runs and processor seconds of one side on one decision."""
    seeds = mix(turns.seeds[row], np.arange(WORLDS))
    views = GAME.views(turns.tokens[[row]], turns.lengths[[row]])
    worlds, _ = GAME.determinize(np.repeat(views, WORLDS), seeds)
    began = time.process_time()
    return search(worlds, seeds), time.process_time() - began


def cases(decisions: int) -> list[Case]:
    """Runs a second against each peer, and the time of a decision."""
    turns = hearts_turns(decisions, seed=1)
    peers = {
        "python": plain(PythonPlayouts(), 100),
        "python, compiled playouts": plain(GAME, 500),
        "openspiel": peer_in_python(100),
        "openspiel, compiled": peer_compiled,
    }
    sides = {"ours": ours, **peers}
    for search in sides.values():  # to warm up
        timed(search, turns, 0)
    found = [[timed(search, turns, row) for search in sides.values()] for row in range(decisions)]
    runs, seconds = np.array(found).sum(axis=0).T
    rates = dict(zip(sides, (runs / seconds).tolist(), strict=True))
    mine, theirs = WORLDS * RUNS / rates["ours"], WORLDS * RUNS / rates["openspiel, compiled"]
    return [
        *(Case("opponents", f"uct, {name}", rates["ours"], rates[name], "runs/s") for name in peers),
        Case("opponents", f"uct, a decision of {WORLDS} x {RUNS}", mine, theirs, "s", less_is_better=True),
    ]
