"""The trees of IS-MCTS, many searches at a time, in flat arrays.

A node is a seat's information set: the tokens that its history has gained since the search began. Letters: ``R``
searches, ``T`` trees of each, ``N`` nodes of each in one pool, ``V`` tokens, ``M`` active searches.
"""

from typing import NamedTuple

import numpy as np

from games.compiling import kernel
from games.rng import below, next_state, output

NONE = np.int64(-1)


class InfoSetNodes(NamedTuple):
    """The nodes of all searches, ``[R, N]`` each; the first ``T`` of a search are the roots of its trees.

    The edge to a node has a *label*: a token of the history, or ``V`` plus a token for another seat's action. Nodes of
    the second kind are leaves that only hold statistics: the history may show such an action differently.
    """

    label: np.ndarray
    """``int16``: the label that leads to it."""
    first_child: np.ndarray
    """``int32``: the newest node below it, ``NONE`` for none."""
    next_sibling: np.ndarray
    """``int32``: the next node below its parent, ``NONE`` for none."""
    visits: np.ndarray
    """``int32``: of actions, simulations that chose it."""
    available: np.ndarray
    """``int32``: of actions, simulations that chose where it was legal."""
    total: np.ndarray
    """``float64``: of actions, the rewards of the seat that chose it, added up."""


def new_nodes(searches: int, trees: int, size: int) -> InfoSetNodes:
    """Roots alone, with room for ``size`` nodes in each search."""
    shape = (searches, size)
    return InfoSetNodes(
        label=np.full(shape, -1, np.int16),
        first_child=np.full(shape, NONE, np.int32),
        next_sibling=np.full(shape, NONE, np.int32),
        visits=np.zeros(shape, np.int32),
        available=np.zeros(shape, np.int32),
        total=np.zeros(shape),
    )


def grown(nodes: InfoSetNodes, size: int) -> InfoSetNodes:
    """The same nodes with room for ``size`` in each search."""
    larger = new_nodes(len(nodes.label), 0, size)
    for old, new in zip(nodes, larger, strict=True):
        new[:, : old.shape[1]] = old
    return larger


class Walk(NamedTuple):
    """State of every search's current simulation."""

    at: np.ndarray
    """``int32[R, T]``: the node of each tree."""
    seen: np.ndarray
    """``int32[R, T]``: tokens of each tree's history that have been followed."""
    path: np.ndarray
    """``int32[R, D]``: chosen actions, as nodes."""
    movers: np.ndarray
    """``int8[R, D]``: the seats that chose them."""
    depth: np.ndarray
    """``int32[R]``: number of actions on the path."""
    used: np.ndarray
    """``int32[R]``: nodes of each search so far."""


@kernel
def find(nodes, row, parent, label):
    """The node that ``label`` leads to from ``parent``, or ``NONE``."""
    child = nodes.first_child[row, parent]
    while child != NONE and nodes.label[row, child] != label:
        child = nodes.next_sibling[row, child]
    return child


@kernel
def find_or_add(nodes, walk, row, parent, label):
    """As ``find``, but makes the node if it is missing."""
    child = find(nodes, row, parent, label)
    if child == NONE:
        child = walk.used[row]
        walk.used[row] += 1
        nodes.label[row, child] = label
        nodes.next_sibling[row, child] = nodes.first_child[row, parent]
        nodes.first_child[row, parent] = child
    return child


@kernel
def choose_all(nodes, walk, rows, trees, own, legal, exploration, counters, actions, untried):
    """Select or Expand of one step in every active search.

    Args:
        rows: ``int64[M]``, the searches.
        trees: ``int64[M]``, the tree that the seat to act chooses in.
        own: ``bool[M]``, whether that seat owns the tree.
        legal: ``bool[M, V]``.
        exploration: C.
        counters: ``uint64[R]``, random counters, advanced.
        actions: ``int64[M]``, written: tokens.
        untried: ``bool[M]``, written: whether the action is new there.
    """
    num_tokens = legal.shape[1]
    children = np.empty(num_tokens, np.int64)
    for m in range(len(rows)):
        row, base = rows[m], 0 if own[m] else num_tokens
        _tried(nodes, row, walk.at[row, trees[m]], base, children)
        left = 0
        for token in range(num_tokens):
            left += int(legal[m, token] and children[token] == NONE)
        untried[m] = left > 0
        if left == 0:
            actions[m] = _best(nodes, row, children, legal[m], exploration)
            continue
        counters[row] = next_state(counters[row])
        nth = below(output(counters[row]), left)
        for token in range(num_tokens):
            if legal[m, token] and children[token] == NONE:
                if nth == 0:
                    actions[m] = token
                nth -= 1


