"""Null: safety of a hand, and card play of both sides.

A suit is safe where the soloist's n-th lowest card has at most n unseen cards below it, n counted from 0, because each
round of the suit takes one of them. The excess is danger.
"""

import numpy as np

from games.bits import BIT, count, each
from games.compiling import kernel
from games.skat.cards import HAND_SIZE, NULL, STRENGTH, SUIT_CARDS, SUIT_OF
from games.skat.view import own_legal, unseen
from search.scripted.skat.rules.playing import ABOVE

_LOST = 100.0


@kernel
def danger(hand, others, suit):
    """Danger of the soloist's cards of a suit against the cards ``others`` (sets): the sum over its cards of excess
    unseen lower cards, each up to 3."""
    mine = hand & SUIT_CARDS[NULL, suit]
    total = 0
    for card in each(mine):
        higher = ABOVE[NULL, card] | BIT[card]
        below_mine, below_theirs = count(mine & ~higher), count(others & SUIT_CARDS[NULL, suit] & ~higher)
        if others & ABOVE[NULL, card] != 0 or below_theirs > 0:
            total += min(max(below_theirs - below_mine, 0), 3)
    return total


@kernel
def danger_of_hand(hand, others):
    """The sum of ``danger`` over the suits."""
    total = 0
    for suit in range(4):
        total += danger(hand, others, suit)
    return total


@kernel
def choose_null_card(view):
    """The legal card of the greatest worth, the lowest of equals."""
    best, most = np.int64(-1), -np.inf
    for card in each(own_legal(view)[1]):
        if view["seat"] == view["public"]["soloist"]:
            worth = _worth_to_soloist(view, card)
        else:
            worth = _worth_to_defender(view, card)
        if worth > most:
            best, most = card, worth
    return best


@kernel
def _worth_to_soloist(view, card):
    """First lose this trick, then keep a safe hand, then get rid of high cards."""
    public = view["public"]
    others = unseen(view)
    chance = 0.0
    suit, strength = SUIT_OF[NULL, card], STRENGTH[NULL, card]
    to_come = 2 - count(public["trick"])
    if public["trick"] == 0 or (suit == public["led"] and strength > public["high"]):
        chance = 1.0
        for step in range(1, to_come + 1):
            seat = (view["seat"] + step) % 3
            cards = others & view["possible"][seat] & SUIT_CARDS[NULL, suit]
            if (
                cards & ABOVE[NULL, card] != 0
            ):  # goes above only without a lower card; each card is there with even odds
                chance *= 1.0 - 0.9 * 0.5 ** count(cards & ~ABOVE[NULL, card])
    left = danger_of_hand(view["hand"] & ~BIT[card], others)
    return -_LOST * chance - 5.0 * left + 0.1 * strength


@kernel
def _worth_to_defender(view, card):
    """Play below the soloist's card; where that is impossible, get rid of cards that cannot go below it."""
    public, seat = view["public"], view["seat"]
    soloist = public["soloist"]
    suit, strength = SUIT_OF[NULL, card], STRENGTH[NULL, card]
    to_come = 2 - count(public["trick"])
    soloists = unseen(view) & view["possible"][soloist]
    length = count(view["hand"] & SUIT_CARDS[NULL, suit])
    if public["trick"] == 0:
        in_suit = soloists & SUIT_CARDS[NULL, suit]
        if in_suit == 0:
            return -20.0
        share = _soloists_share(view, in_suit)
        must_win = (1.0 - (1.0 - share) ** count(in_suit & ABOVE[NULL, card])) * (1.0 - share) ** count(
            in_suit & ~ABOVE[NULL, card]
        )
        return 20.0 * must_win - 0.5 * strength - 0.3 * length
    soloist_played = (soloist - seat) % 3 > to_come
    if soloist_played:
        if public["winner"] == soloist:
            below = suit != public["led"] or strength < public["high"]
            return (_LOST if below else -_LOST) + _throwaway(view, card)
        return _throwaway(view, card)
    if suit != public["led"]:
        return _throwaway(view, card)
    return -float(strength)


@kernel
def _throwaway(view, card):
    """Score of a defender's discard: high for high cards and short suits."""
    length = count(view["hand"] & SUIT_CARDS[NULL, SUIT_OF[NULL, card]])
    return STRENGTH[NULL, card] + 2.0 / length


@kernel
def _soloists_share(view, cards):
    """Estimated chance that the soloist holds an unseen card; certain in an open game."""
    public = view["public"]
    if view["open"] != 0:
        return 1.0
    soloist = public["soloist"]
    other = 3 - soloist - view["seat"]
    theirs, others = HAND_SIZE - count(public["shown"][soloist]), HAND_SIZE - count(public["shown"][other])
    if cards & view["possible"][other] == 0:
        others = 0
    return theirs / (theirs + others + 2)
