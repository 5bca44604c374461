"""Training learns, and a killed training ends in the same bytes as one left alone."""

import hashlib
import json
import os
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from cluster.errors import UserError
from cluster.files import digests, storage
from games.config import GameConfig
from games.hearts.game import HeartsGame
from games.rng import derive_many
from learner.config import LearnerConfig, LossConfig, TransformerConfig
from learner.model.architecture import architecture
from learner.model.checkpoint import WEIGHTS_FILE, checkpoint_id, load_weights, save_weights
from learner.model.network import PolicyValueNet, device_of, precision_of
from learner.model.rule_inputs import Rules
from learner.model.shapes import few_widths
from learner.task import KERNELS_KEPT, TrainingTask, run_task
from learner.training.batches import Recipe, make_batch
from learner.training.data import epoch_order, held_out, load_data
from learner.training.loop import learning_rate
from learner.training.policies.policy import PLAYED
from learner.training.resume import partial_path
from tests.learner.material import changed, shard_of, train

GAME = HeartsGame()
MODEL = TransformerConfig(n_layer=1, n_head=2, n_embd=16, embd_pdrop=0.1, resid_pdrop=0.1)
LEARNER = LearnerConfig(
    learning_rate=3e-3,
    num_epochs=2,
    batch_size=16,
    loss=LossConfig(outcome_positions=2),
    device="cpu",
    checkpoint_every_steps=3,
    log_every_steps=2,
)


@pytest.fixture(scope="module")
def shards(tmp_path_factory) -> list[str]:
    directory = tmp_path_factory.mktemp("shards")
    return [shard_of(GAME, directory, 32, seed) for seed in (1, 2)]


class KilledError(Exception):
    pass


def killing_at(step):
    def on_progress(metrics):
        if metrics["step"] >= step:
            raise KilledError

    return on_progress


def contents(directory):
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def without_clocks(directory, speeds=("tokens_per_second", "matmul_share")):
    """Everything of a checkpoint but the seconds it took, which its digests are of too."""
    files = contents(directory)
    del files["digests.json"]
    state = json.loads(files.pop("training/state.json"))
    for key in (*speeds, "train_seconds"):
        del state["metrics"][key]
    del state["seconds"]
    return files, state


@pytest.mark.parametrize(
    ("optimizer", "kills"), [("adamw", (2,)), ("adamw", (4, 8, 14)), ("adamw", (6, 6, 12)), ("muon", (2, 8))]
)
def test_a_killed_and_resumed_run_ends_in_the_same_bytes(shards, tmp_path, optimizer, kills):
    learner = replace(LEARNER, optimizer=optimizer)
    train(GAME, MODEL, learner, shards, tmp_path / "alone", seed=7)
    for step in kills:
        with pytest.raises(KilledError):
            train(GAME, MODEL, learner, shards, tmp_path / "killed", seed=7, on_progress=killing_at(step))
        assert not (tmp_path / "killed").exists()
    steps = []
    train(GAME, MODEL, learner, shards, tmp_path / "killed", seed=7, on_progress=lambda m: steps.append(m["step"]))
    assert steps[0] > max(kills) - LEARNER.checkpoint_every_steps
    assert without_clocks(tmp_path / "killed") == without_clocks(tmp_path / "alone")
    assert not storage.exists(partial_path(tmp_path / "killed"))


@pytest.mark.parametrize(("every", "kept"), [(1000, ["step-000000005"]), (0, [])])
def test_a_training_whose_steps_are_slow_is_saved_by_the_clock(shards, tmp_path, monkeypatch, every, kept):
    learner = replace(LEARNER, checkpoint_every_steps=every, log_every_steps=1)
    train(GAME, MODEL, learner, shards, tmp_path / "alone", seed=7)
    with monkeypatch.context() as patched, pytest.raises(KilledError):
        patched.setattr("learner.training.resume.SAVE_SECONDS", 0.0)  # every step takes longer
        train(GAME, MODEL, learner, shards, tmp_path / "killed", seed=7, on_progress=killing_at(6))
    assert storage.list_names(partial_path(tmp_path / "killed")) == kept
    steps = []
    train(GAME, MODEL, learner, shards, tmp_path / "killed", seed=7, on_progress=lambda m: steps.append(m["step"]))
    assert steps[0] == (6 if kept else 1)
    assert without_clocks(tmp_path / "killed") == without_clocks(tmp_path / "alone")


