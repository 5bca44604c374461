"""Algorithm 3 of paper 001 for many decisions side by side; ``search.go_mcts.plain`` follows the paper's text.

Each decision has its own tree. All simulations advance together through the known part of their trees (``_advance``),
until each needs the model; then one query serves all (``_ask``). The game's view gives the seat to move, the search
player's legal actions and the outcome of a history; the model gives everything else.

Nothing is queried twice: the tree keeps the model's handle and next-token distribution of every node. A new decision's
children get theirs from the query that values them, so that the rollout behind it begins two tokens further.

docs/search/go_mcts.md lists what Algorithm 3 leaves open, and our choices.

``search.go_mcts.speculative`` lets simulations of a tree begin early without changing it.
"""

import time
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from games.game import ACTION, END, Game
from learner.observation_model import EMPTY, Answer, ObservationModel, Query
from search.go_mcts.config import GoMctsConfig
from search.go_mcts.simulations import Roots, Simulations
from search.go_mcts.tree import NONE, UNSEEN, TokenForest
from search.go_mcts.uct import SelectionRule, backup_all
from search.go_mcts.walk import roll_out, walk
from search.players.asking import Question
from search.players.histories import tokens_since
from search.players.policy import admitted, legal_policy, log_policy, possible_only


@dataclass
class SearchStatistics:
    """Counts over a batch of searches."""

    simulations: int = 0
    illegal: int = 0
    """Simulations that ended in an impossible history."""
    rolled_back: int = 0
    """Speculative simulations that were rolled back (``search.go_mcts.speculative``)."""
    batches: int = 0
    """Model queries, each for many simulations."""


