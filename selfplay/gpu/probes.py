"""What ``kibitz doctor gpu=true`` measures: each probe is a function that runs in a process of its own
(``selfplay.gpu.isolated``), on a GPU or, with ``device="cpu"``, on none.

A probe of the preset takes ``folder``, in which ``prepare`` has left networks and games.
"""

import gc
import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from games.game import Game
from games.hearts.game import HeartsGame
from games.registry import make_game
from games.rng import derive_many
from games.samegame.game import SameGame
from games.shards import write_shard
from learner import kinds
from learner.config import EngineConfig, LearnerConfig, PolicyConfig, TransformerConfig
from learner.conformance import random_games
from learner.inference.engine import QueryEngine
from learner.inference.pool import MIB
from learner.model.architecture import architecture
from learner.model.checkpoint import save_weights
from learner.model.network import PolicyValueNet, initialise
from learner.network_kind import TrainingSetup
from learner.observation_model import EMPTY
from learner.training.loop import starting_network, train
from learner.training.parallel import Group
from search.players.table import play_table
from search.roster.registry import seat_players
from selfplay.config import TrainConfig
from selfplay.generator import Generator, GeneratorSettings
from selfplay.gpu.isolated import Peers
from selfplay.plan import known_networks, plan_shards, seats

Sizes = tuple[Sequence[int], int]
"""Rows of queries whose answers are compared, and how many lengths they have; each is asked in three ways."""
SIZES: Sizes = ((1, 4, 12, 30, 80, 160, 300), 10)
_CACHE_MB = 1024
_GAMES = 60_000
"""At least so many are there to be played, more than there is time for: peers wait for each other meanwhile."""
_SEQUENCES = 4096
"""Of the games that are trained on: two of the largest batches."""


