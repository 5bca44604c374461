"""The networks of paper 004 learn from shards, stop early, and can be killed."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from cluster.errors import UserError
from games.hearts.game import HeartsGame
from games.shards import Sequences, write_shard
from games.skat.game import SkatGame
from games.skat.policies.decisions import decisions_of
from games.skat.policies.points import CHOICE, DECISION_TYPES, DECLARE
from learner.config import EngineConfig, LearnerConfig
from learner.network_kind import TrainingSetup
from learner.skat_policies.architecture import NETWORKS, SkatPoliciesArchitecture, skat_policies_architecture
from learner.skat_policies.config import SkatPoliciesConfig
from learner.skat_policies.data import load_policies
from learner.skat_policies.engine import SkatPoliciesEngine
from learner.skat_policies.kind import KIND
from learner.skat_policies.network import SkatPolicies
from learner.skat_policies.objective import EarlyStopping, SkatPoliciesObjective, bid_errors
from learner.task import cut_short
from learner.training import loop
from tests.learner.material import check_resumes, skat_games, train, train_until

GAME = SkatGame()
SMALL = SkatPoliciesConfig(hidden=[16, 16, 16, 16, 8], patience=1)
CENSORED = replace(SMALL, bid_loss="censored")
SHARED = replace(SMALL, shared=True)
LEARNER = LearnerConfig(
    learning_rate=3e-3, schedule="constant", num_epochs=2, batch_size=8, weight_decay=0.0, grad_clip=0.0, device="cpu",
    checkpoint_every_steps=7, log_every_steps=5, max_steps=40,
)  # fmt: skip


@pytest.fixture(scope="module")
def games() -> Sequences:
    return skat_games()


@pytest.fixture(scope="module")
def shards(games: Sequences, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    path = tmp_path_factory.mktemp("policies") / "0.parquet"
    write_shard(path, games, GAME, {})
    return [str(path)]


def begun(shards: list[str], config: SkatPoliciesConfig, learner: LearnerConfig = LEARNER) -> SkatPoliciesObjective:
    objective = objective_of(shards, config, learner)
    objective.begin(loop.starting_network(objective.setup, None))
    return objective


def objective_of(
    shards: list[str], config: SkatPoliciesConfig, learner: LearnerConfig = LEARNER
) -> SkatPoliciesObjective:
    return SkatPoliciesObjective(TrainingSetup(KIND, GAME, config, learner, shards, 3))


def test_weights_are_as_many_as_the_paper_says() -> None:
    with torch.device("meta"):
        net = SkatPolicies(skat_policies_architecture(GAME, SkatPoliciesConfig()))
    numbers = [sum(weights.numel() for weights in part.parameters()) for part in net.nets]
    before, cards = numbers[:10], numbers[10:16]
    assert 2.3e6 < max(before) < 2.33e6 and 2.3e6 < max(cards) < 2.4e6  # "just over 2.3", "just under 2.4 million"
    assert len(numbers) == 18


def test_a_network_is_five_hidden_layers_with_dropout_behind_the_middle_three() -> None:
    torch.manual_seed(1)
    net = SkatPolicies(SkatPoliciesArchitecture((5, 6, 7, 8, 9), 0.4, "classic", False, 1)).nets[0]
    x, layers = torch.rand(3, DECISION_TYPES[0].bits), list(net.layers)
    plain = x
    for layer in layers[:-1]:
        plain = F.relu(plain @ layer.weight.T + layer.bias)
    torch.testing.assert_close(net(x), plain @ layers[-1].weight.T + layers[-1].bias)
    dropped = net(x, generator=torch.Generator().manual_seed(2))
    plain, generator = x, torch.Generator().manual_seed(2)
    for index, layer in enumerate(layers[:-1]):
        plain = F.relu(plain @ layer.weight.T + layer.bias)
        if index in (1, 2, 3):
            plain = plain * (torch.rand(plain.shape, generator=generator) >= 0.4) / 0.6
    torch.testing.assert_close(dropped, plain @ layers[-1].weight.T + layers[-1].bias)


def test_data_is_the_decisions_by_network_and_values_are_the_soloists(games: Sequences, shards: list[str]) -> None:
    data = load_policies(GAME, shards, LEARNER, "classic")
    found = decisions_of(games.tokens, (games.tokens != GAME.vocabulary.eos).sum(axis=1))
    for network in range(len(DECISION_TYPES)):
        rows = np.flatnonzero(found.point == network)
        own = slice(*data.first[network : network + 2])
        assert (data.bits[own] == found.bits[rows]).all() and (data.target[own] == found.label[rows]).all()
        assert np.isnan(data.value[own]).all()
    for network, point in ((16, CHOICE), (17, DECLARE)):
        rows = found.row[found.point == point]
        points = GAME.outcomes.points[games.outcome[rows], 0]
        won = points > 0
        assert (data.value[slice(*data.first[network : network + 2])] == np.where(won, points - 50, points + 50)).all()
    apart = data.of(3, data.validation)
    assert len(apart) and not set(apart) & set(data.of(3, data.training))


def test_limits_of_survivors_come_to_the_networks_of_bids_alone(games: Sequences, shards: list[str]) -> None:
    last = load_policies(GAME, shards, LEARNER, "classic")
    data = load_policies(GAME, shards, LEARNER, "classic", survivors=True)
    lengths = (games.tokens != GAME.vocabulary.eos).sum(axis=1)
    found = decisions_of(games.tokens, lengths, survivors=True)
    assert not last.censored.any() and not data.censored[data.first[2] :].any()
    for network in range(len(NETWORKS)):
        own, before = slice(*data.first[network : network + 2]), slice(*last.first[network : network + 2])
        known = ~data.censored[own]
        for name in ("bits", "numbers", "target", "value"):
            np.testing.assert_array_equal(getattr(data, name)[own][known], getattr(last, name)[before])
        bounds = found.censored & (found.point == network)
        assert (data.target[own][~known] == found.label[bounds]).all()
        assert (~known).sum() == bounds.sum() and bounds.any() == (network < 2)
        for some in ("training", "validation"):
            rows = data.known(network, getattr(data, some))
            assert len(rows) == len(last.of(network, getattr(last, some))) and not data.censored[rows].any()


def test_missing_ends_teach_no_values(games: Sequences, tmp_path: Path) -> None:
    paths = []
    for player in ("iss", "iss:partial"):
        paths.append(str(tmp_path / f"{player.replace(':', '-')}.parquet"))
        write_shard(paths[-1], replace(games, player=np.full(len(games), player, object)), GAME, {})
    counts = [np.diff(load_policies(GAME, [paths[0], path], LEARNER, "classic").first) for path in paths]
    assert (counts[0] == 2 * np.diff(load_policies(GAME, paths[:1], LEARNER, "classic").first)).all()
    alone = counts[0] // 2
    assert counts[1].tolist() == [*2 * alone[:16], *alone[16:]]  # a game that was not finished has no value


@pytest.mark.parametrize("config", [SMALL, CENSORED], ids=["last", "censored"])
def test_steps_follow_the_losses_of_all_networks_by_plain_torch(shards: list[str], config: SkatPoliciesConfig) -> None:
    objective, size = begun(shards, replace(config, dropout=0.0)), LEARNER.batch_size
    rows, data, expected = objective.rows(0), objective.data, []
    loss, parts = objective.losses(objective.batch(rows, 0).arrived())
    for network, point in enumerate(NETWORKS):
        batch = rows[size * network : size * (network + 1)]
        bits = np.unpackbits(data.bits[batch], axis=1, bitorder="little")[:, : point.bits]
        scaled = data.numbers[batch] / np.array([92, 22, 120, 120])
        x = np.concatenate([bits, scaled[:, : point.numbers]], axis=1)
        out = objective.net.nets[network](torch.tensor(x, dtype=torch.float32)).double()
        target, bounds = data.target[batch].tolist(), data.censored[batch]
        if network < len(DECISION_TYPES):
            assert (0 < bounds.sum() < size) == (config is CENSORED and network < 2)  # bids alone have some of either
            chances = zip(out.softmax(1), target, bounds, strict=True)
            likely = [row[limit:].sum() if bound else row[limit] for row, limit, bound in chances]
            expected.append(-torch.stack(likely).log().mean())
        else:
            expected.append(((out[range(size), target] - torch.tensor(data.value[batch]) / 100) ** 2).mean())
    wanted = torch.stack(expected).float()
    torch.testing.assert_close(torch.stack([parts[name] for name in objective.names]), wanted)
    torch.testing.assert_close(loss, wanted.sum())


def test_the_loss_of_a_bound_is_that_of_all_limits_from_it_on() -> None:
    """By hand: P = 0.1, 0.2, 0.3, 0.4 in every row."""
    out = torch.log(torch.tensor([[1.0, 2.0, 3.0, 4.0]] * 6)).requires_grad_()
    limit, censored = torch.tensor([2, 2, 1, 3, 0, 0]), torch.tensor([False, True, True, True, True, False])
    errors = bid_errors(out, limit, censored)
    expected = -np.log([0.3, 0.3 + 0.4, 0.2 + 0.3 + 0.4, 0.4, 1.0, 0.1])
    np.testing.assert_allclose(errors.detach().numpy(), expected, atol=1e-6)
    errors.sum().backward()
    assert out.grad is not None
    wanted = [
        [0.1, 0.2, 0.3 - 1, 0.4],
        [0.1, 0.2, 0.3 - 3 / 7, 0.4 - 4 / 7],
        [0.1, 0.2 - 2 / 9, 0.3 - 3 / 9, 0.4 - 4 / 9],
        [0.1, 0.2, 0.3, 0.4 - 1],
        [0, 0, 0, 0],
        [0.1 - 1, 0.2, 0.3, 0.4],
    ]
    np.testing.assert_allclose(out.grad.numpy(), wanted, atol=1e-6)


def test_the_loss_of_a_bound_is_finite_for_limits_that_seem_impossible() -> None:
    out = torch.tensor([[500.0, 0.0, -500.0], [500.0, 0.0, -500.0], [-500.0, 0.0, 500.0]], requires_grad=True)
    errors = bid_errors(out, torch.tensor([1, 2, 1]), torch.tensor([True, True, True]))
    assert errors.tolist() == [500, 1000, 0]
    errors.sum().backward()
    assert out.grad is not None and out.grad.tolist() == [[1, -1, 0], [1, 0, -1], [0, 0, 0]]


@pytest.mark.parametrize(("before", "now"), [(SMALL, CENSORED), pytest.param(CENSORED, SMALL, marks=pytest.mark.slow)])
def test_a_training_does_not_go_on_with_another_loss_of_bids(shards, tmp_path, before, now):
    train_until(10, GAME, before, LEARNER, shards, tmp_path / "net")
    for _ in range(2):  # what is begun, and what is finished
        with pytest.raises(UserError, match=r"was trained with .*model\.bid_loss.*, now .*model\.bid_loss"):
            train(GAME, now, LEARNER, shards, tmp_path / "net")
        train(GAME, before, LEARNER, shards, tmp_path / "net")


def test_a_network_that_gets_no_better_stops_with_its_best_weights(shards: list[str]) -> None:
    objective = begun(shards, SMALL, replace(LEARNER, num_epochs=4, max_steps=0))
    net, best, steps = objective.net, objective.target, objective._epochs
    for network, losses in {0: [1.0, 0.5, 0.7], 1: [3.0, 2.0, 1.0, 0.5]}.items():  # the first gets worse at its third
        part = net.nets[network]
        for epoch, loss in enumerate(losses):
            with torch.no_grad():
                part.layers[0].bias.fill_(epoch)
            best.judge([network], net, loss, patience=1, last=epoch == 3)
    assert best.stopped[:3].tolist() == [1, 1, 0] and best.loss[:2].tolist() == [0.5, 0.5]
    assert net.nets[0].layers[0].bias[0] == 1 and net.nets[1].layers[0].bias[0] == 3
    rows = objective.rows(steps[2])
    assert len(rows) == 16 * LEARNER.batch_size and not set(rows) & set(objective.data.of(0, objective.data.training))
    parts = objective.losses(objective.batch(rows, steps[2]).arrived())[1]
    assert parts["bid"] == 0 and parts["choice"] > 0


def test_one_network_with_18_heads_stops_as_one_with_its_best_weights(shards: list[str]) -> None:
    objective = begun(shards, SHARED)
    net, best = objective.net, objective.target
    for epoch, loss in enumerate([1.0, 0.5, 0.7]):
        for part in (net.trunk[0], net.nets[3].layers[0]):
            torch.nn.init.constant_(part.bias, epoch)
        best.judge(range(18), net, loss, patience=1, last=False)
    assert objective.finished and best.loss.tolist() == [0.5] * 18
    assert net.trunk[0].bias[0] == 1 and net.nets[3].layers[0].bias[0] == 1


def test_networks_are_judged_at_the_end_of_their_own_epochs(shards, tmp_path, monkeypatch):
    judged: list[int] = []
    config = replace(LEARNER, num_epochs=2, max_steps=60)
    objective = objective_of(shards, replace(SMALL, patience=9), config)
    keep = EarlyStopping.judge

    def noted(self: EarlyStopping, networks: list[int], *rest: object, **more: object) -> None:
        judged.extend(networks)
        keep(self, networks, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(EarlyStopping, "judge", noted)
    loop.train(objective, tmp_path / "net")
    for network, epoch in enumerate(objective._epochs):  # at most two epochs, and what the last step leaves unfinished
        assert judged.count(network) == min(2, 60 // epoch + (60 % epoch > 0)), (network, epoch)


def test_the_end_of_a_training_leaves_the_best_weights_of_all(shards: list[str], tmp_path: Path) -> None:
    objective = objective_of(shards, SMALL)
    metrics = loop.train(objective, tmp_path / "net")
    assert objective.finished and metrics["step"] == LEARNER.max_steps
    for name, steps in zip(objective.names, objective._epochs, strict=True):  # patience ends none in so few
        assert metrics[f"{name}.epochs"] == pytest.approx(min(LEARNER.max_steps / steps, LEARNER.num_epochs))
    few, steps = objective.names[11], LEARNER.max_steps / objective._epochs[11]
    assert steps < 1 and f" {few} {steps:.1f}" in cut_short(metrics) and "null" not in cut_short(metrics)
    assert cut_short(dict.fromkeys(metrics, 1.0)) == ""
    for network, point in enumerate(NETWORKS):
        loss, _ = objective._mean_error(network, objective.data.of(network, objective.data.validation))
        assert loss == pytest.approx(objective.target.loss[network].item(), rel=1e-4)
        assert metrics[f"validation_{point.name}"] == pytest.approx(loss, rel=1e-4)
    assert metrics["bid.decisions"] > 1000 and 0 < metrics["bid.test_accuracy"] <= 1


def test_one_network_with_18_heads_has_its_middle_in_common(shards: list[str], tmp_path: Path) -> None:
    objective = objective_of(shards, SHARED)
    loop.train(objective, tmp_path / "net")
    net, x = objective.net, torch.rand(3, DECISION_TYPES[4].bits)
    assert [part.weight.shape for part in net.trunk] == [(16, 16), (16, 16), (16, 16), (8, 16)]
    plain = x
    for layer in (net.nets[4].layers[0], *net.trunk):
        plain = F.relu(plain @ layer.weight.T + layer.bias)
    last = net.nets[4].layers[1]
    torch.testing.assert_close(net(4, x), plain @ last.weight.T + last.bias)
    engine = SkatPoliciesEngine(KIND.load(tmp_path / "net", GAME), EngineConfig("cpu"))
    bits = np.zeros((2, 385), np.uint8)
    expected = torch.softmax(net(4, torch.zeros(2, DECISION_TYPES[4].bits)), dim=1).detach().numpy()
    np.testing.assert_allclose(engine.probabilities(4, bits, np.zeros((2, 4), np.uint8)), expected, rtol=1e-5)
    with pytest.raises(UserError, match=r"was trained with model\.shared"):
        loop.train(objective_of(shards, SMALL), tmp_path / "net")


@pytest.mark.parametrize(
    "config", [SMALL, *(pytest.param(config, marks=pytest.mark.slow) for config in (CENSORED, SHARED))]
)
def test_a_killed_training_ends_in_the_same_bytes(shards, tmp_path, config):
    check_resumes(partial(train, GAME, config, LEARNER, shards), tmp_path, kills=(6, 25))


def test_what_cannot_be_learned_from_is_named(games: Sequences, tmp_path: Path) -> None:
    few = Sequences(games.tokens[:30], games.outcome[:30], games.seat[:30], games.player[:30], games.deal_seed[:30],
                    games.game[:30])  # fmt: skip
    write_shard(tmp_path / "few.parquet", few, GAME, {})
    with pytest.raises((UserError, ValueError), match=r"the network \w+ has \d+ decisions .* add games"):
        train(GAME, SMALL, LEARNER, [str(tmp_path / "few.parquet")], tmp_path / "net")
    wrong = np.array(games.tokens[:30])
    wrong[7, 12:14] = 5, 100  # cards where there is nothing to play
    write_shard(tmp_path / "wrong.parquet", replace(few, tokens=wrong), GAME, {})
    with pytest.raises(ValueError, match=r"wrong\.parquet: row 7 is no history of skat"):
        load_policies(GAME, [str(tmp_path / "wrong.parquet")], LEARNER, "classic")
    with pytest.raises(ValueError, match="networks for skat, not hearts"):
        skat_policies_architecture(HeartsGame(), SMALL)
    with pytest.raises(ValueError, match=r"scoring=classic"):
        skat_policies_architecture(SkatGame(scoring="classic"), SMALL)


def test_the_engine_answers_as_the_network(shards: list[str], tmp_path: Path) -> None:
    train(GAME, SMALL, LEARNER, shards, tmp_path / "net")
    engine = SkatPoliciesEngine(KIND.load(tmp_path / "net", GAME), EngineConfig(device="cpu", max_batch=3))
    net, data = KIND.load(tmp_path / "net", GAME), objective_of(shards, SMALL).data
    for network, point in ((2, CHOICE), (11, 11), (17, DECLARE)):
        rows = np.arange(data.first[network], data.first[network] + 7)
        bits = np.unpackbits(data.bits[rows], axis=1, bitorder="little")[:, :385]
        wide = bits[:, : NETWORKS[network].bits].astype(np.float32)
        if NETWORKS[network].numbers:
            wide = np.concatenate([wide, data.numbers[rows] / np.float32([92, 22, 120, 120])], axis=1)
        out = net.nets[network](torch.from_numpy(wide))
        if network < len(DECISION_TYPES):
            found, expected = engine.probabilities(point, bits, data.numbers[rows]), torch.softmax(out, 1)
        else:
            found, expected = engine.values(point, bits, data.numbers[rows]), 100 * out
        np.testing.assert_allclose(found, expected.detach().numpy(), atol=1e-4)
