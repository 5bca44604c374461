"""A rule-based Hearts player.

It passes dangerous cards, and plays the card with the least estimated cost: the points it may win with the card in this
trick, less the points that keeping the card threatens later. From this follow the usual rules of thumb: duck with the
highest card that loses, take harmless tricks with high cards, lead where others must go over, throw the queen of
spades, high spades and high hearts away on others' tricks. It stops a seat that seems to shoot the moon.

It reads its seat's view (``games.hearts.view``), never hidden cards, and uses no random numbers. Seats are relative to
it: 0 itself, then clockwise.
"""

import numpy as np

from games.batches import results
from games.bits import BIT, count, each
from games.compiling import kernel
from games.hearts.cards import HEART_CARDS, HEARTS, QUEEN_OF_SPADES, QUEEN_SET, SPADES, SUIT_CARDS
from games.hearts.hidden import unseen
from games.hearts.rules import card_points, owner_of_all
from games.hearts.view import own_legal
from search.players.player import RulesPlayer, Turns

_HIGH_SPADES = int(SUIT_CARDS[SPADES]) & ~((QUEEN_SET << 1) - 1)
_LOW_SPADES = int(SUIT_CARDS[SPADES]) & (QUEEN_SET - 1)


class HeartsRules(RulesPlayer):
    """Plays Hearts by rules of thumb; deterministic."""

    name, plays = "hearts_rules", "hearts"

    def decide(self, turns: Turns, views: np.ndarray, chosen: np.ndarray) -> None:
        """See ``RulesPlayer``."""
        _choose_batch(views, chosen)


@kernel
def _choose(view):
    """The legal card of the least cost, the lowest of equals."""
    best, least = -1, np.inf
    for card in each(own_legal(view)):
        cost = -_worth_passing(view, card) if view["public"]["turn"] < 0 else _cost(view, card)
        if cost < least:
            best, least = card, cost
    return best


_choose_batch = results(_choose)


@kernel
def _worth_passing(view, card):
    """Score for passing a card, without unit."""
    suit, rank, hand = card & 3, card >> 2, view["hand"]
    length = count(hand & SUIT_CARDS[suit])
    if suit == SPADES:
        guards = count(hand & _LOW_SPADES)
        if BIT[card] & _LOW_SPADES != 0:
            return -10.0
        return (30.0 if card == QUEEN_OF_SPADES else 24.0 + rank) if guards < 4 else 2.0
    if suit == HEARTS:
        return 1.2 * rank + 1.0
    return rank + 1.5 * (4 - length)


@kernel
def _cost(view, card):
    """Estimated points of playing ``card`` now, against keeping it."""
    shooter = suspected_shooter(view)
    if shooter != 0:
        return _cost_beside_shooter(view, card, shooter)
    return _chance_to_win(view, card) * (_points_at_stake(view, card) + 0.3) - _threat(view, card)


@kernel
def _cost_beside_shooter(view, card, shooter):
    """As ``_cost``, while seat ``shooter`` has won every point: one point for anybody else spoils its moon. So hearts
    go to the others' tricks, and high cards stay, as they may win one."""
    public, chance, points = view["public"], _chance_to_win(view, card), _points_at_stake(view, card)
    if card_points(BIT[card]) != 0 and public["trick"] != 0 and chance == 0.0:
        return 1.0 + 0.01 * (card >> 2) if public["winner"] == shooter else -2.0
    if points < 6.0:
        points = -2.0
    in_suit = unseen(view) & SUIT_CARDS[card & 3]
    share_below = count(in_suit & (BIT[card] - 1)) / max(count(in_suit), 1)
    return chance * (points + 0.3) + share_below * share_below


@kernel
def _chance_to_win(view, card):
    """Estimated chance that ``card`` wins the trick, if later seats go below it whenever they can."""
    public = view["public"]
    if public["trick"] != 0 and (card & 3 != public["led"] or card < public["high"]):
        return 0.0
    suit_unseen = unseen(view) & SUIT_CARDS[card & 3]
    num_unseen = count(suit_unseen)
    share_below = count(suit_unseen & (BIT[card] - 1)) / max(num_unseen, 1)
    holders = _holders(view, suit_unseen)
    each = num_unseen / max(holders, 1)
    chance = 1.0
    for seat in range(1, 4 - count(public["trick"])):
        if view["possible"][seat] & suit_unseen != 0:
            chance *= 1.0 - (1.0 - share_below) ** each
    return chance


@kernel
def _holders(view, cards):
    """Number of other seats that may hold one of ``cards``."""
    holders = 0
    for seat in range(1, 4):
        if view["possible"][seat] & cards != 0:
            holders += 1
    return holders


@kernel
def _points_at_stake(view, card):
    """Estimated points in the complete trick."""
    public, left = view["public"], unseen(view)
    led = public["led"] if public["trick"] != 0 else card & 3
    in_suit = left & SUIT_CARDS[led]
    holders = _holders(view, in_suit)
    points = card_points(public["trick"] | BIT[card])
    thrown = 5.0 if left & QUEEN_SET != 0 else 1.5 if left & HEART_CARDS != 0 else 0.0
    if public["num_played"] < 4:
        thrown = 0.0
    for seat in range(1, 4 - count(public["trick"])):
        void = 1.0
        if view["possible"][seat] & in_suit != 0:
            void = np.exp(-count(in_suit) / holders)
            if led == HEARTS:
                points += 1.0 - void
            if led == SPADES and left & QUEEN_SET != 0 and card > QUEEN_OF_SPADES:
                points += 4.0  # the queen falls under a higher spade
        points += void * thrown
    return points


@kernel
def _threat(view, card):
    """Estimated points that keeping ``card`` costs later."""
    left, hand, suit = unseen(view), view["hand"], card & 3
    in_suit = left & SUIT_CARDS[suit]
    if card == QUEEN_OF_SPADES:
        return 8.0
    queen_out = left & QUEEN_SET != 0
    if queen_out and BIT[card] & _HIGH_SPADES != 0:
        return 4.0 if count(hand & _LOW_SPADES) < 3 else 2.0
    if suit == SPADES and hand & QUEEN_SET != 0 and BIT[card] & _LOW_SPADES != 0:
        return -1.0  # guards of the queen
    if in_suit == 0:
        return 0.3 if left & (HEART_CARDS | QUEEN_SET) != 0 else 0.0
    share_below = count(in_suit & (BIT[card] - 1)) / count(in_suit)
    weight = 2.0 if suit == HEARTS else 1.5 if queen_out else 0.8
    return weight * share_below * share_below + 0.1 / count(hand & SUIT_CARDS[suit]) + 0.001 * (card >> 2)


@kernel
def suspected_shooter(view):
    """The other seat that has won every point so far, three hearts or more among them; 0 if there is none."""
    owner = owner_of_all(view["public"])
    return owner if owner > 0 and count(view["public"]["taken"][owner] & HEART_CARDS) >= 3 else 0
