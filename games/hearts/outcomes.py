"""Every way a Hearts deal can end: 2,234 allocations of points at the defaults (paper 001, section 6.1)."""

from functools import cache
from itertools import combinations_with_replacement, pairwise, product

import numpy as np

from games.bits import BIT, count
from games.compiling import kernel
from games.hearts.cards import CLUBS, HEART_CARDS, HEARTS, JACK_SET, QUEEN_SET, SORTED_CARDS
from games.hearts.hidden import is_consistent
from games.hearts.rules import score
from games.outcome_keys import labelling, points_of
from games.outcomes import OutcomeTable

_HEARTS_IN_ORDER = SORTED_CARDS[13 * HEARTS : 13 * (HEARTS + 1)]
_PLAIN_CARDS = BIT[SORTED_CARDS[13 * CLUBS : 13 * CLUBS + 4]]

key_of, label_of = labelling(4)


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


@cache
def _shares_of_hearts() -> np.ndarray:
    """``int64[560, 4]``: the hearts each seat takes, one row for each way to share 13 among four."""
    shares = []
    for cuts in combinations_with_replacement(range(14), 3):
        shares.append([BIT[_HEARTS_IN_ORDER[a:b]].sum() for a, b in pairwise((0, *cuts, 13))])
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


def build(template: np.ndarray) -> tuple[OutcomeTable, np.ndarray, np.ndarray, np.ndarray]:
    """The outcome table of the options in force (``PUBLIC[1]``), and what kernels look up: the keys of its labels
    (``int64[K]``, ascending); every way to share the penalty cards (``int8[5, A]``: hearts of each seat, owner of the
    queen) and the labels these may come to (``int64[A]``), of which the first K are each label once.

    Utilities: ``relative``, the default, is equation 4: the mean of the opponents' points less one's own, over 26.
    ``own`` is minus one's own points, over 26.
    """
    public = template.copy()
    hearts, extras = _shares_of_hearts(), _extra_cards(public)
    every_key = np.empty(len(hearts) * len(extras), np.int64)
    _enumerate(public[0], hearts, extras, every_key)
    keys = np.unique(every_key)
    points = points_of(keys, 4)
    relative = (points[:, 1:].mean(axis=1) - points[:, 0]) / 26
    table = OutcomeTable(points, {"relative": relative, "own": -points[:, 0] / 26}, "relative")
    ways = np.empty((len(hearts), len(extras), 6), np.int64)
    ways[:, :, :4] = np.bitwise_count(hearts)[:, None]
    ways[:, :, 4] = (extras & QUEEN_SET != 0).argmax(axis=1)
    ways[:, :, 5] = np.searchsorted(keys, every_key).reshape(len(hearts), len(extras))
    ways = np.unique(ways.reshape(-1, 6), axis=0)
    first = np.unique(ways[:, 5], return_index=True)[1]
    ways = np.concatenate([ways[first], np.delete(ways, first, axis=0)])
    return table, keys, np.ascontiguousarray(ways[:, :5].T.astype(np.int8)), np.ascontiguousarray(ways[:, 5])


# ---- batches -------------------------------------------------------------------------------------------------------


@kernel
def write_labels(rows, keys, labels):
    """Write the label seen from seat ``s`` of every state or view into place ``s`` of ``int32[B, S]``, -1 before the
    end, and where cards that cannot be give points that no deal gives."""
    points = np.zeros(4, np.int64)
    for i in range(len(rows)):
        labels[i] = -1
        if rows[i]["public"]["num_played"] == 52:
            score(rows[i]["public"], points)
            for seat in range(labels.shape[1]):
                labels[i, seat] = label_of(points, seat, keys)


@kernel
def _enough(shares, n, hearts, owner):
    """Whether every seat has at least these ``hearts``, and ``owner`` the queen unless it is -1."""
    mine, left, across, right = hearts
    enough = (shares[0, n] >= mine) & (shares[1, n] >= left) & (shares[2, n] >= across) & (shares[3, n] >= right)
    return enough & ((owner < 0) | (shares[4, n] == owner))


@kernel
def view_outcomes(views, shares, labels, possible):
    """Write to ``bool[B, K]`` which labels have a share (``build`` has both) in which every seat has at
    least the penalty cards that it has taken; all labels of an inconsistent view."""
    for i in range(len(views)):
        if not is_consistent(views[i]):
            possible[i] = True
            continue
        taken, owner = views[i]["public"]["taken"], np.int8(-1)
        for seat in range(4):
            owner = np.int8(seat) if taken[seat] & QUEEN_SET != 0 else owner
        mine, left = np.int8(count(taken[0] & HEART_CARDS)), np.int8(count(taken[1] & HEART_CARDS))
        across, right = np.int8(count(taken[2] & HEART_CARDS)), np.int8(count(taken[3] & HEART_CARDS))
        hearts, row = (mine, left, across, right), possible[i]
        for n in range(len(row)):
            row[n] = _enough(shares, n, hearts, owner)
        for n in range(len(row), len(labels)):
            row[labels[n]] |= _enough(shares, n, hearts, owner)
