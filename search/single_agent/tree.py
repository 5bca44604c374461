"""Trees of games of one seat, one for each place at a table, in flat arrays (paper 003, sections 3.2 and 3.5).

A node is the position after an action; the state follows from the actions, so a node stores none. A simulation adds at
most one node. Scores are those of whole games: what came before a node is part of the score of each of its actions
alike, so comparing these is comparing what came after it, as equation 4 does.

Letters: ``B`` trees, ``N`` nodes of a tree, ``V`` tokens, ``M`` trees that search now.
"""

from typing import NamedTuple

import numpy as np

from games.compiling import kernel
from games.rng import next_state, output
from search.uct.tree import GrowingForest, add_child, any_untried

NODE = np.dtype(
    [
        ("total", np.float64),  # sum of the scores of its simulations
        ("squares", np.float64),  # sum of their squares
        ("best", np.float64),  # highest of them
        ("visits", np.int32),  # simulations that went through it
        ("parent", np.int32),  # -1 for the first position, which is node 0
        ("child", np.int32),  # the one tried last, -1 for none
        ("sibling", np.int32),  # the one tried before it, -1 for none
        ("untried", np.int32),  # number of legal actions that no simulation has tried
        ("token", np.int16),  # the action that leads to it
    ]
)
UCT, PUCT, SP_MCTS = 0, 1, 2
"""Rules of selection: equation 1, equations 2 and 3, and Schadd et al. 2008."""


class Selection(NamedTuple):
    """How a simulation goes down a tree."""

    rule: int
    exploration: float
    """The paper's c_uct or c_puct, or C of SP-MCTS."""
    equal: float = 1.0
    """Value by equation 4 of actions tried whose means are all equal, where it divides 0 by 0."""
    deviation: float = 0.0
    """D of SP-MCTS."""


