"""A critic that is told true states: its targets by hand, what it is told, that nothing of it reaches a player."""

import ast
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from cluster.errors import UserError
from games.hearts.game import HeartsGame
from games.shards import read_shard, write_shard
from learner import export
from learner.config import EngineConfig, LearnerConfig, check_policy_settings
from learner.inference.engine import QueryEngine
from learner.model.checkpoint import load_weights
from learner.model.rule_inputs import Rules
from learner.observation_model import EMPTY
from learner.q_network.bits import unpacked
from learner.training.batches import make_batch
from learner.training.critic import Critic
from learner.training.data import TrainingData, load_data
from learner.training.loss import losses
from learner.training.policy_gradient import Decisions, PolicyGradient, advantages
from learner.training.sequences import SequenceObjective
from tests.learner.material import TINY, tiny_net, train
from tests.learner.test_parallel import MODEL, assert_same_training, together
from tests.learner.test_policy_gradient import played
from tests.learner.test_train import KilledError, contents, killing_at, without_clocks
from tests.test_imports import imports, modules, source_of

CPU, GAME = torch.device("cpu"), HeartsGame()
LEARNER = LearnerConfig(
    policy_targets="gradient",
    policy_temperature=0.4,
    critic_width=8,
    advantage_lambda=0.5,
    learning_rate=3e-3,
    num_epochs=2,
    batch_size=8,
    device="cpu",
    checkpoint_every_steps=3,
    log_every_steps=2,
)


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Of two iterations: 8 deals each, by networks of random weights."""
    directory = tmp_path_factory.mktemp("shards")
    return [played(GAME, directory, iteration, 8) for iteration in (1, 2)]


def loaded(shards: list[str]) -> TrainingData:
    return load_data(GAME, shards, 1, CPU, policy_targets="gradient", max_staleness=1, critic_width=8)


# ---- targets


def test_advantages_of_a_critic_are_the_sums_of_expected_sarsa() -> None:
    """A seat decides three times and the deal comes to 1. With lambda 1/2 the errors are 0.2 - 0.7, 0.9 - 0.1 and
    1 - 1.2, so G is 0.7 - 0.5 + 0.4 - 0.05, 0.1 + 0.8 - 0.1 and 1.2 - 0.2; A is G - V."""
    values, played = torch.tensor([0.5, 0.2, 0.9]), torch.tensor([0.7, 0.1, 1.2])
    gains = advantages(values, torch.tensor([1.0]), torch.zeros(3, dtype=torch.long), 0.5, played)
    torch.testing.assert_close(gains, torch.tensor([0.55 - 0.5, 0.8 - 0.2, 1.0 - 0.9]))


def test_with_lambda_0_the_target_is_the_next_value_and_with_1_the_end_less_the_luck_of_later_draws() -> None:
    values, played, ends = torch.rand(5), torch.rand(5), torch.rand(2)
    row = torch.tensor([0, 0, 0, 1, 1])
    following = torch.tensor([values[1], values[2], ends[0], values[4], ends[1]])
    torch.testing.assert_close(advantages(values, ends, row, 0.0, played), following - values)
    luck = played - values
    later = torch.stack([luck[1] + luck[2], luck[2], torch.tensor(0.0), luck[4], torch.tensor(0.0)])
    torch.testing.assert_close(advantages(values, ends, row, 1.0, played), ends[row] - later - values)


def test_an_exact_critic_leaves_no_noise_of_later_actions() -> None:
    """Each of ten decisions is a coin for a point. Whatever is drawn later, an advantage is half a point."""
    coins = torch.randint(0, 2, (10,)).float()
    before = torch.cumsum(coins, 0) - coins
    left = torch.arange(10, 0, -1)
    values, played = before + left / 2, before + coins + (left - 1) / 2
    gains = advantages(values, coins.sum()[None], torch.zeros(10, dtype=torch.long), 1.0, played)
    torch.testing.assert_close(gains, coins - 0.5)
    assert coins.sum() - values[0] == pytest.approx(float(coins.sum()) - 5.0), "without one it is the deal's whole luck"


def test_the_policy_follows_the_critic_and_neither_teaches_the_other() -> None:
    """One decision of two actions, equally likely by the policy. The outcome head expects 2 and the critic adds 1 and
    -2, so q is 3 and 0 and V is 1.5. The deal comes to 3.5: the advantage is 2, and the critic's error 3 - 3.5."""
    settings = PolicyGradient(torch.tensor([0.5, 3.5]), 0.2, 0.0, 0.0, 1.0, 1.0)
    decisions = Decisions(*(torch.tensor(part) for part in ([0], [0], [0], [0.5], [[True, True]])))
    logits, told = torch.zeros(1, 2, requires_grad=True), torch.tensor([[1.0, -2.0]], requires_grad=True)
    outcomes = torch.zeros(1, 2, requires_grad=True)
    terms = settings.terms(decisions, logits, outcomes, torch.tensor([1]), None, told)
    assert terms.errors is not None and (terms.loss.item(), terms.errors.item()) == (-2.0, 0.25)
    by_policy = torch.autograd.grad(terms.loss.sum(), (outcomes, told), retain_graph=True, allow_unused=True)
    *by_critic, own = torch.autograd.grad(terms.errors.sum(), (logits, outcomes, told), allow_unused=True)
    assert (*by_policy, *by_critic) == (None,) * 4
    torch.testing.assert_close(own, torch.tensor([[-1.0, 0.0]]))


