"""Generative Observation Monte Carlo Tree Search (paper 001, Algorithm 3), for many decisions side by side.

Every decision has a tree of its own. With ``lanes=1`` it runs its ``num_runs`` one after the other, exactly as the
paper's algorithm does; with more, that many runs of a tree are under way at once and avoid each other
(``Forest.select``). The searches of a batch advance together, so that one model query serves all of them. The game's
view tells who moves, what the search player may play and how a history ends; the model says everything else: it samples
what comes next, initialises the values of new children and judges histories that were cut short.

Nothing is asked for twice: nodes keep the model's slots of their tokens and the next-token distributions of others'
turns, and a new decision's children learn theirs from the query that values them, so that the rollout behind it begins
two tokens further.

Where Algorithm 3 leaves something open:
  * Rollout samples the search player's own moves from the model too, illegal ones included; such a history ends as
    impossible.
  * Backup reaches the decision that was just expanded. Its edge for the rollout's first move gets the result if that
    move is among its children, and nothing does otherwise.
  * If no legal action exceeds the threshold, the most probable one becomes the only child.
  * A decision whose answer cannot depend on the search, one legal action or one child at the root, is answered
    without runs.
"""

import time
from dataclasses import dataclass, field

import numpy as np

from games.game import Game, Next
from learner.observation_model import Answer, ObservationModel
from search.config import GoMctsConfig
from search.go_mcts.simulations import Roots, Runs
from search.go_mcts.speculative import InOrder
from search.go_mcts.subtree import graft
from search.go_mcts.tree import NONE, Forest, sample_rows
from search.players.policy import admitted, legal_policy, possible_only

_ROWS, _MOST_AHEAD = 128, 16
"""Most runs under way at once in a batch of searches, and in one of them, if the configuration leaves it open."""


