"""Card play in suit games and grand: the card of the greatest worth.

Worth is the expected card points of this trick for the own side less the other's, less the value of keeping the card.
From this and the leads' own weights follow the usual rules of thumb: draw trumps, overtake with the cheapest card,
smear on the partner's tricks, duck, throw losers away, cash high cards, make the soloist ruff.
"""

import numpy as np

from games.bits import BIT, count, each
from games.compiling import kernel
from games.skat.cards import (
    GRAND,
    HAND_SIZE,
    NUM_CARDS,
    STRENGTH,
    SUIT_CARDS,
    SUIT_OF,
    TRUMP,
    num_stronger,
    points_of,
)
from games.skat.view import own_legal, unseen
from search.scripted.skat.rules.weights import (
    HOLD_GUARDED_TEN,
    HOLD_LAST_TRUMP,
    HOLD_LENGTH,
    HOLD_MASTER,
    HOLD_MASTER_POINTS,
    HOLD_TOP_TRUMP,
    HOLD_TRUMP,
    HOLD_TRUMP_POINTS,
    LEAD_ESTABLISH,
    LEAD_LAST_TRUMP,
    LEAD_MASTER,
    LEAD_RUFF,
    LEAD_TOP_TRUMP,
    LEAD_TRUMP,
    LOW,
    SMEAR,
    TEMPO,
)

ABOVE = np.array(
    [
        [
            sum(
                1 << other
                for other in range(NUM_CARDS)
                if SUIT_OF[game, other] == SUIT_OF[game, card] and STRENGTH[game, other] > STRENGTH[game, card]
            )
            for card in range(NUM_CARDS)
        ]
        for game in range(6)
    ],
    np.int64,
)
"""``int64[6, 32]``: the stronger cards of a card's suit in a game."""


@kernel
def choose_card(view, weights):
    """The legal card of the greatest worth, the lowest of equals; ``weights`` is ``float64[4, rules]``."""
    public = view["public"]
    w = weights[(2 if public["game"] == GRAND else 0) + (0 if public["soloist"] == view["seat"] else 1)]
    best, most = np.int64(-1), -np.inf
    for card in each(own_legal(view)[1]):
        worth = _trick(view, card, w) - _hold(view, card, w)
        if public["trick"] == 0:
            worth += _lead(view, card, w)
        if worth > most:
            best, most = card, worth
    return best


# ---- this trick ----------------------------------------------------------------------------------------------------


@kernel
def _trick(view, card, w):
    """Expected points of the trick if ``card`` is played: positive where the own side wins it."""
    public, seat = view["public"], view["seat"]
    game, soloist = public["game"], public["soloist"]
    suit, strength = SUIT_OF[game, card], STRENGTH[game, card]
    led, high, winner = public["led"], public["high"], public["winner"]
    if public["trick"] == 0:
        led, high = suit, np.int64(-1)
    if strength > high and suit in (led, TRUMP):
        high, winner = strength, seat
    to_come = 2 - count(public["trick"])
    next_seat, last_seat = (seat + 1) % 3, (seat + 2) % 3
    ours = 1.0 if (winner == soloist) == (seat == soloist) else 0.0
    friends, enemies = 0, 0
    if to_come == 1:
        beaten = _chance_to_beat(view, next_seat, led, high)
        if next_seat == soloist or seat == soloist:
            enemies = 1
            ours *= 1.0 - beaten
        else:
            friends = 1
            ours = 1.0 if ours > 0.0 else beaten
    elif to_come == 2:
        by_next = _chance_to_beat(view, next_seat, led, high)
        by_last = _chance_to_beat(view, last_seat, led, high)
        if seat == soloist:
            enemies = 2
            ours = (1.0 - by_next) * (1.0 - by_last)
        else:
            friends, enemies = 1, 1
            ours = 1.0 - (by_next if next_seat == soloist else by_last)
    points = points_of(public["trick"] | BIT[card])
    won = points + friends * w[SMEAR] + enemies * w[LOW]
    lost = points + friends * w[LOW] + enemies * w[SMEAR]
    tempo = w[TEMPO] * ours if winner == seat else 0.0
    return ours * won - (1.0 - ours) * lost + tempo


@kernel
def _chance_to_beat(view, seat, led, high):
    """Estimated chance that a later seat can beat the strength ``high``: with the suit led, or if void by a trump."""
    game = view["public"]["game"]
    cards = unseen(view) & view["possible"][seat]
    in_suit, trumps = cards & SUIT_CARDS[game, led], cards & SUIT_CARDS[game, TRUMP]
    chance = 1.0 - (1.0 - _share(view, seat, led)) ** num_stronger(game, in_suit, high)
    if led == TRUMP:
        return chance
    void = (1.0 - _share(view, seat, led)) ** count(in_suit)
    return chance + void * (1.0 - (1.0 - _share(view, seat, TRUMP)) ** num_stronger(game, trumps, high))


@kernel
def _share(view, seat, suit):
    """Estimated chance that ``seat`` holds an unseen card of a suit that it may hold."""
    public = view["public"]
    other = 3 - seat - view["seat"]
    mine, others = HAND_SIZE - count(public["shown"][seat]), HAND_SIZE - count(public["shown"][other])
    if unseen(view) & view["possible"][other] & SUIT_CARDS[public["game"], suit] == 0:
        others = 0
    aside = 0 if view["seat"] == public["soloist"] and public["picked_up"] != 0 else 2
    return mine / (mine + others + aside)


# ---- later tricks --------------------------------------------------------------------------------------------------


@kernel
def _hold(view, card, w):
    """Estimated points that keeping ``card`` is worth."""
    game = view["public"]["game"]
    suit, points = SUIT_OF[game, card], points_of(BIT[card])
    left = unseen(view) & SUIT_CARDS[game, suit]
    above = count(left & ABOVE[game, card])
    others = count(view["hand"] & SUIT_CARDS[game, suit]) - 1
    if suit == TRUMP:
        if left == 0:
            return w[HOLD_LAST_TRUMP] + points
        worth = w[HOLD_TOP_TRUMP] if above == 0 else w[HOLD_TRUMP]
        return worth + w[HOLD_TRUMP_POINTS] * points
    if above == 0:
        return w[HOLD_MASTER] + w[HOLD_MASTER_POINTS] * points
    if points == 10:
        return w[HOLD_GUARDED_TEN] if others > 0 else 0.0
    return w[HOLD_LENGTH] * others


@kernel
def _lead(view, card, w):
    """Bonus for leading ``card``."""
    public, seat = view["public"], view["seat"]
    game, soloist = public["game"], public["soloist"]
    suit = SUIT_OF[game, card]
    left = unseen(view) & SUIT_CARDS[game, suit]
    mine = count(view["hand"] & SUIT_CARDS[game, suit])
    if suit == TRUMP:
        if left & (view["possible"][(seat + 1) % 3] | view["possible"][(seat + 2) % 3]) == 0:
            return w[LEAD_LAST_TRUMP]
        top = w[LEAD_TOP_TRUMP] if left & ABOVE[game, card] == 0 else 0.0
        return top + w[LEAD_TRUMP]
    above = count(left & ABOVE[game, card])
    worth = w[LEAD_MASTER] if above == 0 else w[LEAD_ESTABLISH] * max(mine - 1 - above, 0)
    if seat != soloist and left & view["possible"][soloist] == 0:
        worth += w[LEAD_RUFF]
    return worth
