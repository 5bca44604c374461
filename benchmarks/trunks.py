"""The compiled CPU trunk against torch's, same network, same CPU: ``python -m benchmarks.trunks [--full]``.

What ``learner/inference/cpu`` is worth (``engine.trunk=torch`` does without it). Hearts, fresh weights, the paper's
search parameters (section 9.3); every case goes back and forth between the two, which see the same turns.

``one_game_exact``: GO-MCTS, one search at a time, float32; ``games_32``: 32 searches side by side, bfloat16;
``self_play``: ArgmaxVal* over whole tables, bfloat16. Paper size; with ``--full`` twice the turns, and the same for the
network of ``hearts_demo``.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.plain import PAPER, hearts_turns, network
from benchmarks.report import Case, report
from games.hearts.game import HeartsGame
from games.rng import derive_many
from learner.config import EngineConfig, TransformerConfig
from learner.inference.engine import QueryEngine
from learner.inference.pool import SlotPool
from learner.model.network import PolicyValueNet
from learner.observation_model import ObservationModel
from search.go_mcts.config import GoMctsConfig
from search.go_mcts.player import GoMcts
from search.players.argmax_val import ArgmaxVal
from search.players.asking import Deciding
from search.players.config import ArgmaxValConfig
from search.players.player import Turns
from search.players.table import play_table

GAME = HeartsGame()
CONFIG = GoMctsConfig(mask_impossible=True)
DEMO = TransformerConfig(n_layer=2, n_head=2, n_embd=128)
ENGINES = [EngineConfig(device="cpu", trunk=trunk) for trunk in ("auto", "torch")]
Work = Callable[[int], int]
"""Does a repetition and returns how many decisions it made."""


def engine_of(net: PolicyValueNet, config: EngineConfig, pool: SlotPool | None = None) -> QueryEngine:
    """The network with Hearts' points as utility."""
    return QueryEngine(net, GAME.outcomes.utility(""), config, GAME, pool)


def searches(model: ObservationModel, config: GoMctsConfig, rows: Sequence[np.ndarray], turns: Turns) -> Work:
    """Repetition ``n`` searches the turns ``rows[n]`` side by side."""
    player = GoMcts(model, config)

    def work(repetition: int) -> int:
        player.start(GAME, len(turns.game))
        player.search(turns.take(rows[repetition]))
        return len(rows[repetition])

    return work


class Counting(ArgmaxVal):
    """Counts the turns with a choice; a forced move costs no query."""

    decisions = 0

    def deciding(self, turns: Turns) -> Deciding:
        self.decisions += int((turns.legal.sum(1) > 1).sum())
        return super().deciding(turns)


def self_play(deals: int, *models: ObservationModel) -> Work:
    """Repetition ``n`` plays tables of its own, each seat with any of the models."""
    players = [Counting(model, ArgmaxValConfig()) for model in models]

    def work(repetition: int) -> int:
        for player in players:
            player.decisions = 0
        seating = np.random.default_rng(repetition).integers(len(players), size=(deals, 4))
        play_table(GAME, players, seating, derive_many(repetition + 1, deals), secret=1)
        return sum(player.decisions for player in players)

    return work


def compare(benchmark: str, case: str, repetitions: int, works: Sequence[Work]) -> Case:
    """Decisions a second of two, repetition by repetition so that both meet the same machine; the first warms up."""
    decisions, seconds = [0, 0], [0.0, 0.0]
    for repetition in range(repetitions + 1):
        for which, work in enumerate(works):
            began = time.perf_counter()
            done = work(repetition)
            if repetition:
                seconds[which] += time.perf_counter() - began
                decisions[which] += done
    return Case(benchmark, case, decisions[0] / seconds[0], decisions[1] / seconds[1], "decisions/s")


def measure(net: PolicyValueNet, name: str, scale: int) -> list[Case]:
    """All cases of one network."""
    turns, single = hearts_turns(32, seed=1), [np.array([row]) for row in range(4, 32, 4 // scale)]
    every = [np.arange(32)] * (scale + 1)
    count = len(single) - 1

    def case(title: str, repetitions: int, make: Callable[[ObservationModel], Work], precision: str) -> Case:
        works = [make(engine_of(net, replace(engine, precision=precision))) for engine in ENGINES]
        return compare("trunks", f"{name}_{title}", repetitions, works)

    return [
        case("one_game_exact", count, lambda model: searches(model, CONFIG, single, turns), "fp32"),
        case("games_32", scale, lambda model: searches(model, CONFIG, every, turns), "bf16"),
        case("self_play", scale, lambda model: self_play(256, model), "bf16"),
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="twice the turns, and the demo's network too")
    full = parser.parse_args().full
    sizes = {"paper": PAPER} | ({"demo": DEMO} if full else {})
    report([case for name, size in sizes.items() for case in measure(network(GAME, size), name, 2 if full else 1)])


if __name__ == "__main__":
    main()
