"""What all tests share."""

import os
import sys
from pathlib import Path

import open_spiel.python.algorithms.mcts  # noqa: F401  brings absl
import pyarrow.fs
import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# Before anything imports torch: threads that spin while they wait starve the other processes of a small machine, and
# tests start several at once.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# More threads than one for the products of tiny networks take longer, all the more so with several tests at once.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Ray exports metrics once in ten seconds, and forgets gauges after twice that; tests would wait for it.
os.environ.setdefault("RAY_metrics_report_interval_ms", "1000")

# Machines that run tests are often busy; how long an example takes says nothing about the code.
settings.register_profile("kibitz", deadline=None)
settings.load_profile("kibitz")

# Ray starts two workers beforehand, which our actors, with environment variables of their own, cannot use.
os.environ.setdefault("RAY_prestart_worker_first_driver", "0")

# absl, which OpenSpiel logs with, has a handler that closes its stream when Hydra sets logging up: pytest's, if that
# stood for the standard error when absl was imported.
sys.modules["absl.logging"].get_absl_handler().python_handler.stream = sys.__stderr__  # type: ignore[attr-defined]

START_RAY = (
    "cluster/test_connection",
    "cluster/test_doctor",
    "cluster/test_metrics",
    "cluster/test_pool",
    "cluster/test_stages",
    "packaging/",
    "search/test_sweep",
    "selfplay/test_command",
    "selfplay/test_faults",
    "selfplay/test_workers",
    "storage/test_runs",
)
"""Where tests start Ray on this machine: those of ``selfplay/`` one after another, and the others one after another
beside them; more at once would starve each other."""


COMPILES = "selfplay/test_loop.py"
"""Runs whole iterations without Ray. Before the tests with Ray, so that the kernels are compiled once and not by every
actor at the same time."""


def scope_of(nodeid: str) -> str:
    """What goes to one process, with ``-n``: a file, for its fixtures' sake, and all files that start Ray."""
    file = nodeid.split("::")[0].removeprefix("tests/")
    if not file.startswith((COMPILES, *START_RAY)):
        return file
    return "ray of selfplay" if file.startswith("selfplay/") else "ray"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever takes long begins first, so that no process is left with a long file at the end."""
    slow = {scope_of(item.nodeid) for item in items if item.get_closest_marker("slow")}

    def order(item: pytest.Item) -> tuple[bool, bool, bool]:
        scope = scope_of(item.nodeid)
        return not scope.startswith("ray"), not item.nodeid.startswith(f"tests/{COMPILES}"), scope not in slow

    items.sort(key=order)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of our own."""
    parser.addoption("--may-skip", metavar="MARKER", help="a test without this marker that is skipped is a failure")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """With ``--may-skip``: list the tests that should have run, and fail."""
    reporter, marker = session.config.pluginmanager.get_plugin("terminalreporter"), session.config.option.may_skip
    if marker is None or reporter is None or hasattr(session.config, "workerinput"):
        return
    others = [
        report.nodeid for report in reporter.stats.get("skipped", []) if marker not in getattr(report, "keywords", ())
    ]
    if others:
        reporter.write_line(f"\nskipped, though --may-skip={marker} lets others run: {', '.join(others)}", red=True)
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


class Scheduling(LoadScopeScheduling):
    """With ``-n``, tests are shared out by ``scope_of``."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)


@pytest.hookimpl(optionalhook=True)  # so that -p no:xdist works
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling:
    """How tests are shared out, whatever ``--dist`` says: in the order above, not by number."""
    config.option.loadscopereorder = False
    return Scheduling(config, log)


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pyarrow.fs.FileSystem:
    """The file system in memory that stands behind pyarrow's own ``mock:`` URIs; copies go below ``tmp_path``."""
    from cluster.files import storage, uris

    filesystem, _ = pyarrow.fs.FileSystem.from_uri("mock:///")
    real = uris.resolve

    def resolve(path: str | Path) -> tuple[pyarrow.fs.FileSystem, str]:
        return (filesystem, str(path).removeprefix("mock://")) if uris.is_remote(path) else real(path)

    for module in (storage, uris):
        monkeypatch.setattr(module, "resolve", resolve)
    monkeypatch.setattr(uris, "cache_directory", lambda: tmp_path / "cache")
    return filesystem
