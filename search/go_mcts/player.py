"""GO-MCTS as a player: a search for every turn, and the best action of its root."""

from collections.abc import Iterator

import numpy as np

from learner.observation_model import ObservationModel
from search.go_mcts.config import GoMctsConfig
from search.go_mcts.search import Search
from search.go_mcts.simulations import Roots
from search.go_mcts.speculative import SpeculativeSearch
from search.players.histories import ModelPlayer
from search.players.kinds import PlayerKind
from search.players.memory import tree_bytes
from search.players.player import Turns

_ROWS, _MOST_SPECULATIVE = 128, 16
"""Most simulations in flight in a batch of searches, and in one search, for ``speculative=0``."""


class GoMcts(ModelPlayer):
    """Searches every turn of a batch and plays Algorithm 3's Argmax."""

    name = "go_mcts"

    def __init__(self, model: ObservationModel, config: GoMctsConfig) -> None:
        super().__init__(model)
        self.config = config

    def choose(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: the root action of the highest mean value, with the policy's term; ties to the first."""
        forest, weight = self.search(turns).forest, self.config.policy_weight
        return np.array([forest.best_action(tree, weight) for tree in range(len(turns.game))], np.int64)

    def search(self, turns: Turns) -> Search:
        """Run the search of the turns to its end; the trees stay readable in ``.forest``, tree ``i`` for turn ``i``."""
        *_, search = self.searching(turns)
        return search

    def searching(self, turns: Turns) -> Iterator[Search]:
        """The search of the turns in each of its pauses, and once it has ended. While it pauses, others may query the
        model, but not this player."""
        handles, held = self.histories.beginnings(turns)
        roots = Roots(turns.tokens.astype(np.int64), turns.lengths.astype(np.int64), handles, held, turns.seeds)
        kind, width = self._parallelism(len(roots.lengths))
        search = kind(self.game, self.histories.model, self.config, roots, width)
        for _ in search.steps():
            yield search
        self.histories.store(turns, search.forest.nodes.handle[: len(roots.lengths)])
        yield search

    def _parallelism(self, searches: int) -> tuple[type[Search], int]:
        """Class of the search, and most simulations in flight in each search."""
        width = self.config.speculative or max(1, min(_MOST_SPECULATIVE, _ROWS // searches))
        return (SpeculativeSearch if width > 1 else Search), width


KIND = PlayerKind(
    name="go_mcts",
    summary="GO-MCTS: a search of observation histories, which the network continues (paper 001, Algorithm 3).",
    settings=GoMctsConfig,
    of_network=("num_steps", "exploration", "threshold", "prior_visits", "policy_weight", "mask_impossible"),
    needs_model=True,
    decision_bytes=lambda game, settings: tree_bytes(settings.num_runs, settings.seconds),
    factory=lambda game, model, settings: GoMcts(model, settings),
)
