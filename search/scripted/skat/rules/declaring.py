"""The soloist's discards, game and announcements."""

import numpy as np

from games.bits import BIT, count, each, lowest
from games.compiling import kernel
from games.skat.cards import ALL_CARDS, FIRST_GAME, FIRST_MODIFIER, NULL, OUVERT, PLAIN, SUIT_CARDS, TRUMP, points_of
from games.skat.legal import legal_tokens
from search.scripted.skat.rules.bidding import value_of, worth
from search.scripted.skat.rules.coefficients import BY_HAND, PICKED_UP
from search.scripted.skat.rules.null import danger_of_hand
from search.scripted.skat.rules.playing import ABOVE
from search.scripted.skat.rules.strength import strength


@kernel
def choose_discard(view, shift, numbers):
    """The next card of the pair that leaves the best game."""
    twelve = view["hand"] | view["laid"]
    pair, best = np.int64(0), -np.inf
    for game in range(6):
        laid, odds = best_discards(twelve, view["laid"], game, view["seat"] == 0, numbers)
        value = value_of(game, twelve, 0, twelve & ~laid)
        expected = worth(view["public"], game, odds + shift, value)
        if expected > best:
            pair, best = laid, expected
    return lowest(pair & ~view["laid"])


@kernel
def best_discards(twelve, first, game, leads, numbers):
    """``(pair, strength)``: the two cards of twelve (sets) to discard in ``game``, and the strength of the rest
    (``strength.strength``). ``first``: the card already discarded, or empty; the second lies above it.

    ``numbers`` is scratch of ``strength``.
    """
    best, most = np.int64(0), -np.inf
    for low in each(twelve if first == 0 else first):
        for high in each(twelve & ~((BIT[low] << 1) - 1)):
            pair = BIT[low] | BIT[high]
            chance = strength(twelve & ~pair, game, leads, points_of(pair), PICKED_UP, ALL_CARDS & ~twelve, numbers)
            if chance > most:
                best, most = pair, chance
    return best, most


@kernel
def choose_game(view, shift, numbers):
    """The token of the legal game of the greatest worth."""
    public, hand = view["public"], view["hand"]
    by_hand = 1 - public["picked_up"]
    twelve = hand | view["laid"]
    legal = legal_tokens(public, hand, view["laid"])[1]
    choice, best = np.int64(0), -np.inf
    for game in range(6):
        if legal >> game & 1 == 0:
            continue
        when = BY_HAND if by_hand else PICKED_UP
        odds = shift + strength(
            hand, game, view["seat"] == 0, points_of(view["laid"]), when, ALL_CARDS & ~twelve, numbers
        )
        expected = worth(public, game, odds, value_of(game, twelve, by_hand, hand))
        if expected > best:
            choice, best = np.int64(game), expected
    return FIRST_GAME + choice


@kernel
def choose_modifier(view):
    """The token of the announcement: open for a null without danger, and for other hand games that win every trick.
    Schneider alone is never announced: even where 90 points are likely, the two levels are hardly worth the risk."""
    public, hand = view["public"], view["hand"]
    if public["game"] == NULL:
        plain = legal_tokens(public, hand, view["laid"])[1] & 1 != 0
        safe = danger_of_hand(hand, ALL_CARDS & ~(hand | view["laid"])) == 0
        return FIRST_MODIFIER + (PLAIN if plain and not safe else OUVERT)
    return FIRST_MODIFIER + (OUVERT if view["seat"] == 0 and takes_all(hand, public["game"]) else PLAIN)


@kernel
def takes_all(hand, game):
    """Whether a hand that leads its trumps first wins every trick: all its cards are above the others' in their suits,
    and the others have no more trumps."""
    for suit in range(5):
        others, own = ~hand & SUIT_CARDS[game, suit], hand & SUIT_CARDS[game, suit]
        if suit == TRUMP and count(others) > count(own):
            return False
        for card in each(own):
            if others & ABOVE[game, card] != 0:
                return False
    return True
