"""Hidden cards drawn at random: every division that is possible is equally likely.

Card after card, the divisions of the cards so far are counted for every number that each place can have got; then the
cards are dealt backwards, each in proportion to the divisions that are left.
"""

import numpy as np

from games.bits import count, nth
from games.compiling import kernel
from games.rng import below, next_state, output, uniform


@kernel
def divide(cards, at_1, at_2, at_3, room_1, room_2, counter):
    """``(drawn_1, drawn_2, drawn_3, counter)``: a set of cards divided among three places, the first two with room for
    so many and the third taking the rest; each takes only cards of its set ``at``. ``ValueError`` where the cards
    cannot be divided so."""
    if room_1 < 0 or room_2 < 0:
        raise ValueError("divide: a place has room for fewer cards than none")
    ways = _divisions(cards, at_1, at_2, at_3, room_1, room_2)
    if ways[count(cards), room_1, room_2] == 0:
        raise ValueError("divide: the cards cannot be divided so")
    drawn_1, drawn_2, drawn_3 = np.int64(0), np.int64(0), np.int64(0)
    for n in range(count(cards) - 1, -1, -1):
        card = np.int64(1) << nth(cards, n)
        to_1 = ways[n, room_1 - 1, room_2] if at_1 & card != 0 and room_1 > 0 else 0.0
        to_2 = ways[n, room_1, room_2 - 1] if at_2 & card != 0 and room_2 > 0 else 0.0
        counter = next_state(counter)
        drawn = uniform(output(counter)) * ways[n + 1, room_1, room_2]
        if drawn < to_1:
            drawn_1 |= card
            room_1 -= 1
        elif drawn < to_1 + to_2:
            drawn_2 |= card
            room_2 -= 1
        else:
            drawn_3 |= card
    return drawn_1, drawn_2, drawn_3, counter


@kernel
def _divisions(cards, at_1, at_2, at_3, room_1, room_2):
    """``float64[N + 1, room_1 + 1, room_2 + 1]``: in how many ways the lowest ``n`` of ``N`` cards can be divided so
    that the first place gets so many, the second so many, and the third the rest."""
    ways = np.zeros((count(cards) + 1, room_1 + 1, room_2 + 1))
    ways[0, 0, 0] = 1.0
    for n in range(count(cards)):
        card = np.int64(1) << nth(cards, n)
        for first in range(min(n + 1, room_1) + 1):
            for second in range(min(n + 1, room_2) + 1):
                if at_1 & card != 0 and first > 0:
                    ways[n + 1, first, second] += ways[n, first - 1, second]
                if at_2 & card != 0 and second > 0:
                    ways[n + 1, first, second] += ways[n, first, second - 1]
                if at_3 & card != 0:
                    ways[n + 1, first, second] += ways[n, first, second]
    return ways


@kernel
def deal_out(hands, num_cards, size, counter):
    """Deal cards into any number of ``hands`` (``int64`` sets, given empty) of one ``size``; returns the set of the
    cards left and the next random counter. ``ValueError`` where there are fewer cards than the hands take.

    Card after card goes to a place with probability proportional to the room left in it: the distribution of a
    shuffled deck, without a deck.
    """
    if len(hands) * size > num_cards:
        raise ValueError("deal_out: the hands take more cards than there are")
    left = np.int64(0)
    for card in range(num_cards):
        counter = next_state(counter)
        drawn, place = below(output(counter), num_cards - card), 0
        while place < len(hands) and drawn >= size - count(hands[place]):
            drawn -= size - count(hands[place])
            place += 1
        if place < len(hands):
            hands[place] |= np.int64(1) << card
        else:
            left |= np.int64(1) << card
    return left, counter


@kernel
def draw(cards, size, counter):
    """``size`` cards drawn at random from a set: the subset and the random counter behind it. ``ValueError`` where it
    holds fewer."""
    if count(cards) < size:
        raise ValueError("draw: the set holds fewer cards")
    drawn = np.int64(0)
    for _ in range(size):
        counter = next_state(counter)
        left = cards & ~drawn
        drawn |= np.int64(1) << nth(left, below(output(counter), count(left)))
    return drawn, counter
