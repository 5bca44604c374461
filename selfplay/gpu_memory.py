"""What the actors of a run may take of a GPU's memory: an estimate before any work, so that a run which cannot fit is
refused at its start and not in its tenth iteration.

The constants are estimates of November 2026: from the passes of real tables of the paper's network, whose tensors were
counted without a GPU, and from the documentation of CUDA. Nobody has measured them on one yet.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from cluster.files import storage
from games.game import Game
from games.registry import make_game
from learner import kinds
from learner.config import EngineConfig, LearnerConfig
from learner.devices import on_lent_device
from learner.network_kind import NetworkKind
from learner.task import num_weights
from selfplay.config import TrainConfig
from selfplay.existing_shards import existing
from selfplay.plan import known_networks, plan_shards

_MIB = 2**20
CONTEXT_MB = 600
"""A process that uses CUDA: its context with the kernels of torch and cuBLAS (500), and a workspace of cuBLAS for each
of its streams (32 on Hopper)."""
_GRAPHS_MB = 64
"""Captured graphs of one engine: some thirty shapes, with two MB of kernels' arguments and results each."""
_PASS = 0.5
"""Working memory of a pass: for each row this share of a whole history's keys and values (of which a layer gathers an
eighth at a time; 334 MB were counted for 1,280 rows of 600 KB). Graphs keep as much again, in a pool of their own."""
_STACK_MB = 256
"""Copies of weights in a pass over rows of several networks."""
_SAVED = 16
"""Memory that a training step saves for its gradients: for each sequence so many times its keys and values in bf16
(2.2 GB were counted for 256 of 600 KB). Graphs keep as much again. What scores of actions take besides is left out."""
_OPTIMISER = 16
"""Bytes of a training for each weight: itself, its gradient and two moments, in fp32."""


def gpu_memory(config: TrainConfig) -> dict[str, int]:
    """Stage (``generators``, ``evaluators``, ``learner``) -> MB that each of its actors may take of a GPU; empty where
    none has a share of one."""
    cluster = config.cluster
    if not max(cluster.generator_gpus, cluster.evaluator_gpus, cluster.learner_gpus):
        return {}
    game = make_game(config.game.name, config.game.options)
    kind = kinds.find(config.model.kind)
    arch = kind.architecture(game, config.model)
    networks = {"generators": _networks_at_a_table(config, game), "evaluators": _networks_in_a_match(config)}
    shares = {"generators": cluster.generator_gpus, "evaluators": cluster.evaluator_gpus}
    taken = {
        stage: playing_mb([(kind, arch)] * count, on_lent_device(config.engine, shares[stage]), shapes)
        for stage, (count, shapes) in networks.items()
    }
    learner = on_lent_device(config.learner, cluster.learner_gpus)
    return taken | {"learner": _learner_mb(config, game, kind, num_weights(kind, arch), learner)}


def playing_mb(networks: Sequence[tuple[NetworkKind, Any]], engine: EngineConfig, shapes: int) -> int:
    """Of a generator or evaluator that plays with these networks, each a kind and its shape. Networks of one shape
    share a cache, which is taken whole at the start; ``shapes``: how many shapes there may be."""
    if engine.device != "cuda":
        return 0
    histories, graphs = [kind.history_bytes(arch, engine) for kind, arch in networks], engine.cuda_graphs
    caches = sum(history > 0 for history in histories)
    if all(kind.pooled for kind, _ in networks):
        caches = min(caches, shapes)
    weights = sum(4 * num_weights(kind, arch) for kind, arch in networks) // _MIB
    stacked = _STACK_MB * (len(networks) > caches)
    passes = (1 + graphs) * (_PASS * engine.max_batch * max(histories, default=0) / _MIB + stacked)
    return CONTEXT_MB + caches * engine.cache_mb + weights + _GRAPHS_MB * graphs * len(networks) + int(passes)


def most_deals(config: TrainConfig) -> int:
    """Deals that a learner reads at once, at most."""
    games, given = config.selfplay, config.selfplay.initial.shards
    first = sum(deals for _, deals in existing(given)) if given and storage.is_directory(given) else games.first_games
    return max(first, games.games_per_iteration, games.replay_games)


def _learner_mb(config: TrainConfig, game: Game, kind: NetworkKind, weights: int, learner: LearnerConfig) -> int:
    if learner.device != "cuda":
        return 0
    bf16 = EngineConfig(device="cuda", precision="bf16")
    history = kind.history_bytes(kind.architecture(game, config.model), bf16)
    sequences = learner.batch_size // config.cluster.learners
    data, saved = most_deals(config) * kind.deal_bytes(game, config.model), _SAVED * sequences * history
    return CONTEXT_MB + (data + _OPTIMISER * weights + (1 + learner.cuda_graphs) * saved) // _MIB


def _networks_at_a_table(config: TrainConfig, game: Game) -> tuple[int, int]:
    """Networks of a generator in the iteration that has most, and of how many shapes they may be: those of the run are
    of one."""
    games, last = config.selfplay, config.selfplay.iterations
    known = range(known_networks(last, games.staleness))
    of_the_run = len(plan_shards(games, last, 0, game.cooperative, str, known)[0].networks) if last else 0
    of_others = _named(games.initial.players)
    helpers = _named([games.labels, games.branch_values])
    return max(of_the_run, of_others) + helpers, max(min(of_the_run, 1), of_others) + helpers


def _networks_in_a_match(config: TrainConfig) -> tuple[int, int]:
    """Networks of an evaluator in the tournament that has most, and of how many shapes they may be; a gate is between
    two of the run."""
    matches, gate = (*config.evaluation.curve, *config.evaluation.final), config.selfplay.gate.deals > 0
    most = max((_named(match.players) + 1 for match in matches), default=0)
    return max(most, 2 * gate), max(most, gate)


def _named(players: Iterable[str]) -> int:
    """Networks that players name themselves."""
    return len({player.partition("@")[2] for player in players} - {""})
