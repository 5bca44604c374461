"""What ``kibitz doctor gpu=true`` measures: each probe is a function that runs in a process of its own
(``selfplay.gpu.isolated``), on a GPU or, with ``device="cpu"``, on none.

A probe of the preset takes ``folder``, in which ``prepare`` has left networks and games.
"""

import gc
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
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
from learner.config import EngineConfig, LearnerConfig, LossConfig, PolicyConfig, TransformerConfig
from learner.conformance import random_games
from learner.inference.engine import MIB, QueryEngine
from learner.model.architecture import architecture
from learner.model.checkpoint import save_weights
from learner.model.network import PolicyValueNet, initialise
from learner.network_kind import TrainingSetup
from learner.observation_model import EMPTY
from learner.training.loop import starting_network, train
from learner.training.parallel import Group
from selfplay.config import TrainConfig
from selfplay.generator import Generator, GeneratorSettings
from selfplay.gpu.isolated import Peers
from selfplay.plan import known_networks, plan_shards

Sizes = tuple[Sequence[int], int]
"""Rows of queries whose answers are compared, and how many lengths they have; each is asked in three ways."""
SIZES: Sizes = ((1, 4, 12, 30, 80, 160, 300), 10)
_CACHE_MB = 1024
_SEQUENCES = 4096
"""Of the games that are trained on: two of the largest batches."""


@dataclass(frozen=True)
class Gpu:
    """What torch says of a GPU."""

    name: str
    memory_mb: int
    capability: tuple[int, int]
    bf16: bool


@dataclass(frozen=True)
class Seen:
    """What torch sees of a machine."""

    torch: str
    cuda: str
    """CUDA that torch is built for; empty for a build without."""
    cudnn: int
    """As torch numbers it: 92000 is 9.20.0; 0 for none."""
    gpus: tuple[Gpu, ...]


