"""Scores as outcome labels. Scores lie in a range of some 15,000, so labels are supports: 255 scores, even in signed
square root, of which the nearest stands for a game's own."""

import numpy as np

from games.outcomes import OutcomeTable

NUM_LABELS = 255
CLEARED = 1000
"""Reward of an empty board (paper 003, section "SameGame")."""


def build(cells: int) -> OutcomeTable:
    """The labels of boards of so many cells; utilities ``score`` in thousands of points, and ``root``, the signed
    square root over that of the highest score."""
    highest = (cells - 2) ** 2 + CLEARED
    lowest = -max(
        2 * (cells // 2 + cells % 2 - 2) ** 2, cells
    )  # a chequerboard; or a tile of many colours, a point each
    roots = np.linspace(-np.sqrt(-lowest), np.sqrt(highest), NUM_LABELS)
    supports = np.sign(roots) * roots**2
    return OutcomeTable(
        points=supports[:, None],
        utilities={"score": supports / CLEARED, "root": roots / roots[-1]},
        exact=False,
    )
