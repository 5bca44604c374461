"""A killed training ends in the same bytes as one left alone, whatever it learns, and goes on with nothing else."""

import hashlib
import json
import shutil
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from cluster.errors import UserError, WorkFailedError
from cluster.files import storage
from cluster.leaving import VARIABLE
from games.game import Game
from games.hearts.game import HeartsGame
from games.shards import write_shard
from learner.config import LearnerConfig, LossConfig, NetworkConfig, QNetworkConfig, TransformerConfig
from learner.model.architecture import architecture
from learner.model.checkpoint import WEIGHTS_FILE, load_weights, save_weights
from learner.model.network import PolicyValueNet
from learner.q_network.kind import KIND as Q_KIND
from learner.training.loop import Progress
from learner.training.resume import partial_path
from tests.learner.material import (
    BOARD,
    NO_PASS,
    ON_BOARD,
    KilledError,
    branched_shard,
    changed,
    check_resumes,
    contents,
    flip,
    killing_at,
    random_games,
    shard_of,
    train,
    train_until,
    without_clocks,
)  # fmt: skip
from tests.learner.test_rule_inputs import SETTINGS, Hearts
from tests.marks import slow

GAME = HeartsGame()
MODEL = TransformerConfig(n_layer=1, n_head=2, n_embd=16, embd_pdrop=0.1, resid_pdrop=0.1)
LEARNER = LearnerConfig(
    learning_rate=3e-3, num_epochs=2, batch_size=16, loss=LossConfig(outcome_positions=2), device="cpu",
    checkpoint_every_steps=3, log_every_steps=2,
)  # fmt: skip
BOARD_LEARNER = LearnerConfig(
    num_epochs=2, batch_size=8, learning_rate=3e-3, targets="actions", schedule="cosine", warmup_steps=3,
    log_every_steps=1, checkpoint_every_steps=4, device="cpu",
)  # fmt: skip
Q = QNetworkConfig(width=16, target_every_steps=5)
Q_LEARNER = LearnerConfig(
    learning_rate=1e-3, schedule="constant", num_epochs=1, batch_size=8, max_steps=14, weight_decay=0.0,
    betas=(0.3, 0.999), device="cpu", checkpoint_every_steps=3, log_every_steps=2,
)  # fmt: skip


def random_shard(game: Game, directory: Path, count: int) -> str:
    write_shard(directory / "games.parquet", random_games(game, count, 4), game, {})
    return str(directory / "games.parquet")


@dataclass(frozen=True)
class Case:
    """A training, and when it is killed."""

    game: Game
    model: NetworkConfig
    learner: LearnerConfig
    shard: Callable[[Game, Path, int], str]
    count: int
    kills: tuple[int, ...]


PLAIN = Case(GAME, MODEL, LEARNER, shard_of, 64, (2, 8, 8, 14))
RULES = Case(Hearts(), SETTINGS["everything"], replace(LEARNER, log_every_steps=4), branched_shard, 32, (4, 8))
Q_PLAIN = Case(HeartsGame(**NO_PASS), Q, Q_LEARNER, random_shard, 20, (2, 4, 8, 13))
CASES = {
    "adamw": PLAIN,
    "muon": replace(PLAIN, learner=replace(LEARNER, optimizer="muon"), kills=(2, 8)),
    "branches": replace(RULES, learner=changed(RULES.learner, branch_weight=0.5)),
    "values": replace(RULES, learner=changed(RULES.learner, kind="values"), kills=(4,)),
    "values and branches": replace(RULES, learner=changed(RULES.learner, kind="values", branch_weight=0.5), kills=(4,)),
    "board": Case(BOARD, ON_BOARD, BOARD_LEARNER, random_shard, 60, (6,)),
    "q": Q_PLAIN,
    "q and branches": replace(Q_PLAIN, learner=changed(Q_LEARNER, branch_weight=1.0), shard=branched_shard, kills=(8,)),
}  # fmt: skip


PARTS = ("branches", "values", "q")
"""Cases of which others are made."""


@pytest.mark.parametrize("name", [*(name for name in CASES if name not in PARTS), *slow(*PARTS)])
def test_a_killed_training_ends_in_the_same_bytes(name: str, tmp_path: Path) -> None:
    case, steps = CASES[name], list[float]()
    shards = [case.shard(case.game, tmp_path, case.count)]

    def run(out: Path, on_progress: Progress = lambda line: steps.append(line["step"])) -> dict[str, float]:
        return train(case.game, case.model, case.learner, shards, out, seed=7, on_progress=on_progress)

    metrics = check_resumes(run, tmp_path, case.kills)
    began = next(step for before, step in pairwise(steps) if step <= before)
    assert began > max(case.kills) - case.learner.checkpoint_every_steps
    assert ("branch_loss" in metrics) == (case.learner.loss.branch_weight > 0)
    assert not storage.exists(partial_path(tmp_path / "killed"))
    before = contents(tmp_path / "alone")
    assert run(tmp_path / "alone", on_progress=killing_at(0)) == metrics, "it is finished"
    assert contents(tmp_path / "alone") == before


