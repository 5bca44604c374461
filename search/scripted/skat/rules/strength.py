"""A hand's chance to win a game: logistic regressions on features that players count (``coefficients``)."""

import numpy as np

from games.bits import BIT, count
from games.compiling import kernel
from games.skat.cards import ACES, GRAND, JACKS, KINGS, NULL, SUIT_CARDS, TENS, TRUMP, card_id
from search.scripted.skat.rules.coefficients import (
    GRAND_COEFFICIENTS,
    NULL_COEFFICIENTS,
    NUM_FEATURES,
    NUM_NULL_FEATURES,
    SUIT_COEFFICIENTS,
)
from search.scripted.skat.rules.null import danger

_JACKS_DOWN = np.array([BIT[card_id(name)] for name in ("CJ", "SJ", "HJ", "DJ")])


@kernel
def write_features(hand, game, leads, aside, numbers):
    """Write the features of a hand of ten (a set) in a suit game or grand into ``float64[NUM_FEATURES]``; ``aside``:
    discarded points."""
    numbers[:] = 0.0
    numbers[0] = 1.0
    trumps = hand & SUIT_CARDS[game, TRUMP]
    numbers[1] = count(trumps)
    for jack in range(4):
        numbers[2 + jack] = 1.0 if hand & _JACKS_DOWN[jack] != 0 else 0.0
    for suit in range(4):
        cards = hand & SUIT_CARDS[game, suit]
        if suit == game:
            cards = trumps & ~JACKS
            numbers[6] = 1.0 if cards & ACES != 0 else 0.0
            numbers[7] = 1.0 if cards & TENS != 0 else 0.0
            continue
        ace, ten, length = cards & ACES != 0, cards & TENS != 0, count(cards)
        if ace:
            numbers[8] += 1.0
            numbers[15] += length - 1.0
        if ten:
            numbers[9 if ace else 10 if length > 1 else 11] += 1.0
        if cards & KINGS != 0 and (ace or ten):
            numbers[12] += 1.0
        if length < 2:
            numbers[13 + length] += 1.0
    numbers[16] = 1.0 if leads else 0.0
    numbers[17] = aside / 10.0


@kernel
def write_null_features(hand, others, leads, numbers):
    """Write the features of a hand in null into ``float64[NUM_NULL_FEATURES]``; ``others`` is the set of the cards that
    the defenders may hold."""
    numbers[:] = 0.0
    numbers[0] = 1.0
    numbers[4] = 1.0 if leads else 0.0
    for suit in range(4):
        number = float(danger(hand, others, suit))
        for place in range(1, 4):
            if number > numbers[place]:
                numbers[place], number = number, numbers[place]


@kernel
def strength(hand, game, leads, aside, when, others, numbers):
    """The log odds that the soloist wins ``game`` with a hand of ten (a set), without announcements.

    Args:
        leads: whether the soloist is forehand.
        aside: discarded card points.
        when: ``PICKED_UP``, ``BEFORE`` or ``BY_HAND``.
        others: the cards (a set) that the defenders may hold.
        numbers: ``float64[NUM_FEATURES]``, scratch.
    """
    total = 0.0
    if game == NULL:
        write_null_features(hand, others, leads, numbers[:NUM_NULL_FEATURES])
        for place in range(NUM_NULL_FEATURES):
            total += NULL_COEFFICIENTS[when, place] * numbers[place]
        return total
    write_features(hand, game, leads, aside, numbers)
    for place in range(NUM_FEATURES):
        coefficient = GRAND_COEFFICIENTS[when, place] if game == GRAND else SUIT_COEFFICIENTS[when, place]
        total += coefficient * numbers[place]
    return total
