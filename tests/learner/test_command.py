"""``python -m learner`` as a user runs it."""

import pytest
import torch

from games.hearts.game import HeartsGame
from learner.model.checkpoint import load_weights
from tests.learner.material import shard_of
from tests.selfplay.commands import here


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