@pytest.mark.parametrize("trace", [0.0, 0.5, 1.0])
def test_a_fresh_critic_gives_the_advantages_of_none(shards: list[str], trace: float) -> None:
    data, net, critic = loaded(shards), tiny_net(GAME, seed=1), Critic.of(GAME, LEARNER, 1)
    gradient = PolicyGradient.of(GAME, replace(LEARNER, advantage_lambda=trace), CPU)
    batch = make_batch(data, data.training[:9], Rules(GAME, net.arch), gradient=gradient)
    with_one, without = losses(net, batch, gradient, critic=critic).terms, losses(net, batch, gradient).terms
    assert with_one is not None and without is not None
    torch.testing.assert_close(with_one.loss, without.loss, atol=1e-5, rtol=1e-5)


# ---- what it is told


def test_the_states_of_a_batch_are_the_true_ones_before_the_decisions(shards: list[str]) -> None:
    data, rows = loaded(shards), np.array([37, 2, 63, 9])
    batch = make_batch(data, rows, Rules(GAME, tiny_net(GAME).arch), gradient=PolicyGradient.of(GAME, LEARNER, CPU))
    assert batch.drawn is not None and batch.drawn.states is not None and GAME.state_features is not None
    told = unpacked(batch.drawn.states, GAME.state_features.size).numpy()
    expected = []
    for row in rows:
        sequences = read_shard(shards[row // 32], GAME)
        seats = np.flatnonzero(sequences.game == sequences.game[row % 32])
        assert sequences.probabilities is not None and sequences.seat[seats].tolist() == [0, 1, 2, 3]
        state = GAME.deal(sequences.deal_seed[[row % 32]])
        while (seat := int(GAME.to_move(state)[0])) >= 0:
            place = GAME.histories(state, np.array([seat]))[1][0]
            if seat == sequences.seat[row % 32] and sequences.probabilities[row % 32, place] > 0:
                expected.append(GAME.state_features.encode(state, np.array([seat]))[0])
            GAME.play(state, sequences.tokens[seats[seat], [place]])
    np.testing.assert_array_equal(told, expected)


def test_the_critic_s_answers_do_not_depend_on_the_batch() -> None:
    critic = Critic.of(GAME, LEARNER, seed=1)
    assert critic is not None
    bits = torch.randint(0, 256, (9, 59), dtype=torch.uint8)
    torch.nn.init.normal_(critic.head.weight)
    together_, alone = critic.corrections(bits), critic.corrections(bits[4:5])
    assert together_.shape == (9, GAME.vocabulary.size)
    torch.testing.assert_close(alone[0], together_[4])


def test_it_learns_and_says_how_well(shards: list[str], tmp_path: Path) -> None:
    learner = replace(LEARNER, num_epochs=12, critic_learning_rate=1e-2, log_every_steps=4)
    metrics = train(GAME, TINY, learner, shards, tmp_path / "out")
    history = json.loads((tmp_path / "out/training/state.json").read_text())["history"]
    assert metrics["critic_loss"] < 0.5 * history[0]["critic_loss"]


def test_without_a_critic_nothing_of_it_is_recorded(shards: list[str], tmp_path: Path) -> None:
    metrics = train(GAME, TINY, replace(LEARNER, critic_width=0), shards, tmp_path / "out")
    state = json.loads((tmp_path / "out/training/state.json").read_text())
    assert not any("critic" in key for key in (*state["settings"], *metrics, *contents(tmp_path / "out")))


# ---- killed, and gone on with


@pytest.mark.parametrize("kills", [(2,), (4, 8, 14), (6, 6, 12)])
def test_a_killed_training_ends_in_the_same_bytes(shards: list[str], tmp_path: Path, kills: tuple[int, ...]) -> None:
    first = tmp_path / "first"
    train(GAME, TINY, replace(LEARNER, max_steps=2), shards, first)
    train(GAME, TINY, LEARNER, shards, tmp_path / "alone", first, 7)
    for step in kills:
        with pytest.raises(KilledError):
            train(GAME, TINY, LEARNER, shards, tmp_path / "killed", first, 7, killing_at(step))
    train(GAME, TINY, LEARNER, shards, tmp_path / "killed", first, 7)
    files, _ = without_clocks(tmp_path / "alone")
    assert "training/critic.safetensors" in files
    assert without_clocks(tmp_path / "killed") == without_clocks(tmp_path / "alone")


def test_the_next_training_goes_on_with_the_critic_of_the_weights_it_starts_from(
    shards: list[str], tmp_path: Path
) -> None:
    train(GAME, TINY, replace(LEARNER, max_steps=2), shards, tmp_path / "first")
    still = replace(LEARNER, max_steps=1, critic_learning_rate=1e-30, weight_decay=0.0)
    train(GAME, TINY, still, shards, tmp_path / "second", tmp_path / "first", 5)
    first, second = (load_file(tmp_path / name / "training/critic.safetensors") for name in ("first", "second"))
    assert first["head.weight"].any()
    torch.testing.assert_close(second, first, rtol=0, atol=1e-25)
    shutil.copytree(tmp_path / "first", tmp_path / "bare")
    (tmp_path / "bare/training/critic.safetensors").unlink()
    train(GAME, TINY, still, shards, tmp_path / "third", tmp_path / "bare", 5)
    fresh = Critic.of(GAME, still, 5)
    assert fresh is not None
    third = load_file(tmp_path / "third/training/critic.safetensors")
    torch.testing.assert_close(third["plain.0.weight"], fresh.plain[0].weight.detach(), rtol=0, atol=1e-25)
    with pytest.raises(ValueError, match="was trained with critic="):
        train(GAME, TINY, still, shards, tmp_path / "third", tmp_path / "first", 5)


def test_a_critic_that_does_not_fit_or_is_damaged_is_refused(shards: list[str], tmp_path: Path) -> None:
    first, more = tmp_path / "first", replace(LEARNER, max_steps=1)
    train(GAME, TINY, more, shards, first)
    with pytest.raises(ValueError, match=r"learner\.critic_width=16: .*critic.safetensors has width 8; give that, or"):
        train(GAME, TINY, replace(more, critic_width=16), shards, tmp_path / "second", first)
    file = first / "training/critic.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(UserError, match=r"critic\.safetensors: is damaged"):
        train(GAME, TINY, more, shards, tmp_path / "second", first)
    assert not (tmp_path / "second").exists()


def test_a_critic_of_other_numbers_is_refused(shards: list[str], tmp_path: Path) -> None:
    first, more = tmp_path / "first", replace(LEARNER, max_steps=1)
    train(GAME, TINY, more, shards, first)
    with pytest.MonkeyPatch.context() as patched:
        assert GAME.state_features is not None
        patched.setattr(HeartsGame, "state_features", replace(GAME.state_features, version=2))
        with pytest.raises(UserError, match=r"critic\.safetensors: is told other numbers of a state than the game has"):
            train(GAME, TINY, more, shards, tmp_path / "second", first)


def test_learners_in_a_group_train_the_same_critic_as_one(tmp_path: Path) -> None:
    shards, learner = [played(GAME, tmp_path, count=16)], replace(LEARNER, max_steps=12, batch_size=15)
    train(GAME, MODEL, learner, shards, tmp_path / "alone", seed=7)
    metrics, _ = together(shards, tmp_path / "out", model=MODEL, learner=learner)
    assert metrics["critic_loss"] > 0
    assert_same_training(tmp_path / "out", tmp_path / "alone")
    ours, alone = (load_file(tmp_path / name / "training/critic.safetensors") for name in ("out", "alone"))
    torch.testing.assert_close(ours, alone, rtol=1e-3, atol=1e-5)


# ---- nothing of it reaches a player


def answers(checkpoint: Path, tokens: np.ndarray) -> bytes:
    """What a player's engine says of the beginnings of histories."""
    engine = QueryEngine(load_weights(checkpoint, GAME), GAME.outcomes.utility(""), EngineConfig(device="cpu"), GAME)
    answer = engine.query(
        np.full(len(tokens), EMPTY), tokens[:, :30].ravel(), np.full(len(tokens), 30), values=np.ones(len(tokens), bool)
    )
    return answer.next_token.tobytes() + answer.value.tobytes()


def test_players_answer_alike_with_without_and_with_a_broken_critic(
    shards: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tokens = read_shard(shards[0], GAME).tokens[:1]
    whole, bare, broken, sent = (tmp_path / name for name in ("whole", "bare", "broken", "sent"))
    train(GAME, TINY, replace(LEARNER, max_steps=2), shards, whole)
    for copy in (bare, broken):
        shutil.copytree(whole, copy)
    (bare / "training/critic.safetensors").unlink()
    (broken / "training/critic.safetensors").write_bytes(b"no tensors")
    assert answers(whole, tokens) == answers(bare, tokens) == answers(broken, tokens)
    assert not any("critic" in name or "plain" in name for name in load_file(whole / "model.safetensors"))
    assert export.main([str(whole), str(sent)]) == 0 and "sent" in capsys.readouterr().out
    assert sorted(contents(sent)) == ["config.json", "digests.json", "model.safetensors"]


def test_no_player_engine_or_generator_can_import_it() -> None:
    may = {"learner.training.critic", "learner.training.data", "learner.training.loss", "learner.training.sequences"}
    for module in modules():
        found = {item.module for item in imports(ast.parse(source_of(module)), module)}
        assert module in may or not any(name.startswith("learner.training.critic") for name in found), module


def test_the_network_reads_the_same_whatever_the_critic_is_told(shards: list[str]) -> None:
    """Only advantages differ: the states touch neither the outcome loss nor the policy's entropy."""
    data, net, critic = loaded(shards), tiny_net(GAME, seed=1), Critic.of(GAME, LEARNER, 1)
    assert critic is not None
    torch.nn.init.normal_(critic.head.weight)
    gradient = PolicyGradient.of(GAME, LEARNER, CPU)
    batch = make_batch(data, data.training[:5], Rules(GAME, net.arch), gradient=gradient)
    assert batch.drawn is not None and batch.drawn.states is not None
    other = replace(batch, drawn=replace(batch.drawn, states=batch.drawn.states.flip(0)))
    one, two = (losses(net, each, gradient=gradient, critic=critic) for each in (batch, other))
    assert one.terms is not None and two.terms is not None
    assert one.outcome == two.outcome and torch.equal(one.terms.entropy, two.terms.entropy)
    assert not torch.equal(one.terms.loss, two.terms.loss)


# ---- what is refused


def test_a_game_without_numbers_of_a_state_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HeartsGame, "state_features", None)
    with pytest.raises(ValueError, match=r"learner\.critic_width=8: hearts has no numbers for a whole deal"):
        SequenceObjective(GAME, TINY, LEARNER, 0)


def test_shards_that_lack_seats_or_are_not_of_their_seeds_are_refused(shards: list[str], tmp_path: Path) -> None:
    whole = read_shard(shards[0], GAME)
    keep = np.flatnonzero(whole.seat > 0)
    assert whole.probabilities is not None
    columns = {name: getattr(whole, name) for name in ("tokens", "outcome", "seat", "player", "deal_seed", "game")}
    part = {name: column[keep] for name, column in columns.items()}
    write_shard(tmp_path / "part.parquet", replace(whole, **part, probabilities=whole.probabilities[keep]), GAME, {})
    message = r"critic_width=8: .*part\.parquet: of deal 0 it holds seats \[1, 2, 3\].*selfplay\.population=false"
    with pytest.raises(UserError, match=message):
        train(GAME, TINY, LEARNER, [str(tmp_path / "part.parquet")], tmp_path / "out")
    write_shard(tmp_path / "other.parquet", replace(whole, deal_seed=whole.deal_seed + np.uint64(1)), GAME, {})
    with pytest.raises(
        UserError, match=r"other\.parquet: the histories of deal \d+ are not those of the cards that its"
    ):
        train(GAME, TINY, LEARNER, [str(tmp_path / "other.parquet")], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"critic_width": -1}, "learner.critic_width=-1"),
        ({"critic_learning_rate": 0.0}, "learner.critic_learning_rate=0.0: must be above 0"),
        ({"augment": True}, "learner.augment=True: must be false with critic_width"),
        ({"policy_targets": "none"}, r"learner\.policy_.*must be left out .* without learner\.policy_targets"),
        (
            {"critic_width": 0, "critic_learning_rate": 0.5},
            r"critic_learning_rate=0\.5: must be left out \(it is 0\.001\) without learner\.critic_width",
        ),
        (
            {"policy_targets": "advantage", "advantage_lambda": 1.0},
            r"critic_width=8: must be left out \(it is 0\) without learner\.policy_targets=gradient",
        ),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_policy_settings(replace(LEARNER, **settings))
