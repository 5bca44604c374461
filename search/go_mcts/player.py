"""GO-MCTS as a player: a search for every turn, and the best action of its root."""

import time
from collections.abc import Iterator
from contextlib import closing

import numpy as np

from learner.observation_model import ObservationModel
from search.go_mcts.config import GoMctsConfig
from search.go_mcts.search import Search
from search.go_mcts.simulations import Roots
from search.go_mcts.speculative import SpeculativeSearch
from search.players.asking import Deciding
from search.players.histories import AskingPlayer
from search.players.kinds import PlayerKind
from search.players.memory import tree_bytes
from search.players.player import Turns

_ROWS, _MOST_SPECULATIVE = 128, 16
"""Most simulations in flight in a batch of searches, and in one search, for ``speculative=0``."""


class GoMcts(AskingPlayer):
    """Searches every turn of a batch and plays Algorithm 3's Argmax."""

    name = "go_mcts"

    def __init__(self, model: ObservationModel, config: GoMctsConfig) -> None:
        super().__init__(model)
        self.config = config

    def choosing(self, turns: Turns) -> Deciding:
        """``int64[M]``: the root action of the highest mean value, with the policy's term; ties to the first."""
        if self.config.seconds:  # what others do meanwhile would cost it simulations
            search = self.search(turns)
        else:
            search = self._begun(turns)
            yield from search.steps()
            self._store(turns, search)
        weight = self.config.policy_weight
        return np.array([search.forest.best_action(tree, weight) for tree in range(len(turns.game))], np.int64)

    def action_values(self, turns: Turns) -> np.ndarray:
        """See ``search.players.player.Valuing``: mean values of the root's actions, in units of the utility; -inf for
        what is illegal or below the threshold."""
        values = np.full(turns.legal.shape, -np.inf)
        forest = self.search(turns).forest
        for tree in range(len(turns.game)):
            actions, means, _ = forest.root_statistics(tree)
            values[tree, actions] = means
        return values

    def search(self, turns: Turns) -> Search:
        """Run the search of the turns to its end; the trees stay readable in ``.forest``, tree ``i`` for turn ``i``."""
        *_, search = self.searching(turns)
        return search

    def searching(self, turns: Turns) -> Iterator[Search]:
        """The search of the turns in a pause after each query, and once it has ended. While it pauses, others may query
        the model, but not this player."""
        search = self._begun(turns)
        with closing(search.steps()) as steps:
            question = next(steps, None)
            while question is not None:
                answer, began = question.answered(), time.monotonic()
                try:
                    yield search
                except BaseException:  # not gone on with: the search never gets these handles
                    self.histories.model.release(np.concatenate([answer.handles, answer.action_handles]))
                    raise
                search.paused += time.monotonic() - began
                try:
                    question = steps.send(answer)
                except StopIteration:
                    question = None
        self._store(turns, search)
        yield search

    def _begun(self, turns: Turns) -> Search:
        handles, held = self.histories.beginnings(turns)
        roots = Roots(turns.tokens.astype(np.int64), turns.lengths.astype(np.int64), handles, held, turns.seeds)
        kind, width = self._parallelism(len(roots.lengths))
        return kind(self.game, self.histories.model, self.config, roots, width)

    def _store(self, turns: Turns, search: Search) -> None:
        self.histories.store(turns, search.forest.nodes.handle[: len(turns.game)])

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
    values_actions=True,
    decision_bytes=lambda game, settings: tree_bytes(settings.num_runs, settings.seconds),
    factory=lambda game, model, settings: GoMcts(model, settings),
)
