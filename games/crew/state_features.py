"""Numbers for a whole deal of The Crew, hidden cards included (``Game.state_features``): for training alone."""

import numpy as np

from games.bits import BIT
from games.crew.cards import NUM_CARDS, NUM_COLOUR_CARDS, ROW
from games.crew.features import FEATURES
from games.crew.public import OVER, PASS, TALK
from games.crew.view import VIEW
from games.features import StateFeatures, from_seat, in_ones, of_sets, one_hot

_PUBLIC = {"trick": 1, "mission": 1, "tasks": 1, "radio": 1, "stakes": 3, "tricks": 10, "needed": 11}
"""Features of a view that say all of the public part but whose turn it is -> their largest number."""
_SEATS = ("turn", "commander", "named", "last", "leader", "winner", "owners")
"""Fields of the public part that are seats, -1 for none ..."""
_BY_SEAT = ("radio", "said", "marks", "said_at", "tricks", "taken", "shown")
"""... and those that have a number for every seat."""
_OTHERS = (OVER + 1) + 3 * 4
SIZE = 4 * NUM_CARDS + NUM_COLOUR_CARDS + sum(FEATURES[name].size * most for name, most in _PUBLIC.items()) + _OTHERS


def views_of(states: np.ndarray, seats: np.ndarray) -> np.ndarray:
    """``VIEW[B]`` as far as ``_PUBLIC`` reads it: what one seat knows in each of these states."""
    views = np.zeros(len(states), VIEW)
    views["public"], views["length"] = states["public"], ROW
    for name in _SEATS:
        seat = states["public"][name].astype(np.int64)
        first = seats if seat.ndim == 1 else seats[:, None]
        views["public"][name] = np.where(seat < 0, -1, (seat - first) & 3)
    for name in _BY_SEAT:
        views["public"][name] = from_seat(states["public"][name], seats)
    return views


def _hands(states: np.ndarray) -> np.ndarray:
    """``int64[B, 4]``: the cards of each seat; one that a seat has passed on is the receiver's at once."""
    public, hands = states["public"], states["hands"].copy()
    for giver in range(4):
        rows = np.flatnonzero((public["phase"] == PASS) & (states["passed"][:, giver] >= 0))
        hands[rows, (giver + public["direction"][rows]) & 3] |= BIT[states["passed"][rows, giver]]
    return hands


def _encode(states: np.ndarray, seats: np.ndarray) -> np.ndarray:
    seats = np.asarray(seats, np.int64)
    public, views = states["public"], views_of(states, seats)
    places = np.arange(states["deck"].shape[1])
    covered = (places >= public["num_laid"][:, None]) & (places < public["num_tasks"][:, None])
    cards = np.bitwise_or.reduce(np.where(covered, BIT[states["deck"]], 0), axis=1)
    parts = [
        of_sets(from_seat(_hands(states), seats), NUM_CARDS),
        of_sets(cards[:, None], NUM_COLOUR_CARDS),
        *(in_ones(FEATURES[name], views, most) for name, most in _PUBLIC.items()),
        one_hot(public["phase"], OVER + 1),
        one_hot(views["public"]["turn"], 4),
        one_hot(np.where(public["phase"] < TALK, -1, views["public"]["leader"]), 4),
        one_hot(public["direction"], 4),
    ]
    return np.concatenate(parts, axis=1)


STATE_FEATURES = StateFeatures(
    "of each seat its cards; the tasks not yet uncovered; this trick, who is winning it and the colour led; the"
    " mission; every task; what was said; whose tasks lie in the trick; tricks won; what is still needed; the phase,"
    " the seat to act, the leader, the direction of a distress pass",
    SIZE,
    _encode,
)
