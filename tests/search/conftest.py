"""A browser for the tests of pages, and networks for those of players and commands."""

from collections.abc import Iterator
from typing import Any

import pytest

from games.hearts.game import HeartsGame
from tests.learner.material import tiny_net, tiny_q_net
from tests.search.browsers import launched
from tests.search.material import saved, sure
from tests.search.state_models import NO_PASS


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium. Of a module, as tests with event loops of their own cannot run beside Playwright's."""
    with launched() as found:
        yield found


@pytest.fixture(scope="session")
def network(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny untrained network for Hearts."""
    return saved(tmp_path_factory.mktemp("networks") / "tiny", tiny_net(HeartsGame()), HeartsGame())


@pytest.fixture(scope="session")
def sure_network(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An untrained network for Hearts, with weights so large that all it sees makes a difference."""
    return sure(HeartsGame(), tmp_path_factory.mktemp("networks") / "sure")


@pytest.fixture(scope="session")
def q_network(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny untrained Q-network for Hearts without passing."""
    return saved(tmp_path_factory.mktemp("networks") / "q", tiny_q_net(NO_PASS, 1), NO_PASS)
