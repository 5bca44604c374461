"""Generative Observation Monte Carlo Tree Search (paper 001, Algorithm 3), for many decisions side by side.

Every decision has a tree of its own and runs its ``num_runs`` one after the other, exactly as the paper's algorithm
does; the searches of a batch advance together, so that one model query serves all of them. The game's view tells who
moves, what the search player may play and how a history ends; the model says everything else: it samples what comes
next, initialises the values of new children and judges histories that were cut short.

Where Algorithm 3 leaves something open:
  * Rollout samples the search player's own moves from the model too, illegal ones included; such a history ends as
    impossible.
  * Backup reaches the decision that was just expanded. Its edge for the rollout's first move gets the result if that
    move is among its children, and nothing does otherwise.
  * If no legal action exceeds the threshold, the most probable one becomes the only child.
  * A decision whose answer cannot depend on the search, one legal action or one child at the root, is answered
    without runs.
"""

from dataclasses import dataclass, field

import numpy as np

from games.game import Game, Next
from search.config import GoMctsConfig
from search.lanes import Lanes
from search.player import Turns
from search.policy import admitted, legal_policy
from search.queries import Answer, ObservationModel
from search.tree import NONE, Forest, sample_stored, sample_tokens


class GoMcts:
    """The player: searches every turn of a batch and plays the root action with the highest mean value."""

    sees_hidden = False

    def __init__(self, model: ObservationModel, config: GoMctsConfig, name: str = "go_mcts") -> None:
        self.name = name
        self.config = config
        self._model = model
        self._lanes = Lanes(model)

    def start(self, game: Game, num_games: int) -> None:
        """A new table begins: every lane is forgotten."""
        self._game = game
        self._utility = game.outcomes.utility(self.config.utility)
        self._lanes.start(num_games, game.num_players)

    def act(self, turns: Turns) -> np.ndarray:
        """``[M]``: the most valuable root action of each turn; a turn with a single legal action is not searched."""
        actions = turns.legal.argmax(1)
        rows = np.flatnonzero(turns.legal.sum(1) > 1)
        if len(rows):
            search = self.search(turns, rows)
            actions[rows] = [_best_action(search.forest, tree) for tree in range(len(rows))]
        return actions

    def search(self, turns: Turns, rows: np.ndarray) -> "Search":
        """Run the search of the given turns to its end; the trees stay readable in ``.forest``, tree ``i`` for
        ``rows[i]``."""
        lanes = self._lanes.of(turns.game[rows], turns.seat[rows])
        search = Search(self._game, self._model, self._utility, self.config, lanes, turns, rows)
        search.run()
        return search


@dataclass
class Runs:
    """Where the current run of each of ``B`` searches stands."""

    views: np.ndarray
    """``[B]``: the game's view of the run's history."""
    tokens: np.ndarray
    """``[B, L]``: the run's history."""
    lengths: np.ndarray
    """``int64[B]``: its tokens."""
    nodes: np.ndarray
    """``int64[B]``: the tree node it stands on, ``NONE`` once it has left the tree into a rollout."""
    paths: np.ndarray
    """``int64[B, L]``: edges to back up to."""
    depths: np.ndarray
    """``int64[B]``: number of those edges."""
    steps_left: np.ndarray
    """``int64[B]``: rollout moves of its own that remain."""


@dataclass
class SearchStatistics:
    """What a batch of searches did."""

    runs: int = 0
    illegal_runs: int = 0
    """Runs that ended in a history that could not have happened."""
    queries: int = 0
    """Model queries, one per row."""
    batches: int = 0
    """Forward passes those queries were served in."""


