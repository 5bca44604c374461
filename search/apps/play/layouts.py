"""Layouts of games: pictures where the game has some (``search.players.support``), else words."""

import textwrap
from collections.abc import Sequence

import numpy as np
from rich.text import Text

from games.game import Game
from search.apps.pictures.canvas import shortened
from search.apps.pictures.scene import TABLE_HEIGHT, TABLE_WIDTH, YOU, Layout, Scene
from search.roster.kinds import support_of


def layout_of(game: Game, players: Sequence[str], own: str = "", observer: str = YOU) -> Layout:
    """The layout of ``game``; ``players`` sit at the other seats, clockwise from the observer's left, ``own`` at the
    observer's, which is called ``observer``."""
    return (support_of(game).layout or PlainLayout)(game, (own, *players), observer)


class PlainLayout(Layout):
    """Any game: the history in words, and a list of legal actions."""

    def __init__(self, game: Game, players: Sequence[str], observer: str = YOU) -> None:
        """See ``Layout``."""
        self.names = (YOU, *(f"Seat +{i}" for i in range(1, game.num_players)))
        super().__init__(game, players, observer)

    def stops(self, tokens: np.ndarray) -> list[int]:
        """Every length from the first token on."""
        return list(range(1, len(tokens) + 1)) or [0]

    def scene(self, tokens: np.ndarray) -> Scene:
        """See ``Layout``."""
        legal, my_turn, points = self.state_of(tokens)
        prompt, choices = "Your turn" if my_turn else "", self.words(legal)
        return Scene(self.game.name, self._table(tokens), choices, False, int(my_turn), prompt, points=points)

    def _table(self, tokens: np.ndarray) -> Text:
        lines = [
            shortened(f"{name}: {player}", TABLE_WIDTH)
            for name, player in zip(self.names, self.players, strict=True)
            if player
        ]
        room = TABLE_HEIGHT - len(lines) - 1
        seen = self.game.describe(tokens).splitlines()
        wrapped = [part for line in seen for part in textwrap.wrap(line, TABLE_WIDTH) or [""]]
        return Text("\n".join([*lines, "", *wrapped[-room:]]), no_wrap=True)
