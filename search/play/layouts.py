"""How games are laid out: with pictures where there are some (``search.players.support``), any other in words."""

import textwrap
from collections.abc import Sequence
from pkgutil import resolve_name

import numpy as np
from rich.text import Text

from games.game import Game, Next
from search.pictures.canvas import shortened
from search.pictures.scene import TABLE_HEIGHT, TABLE_WIDTH, Choice, Layout, Scene, final_points
from search.roster.kinds import support_of


def layout_of(game: Game, players: Sequence[str], own: str = "") -> Layout:
    """How ``game`` is shown; ``players`` sit at the other seats, clockwise from the observer's left, ``own`` at its
    own."""
    named = support_of(game).layout
    return (resolve_name(named) if named else PlainLayout)(game, (own, *players))


class PlainLayout:
    """Any game: the history in words, and a list of what can be done."""

    points_per_utility = 0.0

    def __init__(self, game: Game, players: Sequence[str]) -> None:
        """``players``: who sits where, the observer first, then clockwise."""
        self._game = game
        self.names = ("You", *(f"Seat +{i}" for i in range(1, game.num_players)))
        self._players = players

    def stops(self, tokens: np.ndarray) -> list[int]:
        """Every length from the first token on."""
        return list(range(1, len(tokens) + 1)) or [0]

    def scene(self, tokens: np.ndarray) -> Scene:
        """See ``Layout``."""
        view = self._game.views(tokens[None], np.array([len(tokens)]))
        actions = np.flatnonzero(self._game.view_legal(view)[0])
        my_turn = self._game.next(view)[0] == Next.ACTION
        choices = tuple(Choice(int(token), self.token(int(token)), True) for token in actions)
        prompt = "Your turn" if my_turn else ""
        table, points = self._table(tokens), final_points(self._game, view)
        return Scene(self._game.name, table, choices, False, int(my_turn), prompt, points=points)

    def token(self, token: int) -> str:
        """See ``Layout``."""
        return self._game.vocabulary.name(token)

    def _table(self, tokens: np.ndarray) -> Text:
        lines = [
            shortened(f"{name}: {player}", TABLE_WIDTH)
            for name, player in zip(self.names, self._players, strict=True)
            if player
        ]
        room = TABLE_HEIGHT - len(lines) - 1
        seen = self._game.describe(tokens).splitlines()
        wrapped = [part for line in seen for part in textwrap.wrap(line, TABLE_WIDTH) or [""]]
        return Text("\n".join([*lines, "", *wrapped[-room:]]), no_wrap=True)
