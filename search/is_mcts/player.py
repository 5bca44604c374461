"""IS-MCTS as a player."""

import numpy as np

from games.game import Game
from search.is_mcts.config import IsMctsConfig
from search.is_mcts.search import IsMcts
from search.players.kinds import PlayerKind
from search.players.memory import tree_bytes
from search.players.player import Turns


def check_is_mcts(game: Game, config: IsMctsConfig) -> None:
    """``ValueError`` for a game that cannot sample deals."""
    if not game.can_determinize:
        raise ValueError(f"player is_mcts samples deals, which {game.name} cannot")


class IsMctsPlayer:
    """Plays the action that most simulations began with; the lowest token of equals. A forced move costs no search."""

    name = "is_mcts"
    sees_hidden = False

    def __init__(self, config: IsMctsConfig) -> None:
        self._config = config

    def start(self, game: Game, num_games: int) -> None:
        """Remember the game."""
        self._game = game

    def forget(self, games: np.ndarray) -> None:
        """Nothing to forget: every decision is searched anew."""

    def act(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: one legal token per turn."""
        actions = turns.legal.argmax(axis=1)
        free = np.flatnonzero(turns.legal.sum(axis=1) > 1)
        if len(free):
            turns = turns.take(free)
            views = self._game.views(turns.tokens, turns.lengths)
            actions[free] = IsMcts(self._game, self._config, views, turns.seeds).visits().argmax(axis=1)
        return actions


KIND = PlayerKind(
    name="is_mcts",
    summary="Information Set MCTS with random playouts, single or multiple observer; needs no network.",
    settings=IsMctsConfig,
    check=check_is_mcts,
    decision_bytes=lambda game, settings: tree_bytes(settings.runs, settings.seconds),
    factory=lambda game, model, settings: IsMctsPlayer(settings),
)
