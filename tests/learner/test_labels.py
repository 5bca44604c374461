"""Labels in training: targets and weights by hand, losses and gradients against plain torch."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from games.hearts.game import HeartsGame
from games.shards import read_shard, write_shard
from learner.model.rule_inputs import Rules
from learner.training.batches import Recipe, make_batch
from learner.training.data import TrainingData, load_data
from learner.training.policies.labels import Labels
from learner.training.policies.policy import PLAYED
from tests.learner.material import CPU, shard_of, tiny_net

GAME = HeartsGame()
EOS = GAME.vocabulary.eos


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


def test_a_weight_without_labels_is_refused(tmp_path: Path) -> None:
    path = shard_of(GAME, tmp_path, 3)
    with pytest.raises(ValueError, match=r"learner\.policy\.kind=labels: shards .* hold no labels"):
        loaded(path)


def test_labels_of_several_players_are_refused(shard: str, tmp_path: Path) -> None:
    other = str(tmp_path / "other.parquet")
    write_shard(other, read_shard(shard, GAME), GAME, {"labels": "hearts_simple"})
    with pytest.raises(ValueError, match=r"labels of one player are learned, not of hearts_rules .* and hearts_simple"):
        loaded(shard, other)
