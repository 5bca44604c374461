"""Results that are still possible for one seat: by soloist and bid, then by the contract, the known matadors, and the
points and tricks taken so far."""

import numpy as np

from games.bits import BIT, count
from games.compiling import kernel
from games.skat.cards import NULL, NUM_TRUMPS, TRUMPS_DOWN, points_of
from games.skat.hidden import homes
from games.skat.outcomes import label_of
from games.skat.rules import OVER, PLAY
from games.skat.values import BIDS, judge, write_points

_TWELVE = 12
"""Cards of the soloist's hand and the talon."""
_POINTS = ((0, 30), (31, 60), (61, 89), (90, 120))
"""Ranges of the soloist's card points in which a game has one result."""


@kernel
def mark_outcomes(views, keys, soloists, values, possible):
    """Mark in ``bool[B, K]``, given all False, the labels that can still come.

    Args:
        keys: ``int64[K]``, the labels' keys.
        soloists: ``int64[K]``, the soloist of a label, relative to the observer; -1 where all passed.
        values: ``int64[K]``, value of a label's game, 0 where all passed.
    """
    points = np.zeros(3, np.int64)
    for i in range(len(views)):
        public = views[i]["public"]
        if public["soloist"] >= 0 and (public["phase"] == PLAY or public["phase"] == OVER):
            _mark_results(views[i], points, keys, possible[i])
            continue
        relative = -1 if public["soloist"] < 0 else (public["soloist"] - views[i]["seat"]) % 3
        bid = 0 if public["bid"] < 0 else BIDS[public["bid"]]
        for label in range(len(keys)):
            if public["phase"] == OVER:
                possible[i, label] = soloists[label] < 0
            else:  # a game is worth its bid at least, a lost one too
                possible[i, label] = values[label] >= bid and (relative < 0 or soloists[label] == relative)


@kernel
def _mark_results(view, points, keys, possible):
    """Mark what a declared game can still end with."""
    public = view["public"]
    if public["game"] == NULL:
        if public["phase"] == PLAY or public["tricks"][public["soloist"]] == 0:
            _mark_result(view, 0, 0, 0, 10, points, keys, possible)
        if public["phase"] == PLAY or public["tricks"][public["soloist"]] > 0:
            _mark_result(view, 0, 0, 1, 9, points, keys, possible)
        return
    matadors = _matadors(view)
    for number in range(1, NUM_TRUMPS[public["game"]] + 1):
        if matadors >> number & 1 != 0:
            _mark_ends(view, number, points, keys, possible)


@kernel
def _mark_ends(view, matadors, points, keys, possible):
    """Mark what a suit or grand game can end with, given its matadors."""
    public = view["public"]
    soloist = public["soloist"]
    won = public["tricks"][soloist]
    lost = public["tricks"].sum() - won
    least, most = _points(view)
    for lowest, highest in _POINTS:
        if least <= highest and most >= lowest:
            _mark_result(view, matadors, highest, 1, 9, points, keys, possible)
    if won == 0:
        _mark_result(view, matadors, 0, 0, 10, points, keys, possible)
    if lost == 0:
        _mark_result(view, matadors, 120, 10, 0, points, keys, possible)


@kernel
def _mark_result(view, matadors, card_points, won, lost, points, keys, possible):
    public = view["public"]
    hand, bid = 1 - public["picked_up"], BIDS[public["bid"]]
    ended_well, value, _ = judge(public["game"], matadors, hand, public["modifier"], card_points, won, lost, bid)
    write_points(public["scoring"], public["soloist"], ended_well, value, points)
    label = label_of(points, view["seat"], keys)
    if label >= 0:
        possible[label] = True


@kernel
def _points(view):
    """``(least, most)``: card points that the soloist can end with."""
    public = view["public"]
    taken, soloist = public["taken"], public["soloist"]
    laid = view["laid"] if soloist == view["seat"] else np.int64(0)
    against = taken[(soloist + 1) % 3] | taken[(soloist + 2) % 3]
    return points_of(taken[soloist] | laid), 120 - points_of(against)


@kernel
def _matadors(view):
    """``int64`` set of the numbers of matadors that the soloist can have, with or without them."""
    public = view["public"]
    game, soloist = public["game"], public["soloist"]
    surely = public["shown"][soloist] | view["open"] | view["turned"]
    at = homes(view)
    if soloist == view["seat"]:
        surely |= view["dealt"] | view["talon"]
        perhaps = surely | (at[2] if public["picked_up"] == 0 else np.int64(0))
    else:
        perhaps = surely | at[2] | at[0 if soloist == (view["seat"] + 1) % 3 else 1]
    missing, absent = ~perhaps, ~surely  # surely and perhaps not in hand and talon
    with_them = _between(
        _run(game, surely, surely, 0), _run(game, surely, perhaps, _TWELVE - count(surely)), NUM_TRUMPS[game]
    )
    without = _between(
        _run(game, missing, missing, 0), _run(game, missing, absent, count(perhaps) - _TWELVE), NUM_TRUMPS[game]
    )
    return with_them | without


@kernel
def _between(least, most, highest):
    """Set of the numbers of matadors from ``least`` to ``most``; none is no number."""
    numbers = np.int64(0)
    for number in range(max(least, 1), min(most, highest) + 1):
        numbers |= np.int64(1) << number
    return numbers


@kernel
def _run(game, cards, more, room):
    """How many trumps from the strongest down a set holds without a gap, with up to ``room`` cards of ``more``."""
    number = 0
    while number < NUM_TRUMPS[game]:
        card = BIT[TRUMPS_DOWN[game, number]]
        if cards & card == 0:
            if more & card == 0 or room == 0:
                break
            room -= 1
        number += 1
    return number
