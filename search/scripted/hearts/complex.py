"""The rule-based Hearts player of paper 002 ("Heuristic and Testing AIs": "complex heuristic", with and without
cheating).

The paper says that its rules take into account what is on the board, and that the cheating one also examines the
hidden cards. Here both use the same rules over *possible cards of each other seat*: the cards that its play so far does
not rule out, or with cheating its true hand. A seat's ``share`` is the chance that it holds a possible card: the size
of its hand over its number of possible cards, 1 with cheating.

The rules choose the card of the least cost, in points: the chance that it wins the trick, times the points of the trick
then, less the danger of keeping the card.

- *The card wins* unless a later seat has to go over it; later seats go below it if they can.
- *Points of the trick*: points on the table, hearts that must follow, the queen of spades that may fall under a higher
  spade, and points thrown by seats without the suit.
- *Danger*: high cards over the others' cards of the suit, most of all the queen of spades and the spades above it. So
  it throws them on others' tricks, takes harmless tricks with them, and keeps low cards to duck with.
- It leads low spades to draw the queen out of another hand while its own hand holds no spade that could win it.
- It takes a heart to stop a seat that seems to shoot the moon.
- It passes spades from the queen up that it cannot guard, high hearts, and high cards of short suits. Cheating does not
  change passing, which depends on the own hand alone.

It plays for hearts and the queen, not for the bonuses of rule options, and uses no random numbers. Seats are relative
to the player: 0 itself, then clockwise.
"""

import numpy as np

from games.bits import BIT, count, each
from games.compiling import kernel
from games.hearts.cards import HEART_CARDS, HEARTS, QUEEN_OF_SPADES, QUEEN_SET, SPADES, SUIT_CARDS
from games.hearts.hidden import room, unseen
from games.hearts.rules import card_points, owner_of_all
from games.hearts.view import own_legal
from search.players.player import RulesPlayer, Turns
from search.scripted.hearts.config import HeartsComplexConfig

_LOW_SPADES = int(SUIT_CARDS[SPADES]) & (QUEEN_SET - 1)
_HIGH_SPADES = int(SUIT_CARDS[SPADES]) & ~(_LOW_SPADES | QUEEN_SET)


class HeartsComplex(RulesPlayer):
    """Plays Hearts by rules that look at the whole table; deterministic."""

    name, plays = "hearts_complex", "hearts"

    def __init__(self, config: HeartsComplexConfig) -> None:
        self.sees_hidden = config.cheat

    def decide(self, turns: Turns, views: np.ndarray, chosen: np.ndarray) -> None:
        """See ``RulesPlayer``."""
        if self.sees_hidden:
            assert turns.hidden is not None
            seats = (turns.seat[:, None] + np.arange(4)) % 4
            held = np.take_along_axis(turns.hidden["hands"], seats, axis=1)
        else:
            held = np.empty((len(views), 4), np.int64)
            _may_hold(views, held)
        _choose_batch(views, held, chosen)


@kernel
def _may_hold(views, held):
    """Write each seat's possible cards (``int64[B, 4]``), valid from the first lead on."""
    for row in range(len(views)):
        view = views[row]
        for seat in range(4):
            held[row, seat] = view["possible"][seat] & unseen(view)


@kernel
def _choose_batch(views, held, chosen):
    for row in range(len(views)):
        chosen[row] = _choose(views[row], held[row])


@kernel
def _choose(view, held):
    """The legal card of the least cost, the lowest of equals."""
    best, least = -1, np.inf
    for card in each(own_legal(view)):
        cost = -_worth_passing(view["hand"], card) if view["public"]["turn"] < 0 else _cost(view, held, card)
        if cost < least:
            best, least = card, cost
    return best


@kernel
def _worth_passing(hand, card):
    """Score for passing a card, without unit."""
    suit, rank = card & 3, card >> 2
    if suit == SPADES:
        if BIT[card] & _LOW_SPADES != 0:
            return -10.0
        return 24.0 + rank if count(hand & _LOW_SPADES) < 4 else 2.0
    if suit == HEARTS:
        return 1.2 * rank + 1.0
    return rank + 1.5 * (4 - count(hand & SUIT_CARDS[suit]))


