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
from search.config import GoMctsConfig
from search.policy import admitted, legal_policy, possible_only
from search.queries import Answer, ObservationModel
from search.runs import Roots, Runs
from search.subtree import graft
from search.tree import NONE, Forest, sample_rows


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
    roots: Roots
    seeds: np.ndarray
    statistics: SearchStatistics = field(default_factory=SearchStatistics)

    def __post_init__(self) -> None:
        config = self.config
        self.runs = Runs(self.game, self.roots, config.lanes, config.num_runs, config.num_steps, self.seeds)
        self.forest = Forest(len(self.roots.lengths), self.game.vocabulary.size)

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
            self._make_room(np.flatnonzero(runs.active))
            waiting = self._first_at_each_node(np.flatnonzero(runs.active))
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
        moving = np.flatnonzero(runs.active)
        if runs.lanes > 1:  # while a run waited, another one of its tree may have asked for it
            runs.refresh(moving, forest)
        while len(moving):
            ended = self._over(moving)
            if ended.any():
                self._finish(moving[ended], *self._outcomes(moving[ended]))
            node, upcoming = runs.node[moving], runs.upcoming[moving]
            in_tree = ~ended & (node != NONE)
            selecting = in_tree & (upcoming == Next.ACTION) & (forest.edge_count[node] > 0)
            sampling = in_tree & (upcoming == Next.OBSERVATION) & (forest.distribution[node] != NONE)
            self._step(moving[selecting], moving[sampling])
            moving = moving[(ended & runs.active[moving]) | selecting | sampling]

    def _step(self, selecting: np.ndarray, sampling: np.ndarray) -> None:
        """A token for each run that stands where the tree knows what follows: in the search player's turn at a
        decision, ``selecting``; in somebody else's, ``sampling`` from the distribution."""
        runs, forest, config = self.runs, self.forest, self.config
        tokens, nodes = [], []
        if len(selecting):
            puct = config.selection == "puct"
            edges = forest.select(runs.node[selecting], config.exploration, config.virtual_loss, puct)
            runs.pass_edge(selecting, edges)
            tokens.append(forest.edge_token[edges])
            nodes.append(forest.edge_child[edges])
        if len(sampling):
            at = runs.node[sampling]
            tokens.append(self._sample(sampling, forest.probabilities, forest.distribution[at]))
            nodes.append(forest.child_nodes(at, tokens[-1]))
        if tokens:
            rows = np.concatenate([selecting, sampling])
            runs.append(rows, np.concatenate(tokens))
            runs.step_to(rows, np.concatenate(nodes), forest)

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
        self._expand(rows[expanding], legal, ~cut_short[expanding], answer.next_token[expanding], answer)
        rolling = ~in_tree & ~cut_short
        self._roll(rows[rolling], answer.next_token[rolling])
        finished = cut_short & runs.active[rows]
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

    def _expand(
        self, rows: np.ndarray, legal: np.ndarray, rolling: np.ndarray, next_token: np.ndarray, answer: Answer
    ) -> None:
        """New decisions: a child for every legal action whose probability exceeds the threshold, valued by the model.
        The runs that are ``rolling`` leave the tree with it."""
        if len(rows) == 0:
            return
        runs = self.runs
        policy = legal_policy(next_token, legal)
        children = admitted(policy, policy > self.config.threshold)
        in_use = children[legal]
        nodes = runs.node[rows]
        slots, values = answer.action_slots[in_use], answer.action_values[in_use]
        self.forest.expand(nodes, children, policy[children], values, slots, answer.action_next[in_use])
        settled = (children.sum(1) == 1) & (nodes == runs.tree[rows])
        runs.left[runs.tree[rows[settled]]] = 0
        runs.active[rows[settled]] = False
        candidate = np.full(legal.shape, NONE)
        candidate[legal] = np.arange(len(in_use))
        leaving = rolling & ~settled
        in_use[self._leave(rows[leaving], next_token[leaving], candidate[leaving], answer)] = True
        self.model.free(answer.action_slots[~in_use])

    def _leave(self, rows: np.ndarray, next_token: np.ndarray, candidate: np.ndarray, answer: Answer) -> np.ndarray:
        """The first move of rollouts. Where it was a candidate, the answer knows already what follows it.

        Args:
            candidate: ``int64[M, V]``: index of a token among the answer's candidates.

        Returns:
            indices of the candidates that were played.
        """
        runs = self.runs
        decisions = runs.node[rows]
        tokens = self._roll(rows, next_token)
        runs.node[rows] = NONE
        edges = self.forest.enter(decisions, tokens)
        children = edges != NONE
        runs.pass_edge(rows[children], edges[children])
        runs.nodes[rows[children], runs.lengths[rows[children]] - 1] = self.forest.edge_child[edges[children]]

        played = candidate[np.arange(len(rows)), tokens]
        rows, played = rows[played != NONE], played[played != NONE]
        runs.slots[rows, runs.lengths[rows] - 1] = answer.action_slots[played]
        runs.held[rows] = runs.lengths[rows]
        going_on = ~self._over(rows)
        cut_short = going_on & (runs.steps_left[rows] == 0)
        rolling = going_on & ~cut_short
        self._roll(rows[rolling], answer.action_next[played[rolling]])
        values = answer.action_values[played[cut_short]]
        self._finish(rows[cut_short], values, np.ones(len(values), bool))
        return played

    def _roll(self, rows: np.ndarray, next_token: np.ndarray) -> np.ndarray:
        """One rollout token each, sampled from the model; returns them."""
        runs = self.runs
        tokens = self._sample(rows, next_token, np.arange(len(rows)))
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

    def _finish(self, rows: np.ndarray, values: np.ndarray, legal: np.ndarray) -> None:
        """Back up the finished runs, and begin others in their place as long as there are any."""
        if len(rows) == 0:
            return
        runs, penalty = self.runs, self.config.illegal_penalty
        self.forest.backup(runs.edges[rows], runs.depth[rows], values.astype(np.float64), legal, penalty)
        self.statistics.runs += len(rows)
        self.statistics.illegal_runs += int((~legal).sum())
        self.model.free(runs.own_slots(rows))
        runs.active[rows] = False
        runs.begin(rows)
