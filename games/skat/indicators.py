"""What ended deals show of every seat beside its points: whether it was the soloist, of which game, and what came of it
(paper 004, sections IV and VI: its tables of tournaments)."""

import numpy as np

from games.skat.cards import GRAND, NULL, OUVERT, SEATS


def indicators(states: np.ndarray, values: np.ndarray) -> dict[str, np.ndarray]:
    """Name -> ``float32[B, 3]``, by absolute seat: 0 or 1, but for ``value``.

    Args:
        states: ended deals.
        values: ``float[B]``: what the game brings its soloist: its value if won, minus twice that if lost.
    """
    public = states["public"]
    soloist = public["soloist"][:, None] == np.arange(len(SEATS))
    game, shown = public["game"][:, None], public["modifier"][:, None] == OUVERT
    found = {
        "soloist": soloist,
        "grand": soloist & (game == GRAND),
        "suit": soloist & (game < GRAND),
        "null": soloist & (game == NULL) & ~shown,
        "null_ouvert": soloist & (game == NULL) & shown,
        "hand": soloist & (public["picked_up"] == 0)[:, None],
        "won": soloist & (values > 0)[:, None],
        "passed": np.repeat(public["soloist"][:, None] < 0, len(SEATS), axis=1),
        "value": np.where(soloist, values[:, None], 0),
    }
    return {name: each.astype(np.float32) for name, each in found.items()}