@kernel
def _cost(view, held, card):
    """Estimated points of playing ``card`` now, against keeping it."""
    points = _points_if_won(view, held, card)
    if _shooter_suspected(view) and 0 < points < 6:
        points = -2.0  # one heart spoils the moon
    return _chance_to_win(view, held, card) * (points + 0.3) - _danger(view, held, card)


@kernel
def _shooter_suspected(view):
    """Whether another seat has won every point so far, and nine or more."""
    owner = owner_of_all(view["public"])
    return owner > 0 and card_points(view["public"]["taken"][owner]) >= 9


@kernel
def _lacks(view, held, seat, cards):
    """Chance that a seat holds none of ``cards``."""
    share = room(view, seat) / max(count(held[seat]), 1)
    return (1.0 - share) ** count(held[seat] & cards)


@kernel
def _to_follow(view):
    """Number of later seats in this trick."""
    return 3 - count(view["public"]["trick"])


@kernel
def _chance_to_win(view, held, card):
    """Chance that ``card`` wins the trick: no later seat has to go over it."""
    public = view["public"]
    if public["trick"] != 0 and (card & 3 != public["led"] or card < public["high"]):
        return 0.0
    return _chance_not_beaten(view, held, card, _to_follow(view))


@kernel
def _chance_not_beaten(view, held, card, num_seats):
    """Chance that none of the next ``num_seats`` seats has to go over ``card``: a seat does with a higher card of the
    suit and no lower one."""
    suit_cards = SUIT_CARDS[card & 3]
    below, above = suit_cards & (BIT[card] - 1), suit_cards & ~(BIT[card] - 1)
    chance = 1.0
    for seat in range(1, 1 + num_seats):
        chance *= 1.0 - _lacks(view, held, seat, below) * (1.0 - _lacks(view, held, seat, above))
    return chance


@kernel
def _points_if_won(view, held, card):
    """Estimated points in the complete trick, if ``card`` wins it."""
    public = view["public"]
    led = public["led"] if public["trick"] != 0 else card & 3
    suit_cards = SUIT_CARDS[led]
    harmless = public["num_played"] < 4 and public["no_pts_on_first_trick"] != 0
    points = card_points(public["trick"] | BIT[card])
    for seat in range(1, 1 + _to_follow(view)):
        void = _lacks(view, held, seat, suit_cards)
        queen = 1.0 - _lacks(view, held, seat, QUEEN_SET)
        if led == HEARTS:
            points += 1.0 - void
        if led == SPADES and card > QUEEN_OF_SPADES:
            points += 13.0 * queen
        if not harmless and led != SPADES:
            points += void * 13.0 * queen
        if not harmless and led != HEARTS:
            points += void * (1.0 - queen) * (1.0 - _lacks(view, held, seat, HEART_CARDS))
    return points


@kernel
def _danger(view, held, card):
    """Estimated points that keeping ``card`` costs later."""
    left, hand, suit = unseen(view), view["hand"], card & 3
    in_suit, queen_out = left & SUIT_CARDS[suit], left & QUEEN_SET != 0
    if card == QUEEN_OF_SPADES:
        return 5.0
    if queen_out and BIT[card] & _HIGH_SPADES != 0:
        return 4.0 if count(hand & _LOW_SPADES) < 3 else 2.0
    if suit == SPADES and hand & QUEEN_SET != 0:
        return -1.0  # guards of the queen
    if in_suit == 0:
        return 0.3 if left & (HEART_CARDS | QUEEN_SET) != 0 else 0.0
    draws = view["public"]["trick"] == 0 and suit == SPADES and queen_out and hand & _HIGH_SPADES == 0
    share_below = count(in_suit & (BIT[card] - 1)) / count(in_suit)
    weight = 2.0 if suit == HEARTS else 1.5 if queen_out else 0.8
    high = weight * share_below * _chance_not_beaten(view, held, card, 3) + 0.001 * (card >> 2)
    return high + 0.4 / count(hand & SUIT_CARDS[suit]) + (1.0 if draws else 0.0)
