"""Bids, and whether to pick up the talon: any game worth more than passing.

Worth is in points of the score, the soloist's own less the mean of the defenders'.
"""

import numpy as np

from games.compiling import kernel
from games.rng import next_state, output, uniform
from games.skat.cards import ALL_CARDS, FIRST_BID, HAND, HOLD, NULL, OUVERT, PASS, PICKUP, PLAIN, matadors_of
from games.skat.values import BASES, BIDS, multiplier, null_value, raised
from search.scripted.skat.rules.coefficients import BEFORE, BY_HAND
from search.scripted.skat.rules.null import danger_of_hand
from search.scripted.skat.rules.strength import strength

AGGRESSION, NOISE = range(2)
"""Columns of the settings that kernels take, ``float64[2]``."""
_AGGRESSION_SCALE = 4.0
"""Log odds between aggressions of 0 and 1."""
_NO_GAME = -1.0e9


@kernel
def optimism(view, settings):
    """Added to the strength of every game: constant during a deal, since it follows only from the cards dealt to the
    seat."""
    shift = _AGGRESSION_SCALE * (settings[AGGRESSION] - 0.5)
    if settings[NOISE] > 0.0:
        counter = next_state(np.uint64(view["dealt"]))
        radius = np.sqrt(-2.0 * np.log(1.0 - uniform(output(counter))))
        shift += settings[NOISE] * radius * np.cos(2.0 * np.pi * uniform(output(next_state(counter))))
    return shift


@kernel
def worth(public, game, odds, value):
    """Expected score of a game of this value; ``odds``: log odds to win it."""
    chance = 1.0 / (1.0 + np.exp(-odds))
    bid = BIDS[max(public["bid"], 0)]
    if value < bid:
        if game == NULL:
            return _NO_GAME
        chance, value = 0.0, raised(BASES[game], bid)
    fixed, others = (50.0, 40.0) if public["scoring"] == 0 else (0.0, 0.0)
    return chance * (value + fixed) - (1.0 - chance) * (2.0 * value + fixed + others)


@kernel
def value_of(game, twelve, by_hand, hand):
    """Value of a game by its matadors (counted on ``twelve``); null counts as open if ``hand`` is in no danger
    (sets)."""
    if game == NULL:
        return null_value(by_hand, OUVERT if danger_of_hand(hand, ALL_CARDS & ~twelve) == 0 else PLAIN)
    return BASES[game] * multiplier(matadors_of(game, twelve), by_hand, PLAIN, False, False)


@kernel
def limit(view, shift, numbers):
    """The highest value that the seat bids: the most valuable game that it prefers to passing; 0 for none."""
    public, hand = view["public"], view["dealt"]
    highest = 0
    for game in range(6):
        for by_hand in range(2):
            value = value_of(game, hand, by_hand, hand)
            odds = shift + strength(
                hand, game, view["seat"] == 0, 0, BY_HAND if by_hand else BEFORE, ALL_CARDS & ~hand, numbers
            )
            if value > highest and value >= BIDS[max(public["bid"], 0)] and worth(public, game, odds, value) > 0.0:
                highest = value
    return highest


@kernel
def choose_call(view, shift, numbers):
    """The lowest bid, hold or pass."""
    public = view["public"]
    most = limit(view, shift, numbers)
    if public["asked"] != 0:
        return HOLD if BIDS[public["bid"]] <= most else PASS
    following = public["bid"] + 1
    return FIRST_BID + following if following < len(BIDS) and BIDS[following] <= most else PASS


@kernel
def choose_pickup(view, shift, numbers):
    """``hand`` where the best game without the talon is worth more than the best one with it."""
    public, hand = view["public"], view["dealt"]
    best, choice = -np.inf, PICKUP
    for by_hand in range(2):
        for game in range(6):
            when = BY_HAND if by_hand else BEFORE
            odds = shift + strength(hand, game, view["seat"] == 0, 0, when, ALL_CARDS & ~hand, numbers)
            expected = worth(public, game, odds, value_of(game, hand, by_hand, hand))
            if expected > best:
                best, choice = expected, HAND if by_hand else PICKUP
    return choice
