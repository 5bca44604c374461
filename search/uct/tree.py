"""UCT trees over known worlds, many at a time, in flat arrays (Kocsis and Szepesvári 2006; for several players
Sturtevant, "An analysis of UCT in multi-player games", 2008).

A node is the position after an action. A known world follows from the actions, so a node stores no state. A run adds at
most one node to each tree. Letters: ``B`` trees, ``N`` nodes of a tree, ``V`` tokens, ``P`` seats.
"""

import numpy as np

from games.compiling import kernel
from games.rng import below, next_state, output, uniform

NODE = np.dtype(
    [
        ("total", np.float64),  # sum of the backed-up values of the seat that acts at the parent
        ("visits", np.int32),  # runs that went through it
        ("parent", np.int32),  # -1 for the root, which is node 0
        ("child", np.int32),  # the one tried last, -1 for none
        ("sibling", np.int32),  # the one tried before it, -1 for none
        ("untried", np.int32),  # number of legal actions that no run has tried
        ("token", np.int16),  # the action that leads to it
        ("mover", np.int16),  # seat to act
    ]
)


class GrowingForest:
    """Trees whose arrays grow with them."""

    nodes: np.ndarray
    """``[B, N]``."""
    untried: np.ndarray
    """``bool[B, N, V]``: legal actions that were not tried."""
    _by_node: tuple[str, ...] = ("nodes", "untried")
    """Arrays ``[B, N, ...]``."""

    def _make_room(self, sizes: np.ndarray) -> None:
        """Make room for one more node in trees of these sizes; doubles arrays that are too short."""
        capacity = self.nodes.shape[1]
        if sizes.max() == capacity:
            more = max(capacity, 64)
            for name in self._by_node:
                array = getattr(self, name)
                room = np.zeros((len(array), more, *array.shape[2:]), array.dtype)
                setattr(self, name, np.concatenate([array, room], axis=1))


