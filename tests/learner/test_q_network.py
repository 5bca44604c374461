"""Q-networks: their layers as paper 002 counts them, what they say, and what their checkpoints refuse."""

import numpy as np
import pytest
import torch
from torch import nn

from games.features import StateFeatures
from games.hearts.game import HeartsGame
from games.rng import derive_many
from learner.config import EngineConfig
from learner.model.checkpoint import save_weights
from learner.q_network.compiled import FEW
from learner.q_network.engine import QEngine
from learner.q_network.kind import KIND as Q_KIND
from tests.learner.material import NO_PASS, tiny_q_net

GAME = HeartsGame(**NO_PASS)


def positions(count: int) -> tuple[np.ndarray, np.ndarray]:
    """States of random play, twenty cards into the deal, and who is to act."""
    states, rng = GAME.deal(derive_many(1, count)), np.random.default_rng(1)
    for _ in range(20):
        legal = GAME.legal(states)
        GAME.play(states, np.where(legal, rng.random(legal.shape), -1).argmax(axis=1))
    return states, GAME.to_move(states)


@pytest.mark.parametrize(("kind", "hidden", "skips"), [("fc", 3, 0), ("pv16", 16, 5), ("pv24", 24, 9)])
def test_layers_and_skip_connections_are_the_paper_s(kind: str, hidden: int, skips: int) -> None:
    net = tiny_q_net(GAME, architecture=kind)
    assert sum(isinstance(module, nn.Linear) for module in net.modules()) == hidden + 1
    weights = 472 * 8 + (hidden - 1) * 8 * 8 + 8 * 61
    assert sum(parameter.numel() for parameter in net.parameters()) == weights + hidden * 8 + 61
    # Layers that pass on what they get: behind each skip connection there is twice as much.
    with torch.no_grad():
        for layer in (*net.plain[1:], *net.around):
            layer.weight.copy_(torch.eye(8))
        net.plain[0].weight.fill_(1.0)
        net.head.weight.fill_(1.0)
        x = torch.zeros(1, 472, dtype=torch.uint8)
        x[0, 7] = 1
        assert net(x).tolist() == [[8.0 * 2**skips] * 61]


@pytest.mark.parametrize("kind", ["fc", "pv24"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_engine_says_what_the_network_says_however_states_are_batched(kind, precision, tmp_path) -> None:
    net = tiny_q_net(GAME, architecture=kind, width=32)
    save_weights(tmp_path / "q", net, GAME)
    states, seats = positions(FEW + 23)
    whole = QEngine(Q_KIND.load(tmp_path / "q", GAME), GAME, EngineConfig(device="cpu", precision=precision)).values(
        states, seats
    )
    small = QEngine(
        Q_KIND.load(tmp_path / "q", GAME), GAME, EngineConfig(device="cpu", precision=precision, max_batch=37)
    )
    single = np.concatenate([small.values(states[i : i + 1], seats[i : i + 1]) for i in range(len(states))])
    assert whole.shape == (len(states), 61) and whole.dtype == np.float32
    np.testing.assert_allclose(small.values(states, seats), whole, atol=1e-5 if precision == "fp32" else 0.05)
    np.testing.assert_allclose(single, whole, atol=1e-5 if precision == "fp32" else 0.05)
    np.testing.assert_array_equal(small.values(states[:FEW], seats[:FEW]), single[:FEW])  # to the bit on a CPU
    with torch.no_grad():
        plain = net(torch.from_numpy(GAME.state_features.encode(states, seats)))
    np.testing.assert_allclose(whole, plain.numpy(), atol=1e-5 if precision == "fp32" else 0.1)
    np.testing.assert_allclose(single, plain.numpy(), atol=1e-5)
    assert np.abs(whole[0] - whole[1]).max() > 0.1 and len(small.values(states[:0], seats[:0])) == 0


def test_fresh_deep_networks_say_numbers_of_the_size_of_shallow_ones() -> None:
    states, seats = positions(50)
    numbers = torch.from_numpy(GAME.state_features.encode(states, seats))
    kinds = ("fc", "pv16", "pv24")
    sizes = [tiny_q_net(GAME, architecture=kind, width=64)(numbers).std().item() for kind in kinds]
    one, other = (tiny_q_net(GAME, seed).head.weight for seed in (1, 2))
    assert max(sizes) < 4 * min(sizes) and one.ne(other).any()


# ---- checkpoints


def test_a_checkpoint_is_refused_with_other_rules_or_numbers_of_another_version(tmp_path, monkeypatch) -> None:
    save_weights(checkpoint := tmp_path / "q", tiny_q_net(GAME), GAME)
    with pytest.raises(ValueError, match="game_options is"):
        Q_KIND.load(checkpoint, HeartsGame())
    old = GAME.state_features
    monkeypatch.setattr(GAME, "state_features", StateFeatures(old.description, old.size, old.encode, version=2))
    with pytest.raises(ValueError, match="features_version is 1, and hearts has 2 by now; train again"):
        Q_KIND.load(checkpoint, GAME)
    monkeypatch.setattr(GAME, "state_features", None)
    with pytest.raises(ValueError, match="hearts has no numbers for a whole deal"):
        Q_KIND.load(checkpoint, GAME)