@dataclass
class SearchStatistics:
    """What a batch of searches did."""

    runs: int = 0
    illegal_runs: int = 0
    """Runs that ended in a history that could not have happened."""
    redone: int = 0
    """Runs that had begun ahead of their turn, and otherwise than it turned out (``search.go_mcts.speculative``)."""
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
    roots: Roots
    seeds: np.ndarray
    statistics: SearchStatistics = field(default_factory=SearchStatistics)

    def __post_init__(self) -> None:
        config, searches = self.config, len(self.roots.lengths)
        lanes = config.lanes if config.lanes > 1 else config.ahead or max(1, min(_MOST_AHEAD, _ROWS // searches))
        self.runs = Runs(self.game, self.roots, lanes, config.num_runs, config.num_steps, self.seeds)
        self.forest = Forest(searches, self.game.vocabulary.size)
        self._order = InOrder(self.runs, self.forest, config) if config.lanes == 1 else None

    def start_from(self, tree: int, other: Forest, node: int) -> None:
        """Begin the tree with what stands on a node of another search's forest."""
        graft(self.forest, tree, other, node)
        if self.forest.edge_count[tree] == 1:  # a single child at the root: the answer is known
            self.runs.left[tree] = 0

    def run(self) -> None:
        """Carry every search through all its runs, and give back the slots of its tree."""
        runs = self.runs
        runs.begin(np.arange(0, len(runs.tree), runs.lanes))  # one lane each, until the root is a decision
        began = time.monotonic()
        while runs.active.any():
            self._walk()
            self._make_room(runs.moving())
            waiting = self._first_at_each_node(runs.moving())
            if len(waiting):
                self._answer(waiting)
                if 0 < self.config.seconds < time.monotonic() - began:
                    runs.left[:] = 0
                runs.begin(np.flatnonzero(~runs.active & (runs.left[runs.tree] > 0)))
        self.model.free(self.forest.slot[: self.forest.num_nodes])

    # ---- between queries: follow the tree as far as it is known

    def _walk(self) -> None:
        """Move every run on until it needs the model or its search has no runs left."""
        runs, forest = self.runs, self.forest
        moving = runs.moving()
        if runs.lanes > 1:  # while a run waited, another one of its tree may have asked for it
            runs.refresh(moving, forest)
        while len(moving):
            ended = self._over(moving)
            if ended.any():
                begun = self._finish(moving[ended], *self._outcomes(moving[ended]))
                moving = np.union1d(moving[~ended], begun)
                moving = moving[runs.active[moving]]  # some of the others may have been put off
            node, upcoming, last = runs.node[moving], runs.upcoming[moving], runs.last_node(moving)
            in_tree = node != NONE
            deciding = in_tree & (upcoming == Next.ACTION) & (forest.edge_count[node] > 0)
            passing = deciding & (forest.expanded_by[node] < runs.number[moving])
            sampling = in_tree & (upcoming == Next.OBSERVATION) & (forest.distribution[node] != NONE)
            following = ~in_tree & (last != NONE) & (forest.distribution[last] != NONE)
            self._step(moving[passing], moving[sampling])
            begun = self._leave(moving[deciding & ~passing])
            begun = np.union1d(begun, self._follow(moving[following]))
            moving = np.union1d(moving[deciding | sampling | following], begun)
            moving = moving[runs.active[moving] & ~runs.done[moving]]

    def _step(self, passing: np.ndarray, sampling: np.ndarray) -> None:
        """A token for each run that stands where the tree knows what follows: in the search player's turn at a
        decision that is part of the tree, ``passing``; in somebody else's, ``sampling`` from the distribution."""
        runs, forest, config = self.runs, self.forest, self.config
        tokens, nodes = [], []
        if len(passing):
            passing = passing[np.argsort(runs.number[passing], kind="stable")]  # each sees those before it pending
            edges = forest.select(
                runs.node[passing],
                config.exploration,
                config.virtual_loss,
                config.selection == "puct",
                self._order.is_next(passing) if self._order else None,
            )
            runs.select(passing, edges)
            tokens.append(forest.edge_token[edges])
            nodes.append(forest.edge_child[edges])
        if len(sampling):
            at = runs.node[sampling]
            tokens.append(self._sample(sampling, forest.probabilities, forest.distribution[at]))
            nodes.append(forest.child_nodes(at, tokens[-1]))
        if tokens:
            rows = np.concatenate([passing, sampling])
            runs.append(rows, np.concatenate(tokens))
            runs.step_to(rows, np.concatenate(nodes), forest)

    def _leave(self, rows: np.ndarray) -> np.ndarray:
        """Make decisions that the model has told about part of the tree, and begin rollouts there. Of several runs at
        one decision the first does; the others will pass it. Rows that are at a root again."""
        if len(rows) == 0:
            return rows
        runs, forest = self.runs, self.forest
        rows = rows[forest.claim(runs.node[rows], runs.number[rows])]
        at = runs.node[rows]
        runs.leaf[rows], runs.node[rows] = at, NONE
        if self._order is None:
            forest.expanded_by[at] = 0
        if self.config.num_steps == 0:
            return self._finish(rows, forest.value[at], np.ones(len(rows), bool))
        tokens = self._roll(rows, forest.probabilities, forest.distribution[at])
        edges = forest.enter(at, tokens)
        rows, edges = rows[edges != NONE], edges[edges != NONE]
        runs.pass_edge(rows, edges)
        runs.step_to(rows, forest.edge_child[edges], forest)
        runs.node[rows] = NONE
        return np.zeros(0, np.int64)

    def _follow(self, rows: np.ndarray) -> np.ndarray:
        """The next move of rollouts whose first one is a child of the decision they left, of which the model has told
        what follows. Rows that are at a root again."""
        if len(rows) == 0:
            return rows
        runs, forest = self.runs, self.forest
        cut_short = runs.steps_left[rows] == 0
        rolling = rows[~cut_short]
        self._roll(rolling, forest.probabilities, forest.distribution[runs.last_node(rolling)])
        rows = rows[cut_short]  # nobody has been backed up there: a child's value is still the model's
        values = forest.edge_value[runs.edges[rows, runs.depth[rows] - 1]]
        return self._finish(rows, values, np.ones(len(rows), bool))

    def _first_at_each_node(self, rows: np.ndarray) -> np.ndarray:
        """Of the runs that wait for the same node only the first asks; what it is told serves the others."""
        if self.runs.lanes == 1:
            return rows
        node = self.runs.waits_for(rows)
        first = np.ones(len(rows), bool)
        in_tree = np.flatnonzero(node != NONE)
        first[in_tree] = False
        first[in_tree[np.unique(node[in_tree], return_index=True)[1]]] = True
        return rows[first]

    # ---- with a query: what the model says at the end of every waiting history

    def _answer(self, rows: np.ndarray) -> None:
        """One query for every waiting run: a new distribution, a new decision, the next rollout token, or a final
        value."""
        runs = self.runs
        in_tree = runs.node[rows] != NONE
        expanding = in_tree & (runs.upcoming[rows] == Next.ACTION)
        observing = in_tree & ~expanding
        cut_short = ~observing & (runs.steps_left[rows] == 0)
        legal = self.game.view_legal(runs.views[rows[expanding]])
        answer = self._query(rows, expanding, legal, cut_short)
        runs.give_slots(rows, self.forest)
        self.forest.store_distributions(runs.node[rows[observing]], answer.next_token[observing])
        self._expand(rows[expanding], legal, answer, expanding)
        rolling = ~in_tree & ~cut_short
        self._roll(rows[rolling], answer.next_token, np.flatnonzero(rolling))
        finished = cut_short & ~in_tree
        self._finish(rows[finished], answer.value[finished], np.ones(int(finished.sum()), bool))

    def _query(self, rows: np.ndarray, expanding: np.ndarray, legal: np.ndarray, values: np.ndarray) -> Answer:
        runs = self.runs
        candidates = None
        if len(legal):
            candidates = np.zeros((len(rows), self.game.vocabulary.size), bool)
            candidates[expanding] = legal
        self.statistics.queries += len(rows)
        self.statistics.batches += 1
        paths, lengths = runs.slots[rows], runs.lengths[rows]
        answer = self.model.query(
            paths, runs.held[rows], runs.tokens[rows], lengths, candidates, values, len(legal) > 0
        )
        runs.slots[rows], runs.held[rows] = paths, lengths
        return answer

    def _make_room(self, rows: np.ndarray) -> None:
        """Give back all slots beyond the root histories where too few are left for what the runs would ask next:
        slower, and with one lane the same."""
        runs = self.runs
        needed = int((runs.lengths[rows] - runs.held[rows]).sum())
        if self.model.slots_left >= needed + len(rows) * self.game.vocabulary.size:
            return
        expanding = rows[(runs.node[rows] != NONE) & (runs.upcoming[rows] == Next.ACTION)]
        needed += int(self.game.view_legal(runs.views[expanding]).sum())
        if self.model.slots_left < needed:
            self.model.free(self.runs.own_slots(np.flatnonzero(self.runs.active)))
            self.model.free(self.forest.slot[: self.forest.num_nodes])
            self.forest.slot[:] = NONE
            self.runs.forget_slots()

    def _expand(self, rows: np.ndarray, legal: np.ndarray, answer: Answer, asked: np.ndarray) -> None:
        """New decisions: a child for every legal action whose probability exceeds the threshold, valued by the
        model."""
        if len(rows) == 0:
            return
        runs, forest, nodes = self.runs, self.forest, self.runs.node[rows]
        next_token = answer.next_token[asked]
        policy = legal_policy(next_token, legal)
        children = admitted(policy, policy > self.config.threshold)
        in_use = children[legal]
        slots, values = answer.action_slots[in_use], answer.action_values[in_use]
        forest.expand(nodes, children, policy[children], values, slots, answer.action_next[in_use])
        forest.store_distributions(nodes, next_token)
        forest.value[nodes] = answer.value[asked]
        self.model.free(answer.action_slots[~in_use])
        settled = (children.sum(1) == 1) & (nodes == runs.tree[rows])
        runs.left[runs.tree[rows[settled]]] = 0
        runs.active[rows[settled]] = False

    def _roll(self, rows: np.ndarray, probabilities: np.ndarray, which: np.ndarray) -> np.ndarray:
        """One rollout token each, sampled from the model's ``probabilities[which]``; returns them."""
        runs = self.runs
        tokens = self._sample(rows, probabilities, which)
        runs.append(rows, tokens)
        runs.steps_left[rows] -= runs.upcoming[rows] == Next.ACTION
        return tokens

    def _sample(self, rows: np.ndarray, probabilities: np.ndarray, which: np.ndarray) -> np.ndarray:
        """``int32[M]``: a token for every run, from the distributions ``probabilities[which]``."""
        if self.config.mask_impossible:
            possible = self.game.view_possible(self.runs.views[rows])
            probabilities, which = possible_only(probabilities[which], possible), np.arange(len(rows))
        counters = self.runs.counters[rows]
        tokens = sample_rows(probabilities, which, counters)
        self.runs.counters[rows] = counters
        return tokens

    # ---- the end of a run

    def _over(self, rows: np.ndarray) -> np.ndarray:
        """``bool[M]``: whether the runs' histories are at their end."""
        over = self.runs.upcoming[rows] == Next.END
        return over | ~self.game.consistent(self.runs.views[rows]) if self.config.prune_impossible else over

    def _outcomes(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Value of terminal histories, and whether they could have happened at all."""
        views = self.runs.views[rows]
        labels = self.game.view_outcome(views)
        legal = self.game.consistent(views) & (labels >= 0)
        return np.where(legal, self.utility[labels], 0.0), legal

    def _finish(self, rows: np.ndarray, values: np.ndarray, legal: np.ndarray) -> np.ndarray:
        """Back up the finished runs, and begin others in their place as long as there are any. Rows that stand at a
        root again."""
        if len(rows) == 0:
            return rows
        runs, forest, again = self.runs, self.forest, np.zeros(0, np.int64)
        if self._order is None:
            penalty = self.config.illegal_penalty
            forest.backup(runs.edges[rows], runs.depth[rows], values.astype(np.float64), legal, penalty)
        else:
            rows, legal, again = self._order.end(rows, values, legal)
        self.statistics.runs += len(rows)
        self.statistics.illegal_runs += int((~legal).sum())
        self.statistics.redone += len(again)
        self.model.free(runs.own_slots(np.concatenate([rows, again])))
        runs.active[rows] = False
        again = again[runs.active[again]]
        runs.restart(again)
        return np.concatenate([again, runs.begin(rows)])
