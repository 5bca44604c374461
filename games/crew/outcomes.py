"""The two ways a mission can end: all seats fail, or all succeed (paper 001, section 6.3)."""

import numpy as np

from games.outcomes import OutcomeTable


def build() -> OutcomeTable:
    """Label 0 is failure, label 1 success, for every seat. The utility is 1 or 0; equation 5 of the paper would be 0
    for whatever all seats share."""
    points = np.repeat(np.array([[0], [1]], np.float32), 4, axis=1)
    return OutcomeTable(points, {"success": points[:, 0]}, "success")