def test_the_seconds_of_a_training_are_those_of_all_its_commands(shards, tmp_path):
    with pytest.raises(KilledError):
        train(GAME, MODEL, LEARNER, shards, tmp_path / "killed", on_progress=killing_at(8))
    (partial,) = Path(partial_path(tmp_path / "killed")).iterdir()
    state = json.loads((partial / "training/state.json").read_text())
    assert state["seconds"] > 0
    state["seconds"] = 3600.0  # an hour
    (partial / "training/state.json").write_text(json.dumps(state))
    (partial / "digests.json").unlink()
    assert 3600 < train(GAME, MODEL, LEARNER, shards, tmp_path / "killed")["train_seconds"] < 4200


def test_a_run_killed_behind_its_last_step_ends_with_every_metric(shards, tmp_path, monkeypatch):
    def kill(*_arguments):
        raise KilledError

    learner = replace(LEARNER, checkpoint_every_steps=8, max_steps=8)
    whole = train(GAME, MODEL, learner, shards, tmp_path / "whole")
    with monkeypatch.context() as patched, pytest.raises(KilledError):
        patched.setattr("learner.training.loop.save_finished", kill)
        train(GAME, MODEL, learner, shards, tmp_path / "killed")
    resumed = train(GAME, MODEL, learner, shards, tmp_path / "killed")
    assert resumed.keys() == whole.keys() and resumed["step"] == resumed["num_steps"] == 8
    assert without_clocks(tmp_path / "killed") == without_clocks(tmp_path / "whole")


def test_a_finished_run_returns_its_metrics_without_training(shards, tmp_path):
    first = train(GAME, MODEL, LEARNER, shards, tmp_path / "out")
    before = contents(tmp_path / "out")
    assert train(GAME, MODEL, LEARNER, shards, tmp_path / "out", on_progress=killing_at(0)) == first
    assert contents(tmp_path / "out") == before


def test_other_seeds_give_other_weights(shards, tmp_path):
    for seed in (1, 2):
        train(GAME, MODEL, replace(LEARNER, max_steps=1), shards, tmp_path / str(seed), seed=seed)
    assert checkpoint_id(tmp_path / "1") != checkpoint_id(tmp_path / "2")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": replace(MODEL, n_embd=32)}, "model.n_embd=16, now model.n_embd=32"),
        ({"learner": replace(LEARNER, batch_size=8)}, "learner.batch_size=16, now learner.batch_size=8"),
        ({"learner": replace(LEARNER, learning_rate=1.0)}, "learner.learning_rate=0.003"),
        ({"seed": 8}, "seed=7, now seed=8"),
        ({"shards": "first"}, "data="),
    ],
)
@pytest.mark.parametrize("finished", [False, True])
def test_a_run_goes_on_only_with_the_settings_it_was_begun_with(shards, tmp_path, changes, message, finished):
    def run(model=MODEL, learner=LEARNER, shards=shards, seed=7, **more):
        used = shards[:1] if shards == "first" else shards
        return train(GAME, model, learner, used, tmp_path / "out", seed=seed, **more)

    if finished:
        run()
    else:
        with pytest.raises(KilledError):
            run(on_progress=killing_at(4))
    if "shards" in changes:
        changes = {"shards": shards[:1]}
    with pytest.raises(ValueError, match=message):
        run(**changes)


def test_device_threads_and_checkpoint_interval_may_change_on_resume(shards, tmp_path):
    with pytest.raises(KilledError):
        train(GAME, MODEL, LEARNER, shards, tmp_path / "out", on_progress=killing_at(4))
    train(GAME, MODEL, replace(LEARNER, checkpoint_every_steps=5, device="auto"), shards, tmp_path / "out")


def test_training_lowers_both_losses_and_the_recorded_history_shows_it(shards, tmp_path):
    learner = changed(LEARNER, num_epochs=12, learning_rate=1e-2, batch_size=32, outcome_positions=0)
    model = replace(MODEL, embd_pdrop=0.0, resid_pdrop=0.0)
    metrics = train(GAME, model, learner, shards, tmp_path / "out")
    history = json.loads((tmp_path / "out" / "training" / "state.json").read_text())["history"]
    assert metrics["observation_loss"] < history[0]["observation_loss"] - 0.5
    assert metrics["outcome_loss"] < history[0]["outcome_loss"] - 0.5
    assert metrics["step"] == metrics["num_steps"] == history[-1]["step"]
    assert metrics["tokens_per_second"] > 0 and metrics["sequences"] == 256


