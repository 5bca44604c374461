"""IS-MCTS as a player."""

import numpy as np

from games.game import Game
from search.is_mcts.config import IsMctsConfig
from search.is_mcts.search import IsMcts
from search.players.kinds import PlayerKind
from search.players.memory import tree_bytes
from search.players.player import ChoosingPlayer, Turns


def check_is_mcts(game: Game, config: IsMctsConfig) -> None:
    """``ValueError`` for a game that cannot sample deals."""
    if not game.can_determinize:
        raise ValueError(f"player is_mcts samples deals, which {game.name} cannot")


class IsMctsPlayer(ChoosingPlayer):
    """Plays the root action with most visits; ties go to the lowest token."""

    name = "is_mcts"

    def __init__(self, config: IsMctsConfig) -> None:
        self._config = config

    def choose(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: see above."""
        views = self.game.views(turns.tokens, turns.lengths)
        return IsMcts(self.game, self._config, views, turns.seeds).visits().argmax(axis=1)


KIND = PlayerKind(
    name="is_mcts",
    summary="Information Set MCTS with random playouts, single or multiple observer; needs no network.",
    settings=IsMctsConfig,
    check=check_is_mcts,
    decision_bytes=lambda game, settings: tree_bytes(settings.runs, settings.seconds),
    factory=lambda game, model, settings: IsMctsPlayer(settings),
)
