"""What networks read of a board of SameGame: its blocks by colour (paper 003, section 3.3), and beyond the paper what
is left when one goes."""

import numpy as np

from games import batches
from games.compiling import kernel
from games.features import FeatureSet
from games.game import ACTION
from games.samegame.board import remove
from games.samegame.view import next_of

EMPTY = 25
"""What stands for an empty cell, a tenth of 255: about as much as tiles have. The paper does not say."""
_BOARD = (
    "by row from below, column and colour: size of a tile's block as a share of all tiles, in 255ths; then empty cells"
)
_BLOCKS = (
    "of every block: its tiles; those of its colour that would be left; its colour is the commonest; if it went, the"
    " blocks there would be, the tiles in none of these, the largest block of its colour, and of the others; the game"
    " would be over, and the board empty"
)
_NUMBERS = 9


def feature_sets(rows: int, columns: int, colours: int) -> dict[str, FeatureSet]:
    """The feature sets of boards of this size."""
    cells = rows * columns
    return {
        "board": FeatureSet(_BOARD, (rows, columns, colours + 1), fill_boards, of_board=True, tells=cells - 1),
        "blocks": FeatureSet(_BLOCKS, (colours + cells, _NUMBERS), fill_blocks, of_actions=True),
    }


@kernel
def fill_board(view, numbers):
    """Write the board (``uint8[rows, columns, colours + 1]``, rows from below) of paper 003, section 3.3: in the plane
    of a tile's colour the size of its block, 1 for a lone tile, as a share of the tiles on the board; in the last plane
    where there is no tile. Nothing before the whole board was seen."""
    public = view["public"]
    if view["length"] < len(public["tiles"]) or view["ended"] != 0:
        return
    tiles, block, size, rows = public["tiles"], public["block"], public["size"], np.int64(public["rows"])
    number = public["left"].sum()
    for cell in range(len(tiles)):
        row, column = cell % rows, cell // rows
        if tiles[cell] == 0:
            numbers[row, column, public["colours"]] = EMPTY
        else:
            tied = np.int64(size[block[cell] - 1]) if block[cell] > 0 else np.int64(1)
            numbers[row, column, tiles[cell] - 1] = max((255 * tied + number // 2) // number, 1)


fill_boards = batches.rows(fill_board)


def fill_blocks(views: np.ndarray, numbers: np.ndarray) -> None:
    """Write the numbers of the blocks (``uint8[B, colours + N, 9]``, by token), where the player is to act. Not by
    ``batches.rows``, as the scratch record has the size of the board."""
    _fill_rows(views, numbers, np.zeros(1, views.dtype["public"]))


@kernel
def _fill_rows(views, numbers, space):
    for i in range(len(views)):
        if next_of(views[i]) == ACTION:
            _fill_row(views[i]["public"], numbers[i], space)


@kernel
def _fill_row(public, by_token, space):
    """``space``: a record for the boards behind the blocks."""
    size, left, tiles = public["size"], public["left"], public["tiles"]
    most = left.max()
    for cell in range(len(size)):
        if size[cell] > 0:
            row, colour = by_token[public["colours"] + cell], tiles[cell]
            space[0] = public
            after = space[0]
            remove(after, cell)
            row[0] = min(size[cell], 255)
            row[1] = min(after["left"][colour - 1], 255)
            row[2] = left[colour - 1] == most
            _note(after, colour, row)
            row[7] = after["turn"] < 0
            row[8] = after["tiles"][0] == 0


@kernel
def _note(public, colour, row):
    """Columns 3 to 6 of a board; a cell's ``size`` is that of the block which it stands for."""
    blocks = together = own = other = 0
    size, tiles, left = public["size"], public["tiles"], public["left"].sum()
    for cell in range(len(size)):
        if size[cell] > 0:
            blocks, together = blocks + 1, together + size[cell]
            if tiles[cell] == colour:
                own = max(own, size[cell])
            else:
                other = max(other, size[cell])
    row[3], row[4], row[5], row[6] = min(blocks, 255), min(left - together, 255), min(own, 255), min(other, 255)
