"""Training learns, from the data and with the settings it is given."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
import torch

from cluster.errors import UserError
from cluster.files import storage
from games.config import GameConfig
from games.hearts.game import HeartsGame
from games.rng import derive_many
from learner.config import LearnerConfig
from learner.model.architecture import architecture
from learner.model.checkpoint import checkpoint_id, load_weights
from learner.model.network import precision_of
from learner.model.rule_inputs import Rules
from learner.model.shapes import few_widths
from learner.task import KERNELS_KEPT, TrainingTask, run_task
from learner.training.batches import Recipe, make_batch
from learner.training.data import held_out, load_data
from learner.training.loop import learning_rate
from learner.training.loss import losses
from learner.training.objective import epoch_order
from learner.training.policies.policy import PLAYED
from learner.training.prefixes import stratified_positions
from learner.training.resume import partial_path
from tests.learner.material import assembled, changed, shard_of, tiny_net, train, train_until
from tests.learner.test_resume import LEARNER, MODEL
from tests.selfplay.commands import here

GAME = HeartsGame()


@pytest.fixture(scope="module")
def shards(tmp_path_factory) -> list[str]:
    directory = tmp_path_factory.mktemp("shards")
    return [shard_of(GAME, directory, 32, seed) for seed in (1, 2)]


def test_other_seeds_give_other_weights(shards, tmp_path):
    for seed in (1, 2):
        train(GAME, MODEL, replace(LEARNER, max_steps=1), shards, tmp_path / str(seed), seed=seed)
    assert checkpoint_id(tmp_path / "1") != checkpoint_id(tmp_path / "2")


def test_training_lowers_both_losses_and_the_recorded_history_shows_it(shards, tmp_path):
    learner = changed(LEARNER, num_epochs=12, learning_rate=1e-2, batch_size=32, outcome_positions=4)
    model = replace(MODEL, embd_pdrop=0.0, resid_pdrop=0.0)
    metrics = train(GAME, model, learner, shards, tmp_path / "out")
    history = json.loads((tmp_path / "out" / "training" / "state.json").read_text())["history"]
    assert metrics["observation_loss"] < history[0]["observation_loss"] - 0.5
    assert metrics["outcome_loss"] < history[0]["outcome_loss"] - 0.5
    assert metrics["step"] == metrics["num_steps"] == history[-1]["step"]
    assert metrics["tokens_per_second"] > 0 and metrics["sequences"] == 256


def test_bf16_trains_and_follows_fp32_closely(shards, tmp_path):
    learner = replace(LEARNER, max_steps=4)
    both = [
        train(GAME, MODEL, replace(learner, precision=precision), shards, tmp_path / precision)
        for precision in ("fp32", "bf16")
    ]
    assert both[0]["loss"] == pytest.approx(both[1]["loss"], rel=1e-2)


def test_auto_takes_the_precision_that_suits_the_device_and_is_held_to_it(shards, tmp_path, monkeypatch):
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.setattr(f"torch.cpu.{name}", lambda: False)
    learner = replace(LEARNER, max_steps=4, precision="auto")
    out = tmp_path / "out"
    train_until(0, GAME, MODEL, replace(learner, checkpoint_every_steps=1), shards, out)
    monkeypatch.setattr("torch.cpu._is_avx512_bf16_supported", lambda: True)
    with pytest.raises(ValueError, match=r"learner\.precision"):
        train(GAME, MODEL, learner, shards, out)
    assert precision_of("auto", torch.device("cuda")) == "bf16"
    assert precision_of("fp32", torch.device("cuda")) == "fp32"
    monkeypatch.delattr("torch.cpu._is_avx512_bf16_supported")  # an older torch
    assert precision_of("auto", torch.device("cpu")) == "fp32"


def test_whole_deals_are_held_out_and_validated(tmp_path):
    learner = replace(LEARNER, batch_size=8, max_steps=2)
    metrics = train(GAME, MODEL, learner, [shard_of(GAME, tmp_path, 300)], tmp_path / "out")
    assert metrics["validation_sequences"] + metrics["sequences"] == 1200
    assert metrics["validation_sequences"] % 4 == 0
    assert metrics["validation_loss"] == pytest.approx(
        0.9 * metrics["validation_observation_loss"] + 0.1 * metrics["validation_outcome_loss"]
    )


def test_one_deal_in_a_hundred_is_held_out_whatever_lies_beside_it():
    deals = np.repeat(derive_many(1, 10000), 4)
    rows = held_out(deals)
    assert 360 <= rows.sum() <= 440
    assert not set(deals[rows]) & set(deals[~rows])
    assert np.array_equal(held_out(deals[3:5000]), rows[3:5000])


def test_shards_of_held_out_deals_alone_are_refused(tmp_path):
    seed = next(seed for seed in range(1000) if held_out(derive_many(seed, 1)).all())
    with pytest.raises(UserError, match=r"hold no deal to train on: one in 100 is held out, and these are; add deals"):
        train(GAME, MODEL, LEARNER, [shard_of(GAME, tmp_path, 1, seed)], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_epoch_sees_every_training_row_once_in_an_order_of_its_own(shards):
    data = load_data(GAME, shards, PLAYED)
    first, second = (epoch_order(data.training, 1, epoch) for epoch in (0, 1))
    assert np.array_equal(np.sort(first), np.sort(data.training)) and np.array_equal(np.sort(second), np.sort(first))
    assert not np.array_equal(first, second)
    assert np.array_equal(first, epoch_order(data.training, 1, 0))


def test_batches_drop_the_columns_that_are_padding_in_every_row(shards):
    data = load_data(GAME, shards, PLAYED)
    short = np.nonzero(data.lengths == data.lengths.min())[0][:5]
    batch = make_batch(data, short, Recipe(Rules(GAME, architecture(GAME, MODEL))))
    width = min(few_widths(int(data.lengths.min()) - 1) + 1, GAME.max_length)  # few shapes on a CPU
    assert batch.tokens.shape == (5, width) and data.lengths.min() <= width
    assert len(batch.prefixes) == 5 * (data.lengths.min() - 1)
    assert (batch.tokens[:, -1] == GAME.vocabulary.eos).all()


def test_learning_rates_by_hand():
    """Rate 1: warm-up of 4 steps and a linear fall; half way of a cosine is half the way down."""
    linear = LearnerConfig(learning_rate=1.0, warmup_steps=4)
    rates = [learning_rate(linear, step, 12) for step in range(12)]
    np.testing.assert_allclose(rates, [0.25, 0.5, 0.75, 1.0, *[1 - i / 8 for i in range(8)]])
    assert learning_rate(replace(linear, schedule="constant"), 11, 12) == 1.0
    cosine = LearnerConfig(learning_rate=1.0, schedule="cosine", warmup_steps=2, schedule_steps=10)
    rates = [learning_rate(cosine, step, 99) for step in (0, 1, 2, 4, 6, 10, 50)]
    assert rates == pytest.approx([0.5, 1.0, 1.0, (1 + np.cos(np.pi / 4)) / 2, 0.5, 0.0, 0.0])
    until = replace(cosine, schedule="linear")
    assert [learning_rate(until, step, 99) for step in (6, 10, 11)] == pytest.approx([0.5, 0.0, 0.0])


def test_every_prefix_is_expected_once_whatever_length_and_number_of_positions():
    # A fine grid stands for the uniform draw of each stratum: the expectation, up to the grid's resolution.
    grid = 2310 * 4
    draws = (np.arange(grid) + 0.5) / grid
    for length in (2, 3, 8, 12):
        for k in (1, 2, 5, 7, 11, 20):
            chosen = stratified_positions(np.repeat(draws[:, None], k, axis=1), np.full(grid, length))
            expected_count = np.bincount(chosen.ravel(), minlength=length - 1) / grid
            np.testing.assert_allclose(expected_count * (length - 1) / k, np.ones(length - 1), atol=2e-3)


def test_loss_and_gradient_at_few_positions_average_to_those_at_all_positions():
    net, lengths = tiny_net(GAME, seed=1), np.array([9, 4])
    tokens, outcome = torch.arange(18).view(2, 9), torch.tensor([1, 2])

    def loss_and_gradient(judged=None):
        loss = losses(net, assembled(tokens, lengths, outcome, judged)).outcome
        return loss.detach(), *torch.autograd.grad(loss, net.val_hidden.weight)

    draws = (np.arange(24) + 0.5) / 24  # as many in the part of a stratum that stands for each prefix
    few = [loss_and_gradient(stratified_positions(np.full((2, 2), draw), lengths)) for draw in draws]
    for mine, whole in zip(zip(*few, strict=True), loss_and_gradient(), strict=True):
        torch.testing.assert_close(torch.stack(mine).mean(0), whole)
        assert torch.stack(mine).std(0).max() > 0


def test_positions_stay_within_the_sequence_at_the_edges_of_the_draw():
    lengths = np.array([2, 75, 40])
    for edge in (0.0, 1.0 - 2**-53):
        chosen = stratified_positions(np.full((3, 8), edge), lengths)
        assert (chosen >= 0).all() and (chosen <= (lengths - 2)[:, None]).all()


def test_data_that_cannot_be_trained_on_is_refused_before_any_work(shards, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(ValueError, match=r"nowhere\.parquet: no such file"):
        train(GAME, MODEL, LEARNER, [str(tmp_path / "nowhere.parquet")], out)
    with pytest.raises(UserError, match="options"):
        train(HeartsGame(jd_bonus=True), MODEL, LEARNER, shards, out)
    with pytest.raises(ValueError, match=r"nowhere/model\.safetensors: no such file"):
        train(GAME, MODEL, LEARNER, shards, out, init_from=tmp_path / "nowhere")
    assert not out.exists() and not storage.exists(partial_path(out))


@pytest.mark.parametrize(("given", "settled"), [(None, "256"), ("7", "7")])
def test_a_training_task_bounds_the_kernels_that_onednn_keeps(shards, tmp_path, monkeypatch, given, settled):
    monkeypatch.setenv(KERNELS_KEPT, given or "")
    if given is None:
        monkeypatch.delenv(KERNELS_KEPT)
    run_task(
        TrainingTask(
            GameConfig("hearts"), MODEL, replace(LEARNER, max_steps=1), tuple(shards), str(tmp_path / "out"), None, 0
        ),
        print,
    )
    assert os.environ[KERNELS_KEPT] == settled


def test_the_machine_that_trains_refuses_a_network_that_it_cannot_hold(shards, tmp_path):
    task = TrainingTask(GameConfig("hearts"), replace(MODEL, n_embd=10**6), LEARNER, tuple(shards), "out", None, 0)
    with pytest.raises(UserError, match=r"^training a network of .* weights may take .* lower model"):
        run_task(task, print)


def test_a_directory_that_is_no_training_run_is_refused(shards, tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(ValueError, match="was not written by the learner"):
        train(GAME, MODEL, LEARNER, shards, tmp_path / "out")


# ---- ``python -m learner`` as a user runs it


def test_the_command_trains_then_says_finished(tmp_path):
    shard_of(HeartsGame(), tmp_path / "data", 8)
    arguments = (f"data={tmp_path}/data", f"out={tmp_path}/out", "learner.max_steps=2", "learner.batch_size=4")
    arguments += ("learner.policy.label_weight=0.1",)
    first = here("learner", *arguments)
    assert "learner.policy.label_weight: no effect with learner.policy.kind=played" in first.stderr
    assert first.returncode == 0 and "outcome_loss" in first.stdout, first.stderr
    assert load_weights(tmp_path / "out", HeartsGame()).arch.n_embd == 128
    again = here("learner", *arguments)
    assert again.returncode == 0 and "already finished" in again.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["out=x"], "data must be given"),
        (["data=nowhere", "out=x"], "nowhere: no such directory"),
        (["data=nowhere", "out=x", "learner.batch_size=0"], "learner.batch_size=0: must be at least 1"),
        (["data={shards}", "out=x", "model.n_embd=1000000"], "lower model.n_layer, n_embd or n_inner"),
        pytest.param(
            ["data={shards}", "out=x", "learner.device=cuda"],
            "learner.device=cuda: torch finds no CUDA device here; use learner.device=cpu or learner.device=auto",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device"),
        ),
    ],
)
def test_bad_input_ends_in_one_line(arguments, message, tmp_path):
    (tmp_path / "shard-0.parquet").write_text("nobody gets to read this")
    result = here("learner", *(argument.format(shards=tmp_path) for argument in arguments))
    assert result.returncode == 2
    assert message in result.stderr and len(result.stderr.strip().splitlines()) == 1
