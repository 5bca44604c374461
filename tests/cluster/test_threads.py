"""Commands say how OpenMP's threads wait before they load torch; importing a package says nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.threads import VARIABLES, let_threads_sleep

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("given", "settled"),
    [
        ({}, {"GOMP_SPINCOUNT": "1000"}),
        ({"GOMP_SPINCOUNT": "7"}, {"GOMP_SPINCOUNT": "7"}),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, {"OMP_WAIT_POLICY": "ACTIVE"}),
    ],
)
def test_the_users_own_settings_win(given, settled, monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    let_threads_sleep()
    assert {name: os.environ[name] for name in VARIABLES if name in os.environ} == settled
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def test_importing_packages_changes_no_variable_and_the_learners_command_loads_torch_later():
    code = (
        "import os, sys, learner.__main__; assert 'torch' not in sys.modules; "
        "import learner.inference.engine, search.roster.engines, selfplay.workers; "
        f"assert not set({VARIABLES}) & set(os.environ)"
    )
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
