"""Trees of GO-MCTS as the plain version keeps them, to compare and to look at."""

from search.go_mcts.tree import TokenForest

History = tuple[int, ...]


def decisions(forest: TokenForest, root: int, history: History) -> dict[History, dict[int, list[float]]]:
    """The tree at and below a node, which has this history, as ``search.go_mcts.plain`` keeps it: history -> action ->
    [sum of values, visits]."""
    nodes, tree, found = forest.nodes, {}, [(root, history)]
    for node, history in found:
        below = forest.below(node)
        if nodes.expanded_by[node] == 0:
            tree[history] = {int(nodes.token[a]): [float(nodes.total[a]), int(nodes.visits[a])] for a in below}
        found += [(child, (*history, int(nodes.token[child]))) for child in below]
    return tree
