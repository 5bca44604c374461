"""Threads of OpenMP wait as we say, in every command."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
ROOT = Path(__file__).parents[2]
AT_TORCH = """
import importlib, os, sys

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            print([os.environ.get(variable) for variable in %r])
            sys.exit()

sys.meta_path.insert(0, Watch())
importlib.import_module(sys.argv[1])
import learner.model.network
"""


@pytest.mark.parametrize(
    ("module", "given", "settled"),
    [
        ("search.arena.tournament.__main__", {}, [None, "1000"]),
        ("selfplay.__main__", {}, [None, "1000"]),
        ("learner.__main__", {"GOMP_SPINCOUNT": "7"}, [None, "7"]),
        ("search.apps.serve.__main__", {"OMP_WAIT_POLICY": "ACTIVE"}, ["ACTIVE", None]),
    ],
)
def test_a_command_says_how_threads_wait_before_it_loads_torch_and_the_users_own_settings_win(module, given, settled):
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    code = [sys.executable, "-c", AT_TORCH % (VARIABLES,), module]
    done = subprocess.run(code, cwd=ROOT, env=environment | given, capture_output=True, text=True, check=False)
    assert done.stdout == f"{settled}\n", done.stderr
