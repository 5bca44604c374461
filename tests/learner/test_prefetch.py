"""Batches made ahead by threads."""

import threading

import pytest

from games.hearts.game import HeartsGame
from learner.config import LearnerConfig, LossConfig
from learner.training.prefetch import Prefetch
from tests.learner.material import TINY, branched_shard, train

GAME = HeartsGame()


def test_batches_come_in_order_and_none_behind_the_end_is_made():
    made = set()

    def make(step):
        made.add(step)
        return step * step

    batches = Prefetch(3)
    assert [batches.get(make, step, end=20) for step in range(5, 20)] == [step * step for step in range(5, 20)]
    assert made == set(range(5, 20))


def test_another_step_than_the_next_begins_anew():
    batches = Prefetch(2)
    assert [batches.get(lambda step: step, step, end=100) for step in (0, 1, 50, 51, 3)] == [0, 1, 50, 51, 3]


def test_several_batches_are_in_the_making_at_once():
    together = threading.Barrier(3, timeout=30)

    def make(step):
        together.wait()
        return step

    batches = Prefetch(3)
    assert [batches.get(make, step, end=6) for step in range(6)] == [0, 1, 2, 3, 4, 5]


def test_what_goes_wrong_in_a_thread_is_raised_at_its_step():
    def make(step):
        if step == 2:
            raise ValueError("batch 2")
        return step

    batches = Prefetch(2)
    assert [batches.get(make, 0, 9), batches.get(make, 1, 9)] == [0, 1]
    with pytest.raises(ValueError, match="batch 2"):
        batches.get(make, 2, 9)


def test_training_with_threads_ends_in_the_same_bytes(tmp_path):
    shards = [branched_shard(GAME, tmp_path, 32)]
    written = {}
    for threads in (0, 3):
        loss = LossConfig(branch_weight=0.3, outcome_positions=4)
        config = LearnerConfig(batch_size=8, num_epochs=2, device="cpu", loss=loss, batch_threads=threads)
        train(GAME, TINY, config, shards, tmp_path / str(threads))
        written[threads] = (tmp_path / str(threads) / "model.safetensors").read_bytes()
    assert written[0] == written[3]
