"""Boards of SameGame: tiles, blocks, and what is left when a block goes (paper 003, section "SameGame").

Letters: ``N`` cells of a board. Cells are counted column by column, each from below, so that a column is a stretch of
the board and tiles fall by moving forward in it. A record has its board as ``tiles`` (``int8[N]``): 0 for an empty
cell, else 1 + colour.
"""

import numpy as np

from games.bits import Actions
from games.compiling import kernel

MAX_COLOURS = 9


def public_type(columns: int, rows: int) -> np.dtype:
    """The record of a board, all of which is public."""
    cells = columns * rows
    return np.dtype(
        [
            ("tiles", np.int8, cells),
            ("block", np.int16, cells),  # 1 + the cell that stands for the block of a cell; 0 for none
            ("size", np.int16, cells),  # of the block that a cell stands for; 0 for other cells
            ("left", np.int16, MAX_COLOURS),  # tiles of every colour
            ("rows", np.int16),
            ("colours", np.int16),
            ("dominant", np.int16),  # tiles that a dealt board has of one colour; 0 where that is free
            ("balanced", np.int8),  # 1: as many tiles of every colour
            ("excess", np.int8),  # 1: tiles left over cost max(0, left - 2) squared
            ("score", np.int32),  # rewards so far; at the end the last one too
            ("turn", np.int8),  # 0 while a block is left, else -1
        ]
    )


@kernel
def find_blocks(public):
    """Note the blocks of a board: two or more tiles of a colour that touch along edges. A block's cell is the topmost
    in its leftmost column. The game is over when there is none.

    Cells are gone through column by column from above, and each joins the blocks of its colour above it and to the
    left. The first cell of a block in this order is the one that stands for it.
    """
    tiles, block, size, rows = public["tiles"], public["block"], public["size"], np.int64(public["rows"])
    cells = len(tiles)
    first, cell_of = np.empty(cells, np.int16), np.empty(cells, np.int16)
    for column in range(0, cells, rows):
        for above in range(rows):
            here, cell = column + above, column + rows - 1 - above
            cell_of[here], first[here], colour = cell, here, tiles[cell]
            size[cell] = 0
            if colour == 0:
                continue
            if above > 0 and tiles[cell + 1] == colour:
                first[here] = first[here - 1]
            if column > 0 and tiles[cell - rows] == colour:
                _join(first, here, here - rows)
    found = False
    for here in range(cells):
        first[here] = first[first[here]]
        size[cell_of[first[here]]] += 1
    for here in range(cells):
        cell, stands = cell_of[here], cell_of[first[here]]
        together = tiles[cell] != 0 and size[stands] > 1
        block[cell] = stands + 1 if together else 0
        found |= together
    for lone in range(cells):
        if block[lone] == 0:
            size[lone] = 0
    public["turn"] = 0 if found else -1


@kernel
def _join(first, one, other):
    """Make the blocks of two cells one; an entry of ``first`` is an earlier cell of the same block, or the cell
    itself where it is the first."""
    while first[one] != one:
        one = np.int64(first[one])
    while first[other] != other:
        other = np.int64(first[other])
    first[max(one, other)] = min(one, other)


@kernel
def remove(public, cell):
    """Take the block that ``cell`` stands for; what was above falls, and columns close ranks to the left. Pays (n - 2)
    squared for n tiles, and what the end pays where no block is left."""
    tiles, block, rows = public["tiles"], public["block"], np.int64(public["rows"])
    cells, number = len(tiles), np.int64(public["size"][cell])
    public["left"][tiles[cell] - 1] -= number
    target = np.int64(0)  # first cell of the column that the next one with tiles becomes
    for column in range(0, cells, rows):
        height = 0
        for here in range(column, column + rows):
            if tiles[here] == 0:
                break
            if block[here] != cell + 1:
                tiles[target + height] = tiles[here]
                height += 1
        if height > 0:
            tiles[target + height : target + rows] = 0
            target += rows
    tiles[target:] = 0
    public["score"] += (number - 2) ** 2
    find_blocks(public)
    if public["turn"] < 0:
        public["score"] += last_reward(public)


@kernel
def last_reward(public):
    """What the end of a game pays: 1,000 for an empty board, else minus (left - 2) squared of every colour that is
    left, where ``excess`` counts only what is above 2."""
    penalty, empty = np.int64(0), True
    for colour in range(public["colours"]):
        left = np.int64(public["left"][colour])
        if left > 0:
            empty = False
            over = left - 2
            if public["excess"] != 0 and over < 0:
                over = np.int64(0)
            penalty += over * over
    return 1000 if empty else -penalty


@kernel
def last_rewards(states, rewards):
    """Write what the end of each game paid (``int64[B]``)."""
    for i in range(len(states)):
        rewards[i] = last_reward(states[i]["public"])


@kernel
def start(public):
    """Begin on the ``tiles`` that were dealt; a board without a block ends at once."""
    public["left"][:] = 0
    for colour in public["tiles"]:
        public["left"][colour - 1] += 1
    find_blocks(public)
    if public["turn"] < 0:
        public["score"] = last_reward(public)


@kernel
def add_blocks(positions, given, merged):
    """Add up what is ``given`` (``float[B, V]``) to the cells of each block, at the cell that stands for it."""
    for i in range(len(positions)):
        public = positions[i]["public"]
        first, block = np.int64(public["colours"]), public["block"]
        for cell in range(len(block)):
            if block[cell] > 0:
                merged[i, first + block[cell] - 1] += given[i, first + cell]


# ---- legal actions: the blocks of a board


@kernel
def legal(record):
    """The blocks of a board: the token of the first cell, and ``int16[N]``, the size of the block that each cell stands
    for, 0 for none."""
    return record["public"]["colours"], record["public"]["size"]


@kernel
def mark(blocks, row):
    """Set ``row[token]`` (``bool[V]``) for every block."""
    first, size = blocks
    for cell in range(len(size)):
        if size[cell] > 0:
            row[first + cell] = True


@kernel
def holds(blocks, token):
    """Whether any number is the token of a block."""
    first, size = blocks
    return token >= first and token - first < len(size) and size[token - first] > 0


@kernel
def count(blocks):
    """Number of blocks."""
    number = 0
    for size in blocks[1]:
        number += int(size > 0)
    return number


@kernel
def nth(blocks, n):
    """Token of the ``n``-th block, counted from 0."""
    first, size = blocks
    for cell in range(len(size)):
        if size[cell] > 0:
            if n == 0:
                return np.int64(first + cell)
            n -= 1
    return np.int64(-1)


BLOCKS = Actions(mark, holds, count, nth)
