"""A rectangle of characters to draw on, each with its own style."""

from itertools import groupby
from operator import itemgetter

from rich.text import Text


class Canvas:
    """Blank at first; clips what lies outside."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._cells = [[(" ", "")] * width for _ in range(height)]

    def put(self, x: int, y: int, text: str, style: str = "") -> None:
        """Write one line, its first character at column ``x`` of line ``y``; every character takes one column."""
        for column, character in enumerate(text, start=x):
            if 0 <= y < self.height and 0 <= column < self.width:
                self._cells[y][column] = (character, style)

    def centre(self, x: int, y: int, text: str, style: str = "") -> None:
        """Write one line around column ``x``."""
        self.put(x - len(text) // 2, y, text, style)

    def text(self) -> Text:
        """The drawing, line by line."""
        drawn = Text(no_wrap=True, end="")
        for y, line in enumerate(self._cells):
            for style, run in groupby(line, key=itemgetter(1)):
                drawn.append("".join(map(itemgetter(0), run)), style or None)
            drawn.append("\n" if y < self.height - 1 else "")
        return drawn


def shortened(text: str, width: int) -> str:
    """The text, cut at ``width``."""
    return text if len(text) <= width else text[: width - 1] + "…"