def test_training_starts_from_given_weights(shards, tmp_path):
    train(GAME, MODEL, replace(LEARNER, max_steps=1), shards, tmp_path / "first")
    still = replace(LEARNER, max_steps=1, learning_rate=1e-30, weight_decay=0.0)
    train(GAME, MODEL, still, shards, tmp_path / "second", init_from=tmp_path / "first", seed=5)
    first, second = (load_weights(tmp_path / name, GAME).state_dict() for name in ("first", "second"))
    torch.testing.assert_close(second, first, rtol=0, atol=1e-25)  # a step of 1e-30 moves what is 0
    with pytest.raises(ValueError, match=r"first: has n_layer=1, but model.n_layer=2"):
        train(GAME, replace(MODEL, n_layer=2), LEARNER, shards, tmp_path / "third", init_from=tmp_path / "first")
    assert not (tmp_path / "third").exists() and not storage.exists(partial_path(tmp_path / "third"))


def test_given_weights_are_hashed_once_and_damage_is_found(shards, tmp_path, monkeypatch):
    first, last = tmp_path / "first", replace(LEARNER, max_steps=1)
    train(GAME, MODEL, last, shards, first)
    hashed, digest_of = [], digests.digest_of
    monkeypatch.setattr(digests, "digest_of", lambda file: hashed.append(file) or digest_of(file))
    train(GAME, MODEL, last, shards, tmp_path / "second", init_from=first)
    assert hashed.count(first / WEIGHTS_FILE) == 1
    data = bytearray((first / WEIGHTS_FILE).read_bytes())
    data[-100] ^= 1
    (first / WEIGHTS_FILE).write_bytes(data)
    with pytest.raises(UserError, match=rf"{WEIGHTS_FILE}: is damaged"):
        train(GAME, MODEL, last, shards, tmp_path / "third", init_from=first)
    assert not (tmp_path / "third").exists() and not storage.exists(partial_path(tmp_path / "third"))


def test_a_checkpoint_of_training_is_one_that_queries_can_load(shards, tmp_path):
    train(GAME, MODEL, replace(LEARNER, max_steps=1), shards, tmp_path / "out")
    assert load_weights(tmp_path / "out", GAME).arch.n_embd == 16


def test_bf16_trains_and_follows_fp32_closely(shards, tmp_path):
    learner = replace(LEARNER, max_steps=4)
    both = [
        train(GAME, MODEL, replace(learner, precision=precision), shards, tmp_path / precision)
        for precision in ("fp32", "bf16")
    ]
    assert both[0]["loss"] == pytest.approx(both[1]["loss"], rel=1e-2)


def _stop(metrics):
    raise InterruptedError


def test_auto_takes_the_precision_that_suits_the_device_and_is_held_to_it(shards, tmp_path, monkeypatch):
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.setattr(f"torch.cpu.{name}", lambda: False)
    learner = replace(LEARNER, max_steps=4, precision="auto")
    out = tmp_path / "out"
    with pytest.raises(InterruptedError):
        train(GAME, MODEL, replace(learner, checkpoint_every_steps=1), shards, out, on_progress=_stop)
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


def test_the_state_of_a_training_in_another_format_is_refused(shards, tmp_path):
    train(GAME, MODEL, replace(LEARNER, max_steps=1), shards, tmp_path / "out")
    file = tmp_path / "out/training/state.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": 2}))
    (tmp_path / "out/digests.json").unlink()
    with pytest.raises(UserError, match=r"state\.json: format 2: this program reads format 1; train into another"):
        train(GAME, MODEL, replace(LEARNER, max_steps=1), shards, tmp_path / "out")


def test_an_epoch_sees_every_training_row_once_in_an_order_of_its_own(shards):
    data = load_data(GAME, shards, device_of("cpu"), PLAYED)
    first, second = (epoch_order(data, 1, epoch) for epoch in (0, 1))
    assert np.array_equal(np.sort(first), np.sort(data.training)) and np.array_equal(np.sort(second), np.sort(first))
    assert not np.array_equal(first, second)
    assert np.array_equal(first, epoch_order(data, 1, 0))


