"""XSkat as a player: the installed program, one process for each deal and seat (``games.skat.xskat.table``).

It sees hidden cards: its process gets the whole deal, as when XSkat deals itself, and the others' actions.
"""

import numpy as np

from games.game import Game
from games.skat.replay import actions_of
from games.skat.xskat.program import program
from games.skat.xskat.table import XSkatTable
from search.players.player import Turns


class XSkat:
    """Plays Skat as XSkat does; deterministic."""

    name = "xskat"
    sees_hidden = True

    def __init__(self) -> None:
        """``ValueError`` where XSkat is not installed."""
        program()
        self._tables: dict[tuple[int, int], tuple[XSkatTable, int]] = {}
        """(place, seat) -> its process, and the number of the deal's actions sent to it."""

    def start(self, game: Game, num_games: int) -> None:
        """End all processes; ``ValueError`` for any game but Skat."""
        if game.name != "skat":
            raise ValueError(f"player {self.name!r} plays skat only, not {game.name}")
        self.forget(np.array([place for place, _ in self._tables], np.int64))

    def forget(self, games: np.ndarray) -> None:
        """End the processes of these places."""
        ended = {int(place) for place in games}
        for key in [key for key in self._tables if key[0] in ended]:
            self._tables.pop(key)[0].close()

    def act(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: one legal token per turn."""
        assert turns.hidden is not None
        chosen = np.empty(len(turns.game), np.int64)
        for row, (place, seat) in enumerate(zip(turns.game.tolist(), turns.seat.tolist(), strict=True)):
            state = turns.hidden[row]
            table, known = self._tables.get((place, seat)) or (XSkatTable(state["dealt"].copy(), seat), 0)
            actions, _ = actions_of(state)
            for token in actions[known:]:
                table.do(int(token))
            self._tables[place, seat] = table, len(actions)
            chosen[row] = table.ask()
        return chosen
