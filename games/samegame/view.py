"""What the player knows, rebuilt from the history token by token: the board as far as it was seen, then all of the
game."""

import numpy as np

from games.compiling import kernel
from games.game import ACTION, END, OBSERVATION
from games.samegame.board import holds, legal, mark, public_type, remove, start
from games.samegame.state import act, lay


def view_type(columns: int, rows: int, length: int, token: np.dtype) -> np.dtype:
    """The record of a view of at most ``length`` tokens."""
    public = public_type(columns, rows)
    flags = [(name, np.int64) for name in ("length", "ended", "refuted")]
    return np.dtype([("public", public), *flags, ("tokens", token, length)])


@kernel
def next_of(view):
    """A ``Next``. A token of a wrong kind ends the history, and so does a cell that stands for no block: no board
    follows from it."""
    if view["ended"] != 0:
        return END
    if view["length"] < len(view["public"]["tiles"]):
        return OBSERVATION
    return ACTION if view["public"]["turn"] == 0 else END


@kernel
def advance(view, token):
    """Take in one token."""
    following, public = next_of(view), view["public"]
    if following == END:
        return
    place = view["length"]
    view["tokens"][place] = token
    view["length"] = place + 1
    if following == ACTION:
        if holds(legal(view), token):
            remove(public, token - public["colours"])
        else:
            view["ended"] = view["refuted"] = 1
    elif token >= public["colours"]:
        view["ended"] = view["refuted"] = 1
    else:
        if not _may_come(public, place, token):
            view["refuted"] = 1
        public["tiles"][place] = token + 1
        public["left"][token] += 1
        if place + 1 == len(public["tiles"]):
            start(public)


@kernel
def _may_come(public, place, colour):
    """Whether a board may have ``colour`` in cell ``place``, with the cells before as they are."""
    cells, left, colours = len(public["tiles"]), public["left"], np.int64(public["colours"])
    if public["balanced"] != 0:
        return left[colour] < cells // colours
    if public["dominant"] == 0:
        return True
    for most in range(colours):
        number = left[most] + int(most == colour)
        if number <= public["dominant"] and public["dominant"] <= number + cells - place - 1:
            return True
    return False


@kernel
def possible(view, row):
    """Set the places of the tokens that can come (``bool[V]``)."""
    following, public = next_of(view), view["public"]
    if view["refuted"] != 0:
        return
    if following == ACTION:
        mark(legal(view), row)
    elif following == OBSERVATION:
        for colour in range(public["colours"]):
            row[colour] = _may_come(public, view["length"], colour)


@kernel
def is_consistent(view):
    """Whether the history could have happened."""
    return view["refuted"] == 0


@kernel
def can_stand(view):
    """Whether the whole board was seen."""
    return view["length"] >= len(view["public"]["tiles"])


@kernel
def determinize(view, state, seed):
    """The only state that agrees with a view: nothing is hidden."""
    cells = len(view["public"]["tiles"])
    lay(state, view["tokens"][:cells] + 1)
    for place in range(cells, view["length"]):
        act(state, np.int64(view["tokens"][place]))
