"""Padding is masked, and the outcome loss at a few positions is unbiased."""

import pytest
import torch

from games.hearts.game import HeartsGame
from learner.model.network import PolicyValueNet
from learner.training.data import Batch
from learner.training.loss import losses, stratified_positions
from tests.learner.material import tiny_net


@pytest.fixture(scope="module")
def net() -> PolicyValueNet:
    return tiny_net(HeartsGame(), seed=1)


def batch(net, lengths):
    """Random sequences with ``eos`` at their end and behind it."""
    eos, lengths = net.arch.vocab_size - 1, torch.tensor(lengths)
    width = int(lengths.max())
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(0, eos, (len(lengths), width), generator=generator)
    tokens[torch.arange(width) >= lengths[:, None] - 1] = eos
    outcome = torch.randint(0, net.arch.num_outcomes, (len(lengths),), generator=generator)
    return Batch(tokens, lengths, outcome, int((lengths - 1).sum()))


def test_sequences_of_other_lengths_in_the_batch_do_not_change_a_sequence_s_share(net):
    whole = batch(net, [4, 9, 6, 2])
    sums = torch.zeros(2)
    for row, length in enumerate(whole.lengths.tolist()):
        mine = slice(row, row + 1)
        part = Batch(whole.tokens[mine, :length], whole.lengths[mine], whole.outcome[mine], length - 1)
        sums += torch.stack(losses(net, part)) * (length - 1)
    torch.testing.assert_close(torch.stack(losses(net, whole)), sums / whole.num_prefixes)


def test_every_prefix_is_expected_once_whatever_length_and_number_of_positions():
    # A fine grid stands for the uniform draw of each stratum: the expectation, up to the grid's resolution.
    grid = 2310 * 4
    draws = (torch.arange(grid, dtype=torch.float64) + 0.5) / grid
    for length in (2, 3, 8, 12):
        for k in (1, 2, 5, 7, 11, 20):
            chosen = stratified_positions(draws[:, None].expand(grid, k), torch.full((grid,), length))
            expected_count = torch.bincount(chosen.flatten(), minlength=length - 1) / grid
            weight = (length - 1) / k
            torch.testing.assert_close(expected_count * weight, torch.ones(length - 1), atol=2e-3, rtol=0)


def test_positions_stay_within_the_sequence_at_the_edges_of_the_draw():
    lengths = torch.tensor([2, 75, 40])
    for edge in (0.0, 1.0 - 2**-24):
        chosen = stratified_positions(torch.full((3, 8), edge), lengths)
        assert (chosen >= 0).all() and (chosen <= (lengths - 2)[:, None]).all()


def test_loss_and_gradient_at_few_positions_average_to_those_at_all_positions(net):
    two = batch(net, [9, 4])
    weight = net.val_hidden.weight

    def loss_and_gradient(positions, generator=None):
        loss = losses(net, two, outcome_positions=positions, generator=generator).outcome
        (gradient,) = torch.autograd.grad(loss, weight)
        return loss.detach(), gradient

    full_loss, full_gradient = loss_and_gradient(0)
    generator = torch.Generator().manual_seed(5)
    draws = [loss_and_gradient(2, generator) for _ in range(200)]
    sampled = torch.stack([loss for loss, _ in draws])
    standard_error = sampled.std() / len(draws) ** 0.5
    assert sampled.std() > 0
    assert abs(sampled.mean() - full_loss) < 4 * standard_error
    gradients = torch.stack([gradient for _, gradient in draws])
    distance = (gradients.mean(0) - full_gradient).norm()
    expected = (gradients.var(0).sum() / len(draws)).sqrt()
    assert distance < 1.5 * expected


def test_positions_without_a_generator_are_refused(net):
    with pytest.raises(ValueError, match="needs a generator"):
        losses(net, batch(net, [5]), outcome_positions=2)
