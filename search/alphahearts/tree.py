"""UCT trees whose nodes hold q of their actions, and choices by softmax(q).

Letters: ``B`` trees, ``N`` nodes of a tree, ``V`` tokens, ``M`` rows with a choice.
"""

import numpy as np

from games.compiling import kernel
from games.rng import next_state, output, uniform
from search.uct.tree import WorldForest, add_child, best_path


class GuidedForest(WorldForest):
    """Trees that try the actions of a node in an order drawn from softmax(q)."""

    _by_node = (*WorldForest._by_node, "q")

    def __init__(self, seeds: np.ndarray, vocabulary_size: int) -> None:
        super().__init__(seeds, vocabulary_size)
        self.q = np.zeros(self.untried.shape, np.float32)

    def set_q(self, trees: np.ndarray, leaves: np.ndarray, q: np.ndarray) -> None:
        """Store q (``float32[M, V]``) at leaves of some trees (``int[M]`` both). Nodes with one legal action need no
        q."""
        self.q[trees, leaves] = q

    def _descend(
        self, exploration: float, leaves: np.ndarray, actions: np.ndarray, lengths: np.ndarray, draws: np.ndarray
    ) -> None:
        trees = self.nodes, self.sizes, self.untried, self.q
        _descend_guided(*trees, exploration, self._counters, leaves, actions, lengths, draws)


@kernel
def _descend_guided(nodes, sizes, untried, q, exploration, counters, leaves, actions, lengths, draws):
    for i in range(len(leaves)):
        tree, counter = nodes[i], counters[i]
        node, depth = best_path(tree, exploration, actions[i])
        if tree[node]["untried"] > 0:
            counter = next_state(counter)
            token = drawn(q[i, node], untried[i, node], output(counter))
            node = add_child(tree, node, sizes[i], token, untried[i, node])
            sizes[i] += 1
            actions[i, depth] = token
            depth += 1
        counter = next_state(counter)
        leaves[i], lengths[i], draws[i], counters[i] = node, depth, output(counter), counter


@kernel
def drawn(q, marked, bits):
    """One of the marked actions, with probability softmax(q) over them, from 64 random bits."""
    top, total, last = -np.inf, 0.0, np.int64(-1)
    for token in range(len(marked)):
        if marked[token]:
            top, last = max(top, np.float64(q[token])), np.int64(token)
    weights = np.zeros(last + 1)
    for token in range(last + 1):
        if marked[token]:
            weights[token] = np.exp(q[token] - top)
            total += weights[token]
    left, chosen = uniform(bits) * total - weights[0], np.int64(0)
    while not left < 0 and chosen < last:  # false for NaN: a broken network still plays legal actions
        chosen += 1
        left -= weights[chosen]
    return chosen


@kernel
def survey(legal, actions, free):
    """Write the first legal action of every row of ``bool[B, V]`` into ``int64[B]``, -1 where the deal is over, and the
    rows with several into the beginning of ``free``, ``int64[B]``. Returns whether any deal goes on, and the number of
    free rows."""
    under_way, count = False, 0
    for i in range(len(legal)):
        actions[i], several = -1, False
        for token in range(legal.shape[1]):
            if legal[i, token]:
                several = actions[i] >= 0
                if several:
                    break
                actions[i] = token
        under_way |= actions[i] >= 0
        if several:
            free[count] = i
            count += 1
    return under_way, count


@kernel
def choose(q, legal, free, counters, actions):
    """Draw an action by softmax(q) (``float32[M, V]``) for the rows ``free`` (``int64[M]``) of ``legal``; advances
    their counters (``uint64[B]``) by one."""
    for row in range(len(free)):
        i = free[row]
        counters[i] = next_state(counters[i])
        actions[i] = drawn(q[row], legal[i], output(counters[i]))
