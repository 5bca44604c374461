"""Rules and random play on one core: ``python -m benchmarks.rules [--full]``.

Ours: deals played out with every seat's token histories written. Theirs: OpenSpiel's games driven from Python, in the
same process, without any histories. Repetitions alternate, the median counts. Time is processor time of this process,
one thread on either side, so that neighbours on the machine do not count.

Skat is compared from the first lead to the last trick of suit and grand games after the pickup, as OpenSpiel's auction
and announcements are not those of the rules. ``whole deals`` are ours from the deal on, auction and announcements
included, against the same card play of theirs. No other program plays The Crew's missions; ours are compared with the
same rules in plain Python.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

import numpy as np
import pyspiel

from benchmarks.report import Case, report
from games.crew.game import CrewGame
from games.game import Game
from games.hearts.game import HeartsGame
from games.rng import derive_many
from games.skat.cards import FIRST_BID, FIRST_GAME, GAMES, NULL, PASS, PICKUP
from games.skat.game import SkatGame

Side = Callable[[int], float]
"""(seed) -> hands a processor second."""
BATCH = 4096
SETTINGS: dict[str, dict[str, bool]] = {"defaults": {}, "no passing": {"pass_cards": False}}


def whole_hands(game: Game, hands: int) -> Side:
    """Our hands, dealt and played out in batches."""

    def rate(seed: int) -> float:
        started = time.process_time()
        for first in range(0, hands, BATCH):
            size = min(BATCH, hands - first)
            states = game.deal(derive_many(seed, size, first))
            game.playout(states, derive_many(seed + 1, size, first))
        return hands / (time.process_time() - started)

    return rate


def card_play(hands: int) -> Side:
    """Our card play of Skat: deals brought to their first lead beforehand, then played out in batches."""
    game = SkatGame()

    def rate(seed: int) -> float:
        seconds = 0.0
        for first in range(0, hands, BATCH):
            states = first_leads(game, derive_many(seed, min(BATCH, hands - first), first))
            draws = derive_many(seed + 1, len(states), first)
            started = time.process_time()
            game.playout(states, draws)
            seconds += time.process_time() - started
        return hands / seconds

    return rate


def first_leads(game: SkatGame, seeds: np.ndarray) -> np.ndarray:
    """Deals at their first lead: forehand plays alone after the pickup, the games in turn, null left out."""
    states, count = game.deal(seeds), len(seeds)
    for token in (PASS, PASS, FIRST_BID, PICKUP):
        game.play(states, np.full(count, token))
    for _ in range(2):
        game.play(states, game.legal(states).argmax(axis=1))
    game.play(states, FIRST_GAME + np.arange(count) % NULL)
    return states


def peer_hearts(game: pyspiel.Game, hands: int) -> Side:
    """OpenSpiel's Hearts, chance included, which is uniform, so that no probabilities need be asked for."""
    return lambda seed: _played_out([game.new_initial_state() for _ in range(hands)], seed)


def peer_card_play(hands: int) -> Side:
    """OpenSpiel's card play of Skat, brought to the first lead beforehand as ours is."""
    game = pyspiel.load_game("skat")

    def rate(seed: int) -> float:
        rng = np.random.default_rng(seed)
        return _played_out([_peer_first_lead(game, deal, rng) for deal in range(hands)], seed)

    return rate


def plain_crew(hands: int) -> Side:
    """The Crew in a process whose kernels are not compiled."""
    line = [sys.executable, "-m", "benchmarks.rules", "--missions", str(hands)]

    def rate(seed: int) -> float:
        environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
        return float(subprocess.check_output([*line, "--seed", str(seed)], env=environment, text=True))

    return rate


def _peer_first_lead(game: pyspiel.Game, deal: int, rng: np.random.Generator) -> pyspiel.State:
    state = game.new_initial_state()
    while state.is_chance_node():
        legal = state.legal_actions()
        state.apply_action(legal[int(rng.random() * len(legal))])
    named = {state.action_to_string(0, action): action for action in state.legal_actions()}
    state.apply_action(named[GAMES[deal % NULL]])
    for _ in range(2):
        state.apply_action(state.legal_actions()[0])
    return state


def _played_out(states: list[pyspiel.State], seed: int) -> float:
    """Hands a second: chance and actions drawn uniformly from the legal ones, as fast as it goes from Python."""
    draws = np.random.default_rng(seed).random((len(states), 128)).tolist()
    started = time.process_time()
    for state, row in zip(states, draws, strict=True):
        i = 0
        while not state.is_terminal():
            legal = state.legal_actions()
            state.apply_action(legal[int(row[i] * len(legal))])
            i += 1
        state.returns()
    return len(states) / (time.process_time() - started)


def measure(case: str, ours: Side, theirs: Side, repetitions: int = 7) -> Case:
    """The medians of alternating repetitions, after one of each to warm up."""
    our_rates, their_rates = [], []
    for seed in range(repetitions + 1):
        our_rates.append(ours(seed))
        their_rates.append(theirs(seed))
    return Case("rules", case, median(our_rates[1:]), median(their_rates[1:]), "hands/s")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="ten times as many hands, for steadier numbers")
    parser.add_argument("--missions", type=int, help="only play so many missions of The Crew, and print the rate")
    parser.add_argument("--seed", type=int, default=0, help="of --missions")
    arguments = parser.parse_args()
    if arguments.missions:
        print(whole_hands(CrewGame(), arguments.missions)(arguments.seed))
        return
    scale = 10 if arguments.full else 1
    cases = [
        measure(
            f"hearts, random hands, {name}",
            whole_hands(HeartsGame(**options), 200_000 * scale),
            peer_hearts(pyspiel.load_game("hearts", options), 2_000 * scale),
        )
        for name, options in SETTINGS.items()
    ]
    peer = peer_card_play(2_000 * scale)
    cases += [
        measure("skat, random card play", card_play(100_000 * scale), peer),
        measure("skat, random whole deals against that card play", whole_hands(SkatGame(), 100_000 * scale), peer),
    ]
    cases.append(measure("crew, random missions", whole_hands(CrewGame(), 200_000 * scale), plain_crew(20 * scale), 3))
    report(cases)


if __name__ == "__main__":
    main()
