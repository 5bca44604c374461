"""Pictures of SameGame: the board in colours, on which blocks are clicked."""

from collections.abc import Collection, Sequence
from functools import partial

import numpy as np
from rich.text import Text

from games.game import Game
from games.samegame.describe import LETTERS, cell_name
from games.samegame.game import SameGame
from search.apps.pictures.canvas import Canvas
from search.apps.pictures.scene import TABLE_HEIGHT, TABLE_WIDTH, YOU, Board, Choice, Layout, Scene

_COLOURS = ("#d64545", "#3f7fd6", "#e0b400", "#3fae5a", "#a05fd0", "#e07f2f", "#3fb8b8", "#c9c9c9", "#8a6d4b")
_PROMPT = "Take a block: click it, or arrows and space; Enter confirms"


class SameGameLayout(Layout):
    """The board from above; a letter for each tile as well, for those who tell colours badly."""

    game: SameGame
    names = ("You",)
    points_per_utility = 1000.0

    def __init__(self, game: Game, players: Sequence[str], observer: str = YOU) -> None:
        """``ValueError`` for a board that does not fit the screen."""
        super().__init__(game, players, observer)
        rows, columns = self._sizes
        if rows > TABLE_HEIGHT or columns > TABLE_WIDTH:
            raise ValueError(f"game.options.rows={rows}: the screen shows boards of at most {TABLE_HEIGHT} rows")

    def stops(self, tokens: np.ndarray) -> list[int]:
        """The board that was dealt, and the board after each move."""
        cells = self._sizes[0] * self._sizes[1]
        over = int(len(tokens) > cells and tokens[-1] == self.game.vocabulary.eos)
        return list(range(cells, len(tokens) + 1 - over)) or [len(tokens)]

    def scene(self, tokens: np.ndarray) -> Scene:
        """See ``Layout``."""
        rows, columns = self._sizes
        public = self.game.views(tokens[None], np.array([len(tokens)]))[0]["public"]
        legal, my_turn, points = self.state_of(tokens)
        tiles, block = (public[name].reshape(columns, rows).T[::-1].astype(np.int64) for name in ("tiles", "block"))
        first = int(self.game.options["colours"]) - 1  # a block's number is 1 + its cell
        choices = np.where(block > 0, block + first, -1)
        width = 3 if columns * 3 <= TABLE_WIDTH else 2 if columns * 2 <= TABLE_WIDTH else 1
        left, top = (TABLE_WIDTH - width * columns) // 2, (TABLE_HEIGHT - rows) // 2
        draw = partial(_drawn, tiles, choices, left, top, width)
        size = {token: int((choices == token).sum()) for token in legal}
        return Scene(
            title=f"{self.game.title} · {int(public['left'].sum())} tiles left",
            table=draw(()),
            choices=tuple(Choice(t, f"{cell_name(t - first - 1, rows)} ({size[t]} tiles)", True) for t in legal),
            cards=False,
            needed=int(my_turn),
            prompt=_PROMPT if my_turn else "",
            points=points or (float(public["score"]),),
            board=Board(choices, draw, left, top, width),
        )

    @property
    def _sizes(self) -> tuple[int, int]:
        return int(self.game.options["rows"]), int(self.game.options["columns"])


def _drawn(tiles: np.ndarray, choices: np.ndarray, left: int, top: int, width: int, marked: Collection[int]) -> Text:
    """The table with a board of ``tiles`` (``int[rows, columns]``, 0 for none), of which some ``choices`` are
    marked."""
    canvas = Canvas(TABLE_WIDTH, TABLE_HEIGHT)
    for (row, column), tile in np.ndenumerate(tiles):
        if tile:
            chosen = choices[row, column] in marked
            text = f"[{LETTERS[tile - 1]}]" if chosen and width == 3 else LETTERS[tile - 1].center(width)
            style = f"black on {_COLOURS[tile - 1]}" + (" bold reverse" if chosen else "")
            canvas.put(left + width * column, top + row, text, style)
    return canvas.text()
