"""One local Ray for the tests that need one, connected the way commands do."""

import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest
from ray._private.ray_constants import DEFAULT_DASHBOARD_AGENT_LISTEN_PORT
from ray._private.worker import BaseContext

from cluster.actors.connection import connect
from cluster.config import ClusterConfig


@pytest.fixture(scope="package")
def ray_connection() -> Iterator[BaseContext]:
    """Beside another Ray of this machine, as far as the port goes that agents take by default."""
    with socket.socket() as taken:
        with suppress(OSError):  # there is another
            taken.bind(("127.0.0.1", DEFAULT_DASHBOARD_AGENT_LISTEN_PORT))
            taken.listen()
        with connect(ClusterConfig(num_cpus=2, num_gpus=0, object_store_mb=100, dashboard=True)) as connection:
            yield connection