def look(peers: Peers) -> Seen:
    """What torch sees; computes something on each GPU."""
    gpus = []
    for index in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        torch.ones(8, device=f"cuda:{index}").sum().item()
        found = torch.cuda.get_device_properties(index)
        bf16 = found.major >= 8  # older ones emulate it
        gpus.append(Gpu(found.name, found.total_memory // MIB, (found.major, found.minor), bf16))
    cudnn = torch.backends.cudnn.version() if torch.backends.cudnn.is_available() else 0
    return Seen(torch.__version__, torch.version.cuda or "", cudnn or 0, tuple(gpus))


def prepare(peers: Peers, config: TrainConfig, folder: str) -> None:
    """Leave fresh networks of the preset and random games in ``folder``."""
    game, kind = make_game(config.game.name, config.game.options), kinds.find(config.model.kind)
    for iteration in range(max(config.selfplay.iterations, 1)):
        setup = TrainingSetup(kind, game, config.model, LearnerConfig(), (), iteration)
        save_weights(f"{folder}/{iteration:03d}", starting_network(setup, None), game)
    write_shard(f"{folder}/games.parquet", random_games(game, _SEQUENCES // game.num_players), game, {})


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
    asked = [("told", HeartsGame(), told), ("board", SameGame(rows=5, columns=4, colours=3), board)]
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


def play(
    peers: Peers, config: TrainConfig, folder: str, device: str, graphs: bool, seconds: float
) -> tuple[float, float]:
    """Decisions a second of one generator in the preset's last iteration, without branches and labels, and MB of the
    GPU that its tensors and graphs took at most. Its table and caches are its part of the preset's where several run.
    """
    tables = max(config.selfplay.games_per_table // peers.size, 8)
    games = replace(config.selfplay, games_per_table=tables, games_per_shard=100 * tables)
    games = replace(games, games_per_iteration=100 * tables)  # more than are played here
    cache = -(-config.engine.cache_mb // peers.size)
    engine = replace(config.engine, device=device, cuda_graphs=graphs, cache_mb=cache)
    generator = Generator(GeneratorSettings(config.game, config.search, engine, games, (False,) * 2, (False,) * 2))
    last = max(games.iterations, 1)
    known, cooperative = range(known_networks(last, games.overlap)), generator.game.cooperative
    plan = plan_shards(games, last, peers.rank, cooperative, lambda i: f"{folder}/{i:03d}", known)[0]
    playing = ThreadPoolExecutor(1).submit(generator.generate, plan, f"{folder}/played-{peers.rank}.parquet")
    while not generator.progress()["decisions"] and not playing.done():
        time.sleep(0.05)

    def decided(wanted: float) -> int:
        """Decisions so far, that many seconds later."""
        if wait([playing], wanted).done:
            playing.result()
            raise RuntimeError("the games were over before they were measured")
        return int(generator.progress()["decisions"])

    decided(seconds)  # captures of most shapes
    peers.barrier.wait()
    before, began = decided(0.0), time.perf_counter()
    done = decided(seconds) - before
    rate = done / (time.perf_counter() - began)
    return rate, torch.cuda.max_memory_reserved() / MIB if device == "cuda" else 0.0


class _EnoughError(Exception):
    pass


def training(
    peers: Peers, config: TrainConfig, folder: str, device: str, batch: int, threads: int, seconds: float
) -> float:
    """Tokens, states or decisions a second of the preset's training in batches of so many sequences."""
    learner = replace(_learner(config, device, batch), batch_threads=threads, log_every_steps=5, max_steps=10**6)
    rates: list[float] = []
    began = time.perf_counter()

    def note(metrics: dict[str, float]) -> None:
        rates.extend(value for name, value in metrics.items() if name.endswith("_per_second"))
        if len(rates) > 1 and time.perf_counter() - began > seconds:
            raise _EnoughError

    try:
        _train(config, learner, folder, f"{device}-{batch}-{threads}", note)
    except _EnoughError:
        pass
    return median(rates[1:] or rates)


def losses(peers: Peers, config: TrainConfig, folder: str, device: str) -> tuple[float, float]:
    """The loss of the third step in float32 on a CPU, and on the device."""
    dropout = {name: 0.0 for name in vars(config.model) if name.endswith("_pdrop")}  # drawn otherwise on each
    same, found = replace(config, model=replace(config.model, **dropout)), []
    for where in ("cpu", device):
        learner = replace(_learner(config, where, 64), precision="fp32", log_every_steps=1, max_steps=3)
        _train(same, learner, folder, f"losses-{len(found)}", lambda metrics: found.append(metrics["loss"]))
    return found[2], found[-1]


def _learner(config: TrainConfig, device: str, batch: int) -> LearnerConfig:
    """The preset's learner, for games without labels, branches and probabilities."""
    plain = replace(config.learner, policy=PolicyConfig(), loss=LossConfig(), schedule="constant", warmup_steps=0)
    return replace(
        plain, device=device, batch_size=batch, num_epochs=10**4, schedule_steps=0, checkpoint_every_steps=0
    )


def _train(config: TrainConfig, learner: LearnerConfig, folder: str, out: str, note: Any) -> None:
    kind, game = kinds.find(config.model.kind), make_game(config.game.name, config.game.options)
    setup = TrainingSetup(kind, game, config.model, learner, [f"{folder}/games.parquet"])
    train(kind.objective(setup), Path(folder) / out, on_progress=note)


def add_up(peers: Peers, device: str, size: int = 2**23) -> float:
    """GB/s of the sums over the gradients of ``size`` weights in a group of learners. ``RuntimeError`` for a wrong sum."""
    if peers.rank == 0:
        group = Group("127.0.0.1", peers.size)
        for _ in range(peers.size - 1):
            peers.messages.put(group.address)
    else:
        group = Group("127.0.0.1", peers.size, peers.rank, peers.messages.get())
    group.join(torch.device(device))
    given = torch.full((size,), float(peers.rank + 1), device=device)
    group.add_up([given])
    wanted = peers.size * (peers.size + 1) / 2
    if not bool((given == wanted).all()):
        raise RuntimeError(f"a sum over {peers.size} learners is {given[0].item():g}, not {wanted:g}")
    began, times = time.perf_counter(), 10
    for _ in range(times):
        group.add_up([given.zero_()])
    given.sum().item()  # waits for the device
    rate = times * given.nbytes / (time.perf_counter() - began) / 1e9
    group.end()
    group.leave()
    return rate