@pytest.fixture(scope="module")
def of_kind(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Case, list[str]]]:
    """A training of either kind of network, and its shards."""
    directory = tmp_path_factory.mktemp("shards")
    shards = [branched_shard(GAME, directory, 32, seed) for seed in (1, 2)]
    return {"transformer": (PLAIN, shards), "q": (Q_PLAIN, [branched_shard(Q_PLAIN.game, directory, 20)])}


@pytest.fixture(scope="module")
def shards(of_kind) -> list[str]:
    return of_kind["transformer"][1]


CHANGES = {
    "transformer": {
        "model.n_embd=16, now model.n_embd=32": {"model": replace(MODEL, n_embd=32)},
        "outcome_init=normal, now model.outcome_init=points": {"model": replace(MODEL, outcome_init="points")},
        "learner.batch_size=16, now learner.batch_size=8": {"learner": replace(LEARNER, batch_size=8)},
        "learner.learning_rate=0.003": {"learner": replace(LEARNER, learning_rate=1.0)},
        "branch_weight=0.0, now learner.loss.branch_weight=0.5": {"learner": changed(LEARNER, branch_weight=0.5)},
        "policy.kind=played, now learner.policy.kind=values": {"learner": changed(LEARNER, kind="values")},
        "seed=7, now seed=8": {"seed": 8},
        "data=": {"count": 1},
    },
    "q": {
        "model.discount=0.99, now model.discount=0.5": {"model": replace(Q, discount=0.5)},
        "model.width=16, now model.width=8": {"model": replace(Q, width=8)},
        "learner.betas=": {"learner": replace(Q_LEARNER, betas=(0.9, 0.999))},
        "no learner.schedule_steps, now learner.schedule_steps=9": {"learner": replace(Q_LEARNER, schedule_steps=9)},
        "branch_weight=0.0, now learner.loss.branch_weight=1": {"learner": changed(Q_LEARNER, branch_weight=1.0)},
    },
}
"""What a training is told where it has begun with other settings, by kind."""


@pytest.mark.parametrize("finished", [False, True])
@pytest.mark.parametrize("name", CHANGES)
def test_a_training_goes_on_only_with_the_settings_it_was_begun_with(of_kind, tmp_path, name, finished):
    case, shards = of_kind[name]

    def run(model=case.model, learner=case.learner, count=2, seed=7, **more):
        return train(case.game, model, learner, shards[:count], tmp_path / "out", seed=seed, **more)

    if finished:
        run()
    else:
        with pytest.raises(KilledError):
            run(on_progress=killing_at(4))
    for message, changes in CHANGES[name].items():
        with pytest.raises(ValueError, match=message):
            run(**changes)


def test_what_does_not_decide_what_is_learned_may_change(of_kind, tmp_path):
    others = {
        "transformer": replace(LEARNER, checkpoint_every_steps=5, device="auto"),
        "q": changed(Q_LEARNER, observation_weight=0.5, outcome_positions=3),  # the transformer's alone
    }
    for name, (case, shards) in of_kind.items():
        train_until(4, case.game, case.model, case.learner, shards, tmp_path / name)
        train(case.game, case.model, others[name], shards, tmp_path / name)


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


@pytest.mark.parametrize(("every", "kept"), [(1000, "step-00000000{}"), (0, "")])
@pytest.mark.parametrize(("seconds", "last"), [(0.0, 6), (100.0, 4)])
def test_a_training_whose_machine_is_about_to_go_is_saved_at_once_and_often(
    shards, tmp_path, monkeypatch, every, kept, seconds, last
):
    learner, notice = replace(LEARNER, checkpoint_every_steps=every, log_every_steps=1), tmp_path / "leaving"
    train(GAME, MODEL, learner, shards, tmp_path / "alone", seed=7)

    def at_step(metrics):
        assert bool(storage.list_names(partial_path(tmp_path / "killed"))) == (metrics["step"] > 4 and every > 0)
        if metrics["step"] == 4:
            notice.touch()
        killing_at(7)(metrics)

    with monkeypatch.context() as patched, pytest.raises(KilledError):
        patched.setenv(VARIABLE, str(notice))
        patched.setattr("learner.training.resume._LEAVING_SECONDS", seconds)
        train(GAME, MODEL, learner, shards, tmp_path / "killed", seed=7, on_progress=at_step)
    assert storage.list_names(partial_path(tmp_path / "killed")) == ([kept.format(last)] if kept else [])
    train(GAME, MODEL, learner, shards, tmp_path / "killed", seed=7)
    assert without_clocks(tmp_path / "killed") == without_clocks(tmp_path / "alone")


@pytest.mark.parametrize(("every", "kept"), [(1000, ["step-000000006"]), (0, [])])
def test_a_training_that_is_asked_to_stop_loses_no_step(shards, tmp_path, every, kept):
    learner, stop = replace(LEARNER, checkpoint_every_steps=every), threading.Event()
    train(GAME, MODEL, learner, shards, tmp_path / "alone", seed=7)
    with pytest.raises(WorkFailedError, match="stopped: stopped at step 6; the same command resumes"):
        train(GAME, MODEL, learner, shards, tmp_path / "stopped", seed=7, stop=stop,
              on_progress=lambda metrics: stop.set() if metrics["step"] == 6 else None)  # fmt: skip
    assert storage.list_names(partial_path(tmp_path / "stopped")) == kept
    train(GAME, MODEL, learner, shards, tmp_path / "stopped", seed=7)
    assert without_clocks(tmp_path / "stopped") == without_clocks(tmp_path / "alone")


