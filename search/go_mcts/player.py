"""GO-MCTS as a player: a tree for every turn (``search.go_mcts.search``), and the root action with the highest mean
value."""

import numpy as np

from games.game import Game
from learner.observation_model import ObservationModel
from search.config import GoMctsConfig
from search.go_mcts.search import Search
from search.go_mcts.simulations import Roots
from search.go_mcts.subtree import find
from search.go_mcts.tree import NONE, Forest
from search.players.histories import Paths
from search.players.player import Turns


class GoMcts:
    """Searches every turn of a batch and plays the root action with the highest mean value."""

    sees_hidden = False

    def __init__(self, model: ObservationModel, config: GoMctsConfig, name: str = "go_mcts") -> None:
        self.name = name
        self.config = config
        self._model = model
        self._paths = Paths(model)
        self._last: dict[tuple[int, int], tuple[Forest, int, int]] = {}
        """(place at the table, seat) -> forest, tree and length of the root history of the last search there."""

    def start(self, game: Game, num_games: int) -> None:
        """A new table begins: every history is forgotten."""
        self._game = game
        self._utility = game.outcomes.utility(self.config.utility)
        self._paths.start(game, num_games)
        self._last.clear()

    def forget(self, games: np.ndarray) -> None:
        """Give back what was computed of ended deals."""
        self._paths.forget(games)
        ended = set(games.tolist())
        self._last = {place: last for place, last in self._last.items() if place[0] not in ended}

    def act(self, turns: Turns) -> np.ndarray:
        """``[M]``: the most valuable root action of each turn; a turn with a single legal action is not searched."""
        actions = turns.legal.argmax(1)
        rows = np.flatnonzero(turns.legal.sum(1) > 1)
        if len(rows):
            search = self.search(turns, rows)
            actions[rows] = [_best_action(search.forest, tree) for tree in range(len(rows))]
        return actions

    def search(self, turns: Turns, rows: np.ndarray) -> Search:
        """Run the search of the given turns to its end; the trees stay readable in ``.forest``, tree ``i`` for
        ``rows[i]``."""
        asked = turns.take(rows)
        tokens = np.full((len(rows), self._game.max_length), self._game.vocabulary.eos, np.int64)
        width = min(asked.tokens.shape[1], self._game.max_length)
        tokens[:, :width] = asked.tokens[:, :width]
        lengths = asked.lengths.astype(np.int64)
        roots = Roots(self._game.views(tokens, lengths), tokens, lengths, *self._paths.of(asked))
        search = Search(self._game, self._model, self._utility, self.config, roots, asked.seeds)
        if self.config.keep_subtree:
            self._go_on_from_last(search, asked)
        search.run()
        self._paths.store(asked, roots.slots, roots.held)
        return search

    def _go_on_from_last(self, search: Search, asked: Turns) -> None:
        """Begin with what the last search of the same seat found out about what came since."""
        for tree, place in enumerate(zip(asked.game.tolist(), asked.seat.tolist(), strict=True)):
            now = int(asked.lengths[tree])
            if place in self._last:
                forest, root, length = self._last[place]
                node = find(forest, root, asked.tokens[tree, length:now]) if length < now else NONE
                if node != NONE:
                    search.start_from(tree, forest, int(node))
            self._last[place] = (search.forest, tree, now)


def _best_action(forest: Forest, tree: int) -> int:
    """The root action with the highest mean value, the first one of equals."""
    actions, values, _ = forest.root_statistics(tree)
    return int(actions[values.argmax()])
