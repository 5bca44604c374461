"""The lean network and the transformers model are one model."""

import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
import yaml
from transformers import AutoConfig, AutoModel, GPT2Model

from games.hearts.game import HeartsGame
from learner.config import TransformerConfig
from learner.model.architecture import architecture
from learner.model.checkpoint import load_weights, save_weights
from learner.model.network import PolicyValueNet, attention
from learner.model.pretrained import PolicyValueModel
from learner.training.loss import losses
from tests.learner.material import TINY, assembled, random_games, tiny_net

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


def test_the_lean_forward_pass_equals_the_transformers_one(game, tmp_path):
    net, model = both_models(game, tmp_path)
    tokens, _, _ = hands(game)
    assert isinstance(model.transformer, GPT2Model)
    with torch.no_grad():
        reference, hidden = model(tokens), net.hidden(tokens)
        torch.testing.assert_close(net.next_token_logits(hidden), reference.logits, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(net.outcome_logits(hidden), reference.outcome_logits, atol=1e-5, rtol=1e-5)
        assert reference.logits.std() > 0.05 and reference.outcome_logits.std() > 0.05


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