class Search:
    """``B`` searches that advance together, each with one simulation at a time."""

    joined = True
    """Whether what a simulation expands is a decision for all at once."""

    def __init__(self, game: Game, model: ObservationModel, config: GoMctsConfig, roots: Roots, width: int = 1) -> None:
        """``width``: most simulations of a search in flight at once."""
        self.game, self.model, self.config = game, model, config
        self.utility = game.outcomes.utility(config.utility)
        self.statistics = SearchStatistics()
        self.paused = 0.0
        """Seconds in which the caller did other things, which do not count as the search's."""
        self.forest = TokenForest(roots.lengths, game.vocabulary.size)
        self.sims = Simulations(game, roots, width, config)
        self._selection = SelectionRule(config.exploration, config.policy_weight)

    def steps(self) -> Generator[Question, Answer, None]:
        """Run all simulations of every search; yields each question and is sent its answer. Releases all handles but
        the roots', which belong to the caller."""
        try:
            yield from self._steps()
        except BaseException:  # interrupted in the middle, or not gone on with
            self.sims.release(np.arange(len(self.sims.now.tree)), self.model)
            self.model.release(self.forest.nodes.handle[: self.forest.num_nodes])
            raise
        self.make_room()

    def stop(self) -> None:
        """Call in a pause: no further simulation begins."""
        self.sims.left[:] = 0

    def make_room(self) -> None:
        """In a pause or at the end: release all handles beyond the roots. What they held is computed again: slower, and
        the results are the same."""
        beyond = self.forest.nodes.handle[len(self.sims.left) : self.forest.num_nodes]
        self.model.release(beyond)
        beyond[:] = EMPTY
        self.sims.release(np.flatnonzero(self.sims.now.active), self.model)

    def _steps(self) -> Generator[Question, Answer, None]:
        sims = self.sims
        sims.begin(np.arange(0, len(sims.now.tree), sims.width))  # one of each search, until its root is a decision
        began = time.monotonic()
        while sims.now.active.any():
            waiting = self._advance()
            if len(waiting):
                yield from self._ask(self._first_at_each_node(waiting))
                if 0 < self.config.seconds < time.monotonic() - began - self.paused:
                    self.stop()
                sims.begin(np.flatnonzero(~sims.now.active))

    # ---- between queries: the known part of the trees

    def _advance(self) -> np.ndarray:
        """Advance every simulation until it needs the model or its search has none left; returns rows that need it."""
        now = self.sims.now
        while True:
            rows = self.sims.moving()
            self._walk(rows)
            unseen = rows[now.upcoming[rows] == UNSEEN]
            if len(unseen):
                self._see(unseen)
            over = now.upcoming[rows] == END
            valued = self.forest.nodes.length[now.node[rows]] == now.length[rows]
            cut_short = (now.leaf[rows] != NONE) & (now.steps_left[rows] == 0) & valued
            ended = rows[over | cut_short]
            if len(ended):
                self._backup(ended, *self._results(ended))
            elif len(unseen) == 0:
                return rows

    def _walk(self, rows: np.ndarray) -> None:
        """Select, Sample, and Rollout within the tree's distributions."""
        forest = self.forest
        forest.make_room(len(rows))
        rows = rows[np.argsort(self.sims.now.number[rows], kind="stable")]
        in_flight = self.sims.now, forest.nodes, forest.num_nodes
        forest.num_nodes = walk(rows, self._alone(rows), self.joined, self._selection, *in_flight)

    def _see(self, rows: np.ndarray) -> None:
        """Look at histories: what comes next, and what can."""
        now, nodes, views = self.sims.now, self.forest.nodes, self.sims.views(rows)
        now.upcoming[rows] = self.game.next(views)
        acting = now.upcoming[rows] == ACTION
        now.steps_left[rows[acting & (now.leaf[rows] != NONE)]] -= 1
        in_tree = nodes.length[now.node[rows]] == now.length[rows]
        at = now.node[rows[in_tree]]
        nodes.upcoming[at] = now.upcoming[rows[in_tree]]
        known = ~np.isnan(nodes.next_token[at, 0])
        nodes.next_token[at[known]] = self._possible(
            nodes.next_token[at[known]], views.take(np.flatnonzero(in_tree)[known])
        )

    def _possible(self, next_token: np.ndarray, views: np.ndarray) -> np.ndarray:
        """``float32[M, V]``: the distributions to sample from."""
        return possible_only(next_token, self.game.view_possible(views)) if self.config.mask_impossible else next_token

    # ---- with a query at the end of every waiting history

    def _ask(self, rows: np.ndarray) -> Generator[Question, Answer, None]:
        """Query the model for waiting simulations, as many as have room: for a new distribution, a new decision, the
        next token of a rollout, or the value of a history that was cut short."""
        sims, now, nodes, views = self.sims, self.sims.now, self.forest.nodes, self.sims.views(rows)
        legal = self.game.view_legal(views)
        legal[now.leaf[rows] != NONE] = False
        handles, held = self._room(rows, legal)
        rows, views, legal = rows[: len(held)], views[: len(held)], legal[: len(held)]
        in_tree, expanding = now.leaf[rows] == NONE, legal.any(1)
        cut_short = (expanding | ~in_tree) & (now.steps_left[rows] == 0)
        new = tokens_since(now.tokens[rows], held, now.length[rows])
        answer = yield Question(self.model, Query(handles, *new, legal, cut_short, bool(expanding.any())), shared=False)
        self.statistics.batches += 1
        sims.receive(rows, answer.handles, nodes, self.model)
        next_token = self._possible(answer.next_token, views)
        nodes.next_token[now.node[rows[in_tree]]] = next_token[in_tree]
        valued = in_tree & cut_short
        nodes.value[now.node[rows[valued]]] = answer.value[valued]
        self._predict_children(rows[expanding], legal[expanding], answer, answer.next_token[expanding])
        rolling = np.flatnonzero(~in_tree & ~cut_short)
        roll_out(rows[rolling], next_token, rolling, now)
        ended = ~in_tree & cut_short
        self._backup(rows[ended], answer.value[ended], np.ones(int(ended.sum()), bool))

    def _predict_children(self, rows: np.ndarray, legal: np.ndarray, answer: Answer, next_token: np.ndarray) -> None:
        """The queried part of Expand: add a child for every legal action whose probability exceeds the threshold, with
        its value as ``prior_visits`` visits."""
        sims, now, decisions = self.sims, self.sims.now, self.sims.now.node[rows]
        policy = legal_policy(next_token, legal)
        children = admitted(policy, policy > self.config.threshold)
        used = children[legal]
        below = self.forest.add_decisions(decisions, children, self.config.prior_visits)
        nodes = self.forest.nodes
        nodes.log_policy[below] = log_policy(policy)[children]
        nodes.value[below] = answer.action_values[used]
        nodes.total[below] = self.config.prior_visits * nodes.value[below].astype(np.float64)
        nodes.next_token[below], nodes.handle[below] = answer.action_next[used], answer.action_handles[used]
        self.model.release(answer.action_handles[~used])
        settled = rows[(children.sum(1) == 1) & (decisions == now.tree[rows])]
        sims.left[now.tree[settled]] = 0
        now.active[settled] = False

    def _room(self, rows: np.ndarray, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What ``Simulations.beginnings`` says of the first rows, as many as can query now with their candidates. If
        too few KV slots are left, releases handles and has rows wait."""
        sims, nodes = self.sims, self.forest.nodes
        ends = sims.now.length[rows] + candidates.sum(1)
        handles, held = sims.beginnings(rows, nodes)
        if (ends - held).sum() > self.model.slots_left:
            self.make_room()
            handles, held = sims.beginnings(rows, nodes)
        room = max(1, int((np.cumsum(ends - held) <= self.model.slots_left).sum()))
        return handles[:room], held[:room]

    # ---- the end of a simulation

    def _results(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values of histories that were cut short at a node; OutcomeValue and IsLegal of terminal ones."""
        values, legal = self.forest.nodes.value[self.sims.now.node[rows]].astype(np.float64), np.ones(len(rows), bool)
        over = self.sims.now.upcoming[rows] == END
        views = self.sims.views(rows[over])
        labels = self.game.view_outcome(views)
        legal[over] = self.game.consistent(views) & (labels >= 0)
        values[over] = np.where(legal[over], self.utility[labels], 0.0)
        return values, legal

    def _backup(self, rows: np.ndarray, values: np.ndarray, legal: np.ndarray) -> None:
        """Backup."""
        if len(rows) == 0:
            return
        self.sims.release(rows, self.model)
        ends = self.sims.now.node[rows]
        backup_all(ends, values.astype(np.float64), legal, self.config.illegal_penalty, self.forest.nodes)
        self._end(rows, legal)

    def _end(self, rows: np.ndarray, legal: np.ndarray) -> None:
        """End simulations that have been backed up; others begin in their place while any are left."""
        self.statistics.simulations += len(rows)
        self.statistics.illegal += int((~legal).sum())
        self.sims.now.active[rows] = False
        self.sims.begin(rows)

    # ---- what simulations in flight see of each other; ``search.go_mcts.speculative`` overrides it

    def _alone(self, rows: np.ndarray) -> np.ndarray:
        """``bool[M]``: rows whose Select ignores other simulations in flight."""
        return np.ones(len(rows), bool)

    def _first_at_each_node(self, rows: np.ndarray) -> np.ndarray:
        """The first of the simulations that wait at each node: its query serves the others."""
        return rows
