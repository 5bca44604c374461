"""The solver's card layout: bits of an int64, ordered by suit and strength.

A *place* is a card's bit. The places of a suit are adjacent, the stronger card has the higher place, and trumps are
above all. So of the cards that can win a trick the highest place wins, and sets compare as numbers.
"""

from collections.abc import Callable

import numpy as np

from games.bits import each
from games.compiling import kernel
from games.skat.cards import GAMES, NULL, NUM_CARDS, STRENGTH, SUIT_OF, TRUMP, points_of

CARD_AT = np.array(
    [sorted(range(NUM_CARDS), key=lambda card: (SUIT_OF[game, card], STRENGTH[game, card])) for game in range(6)],
    np.int64,
)
"""``int64[6, 32]``: the card at every place of a game."""
PLACE_OF = np.argsort(CARD_AT, axis=1)
"""``int64[6, 32]``: the place of every card of a game."""
POINTS_AT = np.array([[points_of(1 << int(c)) * (game != NULL) for c in CARD_AT[game]] for game in range(6)], np.int64)
"""``int64[6, 32]``: card points at every place; none count in null."""
_SUITS = np.take_along_axis(SUIT_OF, CARD_AT, axis=1)


def _places(chosen: Callable[[int, int], bool]) -> np.ndarray:
    """``int64[6]``: for every game the set of its places that are ``chosen(game, place)``."""
    return np.array(
        [sum(1 << place for place in range(NUM_CARDS) if chosen(game, place)) for game in range(len(GAMES))], np.int64
    )


SUIT_AT = np.array(
    [
        [sum(1 << other for other in range(NUM_CARDS) if suits[other] == suits[place]) for place in range(NUM_CARDS)]
        for suits in _SUITS
    ],
    np.int64,
)
"""``int64[6, 32]``: all places of the suit that a place belongs to, trumps being a suit."""
TRUMPS = _places(lambda game, place: _SUITS[game, place] == TRUMP)
"""``int64[6]``: the places of trumps."""


def _follows(game: int, place: int, gain: int) -> bool:
    """Whether a place has the suit of the place below, and is worth 0 to ``gain`` points more."""
    more = POINTS_AT[game, place] - POINTS_AT[game, place - 1]
    return place > 0 and _SUITS[game, place] == _SUITS[game, place - 1] and bool(0 <= more <= gain)


JOINED = _places(lambda game, place: _follows(game, place, 120))
"""``int64[6]``: places with the suit of the place below and no lower worth: all but the lowest of a suit and of
jacks."""
ALIKE = _places(lambda game, place: _follows(game, place, 0))
"""``int64[6]``: places with suit and worth of the place below: 8, 9, jacks, and every rank in null."""


def _runs(game: int) -> list[tuple[int, int]]:
    """``(first place, length)`` of the runs of places that are alike."""
    firsts = [place for place in range(NUM_CARDS) if not ALIKE[game] >> place & 1]
    runs = zip(firsts, [*firsts[1:], NUM_CARDS], strict=True)
    return [(first, following - first) for first, following in runs if following - first > 1]


NUM_RUNS, LONGEST_RUN = 5, 8
RUNS = np.array([[*_runs(game), (0, 0)][:NUM_RUNS] for game in range(6)], np.int64)
"""``int64[6, 5, 2]``: first place and length of each run of places that are alike; null has four, the last is empty."""


@kernel
def places_of(game, cards):
    """``int64`` set of the places of a set of cards."""
    places = np.int64(0)
    for card in each(cards):
        places |= np.int64(1) << PLACE_OF[game, card]
    return places