class WorldForest(GrowingForest):
    """Trees that start as bare roots."""

    _by_node = (*GrowingForest._by_node, "q")

    def __init__(self, seeds: np.ndarray, vocabulary_size: int, guided: bool = False) -> None:
        """
        Args:
            seeds: ``uint64[B]``, one for each tree's random numbers.
            guided: whether the actions of a node are tried in an order drawn from softmax(``q``), else uniformly.
        """
        self.nodes = np.zeros((len(seeds), 1), NODE)
        self.nodes["parent"] = self.nodes["child"] = -1
        self.sizes = np.ones(len(seeds), np.int32)
        self.untried = np.zeros((len(seeds), 1, vocabulary_size), np.bool_)
        self.q = np.zeros((len(seeds), 1, vocabulary_size if guided else 0), np.float32)
        """``float32[B, N, V]``, written by the caller at nodes with several legal actions; ``[B, N, 0]`` unless
        guided."""
        self._counters = np.array(seeds, np.uint64)

    def descend(self, exploration: float, depth: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Go down every tree, to a new node or the end of the deal.

        Returns these leaves ``int32[B]``, the actions on the way ``int32[B, depth]``, their number ``int32[B]``, and a
        random number for each tree ``uint64[B]``. No tree may be deeper than ``depth``.
        """
        trees = len(self.sizes)
        self._make_room(self.sizes)
        leaves, lengths = np.empty(trees, np.int32), np.empty(trees, np.int32)
        actions, draws = np.empty((trees, depth), np.int32), np.empty(trees, np.uint64)
        with np.errstate(over="ignore"):
            arrays = self.nodes, self.sizes, self.untried, self.q
            _descend(*arrays, exploration, self._counters, leaves, actions, lengths, draws)
        return leaves, actions, lengths, draws

    def expand(self, leaves: np.ndarray, movers: np.ndarray, legal: np.ndarray) -> None:
        """Store the seat to act (``int8[B]``) and its legal actions (``bool[B, V]``) at new leaves (``int32[B]``)."""
        _expand(self.nodes, self.untried, leaves, movers, legal)

    def backup(self, leaves: np.ndarray, values: np.ndarray) -> None:
        """Add the values ``float64[B, P]`` of a run to every node on the path to its leaf."""
        _backup(self.nodes, leaves, values)

    def root_values(self) -> np.ndarray:
        """``float64[B, V]``: mean value of each action of the roots, -inf where it is illegal. An untried action gets
        the mean over all runs."""
        values = np.full((len(self.sizes), self.untried.shape[2]), -np.inf)
        _root_values(self.nodes, self.untried, values)
        return values


@kernel
def _descend(nodes, sizes, untried, q, exploration, counters, leaves, actions, lengths, draws):
    for i in range(len(leaves)):
        tree, counter = nodes[i], counters[i]
        node, depth = _best_path(tree, exploration, actions[i])
        if tree[node]["untried"] > 0:
            counter = next_state(counter)
            if q.shape[2] > 0:
                token = drawn(q[i, node], untried[i, node], output(counter))
            else:
                token = any_untried(untried[i, node], tree[node]["untried"], output(counter))
            node = add_child(tree, node, sizes[i], token, untried[i, node])
            sizes[i] += 1
            actions[i, depth] = token
            depth += 1
        counter = next_state(counter)
        leaves[i], lengths[i], draws[i], counters[i] = node, depth, output(counter), counter


@kernel
def _best_path(tree, exploration, actions):
    """Go down from the root by the highest scores, to a node with untried actions or the end of the deal: that node and
    its depth. Writes the actions on the way."""
    node, depth = np.int64(0), 0
    while tree[node]["untried"] == 0 and tree[node]["child"] >= 0:
        node = _best_child(tree, node, exploration)
        actions[depth] = tree[node]["token"]
        depth += 1
    return node, depth


@kernel
def _best_child(tree, parent, exploration):
    """The child of the highest mean + C sqrt(ln N / n), ties to the last tried."""
    log_visits = np.log(tree[parent]["visits"])
    best, chosen, child = -np.inf, np.int64(-1), np.int64(tree[parent]["child"])
    while child >= 0:
        node = tree[child]
        score = node["total"] / node["visits"] + exploration * np.sqrt(log_visits / node["visits"])
        if score > best:
            best, chosen = score, child
        child = np.int64(node["sibling"])
    return chosen


@kernel
def add_child(tree, parent, place, token, untried):
    """Add a node at ``place`` for an action of ``parent`` that was ``untried`` (``bool[V]``); returns the place."""
    new = tree[place]
    new["parent"], new["sibling"], new["child"], new["token"] = parent, tree[parent]["child"], -1, token
    tree[parent]["child"] = place
    tree[parent]["untried"] -= 1
    untried[token] = False
    return np.int64(place)


@kernel
def any_untried(untried, count, bits):
    """One of the ``count`` untried actions, uniformly."""
    left, token = below(bits, count), 0
    while left > 0 or not untried[token]:
        left -= int(untried[token])
        token += 1
    return token


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
def _expand(nodes, untried, leaves, movers, legal):
    for i in range(len(leaves)):
        node = nodes[i, leaves[i]]
        if node["visits"] == 0:
            node["mover"] = movers[i]
            node["untried"] = legal[i].sum()
            untried[i, leaves[i]] = legal[i]


@kernel
def _backup(nodes, leaves, values):
    """Max^n: a node sums the values of the seat that chooses it."""
    for i in range(len(leaves)):
        tree, at = nodes[i], leaves[i]
        while at >= 0:
            node = tree[at]
            at = node["parent"]
            node["visits"] += 1
            if at >= 0:
                node["total"] += values[i, tree[at]["mover"]]


@kernel
def _root_values(nodes, untried, values):
    for i in range(len(values)):
        root, total, child = nodes[i, 0], 0.0, nodes[i, 0]["child"]
        while child >= 0:
            node = nodes[i, child]
            values[i, node["token"]] = node["total"] / node["visits"]
            total += node["total"]
            child = node["sibling"]
        for token in range(values.shape[1]):
            if untried[i, 0, token]:
                values[i, token] = total / root["visits"]
