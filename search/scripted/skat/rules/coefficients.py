"""Coefficients of a hand's features in the log odds to win: the regressions of ``strength``.

They were fitted to hundreds of thousands of deals that this player played in all seats, given the soloist and its game.
The script is not in the repository.
"""

import numpy as np

PICKED_UP, BEFORE, BY_HAND = range(3)
"""Time of the estimate: after the discards, before picking up the talon, or for playing without it."""

TRUMP_GAMES = {
    "constant": (-14.68, -6.88, -12.12, -11.22, -6.32, -8.55),
    "trumps": (1.57, 0.96, 1.35, 2.19, 1.57, 1.58),
    "jack of clubs": (1.17, 1.02, 1.11, 1.10, 0.76, 0.84),
    "jack of spades": (0.77, 0.70, 0.86, 0.51, 0.35, 0.46),
    "jack of hearts": (0.59, 0.41, 0.54, 0.35, 0.30, 0.21),
    "jack of diamonds": (0.35, 0.33, 0.36, 0.23, 0.16, 0.08),
    "trump ace": (1.12, 0.71, 0.73, 0.00, 0.00, 0.00),
    "trump ten": (0.82, 0.54, 0.56, 0.00, 0.00, 0.00),
    "side aces": (1.96, 0.94, 1.92, 1.86, 1.18, 1.64),
    "side tens with their ace": (0.39, 0.21, 0.48, 0.62, 0.41, 0.74),
    "guarded side tens without it": (1.22, 0.60, 1.06, 1.02, 0.61, 0.84),
    "bare side tens": (0.00, 0.44, -0.20, 0.00, 0.58, -0.37),
    "side kings with ace or ten": (-0.09, -0.14, 0.01, 0.04, -0.01, 0.04),
    "side suits of no card": (1.25, 0.29, 1.36, 0.61, 0.14, 0.74),
    "side suits of one card": (0.24, 0.11, 0.23, 0.14, 0.04, 0.22),
    "further side cards of suits with their ace": (0.12, 0.16, -0.07, 0.00, 0.05, -0.03),
    "forehand": (0.17, 0.06, 0.09, 0.09, 0.07, -0.02),
    "points laid aside, over 10": (0.65, 0.00, 0.00, 0.89, 0.00, 0.00),
}
"""Features of a hand in trump games: coefficients ``PICKED_UP``, ``BEFORE`` and ``BY_HAND`` in a suit game, then
the same in grand. Side suits are all but trump; in grand there are four."""

NULL_GAMES = {
    "constant": (2.97, 3.11, 2.23),
    "danger of the worst suit": (-0.84, -0.93, -0.53),
    "danger of the next": (-0.48, -0.42, -0.53),
    "danger of the third": (-0.48, -0.52, -0.34),
    "forehand": (-0.31, -0.33, -0.18),
}
"""Features of a hand for null: coefficients ``PICKED_UP``, ``BEFORE`` and ``BY_HAND``. Danger is ``null.danger``."""

_TABLE = np.array(list(TRUMP_GAMES.values()))
SUIT_COEFFICIENTS = np.ascontiguousarray(_TABLE[:, :3].T)
GRAND_COEFFICIENTS = np.ascontiguousarray(_TABLE[:, 3:].T)
NULL_COEFFICIENTS = np.ascontiguousarray(np.array(list(NULL_GAMES.values())).T)
"""``float64[3, features]`` each."""
NUM_FEATURES = len(TRUMP_GAMES)
NUM_NULL_FEATURES = len(NULL_GAMES)
