"""Sums that leave out zeros against products that compute everything. Weights are whole numbers, so that sums are the
same in every order."""

import itertools

import numpy as np
import pytest
import torch

from games.game import Game
from games.registry import make_game
from games.rng import derive_many
from learner.config import TransformerConfig
from learner.model.architecture import architecture
from learner.model.feature_sums import feature_sums
from learner.model.network import PolicyValueNet, initialise
from learner.model.rule_inputs import Rules

GAMES = ("hearts", "skat", "crew")


def told(game: Game, deals: int) -> tuple[PolicyValueNet, torch.Tensor]:
    """A network with all features and weights of whole numbers; ``uint8[N, F]`` features of all prefixes of a seat's
    histories."""
    net = PolicyValueNet(architecture(game, TransformerConfig(n_layer=1, n_head=1, n_embd=16, features=["all"])))
    initialise(net, 1)
    with torch.no_grad():
        net.feature_embeddings.weight.mul_(100).round_()
    states = game.deal(derive_many(1, deals))
    game.playout(states, derive_many(2, deals))
    tokens, _ = game.histories(states, np.zeros(deals, np.int64))
    views = game.prefixes(tokens).reshape(-1)
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
