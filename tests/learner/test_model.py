"""The lean network and the transformers model are one model; parts of it by themselves."""

import itertools
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from transformers import AutoConfig, AutoModel

from games.game import Game
from games.hearts.game import HeartsGame
from games.registry import make_game
from learner.config import LearnerConfig, TransformerConfig
from learner.model.architecture import architecture
from learner.model.checkpoint import load_weights, save_weights
from learner.model.feature_sums import feature_sums
from learner.model.network import PolicyValueNet, attention, dropout, initialise
from learner.model.outcome_init import outcome_features, start_outcome_head
from learner.model.pretrained import PolicyValueModel
from learner.model.rule_inputs import Rules
from learner.training.loss import losses
from tests.games.material import histories_of
from tests.learner.material import TINY, assembled, random_games, shard_of, tiny_net, train

PRESETS = Path(__file__).parents[2] / "conf" / "model"


@pytest.fixture(scope="module")
def game() -> HeartsGame:
    return HeartsGame()


def hands(game: HeartsGame) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    sequences = random_games(game, 16)
    tokens = torch.from_numpy(sequences.tokens).long()
    lengths = (tokens == game.vocabulary.eos).int().argmax(1) + 1
    return tokens, lengths, torch.from_numpy(sequences.outcome).long()


def both_models(game: HeartsGame, tmp_path: Path) -> tuple[PolicyValueNet, PolicyValueModel]:
    net = tiny_net(game)
    save_weights(tmp_path / "checkpoint", net, game)
    return net, PolicyValueModel.from_pretrained(tmp_path / "checkpoint").eval()


def test_loss_and_gradients_equal_those_of_the_transformers_model_on_padded_batches(game, tmp_path):
    net, model = both_models(game, tmp_path)
    tokens, lengths, outcome = hands(game)
    assert len(set(lengths.tolist())) > 1
    lean = losses(net, assembled(tokens, lengths.numpy(), outcome))
    (0.9 * lean.observation + 0.1 * lean.outcome).backward()
    mask = (torch.arange(tokens.shape[1]) < lengths[:, None]).long()
    reference = model(tokens, attention_mask=mask, outcome=outcome).loss
    reference.backward()
    torch.testing.assert_close(0.9 * lean.observation + 0.1 * lean.outcome, reference)
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    for name, parameter in net.named_parameters():
        torch.testing.assert_close(parameter.grad, gradients[name], atol=1e-6, rtol=1e-4, msg=lambda m, n=name: n + m)


@pytest.mark.parametrize("length", [1, 61, 300])  # 300: longer than what is written out
def test_attention_in_bfloat16_and_its_gradients_are_those_of_float32_but_for_rounding(length):
    generator = torch.Generator().manual_seed(length)
    qkv = torch.empty(3, 2, 4, length, 16).normal_(generator=generator)
    weights = torch.empty(2, 4, length, 16).normal_(generator=generator)
    found = []
    for dtype in (torch.float32, torch.bfloat16):
        leaf = qkv.to(dtype).detach().requires_grad_()
        attended = attention(*leaf.unbind(0))
        attended.float().mul(weights).sum().backward()
        found.append((attended.detach().float(), leaf.grad.float()))
    exact = torch.nn.functional.scaled_dot_product_attention(*qkv.unbind(0), is_causal=True)
    torch.testing.assert_close(found[0][0], exact)
    for exactly, rounded in zip(*found, strict=True):
        assert (rounded - exactly).norm() <= 0.01 * exactly.norm()


def test_a_checkpoint_survives_transformers_save_and_load_bit_for_bit(game, tmp_path):
    net, _ = both_models(game, tmp_path)
    model = AutoModel.from_pretrained(tmp_path / "checkpoint")
    assert isinstance(model, PolicyValueModel)
    model.save_pretrained(tmp_path / "again")
    assert {path.suffix for path in (tmp_path / "again").iterdir()} == {".json", ".safetensors"}
    again = load_weights(tmp_path / "again", game)
    assert asdict(again.arch) == asdict(net.arch)
    for name, tensor in net.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name]), name


def test_dropout_happens_only_with_a_generator_and_follows_it(game):
    net = tiny_net(game, config=TransformerConfig(**{**asdict(TINY), "embd_pdrop": 0.3, "resid_pdrop": 0.3}))
    tokens, _, _ = hands(game)
    drawn = [net.hidden(tokens, generator=torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)]
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])
    assert torch.equal(net.hidden(tokens), net.hidden(tokens))