@dataclass
class Search:
    """``B`` searches that advance together; ``run`` carries them through all their runs."""

    game: Game
    model: ObservationModel
    utility: np.ndarray
    config: GoMctsConfig
    lanes: np.ndarray
    turns: Turns
    rows: np.ndarray
    statistics: SearchStatistics = field(default_factory=SearchStatistics)

    def __post_init__(self) -> None:
        self._root_tokens = np.full((len(self.rows), self.game.max_length), self.game.vocabulary.eos, np.int64)
        width = min(self.turns.tokens.shape[1], self.game.max_length)
        self._root_tokens[:, :width] = self.turns.tokens[self.rows, :width]
        self._root_lengths = self.turns.lengths[self.rows].astype(np.int64)
        self._root_views = self.game.views(self._root_tokens, self._root_lengths)
        self._counters = self.turns.seeds[self.rows].astype(np.uint64)
        self._runs_left = np.full(len(self.rows), self.config.num_runs, np.int64)
        self._state = Runs(
            views=self._root_views.copy(),
            tokens=self._root_tokens.copy(),
            lengths=self._root_lengths.copy(),
            nodes=np.arange(len(self.rows)),
            paths=np.zeros(self._root_tokens.shape, np.int64),
            depths=np.zeros(len(self.rows), np.int64),
            steps_left=np.full(len(self.rows), self.config.num_steps, np.int64),
        )
        self.forest = Forest(len(self.rows), self.game.vocabulary.size)

    def run(self) -> None:
        """Carry every search through all its runs."""
        while True:
            self._walk()
            waiting = np.flatnonzero(self._runs_left > 0)
            if len(waiting) == 0:
                return
            self._answer(waiting)

    # ---- between queries: follow the tree as far as it is known

    def _walk(self) -> None:
        """Move every run on until it needs the model or its search has no runs left."""
        moving = np.flatnonzero(self._runs_left > 0)
        while len(moving):
            turn = self.game.next(self._state.views[moving])
            ended = turn == Next.END
            self._finish(moving[ended], self._outcomes(moving[ended]))
            in_tree = ~ended & (self._state.nodes[moving] != NONE)
            nodes = self._state.nodes[moving]
            selecting = in_tree & (turn == Next.ACTION) & (self.forest.edge_count[nodes] > 0)
            sampling = in_tree & (turn == Next.OBSERVATION) & (self.forest.distribution[nodes] != NONE)
            self._select(moving[selecting])
            self._sample_known(moving[sampling])
            moving = moving[(ended & (self._runs_left[moving] > 0)) | selecting | sampling]

    def _select(self, rows: np.ndarray) -> None:
        """The search player's turn at a known decision: UCT."""
        state = self._state
        edges = self.forest.select(state.nodes[rows], self.config.exploration)
        state.paths[rows, state.depths[rows]] = edges
        state.depths[rows] += 1
        self._append(rows, self.forest.edge_token[edges])
        state.nodes[rows] = self.forest.follow(state.nodes[rows], edges)

    def _sample_known(self, rows: np.ndarray) -> None:
        """Somebody else's turn at a node whose distribution an earlier run has computed."""
        counters = self._counters[rows]
        tokens = sample_stored(self.forest, self._state.nodes[rows], counters)
        self._counters[rows] = counters
        self._append(rows, tokens)
        self._state.nodes[rows] = self.forest.child_nodes(self._state.nodes[rows], tokens)

    def _append(self, rows: np.ndarray, tokens: np.ndarray) -> None:
        state = self._state
        state.tokens[rows, state.lengths[rows]] = tokens
        state.lengths[rows] += 1
        views = state.views[rows]
        self.game.advance(views, tokens)
        state.views[rows] = views

    # ---- with a query: what the model says at the end of every waiting history

    def _answer(self, rows: np.ndarray) -> None:
        """One query for every waiting run: a new distribution, a new decision, the next rollout token, or a final
        value."""
        state = self._state
        turn = self.game.next(state.views[rows])
        in_tree = state.nodes[rows] != NONE
        expanding = in_tree & (turn == Next.ACTION)
        legal = self.game.view_legal(state.views[rows[expanding]])
        answer = self._query(rows, expanding, legal)

        observing = in_tree & ~expanding
        self.forest.store_distributions(state.nodes[rows[observing]], answer.next_token[observing])
        self._expand(rows[expanding], legal, answer.next_token[expanding], answer.action_values[expanding])

        rolling = ~observing & (self._runs_left[rows] > 0) & (state.steps_left[rows] > 0)
        cut_short = ~observing & (self._runs_left[rows] > 0) & (state.steps_left[rows] == 0)
        self._roll(rows[rolling], answer.next_token[rolling], expanding[rolling])
        finished = rows[cut_short]
        self._finish(finished, (answer.value[cut_short].astype(np.float64), np.ones(len(finished), bool)))

    def _query(self, rows: np.ndarray, expanding: np.ndarray, legal: np.ndarray) -> Answer:
        state = self._state
        candidates = None
        if expanding.any():
            candidates = np.zeros((len(rows), self.game.vocabulary.size), bool)
            candidates[expanding] = legal
        self.statistics.queries += len(rows)
        self.statistics.batches += 1
        return self.model.query(self.lanes[rows], state.tokens[rows], state.lengths[rows], candidates)

    def _expand(self, rows: np.ndarray, legal: np.ndarray, next_token: np.ndarray, values: np.ndarray) -> None:
        """New decisions: a child for every legal action whose probability exceeds the threshold, valued by the
        model."""
        if len(rows) == 0:
            return
        policy = legal_policy(next_token, legal)
        children = admitted(policy, policy > self.config.threshold)
        self.forest.expand(self._state.nodes[rows], children, values)
        settled = (children.sum(1) == 1) & (self._state.lengths[rows] == self._root_lengths[rows])
        self._runs_left[rows[settled]] = 0

    def _roll(self, rows: np.ndarray, next_token: np.ndarray, expanded: np.ndarray) -> None:
        """One rollout token each, sampled from the model; a run that has just expanded a decision leaves the tree
        with it."""
        state = self._state
        counters = self._counters[rows]
        tokens = sample_tokens(next_token, counters)
        self._counters[rows] = counters
        self._append(rows, tokens)
        edges = self.forest.find_edges(state.nodes[rows[expanded]], tokens[expanded])
        known = rows[expanded][edges != NONE]
        state.paths[known, state.depths[known]] = edges[edges != NONE]
        state.depths[known] += 1
        state.nodes[rows] = NONE
        state.steps_left[rows] -= self.game.next(state.views[rows]) == Next.ACTION

    # ---- the end of a run

    def _outcomes(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Value of terminal histories, and whether they could have happened at all."""
        views = self._state.views[rows]
        labels = self.game.view_outcome(views)
        legal = self.game.consistent(views) & (labels >= 0)
        return np.where(legal, self.utility[labels], 0.0), legal

    def _finish(self, rows: np.ndarray, results: tuple[np.ndarray, np.ndarray]) -> None:
        """Back up the finished runs and set each search to the start of its next one."""
        if len(rows) == 0:
            return
        values, legal = results
        state = self._state
        self.forest.backup(state.paths[rows], state.depths[rows], values, legal, self.config.illegal_penalty)
        self.statistics.runs += len(rows)
        self.statistics.illegal_runs += int((~legal).sum())
        self._runs_left[rows] -= 1
        state.views[rows] = self._root_views[rows]
        state.tokens[rows] = self._root_tokens[rows]
        state.lengths[rows] = self._root_lengths[rows]
        state.nodes[rows] = rows
        state.depths[rows] = 0
        state.steps_left[rows] = self.config.num_steps
        self.model.truncate(self.lanes[rows], self._root_lengths[rows])


def _best_action(forest: Forest, tree: int) -> int:
    """The root action with the highest mean value, the first one of equals."""
    actions, values, _ = forest.root_statistics(tree)
    return int(actions[values.argmax()])
