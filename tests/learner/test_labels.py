"""Labels in training: targets and weights by hand, losses and gradients against plain torch."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from games.hearts.game import HeartsGame
from games.shards import read_shard, write_shard
from learner.model.rule_inputs import Rules
from learner.training.batches import Recipe, make_batch
from learner.training.data import TrainingData, load_data
from learner.training.loss import losses
from learner.training.policies.labels import Labels
from learner.training.policies.policy import PLAYED
from tests.learner.material import shard_of, tiny_net

GAME = HeartsGame()
CPU, EOS = torch.device("cpu"), GAME.vocabulary.eos


@pytest.fixture
def shard(tmp_path: Path) -> str:
    """Deals in which another player says something else at every fourth token."""
    path = shard_of(GAME, tmp_path, 3)
    sequences = read_shard(path, GAME)
    labels = np.full_like(sequences.tokens, EOS)
    labels[:, 1::4] = (sequences.tokens[:, 1::4] + 1) % EOS
    labels[sequences.tokens == EOS] = EOS
    write_shard(path, replace(sequences, labels=labels), GAME, {"code": "0", "time": "now", "labels": "hearts_rules"})
    return path


def loaded(shard: str, *others: str) -> TrainingData:
    return load_data(GAME, [shard, *others], CPU, Labels(GAME, 1.0))


def test_labels_take_the_place_of_what_was_played_and_nothing_else_changes(shard: str) -> None:
    net = tiny_net(GAME)
    rules, rows = Rules(GAME, net.arch), np.arange(3)
    data, plain = loaded(shard), make_batch(load_data(GAME, [shard], CPU, PLAYED), rows, Recipe(rules))
    batch = make_batch(data, rows, Recipe(rules, Labels(GAME, 0.5)))
    labels, tokens, weights = data.columns.labels, batch.policy.tokens, batch.policy.weights
    assert labels is not None and tokens is not None and weights is not None
    assert plain.policy.tokens is None and plain.policy.weights is None
    assert torch.equal(batch.tokens, plain.tokens) and batch.inputs == plain.inputs  # no input sees a label
    width, at = batch.tokens.shape[1], 0
    for row in rows:
        for place in range(1, int(data.lengths[row])):
            said, played = int(labels[row, place]), int(data.host_tokens[row, place])
            assert int(tokens[at]) == (played if said == EOS else said)
            assert float(weights[at]) == (1.0 if said == EOS else 0.5)
            at += 1
    assert at == len(tokens) and width > 8


def test_loss_and_gradient_are_those_of_plain_torch(shard: str) -> None:
    net = tiny_net(GAME)
    data, rows = loaded(shard), np.arange(4)
    assert data.columns.labels is not None
    found = losses(net, make_batch(data, rows, Recipe(Rules(GAME, net.arch), Labels(GAME, 0.25)))).observation
    expected, count = torch.zeros(()), 0
    for row in rows:
        tokens = torch.from_numpy(data.host_tokens[row, : int(data.lengths[row])].astype(np.int64))[None]
        logits = net.next_token_logits(net.hidden(tokens[:, :-1], torch.float32)[0], torch.float32)
        for place in range(1, tokens.shape[1]):
            said = int(data.columns.labels[row, place])
            target = tokens[0, place] if said == EOS else torch.tensor(said)
            expected = expected + (1.0 if said == EOS else 0.25) * F.cross_entropy(logits[place - 1], target)
            count += 1
    torch.testing.assert_close(found, expected / count)
    weight = net.lm_head.weight
    (mine,), (theirs,) = torch.autograd.grad(found, weight), torch.autograd.grad(expected / count, weight)
    torch.testing.assert_close(mine, theirs)


def test_a_weight_without_labels_is_refused(tmp_path: Path) -> None:
    path = shard_of(GAME, tmp_path, 3)
    with pytest.raises(ValueError, match=r"learner\.policy\.kind=labels: shards .* hold no labels"):
        loaded(path)


def test_labels_of_several_players_are_refused(shard: str, tmp_path: Path) -> None:
    other = str(tmp_path / "other.parquet")
    write_shard(other, read_shard(shard, GAME), GAME, {"labels": "hearts_simple"})
    with pytest.raises(ValueError, match=r"labels of one player are learned, not of hearts_rules .* and hearts_simple"):
        loaded(shard, other)