def test_dropout_keeps_the_mean_also_in_bfloat16():
    x = torch.linspace(1, 2, 4096).bfloat16()
    for probability in (0.05, 0.1):
        left = dropout(x, probability, torch.Generator().manual_seed(0)).float()
        kept = left > 0
        scale = left[kept].sum() / x.float()[kept].sum() * (1 - probability)
        assert scale == pytest.approx(1, abs=3e-4)


def preset(game: HeartsGame, name: str) -> PolicyValueNet:
    said = yaml.safe_load((PRESETS / f"{name}.yaml").read_text())
    del said["defaults"]
    return PolicyValueNet(architecture(game, TransformerConfig(**said)))


def test_presets_have_the_sizes_they_promise(game):
    for name, low, high in (("demo", 0.95e6, 1.1e6), ("small", 1.15e6, 1.3e6), ("paper", 6.4e6, 7.2e6)):
        assert low <= sum(parameter.numel() for parameter in preset(game, name).parameters()) <= high


def test_the_configuration_that_transformers_reads_is_tables_4_and_5(game, tmp_path):
    save_weights(tmp_path / "checkpoint", preset(game, "paper"), game)
    config = AutoConfig.from_pretrained(tmp_path / "checkpoint")
    table_4 = dict(
        activation_function="gelu_new", attn_pdrop=0, bos_token_id=None, embd_pdrop=0.05, initializer_range=0.02,
        layer_norm_epsilon=1e-5, n_embd=256, n_head=8, n_inner=1024, n_layer=8, reorder_and_upcast_attn=False,
        resid_pdrop=0.05, scale_attn_by_inverse_layer_idx=False, scale_attn_weights=True, use_cache=True,
    )  # fmt: skip
    table_5 = {"vocab_size": 61, "n_positions": 75, "eos_token_id": 60, "num_outcomes": 2234}
    for key, value in {**table_4, **table_5}.items():
        assert getattr(config, key) == value, key
    assert config.dtype == torch.float32


@pytest.mark.slow
def test_training_and_queries_do_not_import_transformers():
    code = "import sys, learner.task, learner.inference.engine; sys.exit('transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False).returncode == 0


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


GAMES = ("hearts", "skat", "crew")


def told(game: Game, deals: int) -> tuple[PolicyValueNet, torch.Tensor]:
    """A network with all features and weights of whole numbers; ``uint8[N, F]`` features of all prefixes of
    histories."""
    net = PolicyValueNet(architecture(game, TransformerConfig(n_layer=1, n_head=1, n_embd=16, features=["all"])))
    initialise(net, 1)
    with torch.no_grad():
        net.feature_embeddings.weight.mul_(100).round_()
    views = game.prefixes(histories_of(game, deals, 1)[0]).reshape(-1)
    return net, torch.from_numpy(Rules(game, net.arch).encode(views))


@pytest.mark.parametrize("name", GAMES)
def test_sums_and_gradients_are_those_of_the_whole_product(name: str) -> None:
    net, features = told(make_game(name), 12)
    all_features, whole_numbers = features.clamp(max=8), net.feature_embeddings.weight.detach().clamp(-8, 8)
    for count, dtype in itertools.product((1, 15, 16, 191, 192, 500), (torch.float32, torch.bfloat16)):
        few = all_features[:count]
        gradient = torch.randint(-4, 5, (count, whole_numbers.shape[1])).to(dtype)
        found, plain = (whole_numbers.to(dtype, copy=True).requires_grad_() for _ in range(2))
        sums, whole = feature_sums(few.view(1, count, -1), found)[0], few.to(dtype) @ plain
        sums.backward(gradient)
        whole.backward(gradient)
        assert torch.equal(sums, whole) and torch.equal(found.grad, plain.grad)


def test_actions_without_numbers_score_nothing_and_the_others_as_all_together() -> None:
    net, features = told(make_game("hearts"), 3)
    hidden, rows = torch.randn(len(features), 16), np.arange(len(features))
    choices = Rules(make_game("hearts"), net.arch).choices(features, rows)
    assert choices is not None
    together = net._scored(net.choice_hidden(hidden).unsqueeze(-2), choices).masked_fill(~(choices != 0).any(-1), 0.0)
    torch.testing.assert_close(net.scores(hidden, choices, torch.float32), together)
    none = net.scores(hidden[:5], torch.zeros_like(choices[:5]), torch.float32)
    assert torch.equal(none, torch.zeros(5, 52)) and len(net.scores(hidden[:0], choices[:0], torch.float32)) == 0
