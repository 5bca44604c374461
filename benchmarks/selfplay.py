"""ArgmaxVal* decisions a second in self-play: ``python -m benchmarks.selfplay [--full]``.

Paper-size model, Hearts, everybody ArgmaxVal*, 256 deals side by side: whole games, rules and bookkeeping included,
turns with a choice counted. Ours is bfloat16, not exact (``benchmarks.fidelity`` counts the decisions that differ).
Theirs: the same decisions written plainly on transformers' GPT2Model in the same process, one query at a time with the
whole history each time, float32, on turns from all over the game; actions below the threshold cost it no query.

The second case is the population of the last iteration of ``hearts_paper``: ArgmaxVal* against imitations of ten
networks. Theirs is the same table with one network in the place of all ten, in turns.
"""

import argparse
import time

import numpy as np

from benchmarks.plain import PAPER, PlainModel, hearts_turns, history_of, network, plain_argmax_val
from benchmarks.report import Case, report
from benchmarks.trunks import Counting
from games.hearts.game import HeartsGame
from games.rng import derive_many
from learner.config import EngineConfig
from learner.inference.engine import QueryEngine
from learner.model.network import PolicyValueNet
from search.players.argmax_val import ArgmaxVal
from search.players.config import ArgmaxValConfig, ImitationConfig
from search.players.imitation import Imitation
from search.players.table import play_table
from selfplay.config import InitialConfig
from selfplay.plan import Network, Seating, ShardPlan, seats

GAME = HeartsGame()
CONFIG = ArgmaxValConfig()


def ours(net: PolicyValueNet, deals: int) -> float:
    """Decisions a second over whole tables."""
    player = Counting(QueryEngine(net, GAME.outcomes.utility(""), EngineConfig(precision="bf16")), CONFIG)
    play_table(GAME, [player], np.zeros((2, 4), np.int64), derive_many(1, 2), secret=1)
    player.decisions = 0
    began = time.perf_counter()
    play_table(GAME, [player], np.zeros((deals, 4), np.int64), derive_many(2, deals), secret=1)
    return player.decisions / (time.perf_counter() - began)


def theirs(net: PolicyValueNet, count: int) -> float:
    """Decisions a second, one after the other."""
    model, turns = PlainModel(net, GAME.outcomes.utility("")), hearts_turns(count, seed=3)
    model(history_of(turns, 0))
    began = time.perf_counter()
    for row in range(count):
        plain_argmax_val(model, history_of(turns, row), np.flatnonzero(turns.legal[row]), CONFIG.threshold)
    return count / (time.perf_counter() - began)


def population(net: PolicyValueNet, networks: int, deals: int, seed: int) -> float:
    """Decisions a second, forced ones included, of ArgmaxVal* and imitations of so many networks."""
    values, config = GAME.outcomes.utility(""), EngineConfig(precision="bf16")
    engines = [QueryEngine(net, values, config)]
    engines += [QueryEngine(net, values, config, pool=engines[0].pool) for _ in range(networks - 1)]
    players = [ArgmaxVal(engines[0], CONFIG), *(Imitation(engine, ImitationConfig()) for engine in engines)]
    named = (Network("", ""),) * networks
    plan = ShardPlan(networks, 0, deals, Seating.POPULATION, InitialConfig(), named, run_seed=seed)
    seating, _ = seats(plan, plan.seat_bits(GAME.num_players))
    began = time.perf_counter()
    result = play_table(GAME, players, seating, plan.deal_seeds(), secret=1)
    return float(result.decisions.sum() / (time.perf_counter() - began))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="four times as many decisions")
    scale = 4 if parser.parse_args().full else 1
    net = network(GAME, PAPER)
    population(net, 2, 2, 0)
    rates = [[population(net, count, 256, seed) for count in (10, 1)] for seed in range(scale)]
    ten, one = np.mean(rates, axis=0)
    report(
        [
            Case("selfplay", "argmax_val", ours(net, 256 * scale), theirs(net, 150 * scale), "decisions/s"),
            Case("selfplay", "population_10", ten, one, "decisions/s"),
        ]
    )


if __name__ == "__main__":
    main()
