"""The state of a game: the board, and the history of the one seat."""

import numpy as np

from games.compiling import kernel
from games.rng import below, next_state, output
from games.samegame.board import MAX_COLOURS, public_type, remove, start


def state_type(columns: int, rows: int, length: int, token: np.dtype) -> np.dtype:
    """The record of a game with histories of at most ``length`` tokens."""
    public = public_type(columns, rows)
    return np.dtype([("public", public), ("lengths", np.int64, 1), ("tokens", token, (1, length))])


@kernel
def deal(state, seed):
    """Deal a new board, cell by cell as the history has it. Free: every tile of any colour. Balanced: as many of every
    colour. Dominant: so many of one colour, drawn first, and each other tile of any other."""
    public = state["public"]
    cells, colours, dominant = len(public["tiles"]), np.int64(public["colours"]), np.int64(public["dominant"])
    left = np.zeros(MAX_COLOURS, np.int64)
    counter = next_state(seed)
    most = below(output(counter), colours)
    if public["balanced"] != 0:
        left[:colours] = cells // colours
    for cell in range(cells):
        counter = next_state(counter)
        if public["balanced"] != 0:
            colour = _drawn(left, below(output(counter), cells - cell))
            left[colour] -= 1
        elif public["dominant"] == 0:
            colour = below(output(counter), colours)
        elif below(output(counter), cells - cell) < dominant:
            colour, dominant = most, dominant - 1
        else:
            counter = next_state(counter)
            colour = (most + 1 + below(output(counter), colours - 1)) % colours
        public["tiles"][cell] = colour + 1
        state["tokens"][0, cell] = colour
    state["lengths"][0] = cells
    _begin(state)


@kernel
def lay(state, tiles):
    """Deal a board of a list (``int8[N]``, 1 + colour)."""
    for cell in range(len(tiles)):
        state["public"]["tiles"][cell] = tiles[cell]
        state["tokens"][0, cell] = tiles[cell] - 1
    state["lengths"][0] = len(tiles)
    _begin(state)


@kernel
def _drawn(left, n):
    """The colour of the ``n``-th tile of those that are ``left``."""
    colour = 0
    while n >= left[colour]:
        n -= left[colour]
        colour += 1
    return colour


@kernel
def _begin(state):
    """Start on the board that was dealt."""
    start(state["public"])
    state["lengths"][0] += int(state["public"]["turn"] < 0)


@kernel
def act(state, token):
    """Remove a block. Legality is not checked."""
    public = state["public"]
    state["tokens"][0, state["lengths"][0]] = token
    remove(public, token - public["colours"])
    state["lengths"][0] += 1 + int(public["turn"] < 0)
