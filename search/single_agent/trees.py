"""The trees of a table's games, kept from move to move: what the players with trees have in common.

Letters: ``M`` turns of a batch, ``G`` places at the table, ``V`` tokens, ``L`` token positions.
"""

from dataclasses import dataclass

import numpy as np

from games.game import Game
from games.rng import mix
from search.players.memory import check_trees
from search.players.player import ChoosingPlayer, Turns
from search.single_agent.tree import Forest


@dataclass(frozen=True)
class Positions:
    """The positions of a batch of turns, and where their trees are."""

    rows: np.ndarray
    """``int64[M]``: the places of their trees."""
    states: np.ndarray
    """``[M]``"""
    tokens: np.ndarray
    """``[M, L]``: histories."""
    lengths: np.ndarray
    """``int64[M]``"""

    @staticmethod
    def of(game: Game, turns: Turns) -> "Positions":
        """Those of the turns, with trees at their places at the table."""
        views = game.views(turns.tokens, turns.lengths)
        states, _ = game.determinize(views, turns.seeds)  # nothing is hidden
        return Positions(turns.game, states, turns.tokens, turns.lengths.astype(np.int64))

    def take(self, rows: np.ndarray) -> "Positions":
        """Some of them."""
        return Positions(self.rows[rows], self.states[rows], self.tokens[rows], self.lengths[rows])


class SimulatingPlayer(ChoosingPlayer):
    """Counts its simulations."""

    def start(self, game: Game, num_games: int) -> None:
        """A new table begins."""
        super().start(game, num_games)
        self.simulations = np.zeros(num_games, np.int64)
        """Simulations of each game so far."""

    def forget(self, games: np.ndarray) -> None:
        """The games at these places have ended."""
        self.simulations[games] = 0

    def counts(self, games: np.ndarray) -> dict[str, np.ndarray]:
        """See ``Counting``."""
        return {"simulations": self.simulations[games].astype(np.float64)}


class TreePlayer(SimulatingPlayer):
    """Keeps a tree for each game; its root moves on with the game (paper 003, section 3.6).

    A decision depends on its game's earlier ones, as all simulations of these that went through the position count.
    """

    priors = False
    """Whether nodes hold probabilities of their actions."""
    tree_bytes = 0
    """Most bytes of one tree; 0 where that is unknown."""

    def start(self, game: Game, num_games: int) -> None:
        """A new table begins: every earlier tree is forgotten."""
        super().start(game, num_games)
        check_trees(num_games, self.tree_bytes)
        self.forest = Forest(num_games, game.vocabulary.size, self.priors)
        self.counters = np.zeros(num_games, np.uint64)
        self._tokens = np.zeros((num_games, game.max_length), game.vocabulary.dtype)
        self._held = np.zeros(num_games, np.int64)
        """Tokens of the history at each root; 0 without a tree."""

    def forget(self, games: np.ndarray) -> None:
        """The games at these places have ended."""
        super().forget(games)
        self._held[games] = 0

    def positions(self, turns: Turns) -> tuple[Positions, np.ndarray]:
        """The turns' positions, with their trees' roots at them; and ``bool[M]``, whose trees are new."""
        new = np.zeros(len(turns.game), np.bool_)
        for m, row in enumerate(turns.game):
            held, length = self._held[row], turns.lengths[m]
            known = 0 < held <= length and (self._tokens[row, :held] == turns.tokens[m, :held]).all()
            new[m] = not (known and self.forest.move_on(int(row), turns.tokens[m, held:length]))
        self._held[turns.game] = turns.lengths
        self._tokens[turns.game] = turns.tokens
        self.counters[turns.game] = mix(turns.seeds, 0)
        self.forest.clear(turns.game[new])
        self.forest.open(turns.game, self.forest.roots[turns.game], turns.legal)
        return Positions.of(self.game, turns), new
