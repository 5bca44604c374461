"""Numbers for a whole deal of Skat, hidden cards included (``Game.state_features``): for training alone."""

import numpy as np

from games.features import StateFeatures, from_seat, in_ones, of_sets, one_hot
from games.skat.cards import ALL_CARDS, NUM_CARDS
from games.skat.features import FEATURES
from games.skat.rules import OVER
from games.skat.view import VIEW

_PUBLIC = ("contract", "trumps", "trick", "points")
"""Features of a view that say all of the public part but the auction."""
SIZE = 4 * NUM_CARDS + sum(FEATURES[name].size for name in _PUBLIC) + (OVER + 1) + 3 * 4 + 1


def _encode(states: np.ndarray, seats: np.ndarray) -> np.ndarray:
    public, views = states["public"], np.zeros(len(states), VIEW)
    views["public"], views["seat"] = public, seats
    shown = np.bitwise_or.reduce(public["shown"], axis=1)
    aside = ALL_CARDS & ~(np.bitwise_or.reduce(states["hands"], axis=1) | shown)
    parts = [
        of_sets(np.column_stack([from_seat(states["hands"], seats), aside]), NUM_CARDS),
        *(in_ones(FEATURES[name], views, 1) for name in _PUBLIC),
        one_hot(public["phase"], OVER + 1),
        *(one_hot((seat - seats) % 3, 3) for seat in (np.zeros(len(states), np.int64), public["listener"])),
        one_hot(np.where(public["turn"] < 0, -1, (public["turn"] - seats) % 3), 3),
        one_hot(public["duel"], 3),
        (public["asked"] != 0).astype(np.uint8)[:, None],
    ]
    return np.concatenate(parts, axis=1)


STATE_FEATURES = StateFeatures(
    "of each seat its cards; the two cards of no hand; bid, soloist, pickup, game and levels; trumps; this trick, who"
    " is winning it and the suit led; card points of both sides, and whether they have a trick; the phase; forehand,"
    " the seat that is bid to, the seat to act; how far the auction is",
    SIZE,
    _encode,
)
