"""What tests of searches and of measurements share."""

from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType

from games.config import GameConfig
from games.game import Game
from learner.config import EngineConfig, TransformerConfig
from learner.model.checkpoint import save_weights
from search.arena.tournament.evaluator import EvaluatorSettings
from search.config import SearchConfig
from tests.learner.material import tiny_net


def saved(path: Path, net: Any, game: Game) -> str:
    save_weights(path, net, game)
    return str(path)


def sure(game: Game, path: Path) -> str:
    """An untrained network with weights so large that all it sees makes a difference."""
    config = TransformerConfig(n_layer=1, n_head=2, n_embd=16, initializer_range=0.5)
    return saved(path, tiny_net(game, seed=1, config=config), game)


def printed(shown: RenderableType, width: int = 120) -> str:
    """What a table or text looks like in a terminal so wide."""
    console = Console(width=width)
    with console.capture() as output:
        console.print(shown)
    return output.get()


def of_hearts(table_size: int) -> EvaluatorSettings:
    """An evaluator's settings, for tables with so many places."""
    return EvaluatorSettings(GameConfig("hearts"), SearchConfig(), EngineConfig(device="cpu"), table_size)
