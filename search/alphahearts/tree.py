"""UCT trees whose nodes hold q of their actions, and choices by softmax(q).

Letters: ``B`` trees, ``N`` nodes of a tree, ``V`` tokens, ``M`` rows with a choice.
"""

import numpy as np

from games.compiling import kernel
from games.rng import next_state, output, uniform
from search.uct.tree import WorldForest, add_child, best_child


class GuidedForest(WorldForest):
    """Trees that try the actions of a node in an order drawn from softmax(q).

    With ``puct`` every action of a node competes from the beginning, by the mean + C softmax(q) sqrt(N) / (1 + n); the
    mean of an untried one is that of all runs through its siblings.
    """

    _by_node = (*WorldForest._by_node, "q")

    def __init__(self, seeds: np.ndarray, vocabulary_size: int, puct: bool) -> None:
        super().__init__(seeds, vocabulary_size)
        self.q = np.zeros(self.untried.shape, np.float32)
        self._puct = puct

    def set_q(self, trees: np.ndarray, leaves: np.ndarray, q: np.ndarray) -> None:
        """Store q (``float32[M, V]``, -inf for illegal actions) at leaves of some trees (``int[M]`` both). Nodes with
        one legal action need no q."""
        self.q[trees, leaves] = q

    def root_visits(self) -> np.ndarray:
        """``float64[B, V]``: visits of each action of the roots, -inf where it is illegal."""
        visits = np.full((len(self.sizes), self.untried.shape[2]), -np.inf)
        _root_visits(self.nodes, self.untried, visits)
        return visits

    def _descend(
        self, exploration: float, leaves: np.ndarray, actions: np.ndarray, lengths: np.ndarray, draws: np.ndarray
    ) -> None:
        settings = self._puct, exploration
        trees = self.nodes, self.sizes, self.untried, self.q
        _descend_guided(*trees, *settings, self._counters, leaves, actions, lengths, draws)


@kernel
def _descend_guided(nodes, sizes, untried, q, puct, exploration, counters, leaves, actions, lengths, draws):
    for i in range(len(leaves)):
        tree, counter, node, depth = nodes[i], counters[i], np.int64(0), 0
        while True:
            token, child = np.int64(-1), np.int64(-1)
            if puct:
                token, child = _most_promising(tree, node, untried[i, node], q[i, node], exploration)
            elif tree[node]["untried"] > 0:
                counter = next_state(counter)
                token = drawn(q[i, node], untried[i, node], output(counter))
            elif tree[node]["child"] >= 0:
                child = best_child(tree, node, exploration)
            if token >= 0:
                child = np.int64(sizes[i])
                sizes[i] += 1
                add_child(tree, node, child, token)
                tree[node]["untried"] -= 1
                untried[i, node, token] = False
            if child < 0:
                break
            actions[i, depth] = tree[child]["token"]
            depth += 1
            node = child
            if token >= 0:
                break
        counter = next_state(counter)
        leaves[i], lengths[i], draws[i], counters[i] = node, depth, output(counter), counter


@kernel
def _most_promising(tree, parent, untried, q, exploration):
    """The untried action or the child of the highest PUCT score, -1 for the other of the two; -1 for both where the
    deal is over. There, and where one action is legal, q may be all zeros. Illegal actions have q = -inf, so they have
    prior 0."""
    top, runs, total, child = q.max(), 0, 0.0, np.int64(tree[parent]["child"])
    bonus = exploration * np.sqrt(max(tree[parent]["visits"], 1)) / np.exp(q - top).sum()
    best, token_chosen, child_chosen = -np.inf, np.int64(-1), np.int64(-1)
    while child >= 0:
        node = tree[child]
        runs, total = runs + node["visits"], total + node["total"]
        score = node["total"] / node["visits"] + bonus * np.exp(q[node["token"]] - top) / (1 + node["visits"])
        if score > best:
            best, child_chosen = score, child
        child = np.int64(node["sibling"])
    mean = total / max(runs, 1)
    for token in range(len(untried)):
        if untried[token] and mean + bonus * np.exp(q[token] - top) > best:
            best = mean + bonus * np.exp(q[token] - top)
            token_chosen, child_chosen = np.int64(token), np.int64(-1)
    return token_chosen, child_chosen


@kernel
def _root_visits(nodes, untried, visits):
    for i in range(len(visits)):
        child = nodes[i, 0]["child"]
        while child >= 0:
            visits[i, nodes[i, child]["token"]] = nodes[i, child]["visits"]
            child = nodes[i, child]["sibling"]
        for token in range(visits.shape[1]):
            if untried[i, 0, token]:
                visits[i, token] = 0.0


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
