"""Sampled worlds a second on one core: ``python -m benchmarks.worlds [--full]``.

Positions all over random deals of Hearts, Skat and The Crew. Ours: ``Game.determinize``, which is exactly uniform over
the deals that agree with what the seat has seen, every seat's token histories written. Theirs:

* ``openspiel``: its ``resample_from_infostate``, in Hearts.
* ``rejection``: plain Python that shuffles the unseen cards until every seat has cards it may hold. Which cards these
  are is given to it, from worlds of ours. It deals hands and no more: no histories, and what binds several cards
  together, such as a tile of The Crew, is not asked. It gives up after 1,000 shuffles.

Repetitions alternate, the median counts. Time is processor time of this process.
"""

import argparse
import random
import time
from collections.abc import Callable
from statistics import median

import numpy as np

from benchmarks.plain import hearts_turns
from benchmarks.report import Case, report
from benchmarks.uct import GAME, peer
from games.game import Game
from games.registry import make_game
from games.rng import derive_many
from search.players.player import Player
from search.players.random_player import RandomPlayer
from search.players.table import answers, turns_at

OURS, OPENSPIEL, REJECTION, SHUFFLES = 500, 20, 5, 1000
"""Worlds of every position at a time, on each side; shuffles for a world at most."""
Sampler = Callable[[int], int]
"""(seed) -> worlds drawn."""


def positions(game: Game, player: Player, count: int, seed: int) -> np.ndarray:
    """True states of ``count`` deals by one player, stopped at places from 30 to 95 % of their actions."""
    seeds = derive_many(seed, count)

    def played(limits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        states, actions = game.deal(seeds), np.zeros(count, np.int64)
        player.start(game, count)
        while len(rows := np.flatnonzero((game.to_move(states) >= 0) & (actions < limits))):
            current = states[rows]
            turns = turns_at(game, current, rows, game.to_move(current).astype(np.int64), seeds[rows], seed)
            game.play(current, answers(player, turns, np.arange(len(rows)), current))
            states[rows], actions[rows] = current, actions[rows] + 1
        return states, actions

    ends = played(np.full(count, game.num_players * game.max_length))[1]
    return played((ends * np.linspace(0.3, 0.95, count)).astype(np.int64))[0]


def views_of(game: Game, states: np.ndarray) -> np.ndarray:
    """What the seats to act have seen."""
    return game.views(*game.histories(states, game.to_move(states).astype(np.int64)))


def ours(game: Game, views: np.ndarray) -> Sampler:
    """Every position at once."""
    each = np.repeat(views, OURS)

    def draw(seed: int) -> int:
        game.determinize(each, derive_many(seed, len(each)))
        return len(each)

    return draw


def openspiel(worlds: np.ndarray) -> Sampler:
    """OpenSpiel's, from the same positions of Hearts."""
    peers = [peer(world) for world in worlds]

    def draw(seed: int) -> int:
        draws = random.Random(seed).random
        for state in peers:
            for _ in range(OPENSPIEL):
                state.resample_from_infostate(state.current_player(), draws)
        return OPENSPIEL * len(peers)

    return draw


def rejection(game: Game, views: np.ndarray) -> Sampler:
    """Shuffling until the hands fit."""
    dealt = []
    for row in range(len(views)):
        worlds, seats = game.determinize(np.repeat(views[row : row + 1], OURS), derive_many(row, OURS))
        others = [seat for seat in range(game.num_players) if seat != seats[0]]
        may = [int(np.bitwise_or.reduce(worlds["hands"][:, seat])) for seat in others]
        sizes = [int(worlds["hands"][0, seat]).bit_count() for seat in others]
        dealt.append(([card for card in range(64) if any(cards >> card & 1 for cards in may)], sizes, may))

    def draw(seed: int) -> int:
        rng = random.Random(seed)
        return sum(_shuffled(rng, *each) for each in dealt for _ in range(REJECTION))

    return draw


def _shuffled(rng: random.Random, cards: list[int], sizes: list[int], may: list[int]) -> bool:
    """Whether hands were found."""
    for _ in range(SHUFFLES):
        rng.shuffle(cards)
        start, fits = 0, True
        for size, allowed in zip(sizes, may, strict=True):
            fits = all(allowed >> card & 1 for card in cards[start : start + size])
            if not fits:
                break
            start += size
        if fits:
            return True
    return False


def compared(name: str, mine: Sampler, theirs: Sampler, repetitions: int) -> Case:
    """Rates, turn and turn about; the first is to warm up."""
    rates: dict[Sampler, list[float]] = {mine: [], theirs: []}
    for seed in range(repetitions + 1):
        for side, measured in rates.items():
            began = time.process_time()
            drawn = side(seed)
            measured.append(drawn / (time.process_time() - began))
    return Case("worlds", name, median(rates[mine][1:]), median(rates[theirs][1:]), "worlds/s")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="more repetitions, for steadier numbers")
    repetitions = 30 if parser.parse_args().full else 7
    turns = hearts_turns(32, seed=1)
    views = GAME.views(turns.tokens, turns.lengths)
    spiel = openspiel(GAME.determinize(views, turns.seeds)[0])
    cases = [compared("hearts, openspiel", ours(GAME, views), spiel, repetitions)]
    for name in ("hearts", "skat", "crew"):
        game = make_game(name)
        views = views_of(game, positions(game, RandomPlayer(), 32, seed=1))
        cases.append(compared(f"{name}, rejection", ours(game, views), rejection(game, views), repetitions))
    report(cases)


if __name__ == "__main__":
    main()
