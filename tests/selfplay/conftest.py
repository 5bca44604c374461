"""A run that many tests look at, played once."""

import shutil
from pathlib import Path

import pytest

from tests.selfplay.material import run, tiny_config


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of ``tiny_config``, left alone; to be looked at and copied, not to be changed."""
    root = tmp_path_factory.mktemp("run") / "finished"
    run(tiny_config(str(root)))
    return root


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Path:
    """A copy of that run, to be changed."""
    return Path(shutil.copytree(finished, tmp_path / "copy"))
