"""What a search found out about one continuation of its root history, taken over by the next search of the seat."""

import numpy as np

from search.go_mcts.search import Search
from search.go_mcts.tree import NONE, TokenForest, find_child
from search.players.player import Turns

Subtree = tuple[TokenForest, int]
"""A forest and a node of it: all that stands on the node."""


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
        """Row -> what the last search of the seat found out about what came since, where that is anything."""
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
        """Let the searches of these turns begin with what is ``known``, and be the last ones from now on."""
        for row, (forest, node) in known.items():
            _graft(search.forest, row, forest, node)
            if len(forest.below(node)) == 1:  # a single child at the root: the answer is known
                search.sims.left[row] = 0
        for row, place in enumerate(_places(turns)):
            self._last[place] = (search.forest, row)


def _places(turns: Turns) -> list[tuple[int, int]]:
    return list(zip(turns.game.tolist(), turns.seat.tolist(), strict=True))


def _graft(forest: TokenForest, root: int, other: TokenForest, node: int) -> None:
    """Grow on the bare root what stands on ``node`` of another forest, all but the handles. Nothing is pending there
    once a search has ended."""
    pairs = [(root, node)]
    for mine, theirs in pairs:
        below = other.below(theirs)[::-1]  # the last one made comes first
        made = forest.child_nodes(np.full(len(below), mine), other.nodes.token[below])
        pairs += zip(made.tolist(), below, strict=True)
    grown, copied = np.array(pairs).T
    for column in ("next_token", "value", "expanded_by", "prior", "total", "visits"):
        getattr(forest.nodes, column)[grown] = getattr(other.nodes, column)[copied]
