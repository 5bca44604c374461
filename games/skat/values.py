"""What games are worth: bid values, base values, multipliers, overbids (the rules' sections on values and scores).

Games are numbered as in ``games.skat.cards.GAMES``: the four suits, grand 4, null 5. Modifiers are 0 plain,
1 schneider, 2 schwarz, 3 ouvert, each including those before it.
"""

import numpy as np

from games.compiling import kernel

BASES = np.array([9, 10, 11, 12, 24, 0], np.int64)
"""``int64[6]``: base value of every game; null has none."""
NULL_VALUES = np.array([[23, 46], [35, 59]], np.int64)
"""``int64[2, 2]``: value of null, by hand (0 after the pickup, 1 hand) and ouvert."""
HIGHEST_MULTIPLIERS = (18, 18, 18, 18, 11)
"""Highest multipliers of suit games and grand: all matadors, hand, everything announced and open."""

BIDS = np.unique(
    np.concatenate(
        [BASES[game] * np.arange(2, most + 1) for game, most in enumerate(HIGHEST_MULTIPLIERS)] + [NULL_VALUES.ravel()]
    )
)
"""``int64[63]``: the values that can be bid, 18 to 264: every value that a game can have."""
NUM_BIDS = len(BIDS)


@kernel
def null_value(hand, modifier):
    """Value of null; ``hand`` is 1 without the pickup."""
    return NULL_VALUES[hand, 1 if modifier == 3 else 0]


@kernel
def multiplier(matadors, hand, modifier, schneider, schwarz):
    """Multiplier of the base value of a suit or grand game. An announced level counts as reached, won or lost, and
    once more for its announcement."""
    levels = 1 + abs(matadors) + hand
    if modifier >= 1:
        levels += 1
    if modifier >= 1 or schneider:
        levels += 1
    if modifier >= 2:
        levels += 1
    if modifier >= 2 or schwarz:
        levels += 1
    return levels + (1 if modifier == 3 else 0)


@kernel
def raised(base, bid):
    """The smallest multiple of a base value that reaches the bid: what an overbid game costs."""
    return (bid + base - 1) // base * base


@kernel
def reached(modifier, points, tricks_won, tricks_lost):
    """Whether the soloist of a suit or grand game has what it needs and announced: 61 points, 90, or every trick.
    ``points`` count the two cards laid aside."""
    if modifier >= 2:
        return tricks_lost == 0 and tricks_won == 10
    return points >= (90 if modifier == 1 else 61)


@kernel
def judge(game, matadors, hand, modifier, points, tricks_won, tricks_lost, bid):
    """``(won, value, overbid)`` of a finished game. ``bid`` is a value such as 18; ``points`` are the soloist's, the
    two cards laid aside included.

    Schneider and schwarz count for either side. A game whose value with all that was reached stays below the bid is
    lost, at the smallest multiple of its base value that reaches the bid.
    """
    if game == 5:
        value = null_value(hand, modifier)
        return tricks_won == 0 and value >= bid, value, value < bid
    schneider = points <= 30 or points >= 90
    schwarz = tricks_won == 0 or tricks_lost == 0
    value = BASES[game] * multiplier(matadors, hand, modifier, schneider, schwarz)
    if value < bid:
        return False, raised(BASES[game], bid), True
    return reached(modifier, points, tricks_won, tricks_lost), value, False


@kernel
def write_points(scoring, soloist, won, value, points):
    """Write the points of the three seats (``int64[3]``): ``scoring`` 0 is Seeger-Fabian, per deal at a table of three,
    1 the classic score of the soloist alone."""
    points[:] = 0
    points[soloist] = value if won else -2 * value
    if scoring == 1:
        return
    points[soloist] += 50 if won else -50
    if not won:
        for seat in range(3):
            if seat != soloist:
                points[seat] = 40