@kernel
def _tried(nodes, row, parent, base, children):
    """Write into ``children`` (``int64[V]``), by token, the visited nodes below ``parent``, else ``NONE``."""
    children[:] = NONE
    child = nodes.first_child[row, parent]
    while child != NONE:
        token = nodes.label[row, child] - base
        if 0 <= token < len(children) and nodes.visits[row, child] > 0:
            children[token] = child
        child = nodes.next_sibling[row, child]


@kernel
def _best(nodes, row, children, legal, exploration):
    """The legal action of the highest ``mean + C sqrt(ln n' / n)``, n' the simulations in which it was available; ties
    to the first."""
    best, chosen = -np.inf, np.int64(-1)
    for token in range(len(legal)):
        if not legal[token]:
            continue
        child = children[token]
        visits = nodes.visits[row, child]
        score = nodes.total[row, child] / visits
        score += exploration * np.sqrt(np.log(nodes.available[row, child]) / visits)
        if score > best:
            best, chosen = score, np.int64(token)
    return chosen


@kernel
def note_all(nodes, walk, rows, trees, own, seats, legal, actions, shown):
    """Append every search's action to its path and count the available actions. Counts nothing where the tree's history
    does not show the action.

    Args:
        seats: ``int64[M]``, the seats that acted.
        shown: ``bool[M]``, whether the history of the tree (``trees``) shows the action.
    """
    for m in range(len(rows)):
        if not shown[m]:
            continue
        row = rows[m]
        node, base = walk.at[row, trees[m]], 0 if own[m] else legal.shape[1]
        chosen = find_or_add(nodes, walk, row, node, base + actions[m])
        child = nodes.first_child[row, node]
        while child != NONE:
            token = nodes.label[row, child] - base
            if 0 <= token < legal.shape[1] and legal[m, token]:
                nodes.available[row, child] += 1
            child = nodes.next_sibling[row, child]
        walk.path[row, walk.depth[row]] = chosen
        walk.movers[row, walk.depth[row]] = seats[m]
        walk.depth[row] += 1


@kernel
def shows(walk, rows, tree, wanted, tokens, lengths, actions, shown):
    """Write ``shown[m]`` where ``wanted[m]`` is ``tree``: whether the new tokens of a history (``tokens[M, L]``,
    ``lengths[M]``) hold the action."""
    for m in range(len(rows)):
        if wanted[m] != tree:
            continue
        shown[m] = False
        for place in range(walk.seen[rows[m], tree], lengths[m]):
            shown[m] |= tokens[m, place] == actions[m]


@kernel
def follow(nodes, walk, rows, tree, tokens, lengths):
    """Advance one tree of every search along the new tokens of its history."""
    for m in range(len(rows)):
        row = rows[m]
        for place in range(walk.seen[row, tree], lengths[m]):
            walk.at[row, tree] = find_or_add(nodes, walk, row, walk.at[row, tree], tokens[m, place])
        walk.seen[row, tree] = lengths[m]


@kernel
def back_up(nodes, walk, rows, rewards):
    """Add a simulation's rewards (``float64[M, P]``) and a visit to every action on its path."""
    for m in range(len(rows)):
        row = rows[m]
        for step in range(walk.depth[row]):
            child = walk.path[row, step]
            nodes.visits[row, child] += 1
            nodes.total[row, child] += rewards[m, walk.movers[row, step]]


@kernel
def visits_at(nodes, roots, visits):
    """Write the visits of each root's own actions (``int64[R]``) into ``int64[R, V]``."""
    for row in range(len(visits)):
        child = nodes.first_child[row, roots[row]]
        while child != NONE:
            if nodes.label[row, child] < visits.shape[1]:
                visits[row, nodes.label[row, child]] = nodes.visits[row, child]
            child = nodes.next_sibling[row, child]
