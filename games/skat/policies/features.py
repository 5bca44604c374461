"""The inputs of the networks of paper 004 (arXiv 1905.10907), from what one seat has seen.

A row has a place for each feature of the paper, 0 or 1, and behind them, in card play, four numbers: points of the
hand, of the trick, and those that soloist and defenders have taken in tricks.

Before card play (paper, section III): hand 32, position 3, pass bid of the first duel 64, winning bid 64, ouvert 1.
The paper has 67 bids; the rules have 63, and passing at once is the first of our 64. Each network reads the features up
to the one that it is the first to have. From the pickup on the hand has twelve cards.

In card play (paper, section V), 318 numbers for all, then those of the role, then those of the game: 389 at most. What
the paper does not say, and how it is read here: seats are relative (the next one first); a void suit is one that was
not followed; a bid of 36 is of diamonds and of clubs, since 9 and 12 divide it, and null's values are null's; trumps
remaining are those not played that the observer neither holds nor has laid aside.
"""

import numpy as np

from games.bits import mark
from games.compiling import kernel
from games.skat.cards import (
    GRAND,
    NULL,
    OUVERT,
    PLAIN,
    SCHNEIDER,
    SCHWARZ,
    SUIT_CARDS,
    TRUMP,
    matadors_of,
    points_of,
)
from games.skat.values import BASES, BIDS, NULL_VALUES, NUM_BIDS, multiplier
from games.skat.view import played

NUM_LIMITS = NUM_BIDS + 1
"""A bidder's bid: none, or a value of ``BIDS``."""
BID_BITS = 32 + 3
CONTINUE_BITS = BID_BITS + NUM_LIMITS
DECLARE_BITS = CONTINUE_BITS + NUM_LIMITS
DISCARD_BITS = DECLARE_BITS + 1
"""164: all features before card play."""

_COMMON, _SOLOIST, _DEFENDER = 314, 33, 35
NUMBERS = np.array([92, 22, 120, 120], np.float32)
"""``float32[4]``: what the numbers of card play are divided by: the most that ten cards and that two of a trick count,
and all cards."""


def card_bits(suit: bool, grand: bool, soloist: bool) -> int:
    """Features of 0 and 1 that the network of a role in a suit game, grand or null reads; four numbers follow."""
    return _COMMON + (_SOLOIST if soloist else _DEFENDER) + (32 if suit or grand else 0) + (4 if suit else 0)


MOST_BITS = card_bits(True, False, False)
"""385: the widest row."""


@kernel
def write_before_play(view, log, ouvert, row):
    """Features before card play of a view, for the networks that read them all; ``row``: ``uint8[164]``, zeros."""
    public = view["public"]
    mark(view["hand"] | view["laid"], row[:32])
    row[32 + view["seat"]] = 1
    if public["duel"] > 0:
        row[BID_BITS + log["first_limit"]] = 1
    if public["soloist"] >= 0:
        row[CONTINUE_BITS + public["bid"] + 1] = 1
    row[DECLARE_BITS] = ouvert


@kernel
def write_card_play(view, log, row, numbers):
    """Features of a view where the observer is to play a card; ``row``: ``uint8[385]``, ``numbers``: ``uint8[4]``, both
    zeros."""
    public, seat = view["public"], view["seat"]
    game, soloist = public["game"], public["soloist"] == view["seat"]
    place = _write_common(view, log, row)
    if soloist:
        mark(view["laid"], row[place:])
        row[place + 32] = _needs_schneider(view)
        place += 33
    else:
        row[place] = public["trick"] != 0 and public["winner"] != public["soloist"]
        row[place + 1 + (public["soloist"] - seat) % 3 - 1] = 1
        mark(view["open"] & ~played(view), row[place + 3 :])
        place += 35
    if game != NULL:
        mark(SUIT_CARDS[game, TRUMP] & ~(played(view) | view["hand"] | view["laid"]), row[place:])
        place += 32
    if game < GRAND:
        row[place + game] = 1
    numbers[0], numbers[1] = points_of(view["hand"]), points_of(public["trick"])
    taken = public["taken"]
    numbers[2] = points_of(taken[public["soloist"]])
    numbers[3] = points_of((taken[0] | taken[1] | taken[2]) & ~taken[public["soloist"]])


@kernel
def _write_common(view, log, row):
    """The features that every seat has in every game; returns how many."""
    public, seat = view["public"], view["seat"]
    mark(view["hand"], row)
    for other in range(3):
        mark(public["shown"][(seat + other) % 3], row[32 + 32 * other :])
    for other in range(2):
        who = (seat + 1 + other) % 3
        mark(log["led"][who], row[128 + 32 * other :])
        mark(log["sloughed"][who], row[192 + 32 * other :])
        mark(log["voids"][who], row[256 + 5 * other :])
        _write_bid_type(log["reached"][who], row[298 + 6 * other :])
    mark(public["trick"], row[266:])
    by_hand = public["picked_up"] == 0
    modifier = public["modifier"]
    row[310] = by_hand
    row[311] = modifier == OUVERT
    row[312] = by_hand and public["game"] != NULL and modifier >= SCHNEIDER
    row[313] = by_hand and public["game"] != NULL and modifier >= SCHWARZ
    return _COMMON


@kernel
def _write_bid_type(limit, row):
    """The games of which a bid is a value: 5 bases that divide it, and null."""
    if limit == 0:
        return
    bid = BIDS[limit - 1]
    for game in range(GRAND + 1):
        row[game] = bid % BASES[game] == 0
    for hand in range(2):
        for shown in range(2):
            if bid == NULL_VALUES[hand, shown]:
                row[NULL] = 1


@kernel
def _needs_schneider(view):
    """Whether the soloist's game is worth the bid with schneider alone, by the cards that it knows."""
    public, known = view["public"], view["dealt"] | view["talon"]
    game, modifier, by_hand = public["game"], public["modifier"], 1 - public["picked_up"]
    if game == NULL or modifier >= SCHNEIDER:
        return False
    matadors, bid = matadors_of(game, known), BIDS[public["bid"]]
    without = BASES[game] * multiplier(matadors, by_hand, PLAIN, False, False)
    return without < bid and BASES[game] * multiplier(matadors, by_hand, PLAIN, True, False) >= bid
