"""Any player as an OpenSpiel bot, for ``evaluate_bots`` and everything else that takes a ``pyspiel.Bot``.

Four players at OpenSpiel's table::

    game = make_game("hearts")
    players = make_players(["go_mcts", "hearts_rules", "random", "random"], game, SearchConfig(), "kibitz:hearts")
    bots = [KibitzBot(game, player, seed=1) for player in players]
    evaluate_bots(pyspiel.load_game("hearts").new_initial_state(), bots, np.random.RandomState(1))

OpenSpiel gives a bot the whole state. The player only gets the history of the seat to act, as at our tables.
"""

from typing import Any

import numpy as np
import pyspiel

from games.game import Game
from games.openspiel_counterpart import counterpart
from search.players.player import Player
from search.players.table import answers, turns_at


class KibitzBot(pyspiel.Bot):
    """Plays OpenSpiel's game by a player of the same game here; one bot may hold several seats."""

    def __init__(self, game: Game, player: Player, seed: int) -> None:
        """
        Args:
            game: our ``hearts``, or ``openspiel:NAME`` for any other game, with the options of OpenSpiel's game.
            player: used by this bot alone.
            seed: 64 bits unknown to players. The player's random numbers follow from it, the number of restarts so
                far, the seat and the length of its history.

        Raises ``ValueError`` for a game that OpenSpiel does not have.
        """
        super().__init__()
        self._game, self._player, self._seed = game, player, seed
        self._counterpart = counterpart(game)
        self._deals = -1
        self.restart()

    def restart(self) -> None:
        """Begin a new deal."""
        self._deals += 1
        self._known: list[int] = []
        self._player.start(self._game, 1)

    def restart_at(self, state: Any) -> None:
        """Begin a new deal, or enter one in progress."""
        self.restart()

    def inform_action(self, state: Any, player_id: int, action: int) -> None:
        """Nothing to do: ``step`` gets the whole state."""

    def step(self, state: Any) -> int:
        """The action of the seat to act, as OpenSpiel's number. ``ValueError`` for a state of another game."""
        self._check(state.get_game())
        history = state.history()
        if history[: len(self._known)] != self._known:
            self.restart()  # another deal, without a restart
        self._known = history
        states = self._counterpart.replay([history])
        seats, place = self._game.to_move(states).astype(np.int64), np.zeros(1, np.int64)
        turns = turns_at(self._game, states, place, seats, np.array([self._deals]), self._seed)
        (token,) = answers(self._player, turns, place, states)
        return int(token) - self._counterpart.first_action

    def _check(self, spiel: Any) -> None:
        own = self._counterpart.spiel
        wanted, given = ((game.get_type().short_name, game.get_parameters()) for game in (own, spiel))
        if wanted != given:
            raise ValueError(f"this bot plays {own}, not {spiel}; make it with the game and options that are played")
