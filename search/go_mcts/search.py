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
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from games.game import Game, Next
from learner.observation_model import EMPTY, Answer, ObservationModel
from search.go_mcts.config import GoMctsConfig
from search.go_mcts.sampling import sample_rows
from search.go_mcts.simulations import Roots, Simulations
from search.go_mcts.tree import NONE, TokenForest, find_children
from search.go_mcts.uct import SelectionRule, backup_all, select
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

    def __init__(self, game: Game, model: ObservationModel, config: GoMctsConfig, roots: Roots, width: int = 1) -> None:
        """``width``: most simulations of a search in flight at once."""
        self.game, self.model, self.config = game, model, config
        self.utility = game.outcomes.utility(config.utility)
        self.statistics = SearchStatistics()
        self.forest = TokenForest(roots.lengths, game.vocabulary.size)
        self.sims = Simulations(game, roots, width, config)
        self._selection = SelectionRule(config.exploration, config.policy_weight)

    def steps(self) -> Iterator[None]:
        """Run all simulations of every search, with a pause after each query. Releases all handles but the roots',
        which belong to the caller."""
        try:
            yield from self._steps()
        except BaseException:  # interrupted in the middle, or not gone on with
            self.sims.release(np.arange(len(self.sims.tree)), self.model)
            self.model.release(self.forest.nodes.handle[: self.forest.num_nodes])
            raise
        self.model.release(self.forest.nodes.handle[len(self.sims.left) : self.forest.num_nodes])

    def stop(self) -> None:
        """Call in a pause: no further simulation begins."""
        self.sims.left[:] = 0

    def make_room(self) -> None:
        """In a pause: release all handles beyond the roots. What they held is computed again: slower, and the results
        are the same."""
        beyond = self.forest.nodes.handle[len(self.sims.left) : self.forest.num_nodes]
        self.model.release(beyond)
        beyond[:] = EMPTY
        self.sims.release(np.flatnonzero(self.sims.active), self.model)

    def _steps(self) -> Iterator[None]:
        sims = self.sims
        sims.begin(np.arange(0, len(sims.tree), sims.width))  # one of each search, until its root is a decision
        began = time.monotonic()
        while sims.active.any():
            waiting = self._advance()
            if len(waiting):
                self._ask(self._first_at_each_node(waiting))
                paused = time.monotonic()
                if 0 < self.config.seconds < paused - began:
                    self.stop()
                yield
                began += time.monotonic() - paused
                sims.begin(np.flatnonzero(~sims.active))

    # ---- between queries: the known part of the trees

    def _advance(self) -> np.ndarray:
        """Advance every simulation until it needs the model or its search has none left; returns rows that need it."""
        sims = self.sims
        while True:
            rows = self._moving()
            over = rows[sims.upcoming[rows] == Next.END]
            if len(over):
                self._backup(over, *self._outcomes(over))
                rows = self._moving()
            nodes = self.forest.nodes
            node, upcoming = sims.node[rows], sims.upcoming[rows]
            in_tree = sims.leaf[rows] == NONE
            deciding = in_tree & (upcoming == Next.ACTION) & (nodes.first_child[node] != NONE)
            selecting = deciding & (nodes.expanded_by[node] < sims.number[rows])
            sampling = in_tree & (upcoming == Next.OBSERVATION) & ~np.isnan(nodes.next_token[node, 0])
            rolling = ~in_tree & (nodes.length[node] == sims.lengths[rows])
            if not (deciding | sampling | rolling).any():
                return rows
            if (selecting | sampling).any():
                self._step(rows[selecting], rows[sampling])
            expanded = self._expand(rows[deciding & ~selecting])
            if len(expanded) or rolling.any():
                self._roll(np.union1d(expanded, rows[rolling]))

    def _moving(self) -> np.ndarray:
        """Simulations in flight that have not ended."""
        return np.flatnonzero(self.sims.active & ~self.sims.done)

    def _step(self, selecting: np.ndarray, sampling: np.ndarray) -> None:
        """A token for each simulation in the tree: Select at the search player's decisions, else Sample."""
        sims, forest = self.sims, self.forest
        selecting = selecting[np.argsort(sims.number[selecting], kind="stable")]  # each sees the earlier ones
        chosen = select(sims.node[selecting], self._alone(selecting), self._selection, forest.nodes)
        at = sims.node[sampling]
        observed = forest.child_nodes(at, self._sample(sampling, forest.nodes.next_token, at))
        rows, below = np.concatenate([selecting, sampling]), np.concatenate([chosen, observed])
        sims.append(rows, forest.nodes.token[below])
        sims.node[rows] = below

    def _expand(self, rows: np.ndarray) -> np.ndarray:
        """Expand decisions whose children have values (``_predict_children``). The first of several simulations at a
        decision expands it; the others pass through. Returns the simulations that expanded one."""
        sims, expanded_by = self.sims, self.forest.nodes.expanded_by
        np.minimum.at(expanded_by, sims.node[rows], sims.number[rows])
        rows = rows[expanded_by[sims.node[rows]] == sims.number[rows]]
        sims.leaf[rows] = sims.node[rows]
        self._join(sims.leaf[rows])
        return rows

    def _roll(self, rows: np.ndarray) -> None:
        """Rollout within the tree's next-token distributions: at the expanded decision, and at the child that the
        rollout's first token leads to."""
        sims, nodes = self.sims, self.forest.nodes
        cut_short = sims.steps_left[rows] == 0
        ended, rows = rows[cut_short], rows[~cut_short]
        at = sims.node[rows]
        tokens = self._roll_out(rows, nodes.next_token, at)
        child = np.where(at == sims.leaf[rows], find_children(at, tokens, nodes), NONE)
        entered = child != NONE
        np.add.at(nodes.pending, child[entered], 1)
        sims.node[rows[entered]] = child[entered]
        self._backup(ended, nodes.value[sims.node[ended]], np.ones(len(ended), bool))

    def _roll_out(self, rows: np.ndarray, probabilities: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Append one token of Rollout each, from the distributions ``probabilities[which]``; returns the tokens."""
        tokens = self._sample(rows, probabilities, which)
        self.sims.append(rows, tokens)
        self.sims.steps_left[rows] -= self.sims.upcoming[rows] == Next.ACTION
        return tokens

    def _first_at_each_node(self, rows: np.ndarray) -> np.ndarray:
        """The first of the simulations that wait at each node: its query serves the others."""
        place = np.where(self.sims.leaf[rows] == NONE, self.sims.node[rows], -1 - rows)
        return rows[np.sort(np.unique(place, return_index=True)[1])]

    # ---- with a query at the end of every waiting history

    def _ask(self, rows: np.ndarray) -> None:
        """Query the model for waiting simulations, as many as have room: for a new distribution, a new decision, the
        next token of a rollout, or the value of a history that was cut short."""
        sims, nodes, legal = self.sims, self.forest.nodes, self._candidates(rows)
        room = self._room(rows, legal.sum(1))
        rows, legal = rows[:room], legal[:room]
        in_tree, expanding = sims.leaf[rows] == NONE, legal.any(1)
        cut_short = (expanding | ~in_tree) & (sims.steps_left[rows] == 0)
        handles, held = sims.beginnings(rows, nodes)
        new = tokens_since(sims.tokens[rows], held, sims.lengths[rows])
        answer = self.model.query(handles, *new, legal, cut_short, look_ahead=bool(expanding.any()))
        self.statistics.batches += 1
        sims.receive(rows, answer.handles, nodes, self.model)
        nodes.next_token[sims.node[rows[in_tree]]] = answer.next_token[in_tree]
        valued = in_tree & cut_short
        nodes.value[sims.node[rows[valued]]] = answer.value[valued]
        self._predict_children(rows[expanding], legal[expanding], answer, answer.next_token[expanding])
        rolling = np.flatnonzero(~in_tree & ~cut_short)
        self._roll_out(rows[rolling], answer.next_token, rolling)
        ended = ~in_tree & cut_short
        self._backup(rows[ended], answer.value[ended], np.ones(int(ended.sum()), bool))

    def _predict_children(self, rows: np.ndarray, legal: np.ndarray, answer: Answer, next_token: np.ndarray) -> None:
        """The queried part of Expand: add a child for every legal action whose probability exceeds the threshold, with
        its value as ``prior_visits`` visits."""
        sims, decisions = self.sims, self.sims.node[rows]
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
        settled = rows[(children.sum(1) == 1) & (decisions == sims.tree[rows])]
        sims.left[sims.tree[settled]] = 0
        sims.active[settled] = False

    def _candidates(self, rows: np.ndarray) -> np.ndarray:
        """``bool[M, V]``: the legal actions of the decisions that simulations wait to expand."""
        deciding = (self.sims.leaf[rows] == NONE) & (self.sims.upcoming[rows] == Next.ACTION)
        legal = np.zeros((len(rows), self.game.vocabulary.size), bool)
        legal[deciding] = self.game.view_legal(self.sims.views[rows[deciding]])
        return legal

    def _room(self, rows: np.ndarray, candidates: np.ndarray) -> int:
        """Number of rows that can query now with their candidates. If too few KV slots are left, releases handles and
        has rows wait."""
        sims, nodes = self.sims, self.forest.nodes
        ends = sims.lengths[rows] + candidates
        needed = ends - sims.beginnings(rows, nodes)[1]
        if needed.sum() > self.model.slots_left:
            self.make_room()
            needed = ends - sims.beginnings(rows, nodes)[1]
        return max(1, int((np.cumsum(needed) <= self.model.slots_left).sum()))

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

    def _outcomes(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """OutcomeValue and IsLegal of terminal histories."""
        views = self.sims.views[rows]
        labels = self.game.view_outcome(views)
        legal = self.game.consistent(views) & (labels >= 0)
        return np.where(legal, self.utility[labels], 0.0), legal

    def _backup(self, rows: np.ndarray, values: np.ndarray, legal: np.ndarray) -> None:
        """Backup."""
        if len(rows) == 0:
            return
        self.sims.release(rows, self.model)
        backup_all(
            self.sims.node[rows], values.astype(np.float64), legal, self.config.illegal_penalty, self.forest.nodes
        )
        self._end(rows, legal)

    def _end(self, rows: np.ndarray, legal: np.ndarray) -> None:
        """End simulations that have been backed up; others begin in their place while any are left."""
        self.statistics.simulations += len(rows)
        self.statistics.illegal += int((~legal).sum())
        self.sims.active[rows] = False
        self.sims.begin(rows)

    # ---- what simulations in flight see of each other; ``search.go_mcts.speculative`` overrides it

    def _alone(self, rows: np.ndarray) -> np.ndarray:
        """``bool[M]``: rows whose Select ignores other simulations in flight."""
        return np.ones(len(rows), bool)

    def _join(self, decisions: np.ndarray) -> None:
        """Make these expanded nodes decisions for all simulations."""
        self.forest.nodes.expanded_by[decisions] = 0