def test_batches_drop_the_columns_that_are_padding_in_every_row(shards):
    data = load_data(GAME, shards, device_of("cpu"), PLAYED)
    short = np.nonzero(data.lengths == data.lengths.min())[0][:5]
    batch = make_batch(data, short, Recipe(Rules(GAME, architecture(GAME, MODEL))))
    width = min(few_widths(int(data.lengths.min()) - 1) + 1, GAME.max_length)  # few shapes on a CPU
    assert batch.tokens.shape == (5, width) and data.lengths.min() <= width
    assert len(batch.prefixes) == 5 * (data.lengths.min() - 1)
    assert (batch.tokens[:, -1] == GAME.vocabulary.eos).all()


def test_the_learning_rate_rises_over_the_warm_up_and_falls_linearly_to_zero():
    config = LearnerConfig(learning_rate=1.0, warmup_steps=4)
    rates = [learning_rate(config, step, 12) for step in range(12)]
    np.testing.assert_allclose(rates, [0.25, 0.5, 0.75, 1.0, *[1 - i / 8 for i in range(8)]])
    assert learning_rate(replace(config, schedule="constant"), 11, 12) == 1.0


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


def test_a_half_written_resumable_checkpoint_is_ignored(shards, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(KilledError):
        train(GAME, MODEL, LEARNER, shards, out, seed=7, on_progress=killing_at(4))
    [whole] = Path(partial_path(out)).iterdir()
    shutil.copytree(whole, whole.with_name("step-000000099.tmp"))
    (whole.with_name("step-000000099.tmp") / "model.safetensors").unlink()
    metrics = train(GAME, MODEL, LEARNER, shards, out, seed=7)
    assert metrics["step"] == metrics["num_steps"]


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "training/optimizer.safetensors"])
def test_a_flipped_bit_of_a_resumable_checkpoint_is_noticed_before_training_goes_on(shards, tmp_path, file):
    with pytest.raises(KilledError):
        train(GAME, MODEL, LEARNER, shards, tmp_path / "out", on_progress=killing_at(4))
    [partial] = Path(partial_path(tmp_path / "out")).iterdir()
    flip(partial / file)
    with pytest.raises(UserError, match=rf"{file}: is damaged, its bytes are not those"):
        train(GAME, MODEL, LEARNER, shards, tmp_path / "out", on_progress=killing_at(0))


@pytest.mark.parametrize("file", ["model.safetensors", "training/optimizer.safetensors", "training/state.json"])
def test_a_flipped_bit_of_a_finished_checkpoint_is_noticed_by_the_same_command(shards, tmp_path, file):
    train(GAME, MODEL, replace(LEARNER, max_steps=1), shards, tmp_path / "out")
    flip(tmp_path / "out" / file)
    with pytest.raises(UserError, match=rf"{file}: is damaged, its bytes are not those"):
        train(GAME, MODEL, replace(LEARNER, max_steps=1), shards, tmp_path / "out")


def flip(file):
    content = bytearray(file.read_bytes())
    content[-20] ^= 1
    file.write_bytes(content)


def test_a_resumed_training_hashes_weights_and_moments_once(shards, tmp_path, monkeypatch):
    start = tmp_path / "start"
    save_weights(start, PolicyValueNet(architecture(GAME, MODEL)), GAME)
    with pytest.raises(KilledError):
        train(GAME, MODEL, LEARNER, shards, tmp_path / "out", start, on_progress=killing_at(4))
    hashed, digest = Counter(), hashlib.file_digest

    def counting(opened, *arguments):
        hashed[Path(opened.name)] += 1
        return digest(opened, *arguments)

    [partial] = Path(partial_path(tmp_path / "out")).iterdir()
    files = [*partial.rglob("*.safetensors"), start / "model.safetensors"]
    monkeypatch.setattr(hashlib, "file_digest", counting)
    with pytest.raises(KilledError):
        train(GAME, MODEL, LEARNER, shards, tmp_path / "out", start, on_progress=killing_at(5))
    assert len(files) == 3 and [hashed[path] for path in files] == [1, 1, 1]


def test_settings_are_recorded_under_their_command_line_names(shards, tmp_path):
    train(GAME, MODEL, replace(LEARNER, max_steps=1), shards, tmp_path / "out", seed=3)
    state = json.loads((tmp_path / "out" / "training" / "state.json").read_text())
    assert state["settings"]["learner.loss.outcome_positions"] == LEARNER.loss.outcome_positions
    assert state["settings"]["seed"] == 3 and state["random_state"] == {"seed": 3, "step": 1}
