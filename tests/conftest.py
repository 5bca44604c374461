"""What all tests share."""

import os

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# Before anything imports torch: threads that spin while they wait starve the other processes of a small machine, and
# tests start several at once.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Ray exports metrics once in ten seconds, and forgets gauges after twice that; tests would wait for it.
os.environ.setdefault("RAY_metrics_report_interval_ms", "1000")

# Machines that run tests are often busy; how long an example takes says nothing about the code.
settings.register_profile("kibitz", deadline=None)
settings.load_profile("kibitz")

START_RAY = (
    "cluster/",
    "packaging/",
    "selfplay/test_command",
    "selfplay/test_faults",
    "selfplay/test_job",
    "selfplay/test_watching",
    "selfplay/test_workers",
    "storage/test_command",
)
"""Where tests start Ray on this machine; two at once can disturb each other."""


class Scheduling(LoadScopeScheduling):
    """With ``-n``, a file's tests share a process, for their fixtures' sake; those that start Ray all share one."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::")[0]
        return "ray" if file.removeprefix("tests/").startswith(START_RAY) else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling:
    """How tests are shared out, whatever ``--dist`` says."""
    return Scheduling(config, log)