def look(peers: Peers) -> dict[str, Any]:
    """Versions of torch, and of CUDA and cuDNN that it brings; the GPUs that it computes on, each as its name, MB and
    compute capability."""
    found = range(torch.cuda.device_count() if torch.cuda.is_available() else 0)
    for index in found:
        torch.ones(8, device=f"cuda:{index}").sum().item()
    gpus = [torch.cuda.get_device_properties(index) for index in found]
    return {
        "torch": torch.__version__,
        "cuda": torch.version.cuda or "",
        "cudnn": torch.backends.cudnn.version() or 0,
        "gpus": [(gpu.name, gpu.total_memory // MIB, (gpu.major, gpu.minor)) for gpu in gpus],
    }


def prepare(peers: Peers, config: TrainConfig, folder: str) -> dict[str, float]:
    """Leave fresh networks of the preset and random games in ``folder``."""
    game, kind = make_game(config.game.name, config.game.options), kinds.find(config.model.kind)
    for iteration in range(max(config.selfplay.iterations, 1)):
        setup = TrainingSetup(kind, game, config.model, LearnerConfig(), (), iteration)
        save_weights(f"{folder}/{iteration:03d}", starting_network(setup, None), game)
    write_shard(f"{folder}/games.parquet", random_games(game, _SEQUENCES // game.num_players), game, {})
    return {}


# ---- answers


def answers(peers: Peers, config: TrainConfig, device: str, graphs: bool, sizes: Sizes = SIZES) -> dict[str, float]:
    """Network and precision -> error of its answers (``errors_of``): a told network of Hearts, one that reads a board,
    and the preset's."""
    precisions, found = ("fp32", "bf16"), dict[str, float]()
    asked = [EngineConfig(device, precision, cuda_graphs=graphs, cache_mb=_CACHE_MB) for precision in precisions]
    for name, game, net in _networks(config):
        errors = errors_of(net, game, asked, sizes)
        found |= {f"{name} {precision}": error for precision, error in zip(precisions, errors, strict=True)}
    return found


def _networks(config: TrainConfig) -> Iterator[tuple[str, Game, PolicyValueNet]]:
    told = TransformerConfig(
        n_layer=2, n_head=2, n_embd=64, token_types=True, mask_tokens=True, mask_outcomes=True, features=["all"]
    )
    board = TransformerConfig(n_layer=2, n_head=2, n_embd=64, features=["board"], board_channels=[8, 3])
    asked: list[tuple[str, Game, TransformerConfig]] = [("told", HeartsGame(), told)]
    asked.append(("board", SameGame(rows=5, columns=4, colours=3), board))
    if isinstance(config.model, TransformerConfig):
        asked.append(("preset", make_game(config.game.name, config.game.options), config.model))
    for name, game, model in asked:  # weights so large that what a position sees makes a difference
        net = PolicyValueNet(architecture(game, replace(model, initializer_range=1.2 * model.n_embd**-0.5)))
        initialise(net, 1)
        yield name, game, net.eval()


def errors_of(net: PolicyValueNet, game: Game, configs: Sequence[EngineConfig], sizes: Sizes = SIZES) -> list[float]:
    """Of each kind of engine the largest error of its answers to queries of many shapes, against plain torch's on a
    CPU: root mean square over a query, as a share of the spread of such answers. Asked are an engine and, when one
    beside it has been dropped, it again and a later one."""
    utility = np.random.default_rng(0).normal(size=game.outcomes.num_labels).astype(np.float32)

    def made(config: EngineConfig) -> QueryEngine:
        return QueryEngine(net, utility, config, game)

    expected, errors = _asked(made(EngineConfig("cpu", trunk="torch", cache_mb=_CACHE_MB)), game, sizes), []
    for config in configs:
        kept, dropped = made(config), made(config)
        found = [_asked(engine, game, sizes) for engine in (kept, dropped)]
        del dropped
        gc.collect()
        if config.device == "cuda":
            torch.cuda.empty_cache()
        later = made(config)  # captures into memory that the other has left
        found += [_asked(engine, game, sizes) for engine in (kept, later)]
        errors.append(max(_error(expected, each) for each in found))
    return errors


def _asked(engine: QueryEngine, game: Game, sizes: Sizes) -> list[list[np.ndarray]]:
    """For each query next tokens, values, and with candidates their values and next tokens."""
    deals, rng, found = max(sizes[0]), np.random.default_rng(2), []
    states = game.deal(derive_many(1, deals))
    game.playout(states, derive_many(2, deals))
    histories, ends = game.histories(states, np.arange(deals) % game.num_players)
    place, begun = np.arange(histories.shape[1]), engine.arch.first + 1  # tokens behind which all are asked
    for count, longest in product(sizes[0], np.linspace(begun + 1, ends.max() - 1, sizes[1], dtype=np.int64)):
        tokens, every = histories[:count], np.arange(count)
        lengths = rng.integers(begun, np.minimum(longest + 1, ends[:count]))
        before = engine.query(np.full(count, EMPTY), tokens[:, :begun].ravel(), np.full(count, begun)).handles
        new = tokens[(place >= begun) & (place < lengths[:, None])]
        follows = np.zeros((count, game.vocabulary.size), bool)
        follows[every, tokens[every, lengths]] = True
        for candidates, look_ahead in ((None, False), (follows, False), (follows, True)):
            answer = engine.query(before, new, lengths - begun, candidates, every >= 0, look_ahead)
            found.append([answer.next_token, answer.value, answer.action_values, answer.action_next])
            engine.release(np.concatenate([answer.handles, answer.action_handles]))
        engine.release(before)
    return found


def _error(expected: list[list[np.ndarray]], found: list[list[np.ndarray]]) -> float:
    worst = 0.0
    for wanted, given in zip(zip(*expected, strict=True), zip(*found, strict=True), strict=True):
        pairs = [(one, other) for one, other in zip(wanted, given, strict=True) if len(one)]
        every = np.concatenate([one for one, _ in pairs])
        spread = np.sqrt(np.mean((every - every.mean(axis=0)) ** 2))
        errors = [np.sqrt(np.mean((one - other) ** 2)) / spread for one, other in pairs]
        worst = max(worst, float(np.nan_to_num(errors, nan=np.inf).max()))
    return worst


# ---- speed


class _EnoughError(Exception):
    """It has been measured for long enough."""


def play(
    peers: Peers, config: TrainConfig, folder: str, device: str, graphs: bool, share: float, seconds: float
) -> dict[str, float]:
    """Decisions a second of one generator in the preset's last iteration, without branches and labels, and MB of the
    GPU that its tensors and graphs took at most. Its table and caches are ``share`` of the preset's, and its threads
    as many as Ray gives a generator."""
    torch.set_num_threads(max(int(config.cluster.generator_cpus), 1))
    table, cache = max(int(config.selfplay.games_per_table * share), 8), math.ceil(config.engine.cache_mb * share)
    many = max(100 * table, _GAMES)
    games = replace(config.selfplay, games_per_table=table, games_per_shard=many, games_per_iteration=many)
    engine = replace(config.engine, device=device, cuda_graphs=graphs, cache_mb=cache)
    generator = Generator(GeneratorSettings(config.game, config.search, engine, games, (False,) * 2, (False,) * 2))
    game, last = generator.game, max(games.iterations, 1)
    known = range(known_networks(last, games.staleness))
    plan = plan_shards(games, last, peers.rank, game.cooperative, lambda i: f"{folder}/{i:03d}", known)[0]
    players = seat_players(*generator.seated(plan), game, generator.engines)
    seating, _ = seats(plan, plan.seat_bits(game.num_players))
    done, began, warm = 0, 0.0, False

    def note(ended: int, decided: int) -> None:
        nonlocal done, began, warm
        done, began = done + decided, began or time.perf_counter()
        if time.perf_counter() < began + seconds:
            return
        if warm:
            raise _EnoughError
        peers.barrier.wait()  # most graphs are captured by now
        done, began, warm = 0, time.perf_counter(), True

    with suppress(_EnoughError):
        play_table(game, players, seating, plan.deal_seeds(), table, note, secret=1)
    rate = done / (time.perf_counter() - began)
    return {"decisions/s": rate, "MB": torch.cuda.max_memory_reserved() / MIB if device == "cuda" else 0.0}


def training(
    peers: Peers, config: TrainConfig, folder: str, device: str, batch: int, seconds: float
) -> dict[str, float]:
    """Tokens (states, decisions) a second of the preset's training in such batches, without labels and branches."""
    kind, game = kinds.find(config.model.kind), make_game(config.game.name, config.game.options)
    loss = replace(config.learner.loss, branch_weight=0.0)
    plain = replace(config.learner, policy=PolicyConfig(), loss=loss, warmup_steps=0, schedule_steps=0)
    steps: dict[str, Any] = {"num_epochs": 10**4, "max_steps": 10**6, "log_every_steps": 5, "checkpoint_every_steps": 0}
    learner = replace(plain, device=device, batch_size=batch, **steps)
    setup = TrainingSetup(kind, game, config.model, learner, [f"{folder}/games.parquet"])
    rates, began = list[float](), time.perf_counter()

    def note(metrics: dict[str, float]) -> None:
        rates.extend(value for name, value in metrics.items() if name.endswith("_per_second"))
        if len(rates) > 1 and time.perf_counter() - began > seconds:
            raise _EnoughError

    with suppress(_EnoughError):
        train(kind.objective(setup), Path(folder) / f"trained-{batch}", on_progress=note)
    return {"tokens/s": median(rates[1:])}


def add_up(peers: Peers, device: str, size: int = 2**23) -> dict[str, float]:
    """GB/s at which a group of learners adds the gradients of ``size`` weights up; ``RuntimeError`` for a wrong sum."""
    seen = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    os.environ["CUDA_VISIBLE_DEVICES"] = seen[peers.rank] if len(seen) > 1 else str(peers.rank)  # as Ray lends one each
    address = "" if peers.rank == 0 else peers.messages.get()
    group = Group("127.0.0.1", peers.size, peers.rank, address)
    for _ in range(0 if address else peers.size - 1):
        peers.messages.put(group.address)
    group.join(torch.device(device))
    given = torch.full((size,), float(peers.rank + 1), device=device)
    group.add_up([given])
    if (given != peers.size * (peers.size + 1) / 2).any():
        raise RuntimeError(f"ranks from 1 to {peers.size} add up to {given[0].item():g}")
    began, times = time.perf_counter(), 10
    for _ in range(times):
        group.add_up([given.zero_()])
    given.sum().item()  # waits for the device
    rate = times * given.nbytes / (time.perf_counter() - began) / 1e9
    group.end()
    group.leave()
    return {"GB/s": rate / peers.size}