def test_the_seconds_of_a_training_are_those_of_all_its_commands(shards, tmp_path):
    train_until(8, GAME, MODEL, LEARNER, shards, tmp_path / "killed")
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


def test_a_half_written_resumable_checkpoint_is_ignored(shards, tmp_path):
    out = tmp_path / "out"
    train_until(4, GAME, MODEL, LEARNER, shards, out, seed=7)
    [whole] = Path(partial_path(out)).iterdir()
    shutil.copytree(whole, whole.with_name("step-000000099.tmp"))
    (whole.with_name("step-000000099.tmp") / "model.safetensors").unlink()
    metrics = train(GAME, MODEL, LEARNER, shards, out, seed=7)
    assert metrics["step"] == metrics["num_steps"]


def test_the_state_of_a_training_in_another_format_is_refused(shards, tmp_path):
    train(GAME, MODEL, replace(LEARNER, max_steps=1), shards, tmp_path / "out")
    file = tmp_path / "out/training/state.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": 2}))
    (tmp_path / "out/digests.json").unlink()
    with pytest.raises(UserError, match=r"state\.json: format 2: this program reads format 1; train into another"):
        train(GAME, MODEL, replace(LEARNER, max_steps=1), shards, tmp_path / "out")


# ---- damage


FILES = ("config.json", "model.safetensors", "training/optimizer.safetensors", "training/state.json")


@pytest.mark.parametrize(
    ("name", "finished", "files"),
    [("transformer", False, FILES), ("transformer", True, FILES), ("q", False, ("training/target.safetensors",))],
)
def test_a_flipped_bit_is_noticed_before_a_training_goes_on(of_kind, tmp_path, name, finished, files):
    (case, shards), out = of_kind[name], tmp_path / "out"
    run = partial(train_until, 4) if not finished else train
    run(case.game, case.model, case.learner, shards, out)
    [directory] = [out] if finished else Path(partial_path(out)).iterdir()
    for file in files:
        whole = (directory / file).read_bytes()
        flip(directory / file)
        with pytest.raises(UserError, match=rf"{file}: is damaged, its bytes are not those"):
            train(case.game, case.model, case.learner, shards, out, on_progress=killing_at(0))
        (directory / file).write_bytes(whole)


def test_weights_to_begin_with_and_what_a_training_goes_on_from_are_hashed_once(shards, tmp_path, monkeypatch):
    start, hashed, digest = tmp_path / "start", Counter(), hashlib.file_digest
    save_weights(start, PolicyValueNet(architecture(GAME, MODEL)), GAME)

    def counting(opened, *arguments):
        hashed[Path(opened.name)] += 1
        return digest(opened, *arguments)

    monkeypatch.setattr(hashlib, "file_digest", counting)
    for last in (4, 5):
        hashed.clear()
        files = [start / WEIGHTS_FILE, *Path(partial_path(tmp_path / "out")).rglob("*.safetensors")]
        train_until(last, GAME, MODEL, LEARNER, shards, tmp_path / "out", start)
        assert len(files) == {4: 1, 5: 3}[last] and {hashed[path] for path in files} == {1}


# ---- weights to begin with


@pytest.mark.parametrize(
    ("name", "load", "wrong"), [("transformer", load_weights, {"n_layer": 2}), ("q", Q_KIND.load, {"width": 32})]
)
def test_training_starts_from_given_weights_of_the_same_shape(of_kind, tmp_path, name, load, wrong):
    (case, shards), first = of_kind[name], tmp_path / "first"

    def run(out, model=case.model, on_progress=None, **settings):
        start = first if out != "first" else None
        train(case.game, model, replace(case.learner, **settings), shards, tmp_path / out, start, 0, on_progress)

    run("first", max_steps=1)
    run("second", max_steps=1, learning_rate=1e-30, weight_decay=0.0)
    one, other = (load(tmp_path / out, case.game).state_dict() for out in ("first", "second"))
    torch.testing.assert_close(other, one, rtol=0, atol=1e-25)  # a step of 1e-30 moves what is 0
    [(key, value)] = wrong.items()
    with pytest.raises(ValueError, match=rf"first: has {key}=\d+, but model\.{key}={value}"):
        run("third", replace(case.model, **wrong))
    with pytest.raises(KilledError):
        run("begun", on_progress=killing_at(4))
    flip(first / WEIGHTS_FILE)
    for out in ("third", "begun"):  # a training that goes on says it too
        with pytest.raises(UserError, match=f"^{first / WEIGHTS_FILE}: is damaged"):
            run(out)
        assert not (tmp_path / out).exists()
    assert not storage.exists(partial_path(tmp_path / "third"))
