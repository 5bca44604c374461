"""Torch's trunk fills passes up without changing what they say, and is enough where the compiled one is missing."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import torch

from learner.inference.cuda_graphs import filled_up, lay_out, shape_of
from learner.inference.torch_trunk import TorchTrunk
from tests.learner.passes import SLOTS, UTILITY, a_pass, network

ROOT = Path(__file__).parents[2]


def test_passes_of_all_sizes_are_filled_up_to_few_shapes_and_say_the_same():
    rng, net, shapes = np.random.default_rng(1), network(3), set()
    plain, filled = (
        TorchTrunk(net, UTILITY, SLOTS, torch.device("cpu"), torch.float32, graphs=graphs) for graphs in (False, True)
    )
    for rows, longest, share in ((5, 3, 0.2), (6, 3, 0.2), (7, 4, 0.2), (8, 4, 0.2), (1, 1, 0.0)):
        plan = a_pass(rng, rows, longest, share, plain, filled)
        valued = np.append(np.arange(0, rows, 2), np.arange(rows, len(plan.answered)))
        for look_ahead in (False, True):
            for one, other in zip(filled(plan, valued, look_ahead), plain(plan, valued, look_ahead), strict=True):
                assert one.shape == other.shape
                np.testing.assert_allclose(one, other, atol=1e-5)
        torch.testing.assert_close(filled.cache[:, plan.slot], plain.cache[:, plan.slot])
        own = shape_of(plan, valued, False)
        shape = filled_up(own)
        assert all(whole >= part for whole, part in zip(shape.sizes, own.sizes, strict=True))
        assert len(lay_out(plan, valued, shape, spare=SLOTS)) == sum(shape.sizes)
        shapes.add(shape)
    assert len(shapes) <= 4


WITHOUT = """
import sys

sys.modules["learner.inference.cpu"] = None  # as if it were not there

import numpy as np
from learner.config import EngineConfig
from learner.inference.engine import QueryEngine
from learner.inference.torch_trunk import TorchTrunk
from learner.model.architecture import Architecture
from learner.model.network import PolicyValueNet, initialise

net = PolicyValueNet(Architecture(9, 7, 31, 2, 3, 24, 72, 0.0, 0.0, "normal", 0.2, 1e-5))
initialise(net, 1)
for precision in ("fp32", "bf16"):
    engine = QueryEngine(net, np.ones(7), EngineConfig(device="cpu", precision=precision))
    assert isinstance(engine._trunk, TorchTrunk)
    candidates = np.ones((2, 9), bool)
    answer = engine.query(np.array([-1, -1]), np.array([1, 2, 3]), np.array([1, 2]), candidates, np.ones(2, bool))
    assert np.allclose(answer.next_token.sum(1), 1.0) and np.allclose(answer.action_values, 1.0)
"""


def test_without_the_compiled_trunks_folder_torchs_trunk_answers():
    command = [sys.executable, "-c", WITHOUT]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
