"""The player that chooses uniformly among its legal actions."""

import numpy as np

from games.compiling import kernel
from games.rng import below
from search.players.kinds import PlayerKind
from search.players.player import ChoosingPlayer, Turns


class RandomPlayer(ChoosingPlayer):
    """Plays the n-th legal action, n uniform from the turn's seed."""

    def __init__(self, name: str = "random") -> None:
        self.name = name

    def act(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: one legal token per turn, forced moves included, which is faster."""
        return choose_uniformly(turns.legal, turns.seeds)


def choose_uniformly(legal: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """``int64[M]``: one of the True columns of every row of ``legal`` (``bool[M, V]``), from ``seeds``
    (``uint64[M]``)."""
    chosen = np.empty(len(legal), np.int64)
    _choose_uniformly(np.ascontiguousarray(legal), seeds, chosen)
    return chosen


@kernel
def _choose_uniformly(legal, seeds, chosen):
    for row in range(legal.shape[0]):
        left = below(seeds[row], legal[row].sum())
        for token in range(legal.shape[1]):
            if legal[row, token]:
                if left == 0:
                    chosen[row] = token
                    break
                left -= 1


KIND = PlayerKind(
    name="random",
    summary="Chooses uniformly among its legal actions.",
    factory=lambda game, model, settings: RandomPlayer(),
)
