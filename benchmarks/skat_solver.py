"""Skat's open-hand solver on one core, for ``python -m benchmarks.opponents``.

Positions with five cards a hand: ours against plain alpha-beta over the rules, without table,
which is asked the same question, whether the soloist wins. Whole deals at the first lead: ours against the same solver
with a table of 1,024 entries (without any a deal may take ten seconds), in processor time, the median over deals.
``win or loss`` is one question about 61 points, or what else the contract needs; ``points`` is the exact value.
``skat_rules`` bids, discards and declares.
"""

import time
from collections.abc import Callable
from statistics import median

import numpy as np

from benchmarks.report import Case
from games.bits import lowest
from games.compiling import kernel
from games.rng import derive_many
from games.skat.cards import GRAND, NULL
from games.skat.game import SkatGame
from games.skat.rules import OVER, PLAY
from games.skat.state import STATE, act, legal, result_of
from search.players.player import Turns
from search.players.random_player import choose_uniformly
from search.scripted.skat.config import SkatRulesConfig
from search.scripted.skat.rules.player import SkatRules
from search.scripted.skat.solver.solve import Solver

GAME = SkatGame()


def first_leads(count: int, seed: int, wanted: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """``STATE[count]`` at the first lead after a pickup, of the games (``int64[B]``) that are ``wanted``."""
    found: list[np.ndarray] = []
    for first in range(seed * 1_000_000, (seed + 1) * 1_000_000, 1024):
        states = GAME.deal(derive_many(seed, 1024, first))
        while (bidding := states["public"]["phase"] < PLAY).any():
            states[bidding] = _decided(states[bidding])
        public = states["public"]
        found.append(states[(public["phase"] == PLAY) & (public["picked_up"] == 1) & wanted(public["game"])])
        if sum(map(len, found)) >= count:
            break
    return np.concatenate(found)[:count]


def _decided(states: np.ndarray) -> np.ndarray:
    """The states after what ``skat_rules`` does in them."""
    seats, player = GAME.to_move(states).astype(np.int64), SkatRules(SkatRulesConfig())
    tokens, lengths = GAME.histories(states, seats)
    player.start(GAME, len(states))
    rows = np.arange(len(states))
    GAME.play(states, player.act(Turns(rows, seats, tokens, lengths, GAME.legal(states), derive_many(1, len(rows)))))
    return states


def endings(states: np.ndarray, cards: int, seed: int) -> np.ndarray:
    """The positions of random play that have ``cards`` cards a hand left; deals that are over are left out."""
    states = states.copy()
    for ply in range(30 - 3 * cards):
        states = states[GAME.to_move(states) >= 0]
        GAME.play(states, choose_uniformly(GAME.legal(states), derive_many(seed + ply, len(states))))
    return states[GAME.to_move(states) >= 0]


# ---- plain alpha-beta ------------------------------------------------------------------------------------------------


@kernel
def alpha_beta(states, depth, nodes):  # type: ignore[no-untyped-def]
    """Whether the soloist wins ``states[depth]``; the rows below are scratch, ``nodes[0]`` counts."""
    nodes[0] += 1
    public = states[depth]["public"]
    if public["phase"] == OVER:
        return result_of(states[depth])[0]
    alone = public["turn"] == public["soloist"]
    cards = legal(states[depth])[1]
    while cards != 0:
        states[depth + 1] = states[depth]
        act(states[depth + 1], lowest(cards))
        if alpha_beta(states, depth + 1, nodes) == alone:
            return alone
        cards &= cards - 1
    return not alone


@kernel
def alpha_beta_batch(states, scratch, nodes, wins):  # type: ignore[no-untyped-def]
    """``alpha_beta`` of every row."""
    for row in range(len(states)):
        scratch[0] = states[row]
        wins[row] = alpha_beta(scratch, np.int64(0), nodes)


def plain_wins(states: np.ndarray) -> tuple[np.ndarray, int]:
    """``(bool[B], nodes)``: whether the soloist wins every state."""
    wins, nodes = np.zeros(len(states), np.bool_), np.zeros(1, np.int64)
    alpha_beta_batch(states, np.zeros(31, STATE), nodes, wins)
    return wins, int(nodes[0])


# ---- cases -----------------------------------------------------------------------------------------------------------


def endgame_cases(name: str, states: np.ndarray) -> list[Case]:
    """Positions solved a second and nodes a second, best of three alternating rounds."""
    solver = Solver()
    our_seconds, their_seconds, searched, visited = [], [], 0, 0
    for _ in range(4):
        before, started = solver.nodes, time.process_time()
        wins = solver.wins(states)
        between = time.process_time()
        plain, visited = plain_wins(states)
        our_seconds.append(between - started)
        their_seconds.append(time.process_time() - between)
        searched = solver.nodes - before
        if not np.array_equal(wins, plain):
            raise RuntimeError(f"{name}: solver and plain alpha-beta disagree")
    ours, theirs, case = min(our_seconds), min(their_seconds), f"skat solver, {name}, 5 cards a hand"
    return [
        Case("opponents", f"{case}, nodes", searched / ours, visited / theirs, "nodes/s"),
        Case("opponents", f"{case}, positions", len(states) / ours, len(states) / theirs, "positions/s"),
    ]


def whole_deal_cases(name: str, states: np.ndarray) -> list[Case]:
    """Median milliseconds a deal, for win or loss and for points, which are the same in null."""
    cases = []
    for question in ("wins",) if name == "null" else ("wins", "points"):
        ours, theirs = (
            median(_milliseconds(getattr(solver, question), states)) for solver in (Solver(), Solver(entries=1024))
        )
        what = "win or loss" if question == "wins" else "points"
        cases.append(Case("opponents", f"skat solver, whole {name} deals, {what}", ours, theirs, "ms", True))
    return cases


def _milliseconds(ask: Callable[[np.ndarray], np.ndarray], states: np.ndarray) -> list[float]:
    ask(states[:1])
    seconds = []
    for row in range(len(states)):
        started = time.process_time()
        ask(states[row : row + 1])
        seconds.append(time.process_time() - started)
    return [1000 * value for value in seconds]


def cases(deals: int) -> list[Case]:
    """All of the solver's, over ``deals`` deals for each kind of game."""
    found = []
    for name, wanted in (
        ("suit", lambda game: game < GRAND),
        ("grand", lambda game: game == GRAND),
        ("null", lambda game: game == NULL),
    ):
        leads = first_leads(deals, 1, wanted)
        if name != "null":  # random play loses null in its first tricks
            found += endgame_cases(name, endings(leads, 5, 2))
        found += whole_deal_cases(name, leads)
    return found
