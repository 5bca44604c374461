"""What a search found out about one continuation of its root history, taken over by the next search of the seat."""

import numpy as np

from search.go_mcts.search import Search
from search.go_mcts.tree import NONE, Forest
from search.players.player import Turns


class Subtrees:
    """The last search of every seat at a table."""

    def __init__(self) -> None:
        self._last: dict[tuple[int, int], tuple[Forest, int, int]] = {}
        """(place at the table, seat) -> forest, tree and length of the root history."""

    def forget(self, games: np.ndarray) -> None:
        """The deals at these places have ended."""
        ended = set(games.tolist())
        self._last = {place: last for place, last in self._last.items() if place[0] not in ended}

    def hand_on(self, search: Search, turns: Turns) -> None:
        """Let the searches of these turns begin with what the last ones found out about what came since."""
        for tree, place in enumerate(zip(turns.game.tolist(), turns.seat.tolist(), strict=True)):
            now = int(turns.lengths[tree])
            forest, root, length = self._last.get(place, (search.forest, tree, now))
            node = _find(forest, root, turns.tokens[tree, length:now]) if length < now else NONE
            if node != NONE:
                _graft(search.forest, tree, forest, int(node))
            self._last[place] = (search.forest, tree, now)
        search.begin_from_given_trees()


def _find(forest: Forest, node: int, tokens: np.ndarray) -> int:
    """The node that the tokens (``int[...]``) lead to from ``node``, or ``NONE``."""
    for token in tokens.tolist():
        below = dict(_children(forest, node))
        if token not in below:
            return int(NONE)
        node = below[token]
    return node


def _graft(forest: Forest, root: int, other: Forest, node: int) -> None:
    """Grow on the bare node ``root`` what stands on ``node`` of another forest: statistics and distributions, no
    handles. Nothing may be pending there, and so nothing is once a search has ended."""
    pairs = [(root, node)]
    while pairs:
        mine, theirs = pairs.pop()
        row = other.nodes.distribution[theirs]
        if row != NONE:
            forest.store_distributions(np.array([mine]), other.probabilities[row][None])
        below = [child for _, child in _children(other, theirs)]
        if other.nodes.edge_count[theirs]:
            made = _copy_edges(forest, mine, other, theirs)
        else:
            made = [int(forest.new_nodes(np.array([mine]), other.nodes.token[[child]])[0]) for child in below]
        for copied in (forest.nodes.expanded_by, other.nodes.expanded_by), (forest.nodes.value, other.nodes.value):
            copied[0][mine] = copied[1][theirs]
        pairs += zip(made, below, strict=True)


def _children(forest: Forest, node: int) -> list[tuple[int, int]]:
    """Token and node of everything below a node: of a decision's actions, or of observations."""
    own = forest.edges_of(node)
    if own.start < own.stop:
        return list(zip(forest.edges.token[own].tolist(), forest.edges.child[own].tolist(), strict=True))
    return [(int(forest.nodes.token[child]), child) for child in forest.observed_below(node)]


def _copy_edges(forest: Forest, node: int, other: Forest, theirs: int) -> list[int]:
    """Give a bare node the edges of another forest's; the nodes they lead to."""
    own = other.edges_of(theirs)
    children = np.zeros((1, forest.probabilities.shape[1]), bool)
    children[0, other.edges.token[own]] = True
    below = forest.add_edges(np.array([node]), children, other.edges.prior[own], other.edges.value[own])
    forest.edges.visits[forest.edges_of(node)] = other.edges.visits[own]
    return [int(child) for child in below]