class Forest(GrowingForest):
    """A tree for every place, each with a root that moves on with the game."""

    _by_node = (*GrowingForest._by_node, "priors")

    def __init__(self, places: int, num_tokens: int, priors: bool = False) -> None:
        """``priors``: whether nodes hold probabilities of their actions."""
        self.nodes = np.zeros((places, 1), NODE)
        self.untried = np.zeros((places, 1, num_tokens), np.bool_)
        self.priors = np.zeros((places, 1, num_tokens if priors else 0), np.float32)
        self.sizes, self.roots = np.zeros(places, np.int32), np.zeros(places, np.int32)

    def clear(self, rows: np.ndarray) -> None:
        """Begin new trees at these places (``int64[M]``): a root that has not been visited."""
        self.sizes[rows], self.roots[rows], self.untried[rows, 0] = 1, 0, False
        blank = np.zeros(1, NODE)
        blank["parent"] = blank["child"] = blank["sibling"] = -1
        blank["best"] = -np.inf
        self.nodes[rows, 0] = blank

    def move_on(self, row: int, tokens: np.ndarray) -> bool:
        """Move the root down along actions (``int[...]``); whether all of them were in the tree."""
        tree, node = self.nodes[row], int(self.roots[row])
        for token in tokens:
            node = int(tree[node]["child"])
            while node >= 0 and tree[node]["token"] != token:
                node = int(tree[node]["sibling"])
            if node < 0:
                return False
        self.roots[row] = node
        return True

    def outside(self, row: int) -> np.ndarray:
        """``bool[N]``: the nodes of a tree that are not below its root, nor the root."""
        size, inside = int(self.sizes[row]), np.zeros(self.nodes.shape[1], np.bool_)
        _mark_below(self.nodes[row], self.roots[row], size, inside)
        inside[size:] = True
        return ~inside

    def descend(
        self,
        rows: np.ndarray,
        selection: Selection,
        counters: np.ndarray,
        depth: int,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Go down from the roots to a new node or the end of the game.

        Args:
            rows: ``int64[M]``.
            counters: ``uint64[B]``: random numbers of the trees; those of ``rows`` move on.
            depth: more than any tree is deep.

        Returns:
            These leaves ``int32[M]``, the actions on the way ``int32[M, depth]``, their number ``int32[M]``, and a
            random number for each ``uint64[M]``.
        """
        self._make_room(self.sizes[rows])
        leaves, lengths = np.empty(len(rows), np.int32), np.empty(len(rows), np.int32)
        actions, draws = np.empty((len(rows), depth), np.int32), np.empty(len(rows), np.uint64)
        with np.errstate(over="ignore"):
            _descend(
                self.nodes, self.sizes, self.roots, self.untried, self.priors, rows, selection, counters,
                leaves, actions, lengths, draws,
            )  # fmt: skip
        return leaves, actions, lengths, draws

    def open(self, rows: np.ndarray, leaves: np.ndarray, legal: np.ndarray, priors: np.ndarray | None = None) -> None:
        """Store the legal actions (``bool[M, V]``), and their probabilities (``float32[M, V]``), at leaves that have
        not been visited."""
        new = self.nodes["visits"][rows, leaves] == 0
        rows, leaves, legal = rows[new], leaves[new], legal[new]
        self.untried[rows, leaves] = legal
        self.nodes["untried"][rows, leaves] = legal.sum(axis=1)
        if priors is not None:
            self.priors[rows, leaves] = priors[new]

    def back_up(self, rows: np.ndarray, leaves: np.ndarray, scores: np.ndarray) -> None:
        """Add a score (``float64[M]``) to every node on the path to its leaf, also above the root."""
        _back_up(self.nodes, rows, leaves, scores)

    def choices(self, rows: np.ndarray, best: bool) -> np.ndarray:
        """``int64[M]``: of each root's tried actions the one of the highest score seen with ``best``, else of the
        highest mean; ties to the first tried."""
        chosen = np.empty(len(rows), np.int64)
        _choices(self.nodes, self.roots, rows, best, chosen)
        return chosen


@kernel
def _descend(nodes, sizes, roots, untried, priors, rows, selection, counters, leaves, actions, lengths, draws):
    for i in range(len(rows)):
        row = rows[i]
        tree, counter = nodes[row], counters[row]
        node, depth, token = np.int64(roots[row]), 0, np.int64(0)
        while token >= 0:
            counter = next_state(counter)
            token, child = _select(tree, node, untried[row, node], priors[row, node], selection, output(counter))
            if token < 0:
                break
            actions[i, depth] = token
            depth += 1
            if child < 0:
                node = add_child(tree, node, sizes[row], token, untried[row, node])
                tree[node]["best"] = -np.inf
                tree[node]["visits"], tree[node]["untried"] = 0, 0
                tree[node]["total"] = tree[node]["squares"] = 0.0
                sizes[row] += 1
                break
            node = child
        counter = next_state(counter)
        leaves[i], lengths[i], draws[i], counters[row] = node, depth, output(counter), counter


@kernel
def _select(tree, node, untried, priors, selection, bits):
    """The action to follow and its child, -1 where it is untried; both -1 at the end of the game."""
    parent = tree[node]
    if selection.rule != PUCT and parent["untried"] > 0:
        return any_untried(untried, parent["untried"], bits), np.int64(-1)
    low, high = _range_of_means(tree, node)
    best, token, chosen = -np.inf, np.int64(-1), np.int64(-1)
    child = np.int64(parent["child"])
    while child >= 0:
        here = tree[child]
        prior = priors[here["token"]] if selection.rule == PUCT else np.float32(0.0)
        score = _score(here, parent["visits"], low, high, prior, selection)
        if score >= best:  # ties to the first tried
            best, token, chosen = score, np.int64(here["token"]), child
        child = np.int64(here["sibling"])
    if selection.rule == PUCT and parent["untried"] > 0:
        for other in range(len(untried)):
            if untried[other]:
                score = 1.0 + selection.exploration * priors[other] * np.sqrt(max(parent["visits"], 1))
                if score > best:
                    best, token, chosen = score, np.int64(other), np.int64(-1)
    return token, chosen


@kernel
def _range_of_means(tree, node):
    """Lowest and highest mean score of the actions tried at a node."""
    low, high, child = np.inf, -np.inf, tree[node]["child"]
    while child >= 0:
        mean = tree[child]["total"] / tree[child]["visits"]
        low, high, child = min(low, mean), max(high, mean), tree[child]["sibling"]
    return low, high


@kernel
def _score(child, visits, low, high, prior, selection):
    """What a rule makes of an action that was tried; ``low`` and ``high`` are those of ``_range_of_means``."""
    number = child["visits"]
    mean = child["total"] / number
    if selection.rule == SP_MCTS:
        spread = (child["squares"] - number * mean * mean + selection.deviation) / number
        return mean + selection.exploration * np.sqrt(np.log(visits) / number) + np.sqrt(max(spread, 0.0))
    value = 2.0 * (mean - low) / (high - low) - 1.0 if high > low else selection.equal  # equation 4
    if selection.rule == PUCT:
        return value + selection.exploration * prior * np.sqrt(visits) / (1 + number)
    return value + selection.exploration * np.sqrt(np.log(visits) / number)


@kernel
def _back_up(nodes, rows, leaves, scores):
    for i in range(len(rows)):
        tree, node = nodes[rows[i]], np.int64(leaves[i])
        while node >= 0:
            here = tree[node]
            here["visits"] += 1
            here["total"] += scores[i]
            here["squares"] += scores[i] * scores[i]
            here["best"] = max(here["best"], scores[i])
            node = np.int64(here["parent"])


@kernel
def _choices(nodes, roots, rows, best, chosen):
    for i in range(len(rows)):
        tree = nodes[rows[i]]
        child, highest = np.int64(tree[roots[rows[i]]]["child"]), -np.inf
        while child >= 0:
            here = tree[child]
            value = here["best"] if best else here["total"] / here["visits"]
            if value >= highest:
                highest, chosen[i] = value, here["token"]
            child = np.int64(here["sibling"])


@kernel
def _mark_below(tree, root, size, inside):
    """Mark a node and all below it; a node stands behind its parent."""
    inside[root] = True
    for node in range(root + 1, size):
        inside[node] = tree[node]["parent"] >= 0 and inside[tree[node]["parent"]]
