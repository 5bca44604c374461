"""The player that chooses uniformly among its legal actions; another one that does now and then."""

import numpy as np

from games.compiling import kernel
from games.game import Game
from games.rng import below, mix
from search.players.asking import Deciding, alone, deciding
from search.players.kinds import PlayerKind
from search.players.player import ChoosingPlayer, Player, Turns

_WHETHER, _WHAT = 1, 2
"""Salts of the turn's seed; the player inside draws from the seed itself."""


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


class Exploring:
    """Plays as another player, but with a small probability a uniformly drawn legal action, so that games show the
    outcomes of rare actions."""

    def __init__(self, player: Player, probability: float) -> None:
        """``probability``: 0 to 1."""
        self.name, self.sees_hidden = player.name, player.sees_hidden
        self._player, self._probability = player, probability

    def start(self, game: Game, num_games: int) -> None:
        """A new table begins."""
        self._player.start(game, num_games)

    def forget(self, games: np.ndarray) -> None:
        """The deals at these places have ended."""
        self._player.forget(games)

    @property
    def beside(self) -> bool:
        """See ``AskingPlayer``."""
        return getattr(self._player, "beside", False)

    def counts(self, games: np.ndarray) -> dict[str, np.ndarray]:
        """What the player inside counts."""
        return self._player.counts(games) if hasattr(self._player, "counts") else {}

    def act(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: one legal token per turn."""
        return alone(self.deciding(turns))

    def deciding(self, turns: Turns) -> Deciding:
        """See ``search.players.asking``."""
        explores = mix(turns.seeds, _WHETHER) / 2.0**64 < self._probability
        anything = choose_uniformly(turns.legal, mix(turns.seeds, _WHAT))
        return np.where(explores, anything, (yield from deciding(self._player, turns)))


KIND = PlayerKind(
    name="random",
    summary="Chooses uniformly among its legal actions.",
    factory=lambda game, model, settings: RandomPlayer(),
)
