"""Branches in training: leaves by hand, against the transformers model and the query engine; and without them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from games.branches import Branches
from learner.config import EngineConfig, LearnerConfig, LossConfig
from learner.inference.engine import QueryEngine
from learner.model.network import attention
from learner.model.rule_inputs import NO_INPUTS, Rules
from learner.observation_model import EMPTY
from learner.training.batches import Batch, Recipe, make_batch
from learner.training.data import load_data
from learner.training.leaves import Leaves, make_leaves
from learner.training.loss import losses
from learner.training.policies.policy import PLAYED
from tests.learner.material import TINY, branched_shard, changed, shard_of, tiny_net, train, transformers_model
from tests.learner.test_rule_inputs import GAME, SETTINGS, inputs
from tests.learner.test_train import LEARNER, MODEL, KilledError, killing_at, without_clocks

CPU = torch.device("cpu")
NETWORKS = {"nothing": TINY, **SETTINGS}


# ---- one pass


def test_leaves_stand_behind_their_sequence_and_see_their_prefix_and_themselves() -> None:
    branches = Branches.of_rows(3, np.array([2, 0, 0]), np.array([0, 2, 1]), np.array([7, 5, 6]), np.array([1, 2, 3]))
    leaves = make_leaves(branches, Rules(GAME, tiny_net(GAME).arch), None)
    assert leaves.real.tolist() == [0, 1, 4] and leaves.outcome.tolist() == [3, 2, 1]
    tokens, inputs, positions, seen = leaves.behind(torch.arange(9).view(3, 3), NO_INPUTS)
    assert tokens.tolist() == [[0, 1, 2, 6, 5], [3, 4, 5, 0, 0], [6, 7, 8, 7, 0]] and inputs == NO_INPUTS
    assert positions.tolist() == [[0, 1, 2, 1, 2], [0, 1, 2, 0, 0], [0, 1, 2, 0, 0]]
    assert seen[0].int().tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 0, 0, 1, 0],
        [1, 1, 0, 0, 1],
    ]
    assert seen[1:, 3:].int().tolist() == [[[0, 0, 0, 1, 0], [0, 0, 0, 0, 1]]] * 2


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


@pytest.mark.parametrize("name", NETWORKS)
def test_a_leaf_is_what_the_engine_and_transformers_make_of_the_history_with_the_action(
    name: str, tmp_path: Path
) -> None:
    net = tiny_net(GAME, seed=3, config=NETWORKS[name])
    model, rows = transformers_model(net).eval(), np.arange(4, 13)
    data = load_data(GAME, [branched_shard(GAME, tmp_path, 4)], CPU, PLAYED, branch_weight=1.0)
    batch = make_batch(data, rows, Recipe(Rules(GAME, net.arch)))
    assert data.branches is not None and batch.leaves is not None
    branches = data.branches.take(rows)
    found, utility = leaf_logits(net, batch, batch.leaves), np.linspace(-1, 1, net.arch.num_outcomes, dtype=np.float32)
    values = torch.softmax(found.double(), -1) @ torch.from_numpy(utility).double()
    engine, expected = QueryEngine(net, utility, EngineConfig(device="cpu"), GAME), []
    for leaf, row in enumerate(branches.row):
        prefix = data.host_tokens[rows[row], : branches.place[leaf]].astype(np.int64)
        history, marked = [*prefix.tolist(), int(branches.token[leaf])], np.zeros((1, net.arch.vocab_size), bool)
        with torch.no_grad():
            wanted = model(torch.tensor(history)[None], **inputs(net, history)).outcome_logits[0, -1]
        torch.testing.assert_close(found[leaf], wanted, atol=2e-4, rtol=2e-4)
        expected.append(F.cross_entropy(wanted[None], batch.leaves.outcome[leaf : leaf + 1]))
        marked[0, branches.token[leaf]] = True
        answer = engine.query(np.array([EMPTY]), prefix, np.array([len(prefix)]), marked)
        assert float(values[leaf]) == pytest.approx(float(answer.action_values[0]), abs=2e-5)
    assert len(expected) > 30
    with torch.no_grad():
        together, without = losses(net, batch), losses(net, replace(batch, leaves=None))
    torch.testing.assert_close(together.branch, torch.stack(expected).mean())
    assert without.branch is None  # and leaves change nothing for the sequences themselves
    torch.testing.assert_close(together.observation, without.observation)
    torch.testing.assert_close(together.outcome, without.outcome)


def test_branches_train_the_outcome_head_and_not_that_of_the_next_token(tmp_path: Path) -> None:
    net = tiny_net(GAME, seed=3).train()
    data = load_data(GAME, [branched_shard(GAME, tmp_path, 4)], CPU, PLAYED, branch_weight=1.0)
    losses(net, make_batch(data, np.arange(8), Recipe(Rules(GAME, net.arch)))).branch.backward()
    assert net.val_head.weight.grad.abs().sum() > 0 and net.transformer.wte.weight.grad.abs().sum() > 0
    assert net.lm_head.weight.grad is None


@pytest.mark.parametrize("name", NETWORKS)
def test_a_batch_without_a_branch_has_a_branch_loss_of_0(name: str, tmp_path: Path) -> None:
    net = tiny_net(GAME, config=NETWORKS[name])
    data = load_data(GAME, [branched_shard(GAME, tmp_path, 4, share=0.5)], CPU, PLAYED, branch_weight=1.0)
    found = losses(net, make_batch(data, np.arange(12, 16), Recipe(Rules(GAME, net.arch))))
    assert found.branch == 0.0 and all(part.isfinite() for part in found[:3])


# ---- training


def test_a_killed_and_resumed_training_with_branches_ends_in_the_same_bytes(tmp_path: Path) -> None:
    shards, learner = [branched_shard(GAME, tmp_path, 32)], changed(LEARNER, branch_weight=0.5, log_every_steps=4)
    train(GAME, SETTINGS["everything"], learner, shards, tmp_path / "alone", seed=7)
    for step in (4, 8):
        with pytest.raises(KilledError):
            train(
                GAME, SETTINGS["everything"], learner, shards, tmp_path / "killed", seed=7, on_progress=killing_at(step)
            )
    train(GAME, SETTINGS["everything"], learner, shards, tmp_path / "killed", seed=7)
    assert without_clocks(tmp_path / "killed") == without_clocks(tmp_path / "alone")


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
        assert load_data(GAME, [shard], CPU, PLAYED).branches is None
        train(GAME, MODEL, LEARNER, [shard], tmp_path / name, seed=7)
        files, state = without_clocks(tmp_path / name)
        assert state["settings"]["learner.loss.branch_weight"] == 0.0 and "branch_loss" not in state["metrics"]
        del state["settings"]["data"]
        found.append((files, state))
    assert found[0] == found[1]


def test_shards_without_branches_are_refused_where_branches_weigh(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"learner\.loss\.branch_weight=0\.5: shards .*parquet hold no branches; make some"
    ):
        train(GAME, MODEL, changed(LEARNER, branch_weight=0.5), [shard_of(GAME, tmp_path, 4)], tmp_path / "out")
    with pytest.raises(ValueError, match=r"learner\.loss\.branch_weight=-1: must be at least 0"):
        LossConfig(branch_weight=-1)


def test_a_training_goes_on_only_with_its_branch_weight(tmp_path: Path) -> None:
    shards, few = [branched_shard(GAME, tmp_path, 8)], replace(LEARNER, max_steps=1)
    train(GAME, MODEL, few, shards, tmp_path / "out")
    with pytest.raises(ValueError, match=r"learner\.loss\.branch_weight=0\.0, now learner\.loss\.branch_weight=0\.5"):
        train(GAME, MODEL, changed(few, branch_weight=0.5), shards, tmp_path / "out")
