"""Reuse of a search's subtree by the next search of the same seat."""

import numpy as np

from search.go_mcts.search import Search
from search.go_mcts.tree import NONE, TokenForest, find_child
from search.players.player import Turns

Subtree = tuple[TokenForest, int]
"""A forest and a node of it: the subtree below the node."""


class Subtrees:
    """The last search of every seat at a table."""

    def __init__(self) -> None:
        self._last: dict[tuple[int, int], Subtree] = {}
        """(place at the table, seat) -> the tree of its last search."""

    def forget(self, games: np.ndarray) -> None:
        """The deals at these places have ended."""
        ended = set(games.tolist())
        self._last = {place: last for place, last in self._last.items() if place[0] not in ended}

    def known(self, turns: Turns) -> dict[int, Subtree]:
        """Row -> the subtree of the seat's last search at the present history, where it has one."""
        found = {}
        for row, place in enumerate(_places(turns)):
            if place in self._last:
                forest, node = self._last[place]
                for token in turns.tokens[row, forest.nodes.length[node] : turns.lengths[row]].tolist():
                    node = int(find_child(node, token, forest.nodes)) if node != NONE else node
                if node not in (NONE, self._last[place][1]):
                    found[row] = (forest, node)
        return found

    def hand_on(self, search: Search, turns: Turns, known: dict[int, Subtree]) -> None:
        """Start the searches of these turns from their ``known`` subtrees, and record them as the last ones."""
        for row, (forest, node) in known.items():
            _graft(search.forest, row, forest, node)
            if len(forest.below(node)) == 1:  # a single child at the root: no search needed
                search.sims.left[row] = 0
        for row, place in enumerate(_places(turns)):
            self._last[place] = (search.forest, row)


def _places(turns: Turns) -> list[tuple[int, int]]:
    return list(zip(turns.game.tolist(), turns.seat.tolist(), strict=True))


def _graft(forest: TokenForest, root: int, other: TokenForest, node: int) -> None:
    """Copy the subtree below ``node`` of another forest to a bare root, without handles. Nothing is pending in it after
    a search."""
    pairs = [(root, node)]
    for mine, theirs in pairs:
        below = other.below(theirs)[::-1]  # the newest child comes first
        made = forest.child_nodes(np.full(len(below), mine), other.nodes.token[below])
        pairs += zip(made.tolist(), below, strict=True)
    grown, copied = np.array(pairs).T
    for column in ("next_token", "value", "expanded_by", "prior", "total", "visits"):
        getattr(forest.nodes, column)[grown] = getattr(other.nodes, column)[copied]
