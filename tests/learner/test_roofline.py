"""The arithmetic of a token, counted by torch itself, and the rate it is compared with."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from games.hearts.game import HeartsGame
from learner.config import TransformerConfig
from learner.training.roofline import forward_flops, matmul_rate, training_flops
from tests.learner.material import tiny_net

GAME = HeartsGame()
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
