"""An outcome head may start with similar weights for similar outcomes."""

from dataclasses import replace

import pytest
import torch
from transformers import AutoModel

from games.hearts.game import HeartsGame
from learner.config import LearnerConfig, TransformerConfig
from learner.model.checkpoint import load_weights
from learner.model.outcome_init import outcome_features, start_outcome_head
from learner.model.pretrained import PolicyValueModel
from tests.learner.material import shard_of, train

GAME = HeartsGame()
POINTS = GAME.outcomes.points
MODEL = TransformerConfig(n_layer=1, n_head=2, n_embd=16, outcome_init="points")
UNTRAINED = LearnerConfig(max_steps=1, learning_rate=1e-30, weight_decay=0.0, batch_size=16, device="cpu")


def head(seed: int) -> torch.Tensor:
    weight = torch.empty(len(POINTS), 64)
    start_outcome_head(weight, POINTS, 0.02, seed)
    return weight


def label(*points: int) -> int:
    (found,) = (points == POINTS).all(axis=1).nonzero()[0]
    return int(found)


@pytest.fixture(scope="module")
def shards(tmp_path_factory) -> list[str]:
    return [shard_of(GAME, tmp_path_factory.mktemp("shards"), 16)]


def test_the_features_of_a_label_have_mean_0_and_variance_1_over_labels():
    features = outcome_features(POINTS)
    assert len(features) == len(POINTS) and features.isfinite().all()
    torch.testing.assert_close(features.mean(0), torch.zeros(features.shape[1]), atol=1e-4, rtol=0)
    torch.testing.assert_close(features.std(0, correction=0), torch.ones(features.shape[1]), atol=1e-4, rtol=0)


def test_labels_of_similar_points_get_similar_weights():
    weight = head(1)
    near = torch.cosine_similarity(weight[label(3, 4, 16, 3)], weight[label(4, 3, 16, 3)], dim=0)
    far = torch.cosine_similarity(weight[label(3, 4, 16, 3)], weight[label(22, 1, 1, 2)], dim=0)
    turned = torch.cosine_similarity(weight[label(20, 2, 2, 2)], weight[label(2, 20, 2, 2)], dim=0)
    assert near > 0.8 and far < 0.3 and turned < 0.3, "points that another seat gets are other points"


def test_equal_seeds_give_equal_weights_and_others_do_not():
    assert torch.equal(head(1), head(1))
    assert not torch.equal(head(1), head(2))


def test_a_fresh_network_starts_with_it_and_transformers_loads_it(shards, tmp_path):
    train(GAME, MODEL, UNTRAINED, shards, tmp_path / "points", seed=3)
    train(GAME, replace(MODEL, outcome_init="normal"), UNTRAINED, shards, tmp_path / "normal", seed=3)
    points, normal = (load_weights(tmp_path / name, GAME).state_dict() for name in ("points", "normal"))
    assert points.keys() == normal.keys()
    changed = {name for name in points if not torch.allclose(points[name], normal[name], rtol=0, atol=1e-20)}
    assert changed == {"val_head.weight"}
    assert points["val_head.weight"].shape == normal["val_head.weight"].shape
    model = AutoModel.from_pretrained(tmp_path / "points")
    assert isinstance(model, PolicyValueModel)
    assert torch.equal(model.val_head.weight, points["val_head.weight"])


def test_a_network_that_starts_from_weights_keeps_their_outcome_head(shards, tmp_path):
    train(GAME, replace(MODEL, outcome_init="normal"), UNTRAINED, shards, tmp_path / "first")
    train(GAME, MODEL, UNTRAINED, shards, tmp_path / "second", init_from=tmp_path / "first")
    first, second = (load_weights(tmp_path / name, GAME) for name in ("first", "second"))
    assert torch.equal(first.val_head.weight, second.val_head.weight)
