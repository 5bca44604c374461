"""What opponents cost on one core: ``python -m benchmarks.opponents [--full]``.

UCT in worlds of Hearts (``benchmarks.uct``), IS-MCTS in Hearts, and Skat's open-hand solver
(``benchmarks.skat_solver``).

IS-MCTS: the simulations of decisions all over hands of Hearts, all searched side by side, against OpenSpiel's search in
Python of the first of them. Both take their worlds from ``Game.determinize``.
"""

import argparse
import time

import numpy as np

from benchmarks import skat_solver, uct
from benchmarks.plain import hearts_turns
from benchmarks.report import Case, report
from games.hearts.game import HeartsGame
from search.config import SearchConfig
from search.players.player import Player, Turns
from search.roster.registry import make_players


def is_mcts_case(decisions: int) -> Case:
    """Simulations a second of ``is_mcts`` and of ``openspiel:is_mcts``."""
    game, runs = HeartsGame(), 200
    players = make_players([f"is_mcts:runs={runs}", f"openspiel:is_mcts:simulations={runs}"], game, SearchConfig())
    turns = hearts_turns(decisions, seed=1)
    turns = turns.take(np.flatnonzero(turns.legal.sum(axis=1) > 1))
    ours, theirs = (
        runs * count / _seconds(player, turns.take(np.arange(count)))
        for player, count in zip(players, (len(turns.seat), decisions // 4), strict=True)
    )
    return Case("opponents", "is_mcts, openspiel", ours, theirs, "simulations/s")


def _seconds(player: Player, turns: Turns) -> float:
    player.start(HeartsGame(), len(turns.seat))
    player.act(turns.take(np.arange(1)))  # to warm up
    started = time.process_time()
    player.act(turns)
    return time.process_time() - started


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="four times as many decisions and deals")
    scale = 4 if parser.parse_args().full else 1
    report([*uct.cases(16 * scale), is_mcts_case(64 * scale), *skat_solver.cases(100 * scale)])


if __name__ == "__main__":
    main()
