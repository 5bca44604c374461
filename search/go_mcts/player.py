"""GO-MCTS as a player: a search for every turn, and the root action with the highest mean value."""

import numpy as np

from games.game import Game
from learner.observation_model import ObservationModel
from search.config import GoMctsConfig
from search.go_mcts.commit import AtOnce
from search.go_mcts.search import Search
from search.go_mcts.simulations import Roots
from search.go_mcts.speculative import InOrder
from search.go_mcts.subtree import Subtrees
from search.players.model_player import ModelPlayer
from search.players.player import Turns

_ROWS, _MOST_SPECULATIVE = 128, 16
"""Most simulations in flight in a batch of searches, and in one of them, if the configuration leaves it open."""


class GoMcts(ModelPlayer):
    """Searches every turn of a batch and plays the function Argmax of Algorithm 3."""

    def __init__(self, model: ObservationModel, config: GoMctsConfig, name: str = "go_mcts") -> None:
        super().__init__(model, name)
        self.config = config

    def start(self, game: Game, num_games: int) -> None:
        """A new table begins: every history is forgotten."""
        super().start(game, num_games)
        self._game = game
        self._subtrees = Subtrees()

    def forget(self, games: np.ndarray) -> None:
        """Give back what was computed of ended deals."""
        super().forget(games)
        self._subtrees.forget(games)

    def choose(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: the root action of the highest mean value, the first one of equals."""
        forest = self.search(turns, np.arange(len(turns.game))).forest
        found = [forest.root_statistics(tree) for tree in range(len(turns.game))]
        return np.array([actions[values.argmax()] for actions, values, _ in found], np.int64)

    def search(self, turns: Turns, rows: np.ndarray) -> Search:
        """Run the search of the given turns to its end; the trees stay readable in ``.forest``, tree ``i`` for
        ``rows[i]``."""
        asked = turns.take(rows)
        tokens = np.full((len(rows), self._game.max_length), self._game.vocabulary.eos, np.int64)
        width = min(asked.tokens.shape[1], self._game.max_length)
        tokens[:, :width] = asked.tokens[:, :width]
        lengths = asked.lengths.astype(np.int64)
        roots = Roots(self._game.views(tokens, lengths), tokens, lengths, *self.histories.beginnings(asked))
        in_flight, order = self._parallelism(len(rows))
        search = Search(self._game, self.histories.model, self.config, roots, asked.seeds, in_flight, order)
        if self.config.keep_subtree:
            self._subtrees.hand_on(search, asked)
        search.run()
        self.histories.store(asked, search.forest.nodes.handle[: len(rows)])
        return search

    def _parallelism(self, searches: int) -> tuple[int, type[AtOnce] | type[InOrder]]:
        """Simulations in flight in each search, and how they are committed."""
        if self.config.lanes > 1:
            return self.config.lanes, AtOnce
        width = self.config.speculative or max(1, min(_MOST_SPECULATIVE, _ROWS // searches))
        return width, InOrder if width > 1 else AtOnce
