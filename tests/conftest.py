"""What all tests share."""

import os

import pytest
from hypothesis import settings

# Before anything imports torch: threads that spin while they wait starve the other processes of a small machine, and
# tests start several at once.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Machines that run tests are often busy; how long an example takes says nothing about the code.
settings.register_profile("kibitz", deadline=None)
settings.load_profile("kibitz")

START_RAY = ("cluster", "packaging", "selfplay")
"""Directories of tests that start Ray on this machine, where two at once can disturb each other."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With ``-n``, a file's tests share a process, for their fixtures' sake; those that start Ray all share one."""
    for item in items:
        directory = item.path.parent.name
        item.add_marker(pytest.mark.xdist_group("ray" if directory in START_RAY else item.nodeid.split("::")[0]))
