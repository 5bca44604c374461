"""Parts of a training: the optimizer, batches made ahead by threads, the arithmetic of a token."""

import math
import threading

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from games.hearts.game import HeartsGame
from games.registry import make_game
from learner.config import LearnerConfig, LossConfig, TransformerConfig
from learner.training.optimizer import Optimizer
from learner.training.prefetch import Prefetch
from learner.training.roofline import forward_flops, matmul_rate, training_flops
from tests.learner.material import TINY, branched_shard, tiny_net, train

GAME = HeartsGame()
FEATURED = TransformerConfig(n_layer=2, n_head=2, n_embd=16, token_types=True, features=["all"])


def muon_step(weight: torch.Tensor, gradients: list[torch.Tensor], rate: float, decay: float) -> torch.Tensor:
    """Jordan et al. 2024, "Muon", in float64: Nesterov momentum 0.95 as a moving mean, five Newton-Schulz steps with
    coefficients (3.4445, -4.7750, 2.0315); Liu et al. (arXiv 2502.16982), equation 4: decay, and 0.2 sqrt(max(A, B))
    of the rate."""
    momentum, weight = torch.zeros_like(weight, dtype=torch.float64), weight.double()
    for gradient in gradients:
        momentum = 0.95 * momentum + 0.05 * gradient.double()
        update = 0.95 * momentum + 0.05 * gradient.double()
        x = update / update.norm()
        wide = x.shape[0] <= x.shape[1]
        x = x if wide else x.T
        for _ in range(5):
            gram = x @ x.T
            x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
        x = x if wide else x.T
        weight = weight * (1.0 - rate * decay) - rate * 0.2 * math.sqrt(max(weight.shape)) * x
    return weight


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_muon_steps_hidden_matrices_and_adamw_the_rest(decay: float) -> None:
    net, same = (tiny_net(make_game("crew", {}), config=FEATURED) for _ in range(2))  # has features of actions
    before = {name: parameter.detach().clone() for name, parameter in net.named_parameters()}
    muon = Optimizer(net, LearnerConfig(optimizer="muon", weight_decay=decay))
    adamw = torch.optim.AdamW(same.parameters(), lr=0.01, betas=(0.9, 0.999), weight_decay=decay)
    generator, seen = torch.Generator().manual_seed(3), []
    for _ in range(3):
        gradients = {name: torch.randn(old.shape, generator=generator) for name, old in before.items()}
        seen.append(gradients)
        for network in (net, same):
            for name, parameter in network.named_parameters():
                parameter.grad = gradients[name].clone()
        muon.set_rate(0.01)
        muon.step()
        adamw.step()
    of_adamw, hidden = dict(same.named_parameters()), set()
    for name, parameter in net.named_parameters():
        expected = muon_step(before[name], [step[name] for step in seen], 0.01, decay) if parameter.ndim == 2 else None
        if torch.allclose(parameter, of_adamw[name], atol=1e-6):
            continue
        hidden.add(name)
        assert expected is not None
        moved = (expected - before[name]).abs().max()
        assert (parameter - expected).abs().max() < 1e-3 * moved, name
    layers = {
        f"transformer.h.{n}.{part}.weight"
        for n in range(2)
        for part in ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")
    }
    assert hidden == layers | {"lm_hidden.weight", "val_hidden.weight", "choice_hidden.weight"}


def test_moments_are_zeros_before_the_first_step_and_named_by_parameter() -> None:
    net = tiny_net(HeartsGame())
    moments = Optimizer(net, LearnerConfig(optimizer="muon")).moments(0)
    assert all(not moment.any() for moment in moments.values())
    assert {name for name in moments if name.endswith("lm_hidden.weight")} == {"momentum_buffer.lm_hidden.weight"}
    assert {name for name in moments if name.endswith("lm_head.weight")} == {
        "exp_avg.lm_head.weight",
        "exp_avg_sq.lm_head.weight",
    }


def test_several_batches_are_in_the_making_at_once_and_none_behind_the_end_is_made():
    together, made = threading.Barrier(3, timeout=30), set()

    def make(step):
        together.wait()
        made.add(step)
        return step

    batches = Prefetch(3)
    assert [batches.get(make, step, end=6) for step in range(6)] == [0, 1, 2, 3, 4, 5]
    assert made == set(range(6))


def test_what_goes_wrong_in_a_thread_is_raised_at_its_step():
    def make(step):
        if step == 2:
            raise ValueError("batch 2")
        return step

    batches = Prefetch(2)
    assert [batches.get(make, 0, 9), batches.get(make, 1, 9)] == [0, 1]
    with pytest.raises(ValueError, match="batch 2"):
        batches.get(make, 2, 9)


def test_training_with_threads_ends_in_the_same_bytes(tmp_path):
    shards = [branched_shard(GAME, tmp_path, 32)]
    written = {}
    for threads in (0, 3):
        loss = LossConfig(branch_weight=0.3, outcome_positions=4)
        config = LearnerConfig(batch_size=8, num_epochs=2, device="cpu", loss=loss, batch_threads=threads)
        train(GAME, TINY, config, shards, tmp_path / str(threads))
        written[threads] = (tmp_path / str(threads) / "model.safetensors").read_bytes()
    assert written[0] == written[3]


LENGTH, ROWS = 40, 3


@pytest.mark.parametrize(
    "config",
    [TransformerConfig(n_layer=2, n_head=2, n_embd=32), TransformerConfig(n_layer=1, n_head=4, n_embd=64, n_inner=96)],
    ids=["square", "narrow"],
)
def test_forward_flops_are_what_torch_counts(config: TransformerConfig) -> None:
    net = tiny_net(GAME, config=config)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        hidden = net.hidden(torch.zeros(ROWS, LENGTH, dtype=torch.long))
        net.next_token_logits(hidden)
        net.outcome_logits(hidden[:, ::2])
    # torch counts every matrix product but, on a CPU, not the attention: 4 E for every token that is seen.
    assert ROWS * LENGTH * forward_flops(net.arch, 0, 0.5) == counter.get_total_flops()
    attention = config.n_layer * 4 * config.n_embd * LENGTH
    assert forward_flops(net.arch, LENGTH, 0.5) == forward_flops(net.arch, 0, 0.5) + attention


def test_training_costs_three_times_the_forward_pass() -> None:
    arch = tiny_net(GAME).arch
    assert training_flops(arch, 39, 1.0) == 3 * forward_flops(arch, 20, 1.0)


def test_the_rate_of_matrix_products_is_a_rate() -> None:
    assert 1e8 < matmul_rate(torch.device("cpu"), torch.float32) < 1e15
