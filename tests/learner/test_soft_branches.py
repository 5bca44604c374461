"""Actions with several outcomes: one leaf each, whose loss and gradient are those of their shares in plain torch."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from games.branches import Branches
from games.shards import read_shard, write_shard
from learner.config import EngineConfig, PolicyConfig
from learner.inference.engine import QueryEngine
from learner.model.rule_inputs import Rules
from learner.observation_model import EMPTY
from learner.training.batches import Recipe, counts, make_batch
from learner.training.data import TrainingData, load_data
from learner.training.loss import losses
from learner.training.policies.policy import PLAYED
from learner.training.policies.values import Values
from tests.learner.material import TINY, branched_shard, changed, tiny_net, train, transformers_model
from tests.learner.test_rule_inputs import GAME, SETTINGS, histories, inputs
from tests.learner.test_train import LEARNER

CPU = torch.device("cpu")
NETWORKS = {"nothing": TINY, **SETTINGS}


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


@pytest.fixture
def shard(tmp_path: Path) -> str:
    path = branched_shard(GAME, tmp_path, 4)
    sequences = read_shard(path, GAME)
    assert sequences.branches is not None
    write_shard(path, replace(sequences, branches=several(sequences.branches)), GAME, {})
    return path


def loaded(shard: str) -> TrainingData:
    return load_data(GAME, [shard], CPU, PLAYED, branch_weight=1.0)


def by_action(branches: Branches) -> dict[tuple[int, int, int], list[int]]:
    """(row, place, token) -> its outcomes."""
    found: dict[tuple[int, int, int], list[int]] = {}
    for *action, outcome in zip(branches.row, branches.place, branches.token, branches.outcome, strict=True):
        found.setdefault(tuple(map(int, action)), []).append(int(outcome))  # type: ignore[arg-type]
    return found


def test_the_first_of_each_action_is_marked_also_across_sequences() -> None:
    branches = Branches.of_rows(3, np.array([2, 0, 0, 0, 1, 2]), [5, 5, 4, 5, 5, 5], [7] * 6, [1, 2, 3, 4, 5, 6])
    assert branches.row.tolist() == [0, 0, 0, 1, 2, 2] and branches.outcome.tolist() == [3, 2, 4, 5, 1, 6]
    assert branches.first.tolist() == [True, True, False, True, True, False]
    assert Branches.none(3).first.tolist() == []


@pytest.mark.parametrize("name", NETWORKS)
def test_loss_and_gradient_are_those_of_the_shares_of_outcomes(name: str, shard: str) -> None:
    net, rows = tiny_net(GAME, seed=3, config=NETWORKS[name]), np.arange(4, 13)
    model, data = transformers_model(net).eval(), loaded(shard)
    assert data.branches is not None
    expected = []
    for (row, place, token), outcomes in by_action(data.branches.take(rows)).items():
        history = [*data.host_tokens[rows[row], :place].astype(np.int64).tolist(), token]
        logits = model(torch.tensor(history)[None], **inputs(net, history)).outcome_logits[0, -1]
        shares = torch.bincount(torch.tensor(outcomes), minlength=len(logits)) / len(outcomes)
        there = shares > 0
        expected.append(-(shares[there] * torch.log_softmax(logits, -1)[there]).sum())
    wanted = torch.stack(expected).mean()
    found = losses(net, make_batch(data, rows, Recipe(Rules(GAME, net.arch)))).branch
    assert found is not None and len(expected) > 20
    torch.testing.assert_close(found, wanted, rtol=2e-4, atol=2e-4)
    found.backward()
    wanted.backward()
    for ours, theirs in ((net.val_head, model.val_head), (net.transformer.wte, model.transformer.wte)):
        assert theirs.weight.grad.abs().sum() > 0
        torch.testing.assert_close(ours.weight.grad, theirs.weight.grad, rtol=2e-3, atol=2e-5)


def test_an_outcome_that_is_repeated_weighs_as_one_and_every_action_as_much_as_any_other(shard: str) -> None:
    net, rows, data = tiny_net(GAME, seed=3), np.arange(12), loaded(shard)
    assert data.branches is not None
    once, first = data.branches, data.branches.first
    once = Branches.of_rows(
        len(data.lengths), *(each[first] for each in (once.row, once.place, once.token, once.outcome))
    )
    times = np.arange(len(once.place)) % 3 + 1
    repeated = Branches.of_rows(
        len(data.lengths), *(np.repeat(each, times) for each in (once.row, once.place, once.token, once.outcome))
    )

    def batch_of(branches: Branches):
        return make_batch(replace(data, branches=branches), rows, Recipe(Rules(GAME, net.arch)))

    one, many = batch_of(once), batch_of(repeated)
    assert one.leaves is not None and many.leaves is not None
    assert one.leaves.weights is None and one.leaves.leaf is None  # as ever
    assert torch.equal(one.leaves.tokens, many.leaves.tokens) and torch.equal(one.leaves.real, many.leaves.real)
    assert one.counts == many.counts == counts(replace(data, branches=repeated), rows)
    with torch.no_grad():
        torch.testing.assert_close(losses(net, one).branch, losses(net, many).branch)


def test_without_repeats_the_loss_is_to_the_bit_the_cross_entropy_of_the_labels(tmp_path: Path) -> None:
    net, data = (
        tiny_net(GAME, seed=3),
        load_data(GAME, [branched_shard(GAME, tmp_path, 4)], CPU, PLAYED, branch_weight=1.0),
    )
    batch = make_batch(data, np.arange(9), Recipe(Rules(GAME, net.arch)))
    leaves = batch.leaves
    assert leaves is not None
    tokens, given, positions, seen = leaves.behind(batch.tokens[:, :-1], batch.inputs)
    with torch.no_grad():
        hidden = net.hidden(tokens, inputs=given, positions_BT=positions, seen_BTT=seen)
        behind = hidden[:, batch.tokens.shape[1] - 1 :].flatten(0, 1)[leaves.real]
        wanted = F.cross_entropy(net.outcome_logits(behind), leaves.outcome, reduction="sum") / len(leaves.real)
        assert torch.equal(losses(net, batch).branch, wanted)


def test_the_parts_of_several_learners_add_up_to_the_whole(shard: str) -> None:
    net, rows, data = tiny_net(GAME, seed=3), np.arange(12), loaded(shard)
    rules = Rules(GAME, net.arch)
    with torch.no_grad():
        whole = losses(net, make_batch(data, rows, Recipe(rules))).branch
        parts = [
            losses(net, make_batch(data, rows, Recipe(rules), part=part)).branch for part in (slice(0, 5), slice(5, 12))
        ]
    torch.testing.assert_close(sum(parts), whole)


def test_a_policy_learns_from_the_mean_of_an_action_s_outcomes(shard: str) -> None:
    data, rows = loaded(shard), np.arange(12)
    assert data.branches is not None
    branches, lengths = data.branches.take(rows), data.lengths[rows]
    policy = Values(GAME, PolicyConfig(kind="values"))
    policy.worth = GAME.outcomes.points[:, 0].astype(np.float64)
    targets = policy.of_branches(branches, lengths, GAME.vocabulary.size)
    first, actions = np.cumsum(lengths - 1) - (lengths - 1), by_action(branches)
    for (row, place, token), outcomes in actions.items():
        decision = np.flatnonzero(targets.at.numpy() == first[row] + place - 1)
        mean = GAME.outcomes.points[outcomes, 0].mean()
        assert float(targets.values[decision, token]) == pytest.approx(mean) and targets.legal[decision, token]
    assert int(targets.legal.sum()) == len(actions)


def test_a_training_reads_them(shard: str, tmp_path: Path) -> None:
    metrics = train(GAME, TINY, changed(LEARNER, branch_weight=0.5), [shard], tmp_path / "out")
    assert 0 < metrics["branch_loss"] < 10


# ---- the query engine


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("trunk", ["auto", "torch"])
def test_the_engine_s_outcomes_are_those_of_a_plain_pass_and_hold_nothing(name: str, trunk: str) -> None:
    net, asked = tiny_net(GAME, seed=3, config=NETWORKS[name]), histories()
    model = transformers_model(net).eval()
    utility = np.linspace(-1, 1, net.arch.num_outcomes, dtype=np.float32)
    engine = QueryEngine(net, utility, EngineConfig(device="cpu", trunk=trunk, max_batch=4), GAME)
    free, begun = engine.slots_left, [history[: len(history) // 2] for history in asked[1:]]
    halves = np.array([len(beginning) for beginning in begun])
    held = engine.query(np.full(len(begun), EMPTY), np.concatenate(begun), halves).handles
    left = engine.slots_left
    rest = [asked[0], *(history[half:] for history, half in zip(asked[1:], halves, strict=True))]
    found = engine.outcomes(np.append(EMPTY, held), np.concatenate(rest), np.array([len(part) for part in rest]))
    assert found.dtype == np.float32 and engine.slots_left == left
    again = engine.outcomes(held, np.empty(0, np.int64), np.zeros(len(held), np.int64))
    for rows, of in ((found, asked), (again, begun)):
        for row, history in zip(rows, of, strict=True):
            with torch.no_grad():
                wanted = model(torch.tensor(history)[None], **inputs(net, history)).outcome_logits[0, -1]
            np.testing.assert_allclose(row, torch.softmax(wanted, -1), atol=2e-5)
    engine.release(held)
    assert engine.slots_left == free and engine.outcomes(held[:0], held[:0], held[:0]).shape == (0, len(utility))
    with pytest.raises(ValueError, match=r"row 0: the handle .* is not held"):
        engine.outcomes(held, np.empty(0, np.int64), np.zeros(len(held), np.int64))


def test_an_engine_that_is_interrupted_holds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    net = tiny_net(GAME, seed=3)
    engine = QueryEngine(net, np.zeros(net.arch.num_outcomes, np.float32), EngineConfig(device="cpu"), GAME)
    free = engine.slots_left

    def fails(*given: object) -> np.ndarray:
        raise KeyboardInterrupt

    monkeypatch.setattr(engine._trunk, "outcomes", fails)
    with pytest.raises(KeyboardInterrupt):
        engine.outcomes(np.array([EMPTY]), np.array([1, 2]), np.array([2]))
    assert engine.slots_left == free
