"""SameGame in plain Python over ``scipy.ndimage.label``, from the text of paper 003. A board is a matrix of colours
from 1, 0 where empty, the top row first."""

import numpy as np
from scipy import ndimage


def blocks(board: np.ndarray) -> list[np.ndarray]:
    """Masks of the blocks: two or more edge-connected tiles of a colour."""
    found = []
    for colour in set(board.ravel().tolist()) - {0}:
        labels, number = ndimage.label(board == colour)
        found += [labels == each for each in range(1, number + 1)]
    return [mask for mask in found if mask.sum() > 1]


def cell(mask: np.ndarray) -> int:
    """The cell of a block, counted column by column from below: the topmost of its leftmost column."""
    rows = len(mask)
    column = int(np.flatnonzero(mask.any(axis=0))[0])
    return column * rows + rows - 1 - int(np.flatnonzero(mask[:, column])[0])


def removed(board: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The board without a block: tiles fall, columns right of an emptied one move left."""
    columns = [[tile for tile in column if tile] for column in np.where(mask, 0, board).T.tolist()]
    standing = [column for column in columns if column]
    after = np.zeros_like(board)
    for number, column in enumerate(standing):
        after[len(board) - len(column) :, number] = column
    return after


def reward(mask: np.ndarray) -> int:
    """What a block pays."""
    return (int(mask.sum()) - 2) ** 2


def last_reward(board: np.ndarray, excess: bool) -> int:
    """What the end pays."""
    left = [int((board == colour).sum()) for colour in set(board.ravel().tolist()) - {0}]
    return -sum((max(0, each - 2) if excess else each - 2) ** 2 for each in left) if left else 1000


def board_of(tiles: np.ndarray, rows: int) -> np.ndarray:
    """The matrix of a state's tiles."""
    return tiles.reshape(-1, rows).T[::-1].astype(np.int64)
