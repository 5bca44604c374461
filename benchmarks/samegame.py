"""SameGame: ``python -m benchmarks.samegame [--full]``.

``random_games``: random games on one core, against ``search/single_agent/samegame/plain.py``, plain Python over
``scipy.ndimage.label``, in processor time.

``network_rollouts``: games that a network of the size of ``model=board`` plays out, 256 boards together with keys and
values kept, against the transformers model of the same weights, one board at a time and its whole history at every
move; both float32, a second of wall time counts.

``generators_2``: shards of games of ``mcts`` by two actors, each on a core of its own, against one.
"""

import argparse
import os
import tempfile
import time

import numpy as np
import torch

from benchmarks.plain import network
from benchmarks.report import Case, report
from benchmarks.scaling import rate
from cluster.actors.connection import connect
from cluster.config import ClusterConfig
from games.config import GameConfig
from games.rng import derive_many
from games.samegame.game import SameGame
from learner.config import EngineConfig, TransformerConfig
from learner.inference.engine import QueryEngine
from learner.model.network import PolicyValueNet
from learner.model.pretrained import pretrained_model
from search.config import SearchConfig
from search.players.table import play_table
from search.single_agent.policy import Policy
from search.single_agent.samegame import plain
from selfplay.config import GamesConfig, InitialConfig
from selfplay.generator import Generator, GeneratorSettings
from selfplay.plan import Seating, ShardPlan

GAME = SameGame()
BOARD = TransformerConfig(n_layer=3, n_head=1, n_embd=128, features=["board"], embd_pdrop=0.0, resid_pdrop=0.0)


def random_games(games: int, theirs: int) -> Case:
    """Games a processor second."""
    GAME.playout(GAME.deal(derive_many(1, 2)), derive_many(2, 2))  # compiles
    began = time.process_time()
    states = GAME.deal(derive_many(1, games))
    dealt = states["public"]["tiles"][:theirs].copy()
    GAME.playout(states, derive_many(2, games))
    ours, began = games / (time.process_time() - began), time.process_time()
    rng = np.random.default_rng(1)
    for tiles in dealt:
        board, score = plain.board_of(tiles, 10), 0
        while blocks := plain.blocks(board):
            mask = blocks[rng.integers(len(blocks))]
            board, score = plain.removed(board, mask), score + plain.reward(mask)
        score += plain.last_reward(board, excess=False)
    return Case("samegame", "random_games", ours, theirs / (time.process_time() - began), "games/s")


def network_rollouts(boards: int, theirs: int) -> Case:
    """Games a second that a network plays by itself."""
    net = network(GAME, BOARD)
    player = Policy(QueryEngine(net, GAME.outcomes.utility(), EngineConfig(device="cpu", precision="fp32"), GAME))
    seeds = derive_many(1, boards)
    play_table(GAME, [player], np.zeros((256, 1), np.int64), seeds[:256], secret=1)  # compiles
    began = time.perf_counter()
    played = play_table(GAME, [player], np.zeros((boards, 1), np.int64), seeds, 256, secret=1)
    ours, began = boards / (time.perf_counter() - began), time.perf_counter()
    plainly = np.concatenate([_played_plainly(net, seeds[row : row + 1]) for row in range(theirs)])
    other = (plainly != played.states["tokens"][:theirs, 0]).any(axis=1).sum()
    assert other <= theirs // 8, "the plain network plays other games"  # roundings may part a few
    return Case("samegame", "network_rollouts", ours, theirs / (time.perf_counter() - began), "games/s")


@torch.inference_mode()
def _played_plainly(net: PolicyValueNet, seeds: np.ndarray) -> np.ndarray:
    """The history of one game."""
    model, state, first = pretrained_model(net).eval(), GAME.deal(seeds), net.arch.first
    seat = np.zeros(1, np.int64)
    while GAME.to_move(state)[0] >= 0:
        tokens, lengths = GAME.histories(state, seat)
        count = int(lengths[0]) - first
        views = GAME.views(np.repeat(tokens, count, axis=0), np.arange(first + 1, int(lengths[0]) + 1))
        boards = torch.from_numpy(GAME.features["board"].encode(views).reshape(1, count, -1))
        ids = torch.from_numpy(tokens[:, first : first + count].astype(np.int64))
        policy = model(input_ids=ids, features=boards).logits[0, -1].softmax(-1).numpy()[None]
        legal = GAME.legal(state)
        GAME.play(state, GAME.merged(state, legal, policy).argmax(axis=1))
    return GAME.histories(state, seat)[0]


def generators(cores: list[int], games: int, shards: int) -> float:
    """Shards a second."""
    settings = GeneratorSettings(
        GameConfig("samegame"), SearchConfig(), EngineConfig(device="cpu"), GamesConfig(games_per_table=256)
    )
    with tempfile.TemporaryDirectory() as scratch:
        plans = [
            ShardPlan(0, shard, games, Seating.INITIAL, InitialConfig(["mcts"]), (), 1)
            for shard in range((shards + 2) * len(cores))
        ]
        return rate(
            Generator, [settings], cores, plans, lambda a, plan: a.generate.remote(plan, f"{scratch}/{plan.name}")
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="four times as much work")
    scale = 4 if parser.parse_args().full else 1
    cases = [random_games(20_000 * scale, 50 * scale), network_rollouts(1024 * scale, 8 * scale)]
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) == 2:
        with connect(ClusterConfig(num_gpus=0)):
            one, two = (generators(cores[:count], 300, 4 * scale) for count in (1, 2))
        cases.append(Case("samegame", "generators_2", two, one, "shards/s"))
    report(cases)


if __name__ == "__main__":
    main()
