"""Two learners that train one network together do what one learner does, up to rounding; and neither waits for ever."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from cluster.errors import PeerLostError, UserError
from games.hearts.game import HeartsGame
from learner.config import LearnerConfig, LossConfig, TransformerConfig
from learner.training.loop import Progress
from learner.training.parallel import Group
from learner.training.resume import partial_path
from tests.learner.material import KilledError, branched_shard, changed, killing_at, shard_of, train, without_clocks
from tests.learner.test_policy_gradient import played

GAME = HeartsGame()
MODEL = TransformerConfig(
    n_layer=1, n_head=2, n_embd=16, embd_pdrop=0.0, resid_pdrop=0.0, token_types=True, features=["all"]
)
LEARNER = LearnerConfig(
    learning_rate=3e-3, num_epochs=2, loss=LossConfig(outcome_positions=2, branch_weight=0.5), device="cpu",
    batch_size=9,  # 64 sequences: the last batch of an epoch has one, so one of the learners has none
    checkpoint_every_steps=4, log_every_steps=4,
)  # fmt: skip


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Sequences with branches, of different lengths and numbers of them."""
    return [branched_shard(GAME, tmp_path_factory.mktemp("shards"), 16)]


def together(
    shards: list[str],
    out: Path,
    size: int = 2,
    model: TransformerConfig = MODEL,
    learner: LearnerConfig = LEARNER,
    stopping: dict[int, Progress] | None = None,
    others: dict[str, Any] | None = None,
) -> list[Any]:
    """What every learner of a group returns or raises: each in a thread, with connections of its own."""
    first = Group("127.0.0.1", size)
    places = [first, *(Group("127.0.0.1", size, rank, first.address) for rank in range(1, size))]

    def one(group: Group) -> Any:
        own = {} if group.first else others or {}
        arguments = {"model_config": model, "learner_config": learner, "shards": shards, "seed": 7, **own}
        try:
            return train(GAME, out=out, group=group, on_progress=(stopping or {}).get(group.rank), **arguments)
        except Exception as error:
            group.leave()
            return error

    with ThreadPoolExecutor(size) as threads:
        return list(threads.map(one, places))


def history(out: Path) -> list[dict[str, float]]:
    state = json.loads((out / "training/state.json").read_text())
    return [{**line} for line in state["history"]]


def assert_same_training(ours: Path, theirs: Path) -> None:
    """The same losses and weights, but for rounding."""
    for one, other in zip(history(ours), history(theirs), strict=True):
        assert one == pytest.approx(other, rel=1e-5)
    mine, wanted = (load_file(out / "model.safetensors") for out in (ours, theirs))
    for name, weights in wanted.items():
        torch.testing.assert_close(mine[name], weights, rtol=1e-3, atol=1e-5)


@pytest.fixture(scope="module")
def alone(shards: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("alone") / "out"
    train(GAME, MODEL, LEARNER, shards, out, seed=7)
    return out


@pytest.mark.parametrize("size", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_learners_in_a_group_train_as_one_does(alone: Path, shards: list[str], tmp_path: Path, size: int) -> None:
    metrics, *nothing = together(shards, tmp_path / "out", size)
    assert nothing == [{}] * (size - 1)
    assert metrics["step"] == 16 and metrics["branch_loss"] > 0
    assert_same_training(tmp_path / "out", alone)


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "values", "weight": 2.0, "max_steps": 12},
        {"kind": "gradient", "entropy_weight": 0.1, "outcome_positions": 0},
    ],
    ids=["values", "gradient"],
)
def test_learners_in_a_group_learn_the_same_policy_as_one(shards, tmp_path, settings) -> None:
    shards = [played(GAME, tmp_path, count=16)] if settings["kind"] == "gradient" else shards
    learner = changed(LEARNER, branch_weight=0.0, **settings)
    train(GAME, MODEL, learner, shards, tmp_path / "alone", seed=7)
    metrics, _ = together(shards, tmp_path / "out", learner=learner)
    assert metrics["step"] == metrics["num_steps"] and metrics.get("clipped", 0.5) not in (0, 1)
    assert_same_training(tmp_path / "out", tmp_path / "alone")


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1), pytest.param(3, 2, marks=pytest.mark.slow)])
def test_another_number_of_learners_goes_on_where_a_killed_one_stopped(alone, shards, tmp_path, before, after):
    out = tmp_path / "out"
    if before == 1:
        with pytest.raises(KilledError):
            train(GAME, MODEL, LEARNER, shards, out, seed=7, on_progress=killing_at(12))
    else:
        together(shards, out, before, stopping={0: killing_at(12)})
    assert [path.name for path in Path(partial_path(out)).iterdir()] == ["step-000000008"]
    seen: list[float] = []
    if after == 1:
        train(GAME, MODEL, LEARNER, shards, out, seed=7, on_progress=lambda line: seen.append(line["step"]))
    else:
        together(shards, out, after, stopping={0: lambda line: seen.append(line["step"])})
    assert seen == [12, 16]
    assert_same_training(out, alone)


def test_a_group_that_was_killed_ends_in_the_same_bytes(shards: list[str], tmp_path: Path) -> None:
    """Dropout too, which each learner draws for its own rows."""
    model = replace(MODEL, embd_pdrop=0.1, resid_pdrop=0.1)
    together(shards, tmp_path / "whole", model=model)
    together(shards, tmp_path / "killed", model=model, stopping={0: killing_at(12)})
    together(shards, tmp_path / "killed", model=model)
    assert without_clocks(tmp_path / "killed") == without_clocks(tmp_path / "whole")


