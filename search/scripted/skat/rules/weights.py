"""Weights of the rules of thumb for Skat's card play, in card points for the own side.

They were tuned by hill climbing on paired deals, soloist's and defenders' weights in turn. A rule without effect was
removed, and has weight 0 if it has none for one side. The script is not in the repository.
"""

import numpy as np

(
    LOW,
    SMEAR,
    TEMPO,
    HOLD_LAST_TRUMP,
    HOLD_TOP_TRUMP,
    HOLD_TRUMP,
    HOLD_TRUMP_POINTS,
    HOLD_MASTER,
    HOLD_MASTER_POINTS,
    HOLD_GUARDED_TEN,
    HOLD_LENGTH,
    LEAD_TRUMP,
    LEAD_TOP_TRUMP,
    LEAD_LAST_TRUMP,
    LEAD_MASTER,
    LEAD_ESTABLISH,
    LEAD_RUFF,
) = range(17)

WEIGHTS = np.array(
    [
        # suit games: soloist, defenders; grand: soloist, defenders
        (1.69, 1.39, 2.34, 2.00),  # LOW: points that a seat yet to play adds to a trick its side loses
        (4.77, 2.15, 6.00, 2.43),  # SMEAR: points that it adds to a trick its side wins
        (-0.92, 0.50, 0.74, 0.40),  # TEMPO: being the next to lead
        (15.08, 9.07, 19.36, 9.31),  # HOLD_LAST_TRUMP: keeping a trump when no other seat has any
        (15.66, 10.73, 16.43, 10.93),  # HOLD_TOP_TRUMP: keeping the strongest trump left
        (7.51, 2.94, 0.35, 3.61),  # HOLD_TRUMP: keeping another trump
        (0.62, 0.67, 0.68, 0.43),  # HOLD_TRUMP_POINTS: and for each of its points, while others have trumps
        (3.71, 0.69, 6.15, 0.61),  # HOLD_MASTER: keeping the strongest card left of a suit
        (1.01, 0.20, 1.26, 0.78),  # HOLD_MASTER_POINTS: and for each of its points
        (2.98, 6.26, 9.26, 6.55),  # HOLD_GUARDED_TEN: keeping a ten under the ace with another card of its suit
        (1.15, 0.62, 1.02, 0.19),  # HOLD_LENGTH: keeping any other card, for each further one of its suit
        (13.71, -4.96, 23.97, -0.62),  # LEAD_TRUMP: leading trump while others may have some
        (0.00, 0.00, 0.38, 0.00),  # LEAD_TOP_TRUMP: and for the strongest left
        (-3.00, 0.00, -12.00, 0.00),  # LEAD_LAST_TRUMP: leading trump when no other seat has any
        (-0.52, 1.29, 7.61, 10.19),  # LEAD_MASTER: leading the strongest card left of a suit
        (0.20, 0.00, 0.37, 0.00),  # LEAD_ESTABLISH: leading another card, for each own one that it makes high
        (0.00, 3.70, 0.00, 6.26),  # LEAD_RUFF: leading a suit that the soloist has none of, as a defender
    ]
).T.copy()
"""``float64[4, rules]``: soloist and defenders of a suit game, then of grand."""
