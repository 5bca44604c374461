"""One local Ray for the tests that need one, connected the way commands do."""

from collections.abc import Iterator
from typing import Any

import pytest

from cluster.actors.connection import connect
from cluster.config import ClusterConfig


@pytest.fixture(scope="package")
def ray_connection() -> Iterator[Any]:
    with connect(ClusterConfig(num_cpus=2, num_gpus=0, object_store_mb=100, dashboard=True)) as connection:
        yield connection
