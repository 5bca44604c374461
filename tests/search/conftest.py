"""A browser for the tests of pages, and networks for those of players and commands."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from games.game import Game
from games.hearts.game import HeartsGame
from learner.config import TransformerConfig
from learner.model.checkpoint import save_weights
from tests.learner.material import tiny_net, tiny_q_net
from tests.search.browsers import launched
from tests.search.state_models import NO_PASS


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium. Of a module, as tests with event loops of their own cannot run beside Playwright's."""
    with launched() as found:
        yield found


def _saved(path: Path, net: Any, game: Game) -> str:
    save_weights(path, net, game)
    return str(path)


@pytest.fixture(scope="session")
def network(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny untrained network for Hearts."""
    return _saved(tmp_path_factory.mktemp("networks") / "tiny", tiny_net(HeartsGame()), HeartsGame())


@pytest.fixture(scope="session")
def sure_network(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An untrained network for Hearts, with weights so large that all it sees makes a difference."""
    config = TransformerConfig(n_layer=1, n_head=2, n_embd=16, initializer_range=0.5)
    net = tiny_net(HeartsGame(), seed=1, config=config)
    return _saved(tmp_path_factory.mktemp("networks") / "sure", net, HeartsGame())


@pytest.fixture(scope="session")
def q_network(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny untrained Q-network for Hearts without passing."""
    return _saved(tmp_path_factory.mktemp("networks") / "q", tiny_q_net(NO_PASS, 1), NO_PASS)
