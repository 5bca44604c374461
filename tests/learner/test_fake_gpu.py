"""On a GPU that is not there: devices never mix, a pass waits for the device once, and training does not."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from games.game import Game
from games.hearts.game import HeartsGame
from games.registry import make_game
from games.shards import read_shard, write_shard
from games.skat.game import SkatGame
from learner import kinds
from learner.config import EngineConfig, LearnerConfig, QNetworkConfig
from learner.conformance import random_games
from learner.inference import pool as pools
from learner.inference import torch_trunk
from learner.inference.engine import QueryEngine
from learner.model.checkpoint import NO_PLAYERS
from learner.model.rule_inputs import Rules
from learner.network_kind import TrainingSetup
from learner.observation_model import EMPTY, Query
from learner.skat_policies.config import SkatPoliciesConfig
from learner.training import loop, objective, replayed, sequences
from learner.training.batches import Recipe, make_batch
from learner.training.data import load_data
from learner.training.loss import losses
from learner.training.policies.policy import PLAYED
from learner.training.resume import TrainingState
from learner.training.sending import Sent
from tests.games.material import histories_of
from tests.learner.fake_gpu import CUDA, FakeGpu, fake_gpu
from tests.learner.material import (
    BOARD,
    CPU,
    NO_PASS,
    ON_BLOCKS,
    ON_BOARD,
    TINY,
    branched_shard,
    changed,
    skat_games,
    tiny_net,
)
from tests.learner.test_policy_gradient import played
from tests.marks import slow

HEARTS, SKAT = HeartsGame(), SkatGame()
PAPER_2, CREW = HeartsGame(**NO_PASS), make_game("crew", {})
TOLD = replace(
    TINY, token_types=True, mask_tokens=True, mask_outcomes=True, features=["all"], score_layers=2, score_width=8
)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGpu]:
    """The device of ``device=cuda``. Nothing is captured: a padded pass runs as it stands."""
    for module in (pools, objective):
        monkeypatch.setattr(module, "device_of", lambda device, key="": CUDA if device == "cuda" else CPU)
    monkeypatch.setattr(torch_trunk, "Graphs", lambda forward: forward)
    monkeypatch.setattr(sequences, "matmul_rate", lambda device, dtype: 1.0)
    yield fake_gpu()
    assert type(torch.Tensor.numpy) is type(torch.Tensor.item), "torch is as it was"


def some_slow(cases: dict[str, Any], *quick: str) -> list[Any]:
    return [*quick, *slow(*(name for name in cases if name not in quick))]


def test_a_gpu_that_is_not_there_sees_mixed_devices_waits_and_blocking_copies() -> None:
    with fake_gpu() as gpu:
        there, here = torch.ones(4).to(CUDA), torch.ones(4)
        assert there.device == CUDA and here.device == CPU
        for mixed in (lambda: there + here, lambda: there.index_select(0, torch.tensor([1]))):
            with pytest.raises(RuntimeError, match="same device"):
                mixed()
        gpu.forget()
        for waiting in (
            lambda: there.sum().item(), lambda: bool((there > 0).all()), there.cpu, there.nonzero,
            lambda: there[there > 0], lambda: there.numpy(force=True), lambda: torch.bincount(there.long()),
        ):  # fmt: skip
            waiting()
        assert sum(gpu.syncs.values()) == 7 and not gpu.copies
        here.pin_memory().to(CUDA, non_blocking=True)
        assert gpu.copies == 1 and not gpu.blocking
        for blocking in (
            lambda: here.to(CUDA), lambda: here.to(CUDA, non_blocking=True),
            lambda: here.pin_memory().to(CUDA), lambda: there[torch.tensor([1])],
        ):  # fmt: skip
            blocking()
        assert sum(gpu.blocking.values()) == 4 and gpu.copies == 5


# ---- queries


QUERIES = {
    "plain": (HEARTS, TINY, {}),
    "told": (HEARTS, TOLD, {"mask_outcomes": True}),
    "float32": (HEARTS, TINY, {"precision": "fp32"}),
    "eager": (HEARTS, TOLD, {"cuda_graphs": False}),
    "without history": (HEARTS, TOLD, {"history": False}),
    "the crew": (CREW, TOLD, {}),
    "skat": (SKAT, TOLD, {}),
    "board": (BOARD, ON_BLOCKS, {}),
}


@pytest.mark.parametrize("name", some_slow(QUERIES, "told", "board"))
def test_a_pass_waits_for_the_device_once_and_all_it_sends_is_pinned(name: str, gpu: FakeGpu) -> None:
    game, model, settings = QUERIES[name]
    config = EngineConfig("cuda", **{"precision": "bf16", "cuda_graphs": True, "cache_mb": 64, **settings})
    count, net = 12, tiny_net(game, config=model)
    histories, lengths = histories_of(game, count, 1)
    counts = np.maximum(np.minimum(net.arch.first + 2 + np.arange(count), lengths - 2), net.arch.first + 1)
    tokens, more = histories[np.arange(histories.shape[1]) < counts[:, None]], histories[np.arange(count), counts]
    candidates, one = np.zeros((count, game.vocabulary.size), bool), np.ones(count, np.int64)
    candidates[:, 3:5] = True
    with gpu:
        engine = QueryEngine(net, game.outcomes.utility(""), config, game)
        gpu.forget()
        begun = engine.query(np.full(count, EMPTY), tokens, counts, candidates, one > 0, look_ahead=True).handles
        engine.query(begun, more, one)
        engine.outcomes(begun, more, one)
    assert sum(gpu.syncs.values()) == 3, gpu.syncs
    assert gpu.copies and not gpu.blocking, gpu.blocking


@pytest.mark.parametrize("settings", [{"cuda_graphs": True}, {"precision": "fp32"}], ids=["padded", "eager"])
def test_a_pass_of_several_networks_waits_for_the_device_once(settings: dict[str, Any], gpu: FakeGpu) -> None:
    config, utility = EngineConfig("cuda", cache_mb=64, **settings), HEARTS.outcomes.utility("")
    new, candidates = np.arange(6), np.arange(2 * HEARTS.vocabulary.size).reshape(2, -1) % 9 == 0
    query = Query(np.full(2, EMPTY), new, np.full(2, 3), candidates)
    with gpu:
        engines = [QueryEngine(tiny_net(HEARTS), utility, config, HEARTS)]
        engines += [QueryEngine(tiny_net(HEARTS), utility, config, HEARTS, engines[0].pool) for _ in range(2)]
        engines[0].pool.query([(engine.network, query) for engine in engines])
        gpu.forget()
        answers = engines[0].pool.query([(engine.network, query) for engine in engines])
    assert engines[0].pool.together and engines[0].stats.passes == 2
    assert [answer.next_token.shape for answer in answers] == 3 * [candidates.shape]
    assert sum(gpu.syncs.values()) == 1, gpu.syncs
    assert gpu.copies == 1 and not gpu.blocking, gpu.blocking


# ---- training


def a_shard(game: Game, directory: Path) -> str:
    """Path of a shard with a few games of the only kind."""
    path = str(directory / "shard.parquet")
    write_shard(path, random_games(game, 64, 1), game, {})
    return path


def labelled(game: Game, directory: Path) -> str:
    path = a_shard(game, directory)
    found = read_shard(path, game)
    labels = np.where(np.arange(found.tokens.shape[1]) % 5 == 4, found.tokens, game.vocabulary.eos)
    write_shard(path, replace(found, labels=labels.astype(found.tokens.dtype)), game, {"labels": "x"})
    return path


def branched(game: HeartsGame, directory: Path) -> str:
    return branched_shard(game, directory, 32)


def drawn(game: HeartsGame, directory: Path) -> str:
    return played(game, directory, 1, 16)


def of_skat(game: Game, directory: Path) -> str:
    path = str(directory / "skat.parquet")
    write_shard(path, skat_games(), game, {})
    return path


def learner(**settings: Any) -> LearnerConfig:
    return changed(LearnerConfig(**{"device": "cuda", "batch_size": 8, "precision": "bf16"}), **settings)


DROPOUT = replace(TINY, embd_pdrop=0.05, resid_pdrop=0.05)
SKAT_LAYERS = [16, 16, 16, 16, 8]
PLAIN, ACTIONS = learner(precision="fp32", weight_decay=0.0), learner(targets="actions")
BRANCHED = learner(branch_weight=0.5, weight_decay=0.0)
OBJECTIVES = {
    "sequences": (HEARTS, DROPOUT, learner(), a_shard),
    "float32": (HEARTS, TINY, learner(precision="fp32", outcome_positions=8), a_shard),
    "told": (HEARTS, TOLD, learner(optimizer="muon", others_weight=0.1, outcome_positions=8), a_shard),
    "the crew": (CREW, TOLD, learner(outcome_positions=8), a_shard),
    "branches": (HEARTS, TOLD, learner(branch_weight=0.5, others_weight=0.1, outcome_positions=4), branched),
    "labels": (HEARTS, TOLD, learner(kind="labels", weight=2.0), labelled),
    "values": (HEARTS, TOLD, learner(kind="values"), branched),
    "improved": (HEARTS, TOLD, learner(kind="values", improved=True, branch_weight=0.2), branched),
    "gradient": (HEARTS, TOLD, learner(kind="gradient", entropy_weight=0.01, advantage_lambda=0.9), drawn),
    "board": (BOARD, ON_BLOCKS, ACTIONS, a_shard),
    "augmented": (BOARD, ON_BOARD, replace(ACTIONS, augment=True), a_shard),
    "q_network": (PAPER_2, QNetworkConfig(width=16), PLAIN, branched),
    "q_network, branches": (PAPER_2, QNetworkConfig(width=16, architecture="pv16"), BRANCHED, branched),
    "skat_policies": (SKAT, SkatPoliciesConfig(hidden=SKAT_LAYERS), PLAIN, of_skat),
    "censored": (SKAT, SkatPoliciesConfig(hidden=SKAT_LAYERS, bid_loss="censored"), PLAIN, of_skat),
    "shared": (SKAT, SkatPoliciesConfig(hidden=SKAT_LAYERS, shared=True), PLAIN, of_skat),
}
"""Name -> game, network, learner, shard."""


@pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor")  # a copy of a network
@pytest.mark.parametrize("name", some_slow(OBJECTIVES, "sequences", "branches", "q_network"))
def test_devices_do_not_mix_in_training_and_a_step_sends_one_copy_and_waits_for_nothing(
    name: str, gpu: FakeGpu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shard = shard_for(name, tmp_path)
    with gpu:
        run = begun(name, shard, monkeypatch)
        for step in range(3):  # the first makes moments of the optimiser, and behind the second an epoch of Skat ends
            gpu.forget()
            run.step()
            assert step == 0 or not gpu.blocking, gpu.blocking
        assert gpu.copies == 1 and not gpu.syncs, gpu.syncs
        run.validate()


def test_a_step_whose_layout_comes_often_is_one_copy_and_one_graph(
    gpu: FakeGpu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(replayed, "recorded", lambda run, device, generator: (lambda: None, run()))
    shard, launches = shard_for("q_network", tmp_path), []
    with gpu:
        run = begun("q_network", shard, monkeypatch)
        for _ in range(7):
            gpu.forget()
            run.step()
            launches.append(gpu.launches)
    assert min(launches[:5]) > 50 and max(launches[5:]) <= 3  # the rate, the copy, and that into the graph's memory


def test_scores_of_actions_cost_less_than_the_trunk(gpu: FakeGpu, tmp_path: Path) -> None:
    """FLOPs of a forward pass of ``crew_strong``; those of the features' embedding aside, which most positions have."""
    model = replace(TOLD, n_embd=128, features=["all", "estimates", "roles"], score_width=256)
    net, data = tiny_net(CREW, config=model), load_data(CREW, [a_shard(CREW, tmp_path)], PLAYED)
    batch = make_batch(data, data.training[:64], Recipe(Rules(CREW, net.arch), num_judged=8, padded=True))
    with gpu, torch.no_grad():
        net, batch = net.to(CUDA), Sent(batch, CUDA).arrived()
        counts = []
        for inputs in (batch.inputs, batch.inputs._replace(features=None)):
            with FlopCounterMode(display=False) as counter:
                net.hidden(batch.tokens[:, :-1], torch.bfloat16, None, inputs)
            counts.append(counter.get_total_flops())
        with FlopCounterMode(display=False) as counter:
            losses(net, batch, dtype=torch.bfloat16)
    embedding, trunk = counts[0] - counts[1], counts[1]
    share = (counter.get_total_flops() - embedding) / trunk
    print(f"FLOPs of a step of crew_strong: {share:.2f} of its trunk's")
    assert 1 < share < 2


def shard_for(name: str, directory: Path) -> str:
    game, _, _, make_shard = OBJECTIVES[name]
    return make_shard(game, directory)


def begun(name: str, shard: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A training with this objective that can make steps."""
    game, model, config, _ = OBJECTIVES[name]
    kind = kinds.find(model.kind)
    monkeypatch.setattr(loop._Run, "backward", forward_alone)
    found = kind.objective(TrainingSetup(kind, game, model, config, [shard]))
    found.begin(loop.starting_network(found.setup, None).to(CUDA))
    return loop._Run(found, TrainingState({}, pending=[0.0] * len(found.names)), Path(), NO_PLAYERS)


def forward_alone(run: Any, batch: Any) -> dict[str, torch.Tensor]:
    """The losses of a step, with gradients of 0, as autograd asks for the device."""
    parts = run.objective.losses(batch)[1]
    for parameter in run.parameters:
        parameter.grad = torch.zeros_like(parameter)
    return {name: parts[name].detach() for name in run.objective.names}
