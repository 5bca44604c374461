"""Every way a Hearts deal can end: 2,234 allocations of points at the defaults (paper 001, section 6.1)."""

from itertools import pairwise, product

import numpy as np

from games.compiling import kernel
from games.hearts.cards import BIT, CLUBS, HEARTS, JACK_SET, QUEEN_SET, SORTED_CARDS
from games.hearts.rules import score
from games.outcomes import OutcomeTable

_HEARTS_IN_ORDER = SORTED_CARDS[13 * HEARTS : 13 * (HEARTS + 1)]
_PLAIN_CARDS = BIT[SORTED_CARDS[13 * CLUBS : 13 * CLUBS + 4]]
_OFFSET = 64  # makes points positive, so that four of them pack into seven bits each


@kernel
def key_of(points, observer):
    """``int64`` that names the points of all seats (``int64[4]``) as ``observer`` sees them."""
    key = 0
    for position in range(4):
        key = key << 7 | (points[(observer + position) & 3] + _OFFSET)
    return key


@kernel
def label_of(public, observer, keys, points):
    """Label of a finished deal seen from ``observer``, -1 where cards that cannot be give points that no deal gives;
    ``keys`` is ``int64[K]`` ascending, ``points`` scratch."""
    score(public, points)
    key = key_of(points, observer)
    label = np.searchsorted(keys, key)
    return label if label < len(keys) and keys[label] == key else -1


@kernel
def _enumerate(public, hearts, extras, keys):
    """Score every allocation: hearts of each seat ``[H, 4]`` (sets), and ``extras[E, 4]`` (sets) on top of each."""
    points = np.zeros(4, np.int64)
    written = 0
    for i in range(len(hearts)):
        for j in range(len(extras)):
            for seat in range(4):
                public["taken"][seat] = hearts[i, seat] | extras[j, seat]
            score(public, points)
            keys[written] = key_of(points, 0)
            written += 1


def _shares_of_hearts() -> np.ndarray:
    """``int64[560, 4]``: the hearts each seat takes, one row for each way to share 13 among four."""
    shares = []
    for cuts in product(range(14), repeat=3):
        edges = (0, *cuts, 13)
        if list(edges) == sorted(edges):
            shares.append([BIT[_HEARTS_IN_ORDER[a:b]].sum() for a, b in pairwise(edges)])
    return np.array(shares, np.int64)


def _extra_cards(public: np.ndarray) -> np.ndarray:
    """``int64[E, 4]``: owners of the queen and the jack, and whether a seat takes tricks of worthless cards."""
    jacks = [(owner, JACK_SET) for owner in range(4)] if public["jd_bonus"][0] else [(0, 0)]
    plain_tricks = list(product((0, 1), repeat=4)) if public["avoid_all_tricks_bonus"][0] else [(1, 1, 1, 1)]
    extras = []
    for queen, (jack_owner, jack), plain in product(range(4), jacks, plain_tricks):
        sets = _PLAIN_CARDS * np.array(plain)
        sets[queen] |= QUEEN_SET
        sets[jack_owner] |= jack
        extras.append(sets)
    return np.array(extras, np.int64)


def build(template: np.ndarray) -> tuple[OutcomeTable, np.ndarray]:
    """The outcome table of the options in force (``PUBLIC[1]``), and the keys of its labels (``int64[K]``, ascending).

    Utilities: ``relative``, the default, is equation 4: the mean of the opponents' points less one's own, over 26.
    ``own`` is minus one's own points, over 26.
    """
    public = template.copy()
    hearts, extras = _shares_of_hearts(), _extra_cards(public)
    every_key = np.empty(len(hearts) * len(extras), np.int64)
    _enumerate(public[0], hearts, extras, every_key)
    keys = np.unique(every_key)
    points = np.stack([(keys >> shift & 127) - _OFFSET for shift in (21, 14, 7, 0)], axis=1).astype(np.float32)
    relative = (points[:, 1:].mean(axis=1) - points[:, 0]) / 26
    return OutcomeTable(points, {"relative": relative, "own": -points[:, 0] / 26}, "relative"), keys


# ---- batches -------------------------------------------------------------------------------------------------------


@kernel
def state_labels(states, keys, labels):
    """Write the label seen from each seat of every row into ``int32[B, 4]``, -1 before the end."""
    points = np.zeros(4, np.int64)
    for i in range(len(states)):
        public = states[i]["public"]
        for seat in range(4):
            labels[i, seat] = label_of(public, seat, keys, points) if public["num_played"] == 52 else -1


@kernel
def view_labels(views, keys, labels):
    """Write the label seen by the observer of every row into ``int32[B]``, -1 before the end."""
    points = np.zeros(4, np.int64)
    for i in range(len(views)):
        public = views[i]["public"]
        labels[i] = label_of(public, 0, keys, points) if public["num_played"] == 52 else -1
