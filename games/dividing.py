"""Hidden cards in places that take only some: whether they fit, and a division drawn at random.

Every possible division is equally likely. Card after card, the divisions of the cards so far are counted for every
number that each place can have got; then the cards are dealt backwards, each in proportion to the divisions that are
left.
"""

import numpy as np

from games.bits import count, nth
from games.compiling import kernel
from games.rng import below, next_state, output, uniform


@kernel
def fits(cards, at, room):
    """Whether a set of cards can be divided among ``K`` places, each of which takes so many (``room``, ``int64[K]``)
    and only cards of a set of its own (``at``, ``int64[K]``).

    Hall's theorem: no group of places may be the only home of more cards than it has room for.
    """
    for group in range(1 << len(at)):
        at_home, rooms = cards, 0
        for place in range(len(at)):
            if group >> place & 1 != 0:
                rooms += room[place]
            else:
                at_home &= ~at[place]
        if count(at_home) > rooms:
            return False
    return True


@kernel
def divide(cards, at, room, counter):
    """``(drawn, counter)``: what each place gets (``int64[K]`` sets) of a set of cards, places as in ``fits``, which
    together have room for just these cards; then the next random counter. ``ValueError`` where the cards cannot be
    divided so."""
    if (room < 0).any() or room.sum() != count(cards):
        raise ValueError("divide: the places have not room for just these cards")
    steps = _steps(room)
    ways, last = _divisions(cards, at, room, steps), len(at) - 1
    left = ways.shape[1] - 1
    if ways[count(cards), left] == 0:
        raise ValueError("divide: the cards cannot be divided so")
    drawn, room = np.zeros(len(at), np.int64), room.copy()
    for n in range(count(cards) - 1, -1, -1):
        card = np.int64(1) << nth(cards, n)
        counter = next_state(counter)
        share, place, bound = uniform(output(counter)) * ways[n + 1, left], 0, 0.0
        while place < last:
            if at[place] & card != 0 and room[place] > 0:
                bound += ways[n, left - steps[place]]
            if share < bound:
                left -= steps[place]
                break
            place += 1
        drawn[place] |= card
        room[place] -= 1
    return drawn, counter


@kernel
def _steps(room):
    """``int64[K]``: the numbers of cards in all places but the last make one number, in which a card in place ``k``
    counts ``steps[k]``; one in the last place, which has the rest, counts 0."""
    steps = np.zeros(len(room), np.int64)
    step = 1
    for place in range(len(room) - 2, -1, -1):
        steps[place] = step
        step *= room[place] + 1
    return steps


@kernel
def _divisions(cards, at, room, steps):
    """``float64[N + 1, numbers]``: in how many ways the lowest ``n`` of ``N`` cards can be divided so that the places
    get as many as a number says, and the last place the rest. Left out are numbers of which the place that counts most
    cannot have got so many, or could not be filled any more. Indices are unsigned, as the loops are fast then."""
    total, most, last = count(cards), np.argmax(steps * (room > 0)), len(at) - 1
    size = np.uint64(1 + (steps * room).sum())
    ways = np.zeros((total + 1, size))
    ways[0, 0] = 1.0
    for n in range(total):
        card, before, after = np.int64(1) << nth(cards, n), ways[n], ways[n + 1]
        low = np.uint64(max(0, room[most] - total + n + 1) * steps[most])
        high = min(size, np.uint64((n + 2) * steps[most])) if steps[most] > 0 else size
        for place in range(last):
            step = np.uint64(steps[place])
            block = step * np.uint64(room[place] + 1)
            if at[place] & card != 0:
                for first in range(np.uint64(0), size, block):
                    for number in range(max(first + step, low), min(first + block, high)):
                        after[number] += before[number - step]
        if at[last] & card != 0:
            for number in range(low, high):
                after[number] += before[number]
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
