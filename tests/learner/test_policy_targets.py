"""Policy targets: values and labels by hand, losses and gradients against plain torch, a toy in which imitation is
wrong."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from games.hearts.game import HeartsGame
from games.rng import derive_many
from games.shards import Sequences, read_shard, write_shard
from learner.config import LearnerConfig, PolicyConfig, TransformerConfig
from learner.model.checkpoint import load_weights
from learner.model.rule_inputs import Rules
from learner.training.batch import Batch
from learner.training.batches import Recipe, make_batch
from learner.training.data import TrainingData, load_data
from learner.training.loss import losses
from learner.training.policies.labels import Labels
from learner.training.policies.policy import PLAYED, Policy
from learner.training.policies.values import Values, ValueTargets
from selfplay.branches import branch
from tests.learner.material import TINY, branched_shard, changed, shard_of, tiny_net, train
from tests.learner.test_resume import LEARNER, MODEL
from tests.learner.test_rule_inputs import GAME, SETTINGS
from tests.search.toy import EOS, FOLLOWS, STATE, ToyGame

NETWORKS = {"nothing": TINY, "everything": SETTINGS["everything"]}
TEMPERATURE, WEIGHT = 0.25, 0.5


def values(game: HeartsGame | ToyGame = GAME, **settings: Any) -> Values:
    config = PolicyConfig(kind="values", temperature=TEMPERATURE, weight=WEIGHT)
    return Values(game, replace(config, **settings))


def loaded(shard: str, policy: Policy | None = None) -> TrainingData:
    return load_data(GAME, [shard], policy or values())


# ---- values


def test_an_improved_policy_takes_over_where_it_is_better_by_what_the_other_is_likelier() -> None:
    """By hand: odds of 9 to 1 against an action that is better by log 3 and by log 27."""
    logits = torch.tensor([[0.9, 0.1, 0.0], [0.9, 0.1, 0.0]]).log().requires_grad_()
    legal = torch.tensor([[True, True, False]] * 2)
    better = torch.tensor([[1.0, 3.0, 1.0], [1.0, 27.0, 1.0]]).log()
    found = ValueTargets(at=torch.arange(2), legal=legal, values=better).losses(logits, improved=True)
    targets = torch.tensor([[0.75, 0.25, 0.0], [0.25, 0.75, 0.0]])  # odds of 9:3 and of 9:27
    torch.testing.assert_close(found, -(targets[:, :2] * logits[:, :2]).sum(-1))
    found.sum().backward()
    policy = torch.tensor([[0.9, 0.1, 0.0]] * 2)
    torch.testing.assert_close(logits.grad, policy - targets)


def test_a_sure_policy_is_moved_by_the_improved_one_and_hardly_by_the_gradient() -> None:
    """Odds of a million to one against an action that is better by 20 temperatures."""
    moved = {}
    for improved in (False, True):
        logits = torch.tensor([[0.0, -13.8]]).requires_grad_()
        legal, better = torch.ones(1, 2, dtype=torch.bool), torch.tensor([[0.0, 20.0]])
        ValueTargets(at=torch.arange(1), legal=legal, values=better).losses(logits, improved).sum().backward()
        assert logits.grad is not None
        moved[improved] = -logits.grad[0, 1].item()
    assert 0 < moved[False] < 1e-4 and moved[True] > 0.99


# ---- losses and gradients


def by_the_formulas(data: TrainingData, rows: np.ndarray, batch: Batch, logits: torch.Tensor) -> torch.Tensor:
    """The observation loss of a batch from its logits ``[A, V]``, sequence by sequence."""
    branches, labels = data.policy_branches, data.labels
    assert branches is not None
    total, at = torch.zeros(()), 0
    for row in rows:
        mine = branches.take(np.array([row]))
        for place in range(1, int(data.lengths[row])):
            scores, at = logits[at], at + 1
            actions = sorted(set(mine.token[mine.place == place].tolist()))
            if not actions:
                said = None if labels is None else int(labels[row, place])
                target = int(data.tokens[row, place]) if said in (None, GAME.vocabulary.eos) else said
                weight = 1.0 if target == int(data.tokens[row, place]) else 0.25
                total = total - weight * torch.log_softmax(scores, 0)[target]
                continue
            value = []
            for action in actions:
                ends = mine.outcome[(mine.place == place) & (mine.token == action)]
                points = GAME.outcomes.points[ends]
                value.append(float((points[:, 1:].mean(axis=1) - points[:, 0]).mean()) / 26)
            expected = torch.tensor(value)
            policy = torch.exp(scores[actions]) / torch.exp(scores[actions]).sum()
            baseline = (policy * expected).sum().detach()
            term = -(policy * (expected - baseline)).sum() / TEMPERATURE
            total = total + WEIGHT * term
    assert at == len(logits) == len(batch.prefixes)
    return total / at


def logits_of(net: torch.nn.Module, batch: Batch) -> torch.Tensor:
    hidden = net.hidden(batch.tokens[:, :-1], inputs=batch.inputs).flatten(0, 1)
    return net.next_token_logits(hidden[batch.prefixes], inputs=batch.inputs)


@pytest.mark.parametrize("name", NETWORKS)
def test_loss_and_gradient_are_those_of_plain_torch(name: str, tmp_path: Path) -> None:
    net, rows = tiny_net(GAME, seed=3, config=NETWORKS[name]), np.arange(2, 9)
    data = loaded(branched_shard(GAME, tmp_path, 4))
    batch = make_batch(data, rows, Recipe(Rules(GAME, net.arch), values()))
    assert isinstance(batch.policy, ValueTargets) and len(batch.policy.at) > 5 and batch.leaves is None
    found, expected = losses(net, batch, values()), by_the_formulas(data, rows, batch, logits_of(net, batch))
    torch.testing.assert_close(found.observation, expected)
    assert found.branch is None
    for weights in (net.lm_head.weight, net.transformer.wte.weight):
        mine, theirs = (torch.autograd.grad(loss, weights, retain_graph=True)[0] for loss in (found[0], expected))
        assert theirs.isfinite().all() and theirs.abs().sum() > 0
        torch.testing.assert_close(mine, theirs)


def test_values_win_over_labels_and_labels_hold_elsewhere(tmp_path: Path) -> None:
    path, net, rows = branched_shard(GAME, tmp_path, 4), tiny_net(GAME, seed=3), np.arange(8)
    sequences, eos = read_shard(path, GAME), GAME.vocabulary.eos
    labels = np.where(sequences.tokens == eos, eos, (sequences.tokens + 1) % eos).astype(sequences.tokens.dtype)
    write_shard(path, replace(sequences, labels=labels), GAME, {"labels": "hearts_rules"})
    policy = values(label_weight=0.25)
    data = loaded(path, policy)
    batch = make_batch(data, rows, Recipe(Rules(GAME, net.arch), policy))
    found = losses(net, batch, policy).observation
    torch.testing.assert_close(found, by_the_formulas(data, rows, batch, logits_of(net, batch)))
    assert batch.policy.weights is not None and set(batch.policy.weights.tolist()) == {WEIGHT, 0.25, 1.0}


def test_a_temperature_in_points_is_refused() -> None:
    message = r"policy\.temperature=3\.0: must be at most 0\.487 in hearts, a quarter of .* 'relative' utility"
    with pytest.raises(ValueError, match=message):
        values(temperature=3.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "values"}, r"policy\.kind=values: shards .* hold no branches; make some .* or set it to played"),
        ({"kind": "labels"}, r"policy\.kind=labels: shards .* hold no labels"),
        ({"kind": "gradient", "outcome_positions": 0}, r"policy\.kind=gradient: shards .*parquet.*no probabilities"),
        ({"branch_weight": 0.5}, r"loss\.branch_weight=0\.5: shards .*parquet hold no branches; make some"),
    ],
)
def test_shards_without_what_is_learned_from_are_refused(settings, message, tmp_path) -> None:
    with pytest.raises(ValueError, match=rf"learner\.{message}"):
        train(GAME, MODEL, changed(LEARNER, **settings), [shard_of(GAME, tmp_path, 4)], tmp_path / "out")


# ---- a toy solved by hand

TWO, FIVE = 1, 4
"""Tokens of the cards 2 and 5."""
SEEN = [FOLLOWS, TWO, FIVE, 0]
"""The seat follows with 2 and 5, and the other has led its 1. The 2 takes the trick and the 5 the next: 2 tricks. The 5
takes the trick as well, but then the 2 must be led, and the other's 3 or 4 takes that: 1 trick."""


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Deals in which the follower plays its 5 to the 1, with both of its cards played out."""
    game, seeds = ToyGame(), derive_many(1, 1500)
    hands = game.deal(seeds)["hands"]
    chosen = seeds[(hands[:, 1] == [TWO, FIVE]).all(1) & (hands[:, 0, 0] == 0)]
    states = game.deal(chosen)
    for cards in (0, FIVE, TWO, hands[np.isin(seeds, chosen), 0, 1]):
        game.play(states, np.broadcast_to(cards, len(states)))
    assert states.dtype == STATE and (game.outcome(states) == [1, 1]).all()
    sequences = Sequences.of_deals(game, states, chosen, "wrong", np.tile([False, True], (len(states), 1)))
    assert len(sequences) > 60 and (sequences.tokens[:, :5] == [*SEEN, FIVE]).all()
    path = tmp_path_factory.mktemp("toy") / "shard.parquet"
    write_shard(path, replace(sequences, branches=branch(game, states, sequences, None, 1, 1)), game, {})
    return str(path)


def preferred(checkpoint: Path) -> int:
    net = load_weights(checkpoint, ToyGame())
    with torch.no_grad():
        logits = net.next_token_logits(net.hidden(torch.tensor([SEEN]))[0, -1])
    return TWO if logits[TWO] > logits[FIVE] else FIVE


def test_where_imitation_is_wrong_one_training_ends_at_the_right_action_and_a_second_stays(toy, tmp_path):
    model = TransformerConfig(n_layer=1, n_head=2, n_embd=16, embd_pdrop=0.0, resid_pdrop=0.0)
    learner = LearnerConfig(learning_rate=1e-2, num_epochs=10, batch_size=16, device="cpu")
    data = load_data(ToyGame(), [toy], values(ToyGame()))
    assert data.policy_branches is not None
    found = values(ToyGame()).of_branches(data.policy_branches, data.lengths, EOS + 1)
    tricks = torch.tensor([1.0, 0.0]) / TEMPERATURE  # both tricks or one
    torch.testing.assert_close(found.values[:, [TWO, FIVE]], tricks.expand(len(data.lengths), 2))
    start: Path | None = None
    ways: dict[str, dict[str, Any]] = {"first": {}, "second": {}, "improved": {"improved": True}}
    for name, settings in {"imitation": {"kind": "played"}, **ways}.items():
        out, right = tmp_path / name, FIVE if name == "imitation" else TWO
        train(ToyGame(), model, changed(learner, **{"kind": "values", **settings}), [toy], out, init_from=start)
        assert preferred(out) == right, name
        start = out


NONE = GAME.vocabulary.eos


@pytest.fixture
def shard(tmp_path: Path) -> str:
    """Deals in which another player says something else at every fourth token."""
    path = shard_of(GAME, tmp_path, 3)
    sequences = read_shard(path, GAME)
    labels = np.full_like(sequences.tokens, NONE)
    labels[:, 1::4] = (sequences.tokens[:, 1::4] + 1) % NONE
    labels[sequences.tokens == NONE] = NONE
    write_shard(path, replace(sequences, labels=labels), GAME, {"code": "0", "time": "now", "labels": "hearts_rules"})
    return path


def with_labels(shard: str, *others: str) -> TrainingData:
    return load_data(GAME, [shard, *others], Labels(GAME, PolicyConfig(kind="labels")))


def test_labels_take_the_place_of_what_was_played_and_nothing_else_changes(shard: str) -> None:
    net = tiny_net(GAME)
    rules, rows = Rules(GAME, net.arch), np.arange(3)
    data, plain = with_labels(shard), make_batch(load_data(GAME, [shard], PLAYED), rows, Recipe(rules))
    batch = make_batch(data, rows, Recipe(rules, Labels(GAME, PolicyConfig(kind="labels", weight=0.5))))
    labels, tokens, weights = data.labels, batch.policy.tokens, batch.policy.weights
    assert labels is not None and tokens is not None and weights is not None
    assert plain.policy.tokens is None and plain.policy.weights is None
    assert torch.equal(batch.tokens, plain.tokens) and batch.inputs == plain.inputs  # no input sees a label
    width, at = batch.tokens.shape[1], 0
    for row in rows:
        for place in range(1, int(data.lengths[row])):
            said, played = int(labels[row, place]), int(data.tokens[row, place])
            assert int(tokens[at]) == (played if said == NONE else said)
            assert float(weights[at]) == (1.0 if said == NONE else 0.5)
            at += 1
    assert at == len(tokens) and width > 8


def test_labels_of_several_players_are_refused(shard: str, tmp_path: Path) -> None:
    other = str(tmp_path / "other.parquet")
    write_shard(other, read_shard(shard, GAME), GAME, {"labels": "hearts_simple"})
    with pytest.raises(ValueError, match=r"labels of one player are learned, not of hearts_rules .* and hearts_simple"):
        with_labels(shard, other)
