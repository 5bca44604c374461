"""Padding is masked, and the outcome loss at a few positions is unbiased."""

import numpy as np
import pytest
import torch

from games.hearts.game import HeartsGame
from learner.model.network import PolicyValueNet
from learner.training.loss import losses
from learner.training.prefixes import stratified_positions
from tests.learner.material import assembled, tiny_net


@pytest.fixture(scope="module")
def net() -> PolicyValueNet:
    return tiny_net(HeartsGame(), seed=1)


def batch(net, lengths, judged=None):
    """Random sequences with ``eos`` at their end and behind it."""
    eos, width, lengths = net.arch.vocab_size - 1, max(lengths), np.array(lengths)
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(0, eos, (len(lengths), width), generator=generator)
    tokens[torch.arange(width) >= torch.from_numpy(lengths)[:, None] - 1] = eos
    outcome = torch.randint(0, net.arch.num_outcomes, (len(lengths),), generator=generator)
    return assembled(tokens, lengths, outcome, judged)


def test_sequences_of_other_lengths_in_the_batch_do_not_change_a_sequence_s_share(net):
    whole = batch(net, [4, 9, 6, 2])
    sums = torch.zeros(2)
    for row, length in enumerate(whole.lengths.tolist()):
        mine = slice(row, row + 1)
        part = assembled(whole.tokens[mine, :length], np.array([length]), whole.outcome[mine])
        sums += torch.stack(list(losses(net, part).named().values())) * (length - 1)
    torch.testing.assert_close(torch.stack(list(losses(net, whole).named().values())), sums / len(whole.prefixes))


def test_every_prefix_is_expected_once_whatever_length_and_number_of_positions():
    # A fine grid stands for the uniform draw of each stratum: the expectation, up to the grid's resolution.
    grid = 2310 * 4
    draws = (np.arange(grid) + 0.5) / grid
    for length in (2, 3, 8, 12):
        for k in (1, 2, 5, 7, 11, 20):
            chosen = stratified_positions(np.repeat(draws[:, None], k, axis=1), np.full(grid, length))
            expected_count = np.bincount(chosen.ravel(), minlength=length - 1) / grid
            np.testing.assert_allclose(expected_count * (length - 1) / k, np.ones(length - 1), atol=2e-3)


def test_positions_stay_within_the_sequence_at_the_edges_of_the_draw():
    lengths = np.array([2, 75, 40])
    for edge in (0.0, 1.0 - 2**-53):
        chosen = stratified_positions(np.full((3, 8), edge), lengths)
        assert (chosen >= 0).all() and (chosen <= (lengths - 2)[:, None]).all()


def test_loss_and_gradient_at_few_positions_average_to_those_at_all_positions(net):
    weight, rng = net.val_hidden.weight, np.random.default_rng(5)

    def loss_and_gradient(judged=None):
        loss = losses(net, batch(net, [9, 4], judged)).outcome
        (gradient,) = torch.autograd.grad(loss, weight)
        return loss.detach(), gradient

    full_loss, full_gradient = loss_and_gradient()
    draws = [loss_and_gradient(stratified_positions(rng.random((2, 2)), np.array([9, 4]))) for _ in range(200)]
    sampled = torch.stack([loss for loss, _ in draws])
    standard_error = sampled.std() / len(draws) ** 0.5
    assert sampled.std() > 0
    assert abs(sampled.mean() - full_loss) < 4 * standard_error
    gradients = torch.stack([gradient for _, gradient in draws])
    distance = (gradients.mean(0) - full_gradient).norm()
    expected = (gradients.var(0).sum() / len(draws)).sqrt()
    assert distance < 1.5 * expected
