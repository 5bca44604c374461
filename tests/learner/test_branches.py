"""Branches in training: leaves by hand, against the transformers model and the query engine; and without them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from games.branches import Branches
from games.shards import read_shard, write_shard
from learner.config import EngineConfig, LearnerConfig, LossConfig
from learner.inference.engine import QueryEngine
from learner.model.network import attention
from learner.model.rule_inputs import Rules
from learner.observation_model import EMPTY
from learner.training.batches import Batch, Recipe, make_batch
from learner.training.data import TrainingData, load_data
from learner.training.leaves import Leaves
from learner.training.loss import losses
from learner.training.policies.policy import PLAYED
from tests.learner.material import (
    TINY,
    branched_shard,
    inputs,
    shard_of,
    tiny_net,
    train,
    transformers_model,
    without_clocks,
)
from tests.learner.test_resume import LEARNER, MODEL
from tests.learner.test_rule_inputs import GAME, SETTINGS
from tests.marks import slow

NETWORKS = {"nothing": TINY, **SETTINGS}
FAST = ("nothing", "everything")
OF_EACH = pytest.mark.parametrize("name", [*FAST, *slow(*(name for name in NETWORKS if name not in FAST))])


# ---- one pass


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_attention_sees_what_it_reads_rules_to(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(1)
    qkv = torch.empty(3, 2, 4, 9, 16).normal_(generator=generator).to(dtype)
    seen = (torch.rand(2, 9, 9, generator=generator) < 0.5) | torch.eye(9, dtype=torch.bool)
    q, k, v = qkv.float()
    scores = (q @ k.transpose(-1, -2) / 4).masked_fill(~seen[:, None], -torch.inf)
    found = attention(*qkv.unbind(0), seen).float()
    assert (found - scores.softmax(-1) @ v).norm() <= (1e-5 if dtype == torch.float32 else 0.01) * found.norm()
    torch.testing.assert_close(attention(*qkv.unbind(0), torch.ones(2, 9, 9).tril().bool()), attention(*qkv.unbind(0)))


def leaf_logits(net, batch: Batch, leaves: Leaves) -> torch.Tensor:
    """``[Z, K]``: outcome logits of the leaves of a batch, as the loss has them."""
    tokens, inputs, positions, seen = leaves.behind(batch.tokens[:, :-1], batch.inputs)
    with torch.no_grad():
        hidden = net.hidden(tokens, inputs=inputs, positions_BT=positions, seen_BTT=seen)
        behind = hidden[:, batch.tokens.shape[1] - 1 :].flatten(0, 1)[leaves.real]
        return net.outcome_logits(behind, inputs=leaves.inputs)


def several(branches: Branches, seed: int = 1) -> Branches:
    """The same actions, each with 1 to 4 outcomes: its own, and those of other actions of the same decision."""
    rng, rows = np.random.default_rng(seed), branches.row
    times = rng.integers(1, 5, len(rows))
    index = np.repeat(np.arange(len(rows)), times)
    same = [np.flatnonzero((rows == rows[at]) & (branches.place == branches.place[at])) for at in index]
    own = np.append(True, index[1:] != index[:-1])
    source = np.where(own, index, [rng.choice(each) for each in same])
    return Branches.of_rows(
        len(branches.starts) - 1, rows[index], branches.place[index], branches.token[index], branches.outcome[source]
    )


def loaded(shard: str) -> TrainingData:
    return load_data(GAME, [shard], PLAYED, branch_weight=1.0)


def by_action(branches: Branches) -> dict[tuple[int, int, int], list[int]]:
    """(row, place, token) -> its outcomes."""
    found: dict[tuple[int, int, int], list[int]] = {}
    for *action, outcome in zip(branches.row, branches.place, branches.token, branches.outcome, strict=True):
        found.setdefault(tuple(map(int, action)), []).append(int(outcome))  # type: ignore[arg-type]
    return found


@OF_EACH
@pytest.mark.parametrize("many", [False, True], ids=["one outcome", "several outcomes"])
def test_a_leaf_is_what_the_engine_and_transformers_make_of_the_history_with_the_action(name, many, tmp_path):
    """An action is one leaf. Its loss and gradient are those of the shares of its outcomes, and the loss of one outcome
    is to the bit the cross-entropy of its label."""
    net, rows = tiny_net(GAME, seed=3, config=NETWORKS[name]), np.arange(4, 13)
    model, path = transformers_model(net).eval(), branched_shard(GAME, tmp_path, 4)
    if many:
        sequences = read_shard(path, GAME)
        write_shard(path, replace(sequences, branches=several(sequences.branches)), GAME, {})
    data = loaded(path)
    batch = make_batch(data, rows, Recipe(Rules(GAME, net.arch)))
    found, utility = leaf_logits(net, batch, batch.leaves), np.linspace(-1, 1, net.arch.num_outcomes, dtype=np.float32)
    values = torch.softmax(found.double(), -1) @ torch.from_numpy(utility).double()
    engine, expected = QueryEngine(net, utility, EngineConfig(device="cpu"), GAME), []
    for leaf, ((row, place, token), outcomes) in enumerate(by_action(data.branches.take(rows)).items()):
        prefix, marked = data.tokens[rows[row], :place].astype(np.int64), np.zeros((1, net.arch.vocab_size), bool)
        history = [*prefix.tolist(), token]
        wanted = model(**inputs(net, GAME, history)).outcome_logits[0, -1]
        torch.testing.assert_close(found[leaf], wanted.detach(), atol=2e-4, rtol=2e-4)
        shares = torch.bincount(torch.tensor(outcomes), minlength=len(wanted)) / len(outcomes)
        there = shares > 0
        expected.append(-(shares[there] * torch.log_softmax(wanted, -1)[there]).sum())
        marked[0, token] = True
        answer = engine.query(np.array([EMPTY]), prefix, np.array([len(prefix)]), marked)
        assert float(values[leaf]) == pytest.approx(float(answer.action_values[0]), abs=2e-5)
    assert len(expected) > 30
    with torch.no_grad():
        together, without = losses(net, batch), losses(net, replace(batch, leaves=None))
    wanted = torch.stack(expected).mean()
    torch.testing.assert_close(together.branch, wanted.detach())
    if not many:
        labels = F.cross_entropy(found, batch.leaves.outcome, reduction="sum")
        assert torch.equal(together.branch, labels / len(expected))
    assert without.branch is None  # and leaves change nothing for the sequences themselves
    torch.testing.assert_close(together[:2], without[:2])
    losses(net, batch).branch.backward()
    wanted.backward()
    assert net.lm_head.weight.grad is None
    for ours, theirs in ((net.val_head, model.val_head), (net.transformer.wte, model.transformer.wte)):
        assert theirs.weight.grad.abs().sum() > 0
        torch.testing.assert_close(ours.weight.grad, theirs.weight.grad, rtol=2e-3, atol=2e-5)


@OF_EACH
def test_a_batch_without_a_branch_has_a_branch_loss_of_0(name: str, tmp_path: Path) -> None:
    net = tiny_net(GAME, config=NETWORKS[name])
    data = loaded(branched_shard(GAME, tmp_path, 4, share=0.5))
    found = losses(net, make_batch(data, np.arange(12, 16), Recipe(Rules(GAME, net.arch))))
    assert found.branch == 0.0 and all(part.isfinite() for part in found[:3])


# ---- training


@pytest.mark.slow
def test_training_lowers_the_branch_loss_and_says_so(tmp_path: Path) -> None:
    learner = LearnerConfig(
        num_epochs=2, batch_size=8, learning_rate=1e-2, loss=LossConfig(branch_weight=0.5), device="cpu"
    )
    metrics = train(GAME, TINY, learner, [branched_shard(GAME, tmp_path, 160)], tmp_path / "out")
    history = json.loads((tmp_path / "out" / "training" / "state.json").read_text())["history"]
    assert metrics["branch_loss"] < history[0]["branch_loss"] - 0.3
    for prefix in ("", "validation_"):
        parts = [metrics[f"{prefix}{name}_loss"] for name in ("observation", "outcome", "branch")]
        assert metrics[f"{prefix}loss"] == pytest.approx(np.dot([0.9, 0.1, 0.5], parts))


def test_without_weight_branches_are_not_read_and_nothing_else_changes(tmp_path: Path) -> None:
    """The same sequences with and without branches give the same weights, settings and metrics, but for the data's
    digest."""
    found = []
    for name, shard in (("with", branched_shard(GAME, tmp_path, 16)), ("without", shard_of(GAME, tmp_path, 16))):
        assert load_data(GAME, [shard], PLAYED).branches is None
        train(GAME, MODEL, LEARNER, [shard], tmp_path / name, seed=7)
        files, state = without_clocks(tmp_path / name)
        assert state["settings"]["learner.loss.branch_weight"] == 0.0 and "branch_loss" not in state["metrics"]
        del state["settings"]["data"]
        found.append((files, state))
    assert found[0] == found[1]


def test_an_engine_that_is_interrupted_holds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    net = tiny_net(GAME, seed=3)
    engine = QueryEngine(net, np.zeros(net.arch.num_outcomes, np.float32), EngineConfig(device="cpu"), GAME)
    free = engine.slots_left

    def fails(*given: object) -> np.ndarray:
        raise KeyboardInterrupt

    monkeypatch.setattr(engine.network, "outcomes", fails)
    with pytest.raises(KeyboardInterrupt):
        engine.outcomes(np.array([EMPTY]), np.array([1, 2]), np.array([2]))
    assert engine.slots_left == free
