"""Algorithm 3 of paper 001 for many decisions side by side; ``search.go_mcts.plain`` has it as it is printed.

Each decision has a tree of its own. The simulations of all of them move on together, as far as their trees know what
follows (``_advance``), until each waits for the model; then one query serves all (``_ask``). The game's view tells who
is to move, what the search player may play and how a history ends; the model says everything else.

Nothing is asked for twice: the tree keeps the model's handle of every node and the next-token distributions, and a new
decision's children learn theirs from the query that values them, so that the rollout behind it begins two tokens
further.

Where Algorithm 3 leaves something open:
  * Rollout samples the search player's own moves from the model too, illegal ones included.
  * A token of a wrong kind, after which nobody can tell who is next, ends a history (``Game.advance``). It is backed up
    as an illegal one. A card that cannot be is carried on, and judged only at the end of the deal.
  * Backup reaches the decision that was just expanded. Its edge for the rollout's first move gets the result if that
    move is among its children, and nothing does otherwise.
  * If no legal action exceeds the threshold, the most probable one becomes the only child.
  * A decision whose answer cannot depend on the search, one legal action or one child at the root, is answered
    without simulations.

With ``lanes`` several simulations of a tree are in flight at once and avoid each other; ``search.go_mcts.speculative``
lets them begin early without changing the tree.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from games.game import Game, Next
from learner.observation_model import EMPTY, Answer, ObservationModel
from search.config import GoMctsConfig
from search.go_mcts.commit import AtOnce, CommitOrder
from search.go_mcts.sampling import sample_rows
from search.go_mcts.simulations import Roots, Simulations
from search.go_mcts.tree import NONE, Forest
from search.go_mcts.uct import Selection
from search.players.policy import admitted, legal_policy, possible_only


@dataclass
class SearchStatistics:
    """What a batch of searches did."""

    simulations: int = 0
    illegal: int = 0
    """Simulations that ended in a history that could not have happened."""
    rolled_back: int = 0
    """Speculative simulations that had to be made anew (``search.go_mcts.speculative``)."""
    queries: int = 0
    """Model queries, one per row."""
    batches: int = 0
    """Forward passes those queries were served in."""


class Search:
    """``B`` searches that advance together; ``run`` carries them through all their simulations."""

    def __init__(
        self,
        game: Game,
        model: ObservationModel,
        config: GoMctsConfig,
        roots: Roots,
        seeds: np.ndarray,
        width: int = 1,
        order: Callable[[Simulations, Forest, GoMctsConfig], CommitOrder] = AtOnce,
    ) -> None:
        """
        Args:
            roots: their handles and lengths held are brought up to the whole histories.
            seeds: ``uint64[B]``: random numbers.
            width: most simulations of a search in flight at once.
            order: when they are backed up.
        """
        self.game, self.model, self.config = game, model, config
        self.utility = game.outcomes.utility(config.utility)
        self.statistics = SearchStatistics()
        self.forest = Forest(len(roots.lengths), game.vocabulary.size)
        self.sims = Simulations(game, roots, width, config.num_runs, config.num_steps, seeds)
        self._order = order(self.sims, self.forest, config)
        self._selection = Selection(config.exploration, config.selection == "puct", config.virtual_loss)

    def begin_from_given_trees(self) -> None:
        """The trees hold what earlier searches found out (``search.go_mcts.subtree``)."""
        sims, count = self.sims, len(self.sims.left)
        edges = self.forest.nodes.edge_count[:count]
        sims.left[edges == 1] = 0  # a single child at the root: the answer is known
        known = np.flatnonzero(edges > 1) * sims.width
        if len(known):  # no simulation will ask about these roots, but all build on their handles
            sims.restart(known)
            sims.active[known] = False
            answer = self._query(known, np.zeros(len(known), bool), np.zeros((0, 0), bool), np.zeros(len(known), bool))
            sims.receive(known, answer.handles, self.forest, self.model)

    def run(self) -> None:
        """Carry every search through all its simulations. The handles of the roots are the caller's afterwards, all
        others are released."""
        try:
            self._run()
        except BaseException:  # interrupted in the middle
            self.sims.release(np.arange(len(self.sims.tree)), self.model)
            self.model.release(self.forest.nodes.handle[: self.forest.num_nodes])
            raise
        self.model.release(self.forest.nodes.handle[len(self.sims.left) : self.forest.num_nodes])

    def _run(self) -> None:
        sims = self.sims
        sims.begin(np.arange(0, len(sims.tree), sims.width))  # one of each, until the root is a decision
        began = time.monotonic()
        while sims.active.any():
            self._advance()
            waiting = self._make_room(self._first_at_each_node(sims.moving()))
            if len(waiting):
                self._ask(waiting)
                if 0 < self.config.seconds < time.monotonic() - began:
                    sims.left[:] = 0
                sims.begin(np.flatnonzero(~sims.active & (sims.left[sims.tree] > 0)))

    # ---- between queries: as far as the trees know what follows

    def _advance(self) -> None:
        """Move every simulation on until it needs the model or its search has none left."""
        sims, forest = self.sims, self.forest
        moving = sims.moving()
        sims.take_handles(moving, forest)  # while one waited, another may have asked for it
        while len(moving):
            over = self._terminal(moving)
            if over.any():
                begun = self._backup(moving[over], *self._outcomes(moving[over]))
                moving = np.union1d(moving[~over], begun)
                moving = moving[sims.active[moving]]  # some of the others may have been put off
            nodes, node, upcoming = forest.nodes, sims.node[moving], sims.upcoming[moving]
            in_tree = sims.leaf[moving] == NONE
            told = (node != NONE) & (nodes.distribution[node] != NONE)
            deciding = in_tree & (upcoming == Next.ACTION) & (nodes.edge_count[node] > 0)
            selecting = deciding & (nodes.expanded_by[node] < sims.number[moving])
            sampling = in_tree & (upcoming == Next.OBSERVATION) & told
            rolling = ~in_tree & told
            if selecting.any() or sampling.any():
                self._step(moving[selecting], moving[sampling])
            begun = self._expand(moving[deciding & ~selecting])
            begun = np.union1d(begun, self._second_of_rollout(moving[rolling]))
            moving = np.union1d(moving[deciding | sampling | rolling], begun)
            moving = moving[sims.active[moving] & ~sims.done[moving]]

    def _step(self, selecting: np.ndarray, sampling: np.ndarray) -> None:
        """A token for each simulation in the tree: Select at the search player's decisions, else Sample."""
        selecting, actions, below = self._select(selecting)
        at = self.sims.node[sampling]
        observed = self._sample(sampling, self.forest.probabilities, self.forest.nodes.distribution[at])
        rows = np.concatenate([selecting, sampling])
        self.sims.append(rows, np.concatenate([actions, observed]))
        self.sims.step_to(rows, np.concatenate([below, self.forest.child_nodes(at, observed)]), self.forest)

    def _select(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Select: the rows in the order they chose, their actions, and the nodes these lead to."""
        sims, edges = self.sims, self.forest.edges
        rows = rows[np.argsort(sims.number[rows], kind="stable")]  # each sees those before it
        chosen = self.forest.select(sims.node[rows], self._selection, self._order.alone(rows))
        sims.pass_edges(rows, chosen)
        sims.selected[rows] += 1
        return rows, edges.token[chosen], edges.child[chosen]

    def _expand(self, rows: np.ndarray) -> np.ndarray:
        """Expand, of whose children the model has told (``_predict_children``), and the first token of Rollout. Of
        several simulations at one decision the first expands it; the others pass it. Rows that are at a root again."""
        if len(rows) == 0:
            return rows
        sims, forest = self.sims, self.forest
        rows = rows[forest.claim(sims.node[rows], sims.number[rows])]
        at = sims.leaf[rows] = sims.node[rows]
        self._order.expand(at)
        if self.config.num_steps == 0:
            return self._backup(rows, forest.nodes.value[at], np.ones(len(rows), bool))
        edges = forest.enter(at, self._roll_out(rows, forest.probabilities, forest.nodes.distribution[at]))
        rows, edges = rows[edges != NONE], edges[edges != NONE]
        sims.pass_edges(rows, edges)
        sims.step_to(rows, forest.edges.child[edges], forest)
        return np.zeros(0, np.int64)

    def _second_of_rollout(self, rows: np.ndarray) -> np.ndarray:
        """The second token of Rollout where the first one is a child of the expanded decision, of which the model has
        told what follows. Rows that are at a root again."""
        if len(rows) == 0:
            return rows
        sims, forest = self.sims, self.forest
        cut_short = sims.steps_left[rows] == 0
        rolling = rows[~cut_short]
        self._roll_out(rolling, forest.probabilities, forest.nodes.distribution[sims.node[rolling]])
        rows = rows[cut_short]  # nobody has been backed up there: a child's value is still the model's
        values = forest.edges.value[sims.path[rows, sims.depth[rows] - 1]]
        return self._backup(rows, values, np.ones(len(rows), bool))

    def _roll_out(self, rows: np.ndarray, probabilities: np.ndarray, which: np.ndarray) -> np.ndarray:
        """One token of Rollout each, from the distributions ``probabilities[which]``; returns them."""
        tokens = self._sample(rows, probabilities, which)
        self.sims.append(rows, tokens)
        self.sims.steps_left[rows] -= self.sims.upcoming[rows] == Next.ACTION
        return tokens

    def _first_at_each_node(self, rows: np.ndarray) -> np.ndarray:
        """Of the simulations that wait at the same node only the first asks; what it is told serves the others."""
        node = self.sims.node[rows]
        in_tree = np.flatnonzero(node != NONE)
        first = node == NONE
        first[in_tree[np.unique(node[in_tree], return_index=True)[1]]] = True
        return rows[first]

    # ---- with a query: what the model says at the end of every waiting history

    def _ask(self, rows: np.ndarray) -> None:
        """One query for every waiting simulation: a new distribution, a new decision, the next token of a rollout, or
        the value of a history that was cut short."""
        sims = self.sims
        in_tree = sims.leaf[rows] == NONE
        expanding = in_tree & (sims.upcoming[rows] == Next.ACTION)
        observing = in_tree & ~expanding
        cut_short = ~observing & (sims.steps_left[rows] == 0)
        legal = self.game.view_legal(sims.views[rows[expanding]])
        answer = self._query(rows, expanding, legal, cut_short)
        sims.receive(rows, answer.handles, self.forest, self.model)
        self.forest.store_distributions(sims.node[rows[observing]], answer.next_token[observing])
        self._predict_children(rows[expanding], legal, answer, expanding)
        rolling = ~in_tree & ~cut_short
        self._roll_out(rows[rolling], answer.next_token, np.flatnonzero(rolling))
        valued = cut_short & ~in_tree
        self._backup(rows[valued], answer.value[valued], np.ones(int(valued.sum()), bool))

    def _query(self, rows: np.ndarray, expanding: np.ndarray, legal: np.ndarray, values: np.ndarray) -> Answer:
        candidates = None
        if len(legal):
            candidates = np.zeros((len(rows), self.game.vocabulary.size), bool)
            candidates[expanding] = legal
        self.statistics.queries += len(rows)
        self.statistics.batches += 1
        tokens, counts = self.sims.new_tokens(rows)
        return self.model.query(self.sims.handle[rows], tokens, counts, candidates, values, len(legal) > 0)

    def _predict_children(self, rows: np.ndarray, legal: np.ndarray, answer: Answer, asked: np.ndarray) -> None:
        """What Expand asks the model about new decisions: a child for every legal action whose probability exceeds the
        threshold, with its value."""
        if len(rows) == 0:
            return
        sims, forest, nodes = self.sims, self.forest, self.sims.node[rows]
        next_token = answer.next_token[asked]
        policy = legal_policy(next_token, legal)
        children = admitted(policy, policy > self.config.threshold)
        used = children[legal]
        below = forest.add_edges(nodes, children, policy[children], answer.action_values[used])
        forest.nodes.handle[below] = answer.action_handles[used]
        forest.store_distributions(below, answer.action_next[used])
        forest.store_distributions(nodes, next_token)
        forest.nodes.value[nodes] = answer.value[asked]
        self.model.release(answer.action_handles[~used])
        settled = (children.sum(1) == 1) & (nodes == sims.tree[rows])
        sims.left[sims.tree[rows[settled]]] = 0
        sims.active[rows[settled]] = False

    def _make_room(self, rows: np.ndarray) -> np.ndarray:
        """Those of the rows that may ask now. Where too few KV slots are left, what was computed beyond the root
        histories is given up and some have to wait: slower, and but for lanes the same."""
        sims, handles = self.sims, self.forest.nodes.handle
        new = int((sims.lengths[rows] - sims.held[rows]).sum())
        if self.model.slots_left >= new + len(rows) * self.game.vocabulary.size:
            return rows
        expanding = (sims.leaf[rows] == NONE) & (sims.upcoming[rows] == Next.ACTION)
        candidates = np.where(expanding, self.game.view_legal(sims.views[rows]).sum(1), 0)
        if self.model.slots_left >= new + candidates.sum():
            return rows
        beyond = slice(len(sims.left), self.forest.num_nodes)
        self.model.release(handles[beyond])
        handles[beyond] = EMPTY
        sims.release(np.flatnonzero(sims.active), self.model)
        needed = np.cumsum(sims.lengths[rows] - sims.held[rows] + candidates)
        return rows[: max(1, np.count_nonzero(needed <= self.model.slots_left))]

    def _sample(self, rows: np.ndarray, probabilities: np.ndarray, which: np.ndarray) -> np.ndarray:
        """``int32[M]``: a token for every simulation, from the distributions ``probabilities[which]``."""
        if self.config.mask_impossible:
            possible = self.game.view_possible(self.sims.views[rows])
            probabilities, which = possible_only(probabilities[which], possible), np.arange(len(rows))
        counters = self.sims.counters[rows]
        tokens = sample_rows(probabilities, which, counters)
        self.sims.counters[rows] = counters
        return tokens

    # ---- the end of a simulation

    def _terminal(self, rows: np.ndarray) -> np.ndarray:
        """``bool[M]``: whether the histories are at their end."""
        over = self.sims.upcoming[rows] == Next.END
        return over | ~self.game.consistent(self.sims.views[rows]) if self.config.prune_impossible else over

    def _outcomes(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """OutcomeValue and IsLegal of terminal histories."""
        views = self.sims.views[rows]
        labels = self.game.view_outcome(views)
        legal = self.game.consistent(views) & (labels >= 0)
        return np.where(legal, self.utility[labels], 0.0), legal

    def _backup(self, rows: np.ndarray, values: np.ndarray, legal: np.ndarray) -> np.ndarray:
        """Backup, as far as it is the simulations' turn, and begin others in their place as long as there are any. Rows
        that stand at a root again."""
        if len(rows) == 0:
            return rows
        sims = self.sims
        committed, legal, again = self._order.end(rows, values.astype(np.float64), legal)
        self.statistics.simulations += len(committed)
        self.statistics.illegal += int((~legal).sum())
        self.statistics.rolled_back += len(again)
        sims.release(np.union1d(rows, again), self.model)
        sims.active[committed] = False
        again = again[sims.active[again]]
        sims.restart(again)
        return np.concatenate([again, sims.begin(committed)])