def test_dropout_of_another_number_of_learners_is_refused(shards: list[str], tmp_path: Path) -> None:
    model, out = replace(MODEL, resid_pdrop=0.1), tmp_path / "out"
    together(shards, out, model=model, stopping={0: killing_at(12)})
    message = r"out\.partial: was trained with cluster\.learners=2, and 1 draw other dropout; use 2 until"
    with pytest.raises(UserError, match=message):
        train(GAME, model, LEARNER, shards, out, seed=7)
    together(shards, out, model=model)
    assert train(GAME, model, LEARNER, shards, out, seed=7)["step"] == 16, "what is finished is anybody's"


def test_a_finished_training_is_finished_for_all(alone: Path, shards: list[str]) -> None:
    metrics, nothing = together(shards, alone)
    assert metrics["step"] == 16 and nothing == {}


def test_who_leaves_ends_the_others(shards: list[str], tmp_path: Path) -> None:
    for rank in (0, 1):
        ends = together(shards, tmp_path / str(rank), 3, stopping={rank: killing_at(12)})
        assert isinstance(ends[rank], KilledError)
        assert all(isinstance(error, PeerLostError) for error in ends[:rank] + ends[rank + 1 :])


def test_who_does_not_come_or_hangs_is_not_waited_for_for_ever(shards: list[str], tmp_path: Path) -> None:
    soon = timedelta(seconds=1)
    with pytest.raises(PeerLostError, match="learner 0 of 2 has lost another"):
        train(GAME, MODEL, LEARNER, shards, tmp_path / "a", group=Group("127.0.0.1", 2, timeout=soon))
    first, hung = Group("127.0.0.1", 2, timeout=soon), threading.Event()
    other = Group("127.0.0.1", 2, 1, first.address)
    with ThreadPoolExecutor(1) as threads:
        hanging = threads.submit(
            train, GAME, MODEL, LEARNER, shards, "", on_progress=lambda line: hung.wait(60) and None, group=other
        )
        with pytest.raises(PeerLostError, match=r"(?i)timed out"):
            train(GAME, MODEL, LEARNER, shards, tmp_path / "b", group=first)
        first.leave()
        hung.set()
        assert isinstance(hanging.exception(60), PeerLostError)


def test_learners_that_read_other_shards_are_told(shards: list[str], tmp_path: Path) -> None:
    other = [shard_of(GAME, tmp_path, 16, seed=9)]
    learner = changed(LEARNER, branch_weight=0.0)
    ends = together(shards, tmp_path / "out", learner=learner, others={"shards": other})
    assert isinstance(ends[0], PeerLostError)
    assert "learner 1 of 2: its shards, first weights, code or precision are not the first" in str(ends[1])


class Nccl:
    """In the place of NCCL's group, whose calls return before the device has done anything."""

    def __init__(self) -> None:
        self.called: list[str] = []

    def allreduce(self, tensors: list[torch.Tensor]) -> Any:
        return SimpleNamespace(wait=lambda: None)

    def abort(self) -> None:
        self.called.append("abort")

    def shutdown(self) -> None:
        self.called.append("shutdown")


@pytest.fixture
def on_gpus(monkeypatch: pytest.MonkeyPatch) -> tuple[list[Group], list[Nccl]]:
    """Three learners that have joined, and what each has in the place of NCCL."""
    nccl = [Nccl() for _ in range(3)]
    monkeypatch.setattr(Group, "_connect_gpus", lambda group, store: nccl[group.rank])
    monkeypatch.setattr("learner.training.parallel._LOOK_SECONDS", 0.05)
    monkeypatch.setattr("torch.cuda.synchronize", lambda device: None)
    first = Group("127.0.0.1", 3)
    groups = [first, *(Group("127.0.0.1", 3, rank, first.address) for rank in (1, 2))]
    for group in groups:
        group.join(torch.device("cuda"))
    return groups, nccl


@pytest.mark.parametrize("fails", [0, 2])
def test_on_gpus_who_fails_is_known_to_the_others_in_seconds(on_gpus, fails: int) -> None:
    groups, nccl = on_gpus
    groups[fails].leave()
    others = [rank for rank in range(3) if rank != fails]
    limit = time.monotonic() + 60
    while not all(nccl[rank].called for rank in others):
        assert time.monotonic() < limit
        time.sleep(0.02)
    assert [group.called for group in nccl] == [["abort"]] * 3
    for rank in others:
        with pytest.raises(PeerLostError, match=f"learner {rank} of 3 has lost another, which failed"):
            groups[rank].add_up([torch.zeros(2)])
        with pytest.raises(PeerLostError):
            groups[rank].check()
        groups[rank].leave()


def test_on_gpus_all_end_together_and_nobody_counts_as_failed(on_gpus) -> None:
    groups, nccl = on_gpus
    with ThreadPoolExecutor(3) as threads:
        ending = [threads.submit(group.end) for group in groups]
        assert [end.result(60) for end in ending] == [None] * 3
    time.sleep(0.2)
    for group in groups:
        group.check()
        group.leave()
    assert [group.called for group in nccl] == [["shutdown"]] * 3
