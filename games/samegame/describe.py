"""A history of SameGame as people draw it: the board that was dealt, the moves, and the board that is left."""

import numpy as np

LETTERS = "abcdefghi"
"""Letter of each colour, beginning with colour 0."""


def cell_name(cell: int, rows: int) -> str:
    """Column and row of a cell, each from 1, the row from below: ``3.10``."""
    return f"{cell // rows + 1}.{cell % rows + 1}"


def board_text(tiles: np.ndarray, rows: int) -> str:
    """A board, top row first; ``tiles`` (``int8[N]``) as ``games.samegame.board`` has them."""
    columns = np.asarray(tiles).reshape(-1, rows)
    signs = "." + LETTERS
    return "\n".join(" ".join(signs[tile] for tile in columns[:, row]) for row in reversed(range(rows)))


def describe(dealt: np.ndarray, moves: list[str], left: np.ndarray, rows: int) -> str:
    """Both boards side by side, and the moves between them."""
    pairs = zip(board_text(dealt, rows).split("\n"), board_text(left, rows).split("\n"), strict=True)
    lines = [f"{before}   {after}" for before, after in pairs]
    return "\n".join([*lines, f"moves: {' '.join(moves) or 'none'}"])
