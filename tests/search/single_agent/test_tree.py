"""The trees of single-player searches against the same written plainly, and one computed by hand from paper 003."""

import numpy as np
import pytest

from games.rng import derive_many
from games.samegame.game import SameGame
from search.single_agent.tree import PUCT, SP_MCTS, UCT, Forest, Selection
from tests.search.single_agent.plain import Node, PlainTree

GAME = SameGame(rows=4, columns=4, colours=3)
RULES = {"uct": UCT, "puct": PUCT, "sp_mcts": SP_MCTS}


def priors(states: np.ndarray) -> np.ndarray:
    """``float32[B, V]``: some probabilities, a function of the board."""
    weights = np.arange(GAME.vocabulary.size) % 5 + 1.0 + states["public"]["left"][:, :1]
    masked = np.where(GAME.legal(states), weights, 0)
    return (masked / np.maximum(masked.sum(axis=1, keepdims=True), 1)).astype(np.float32)


def grown(rule: str, numbers: tuple[float, float], simulations: int, states: np.ndarray, seeds: np.ndarray) -> Forest:
    rows, forest = np.arange(len(states)), Forest(len(states), GAME.vocabulary.size, priors=rule == "puct")
    forest.clear(rows)
    forest.open(rows, forest.roots, GAME.legal(states), priors(states) if rule == "puct" else None)
    c, other = numbers
    chosen = Selection(RULES[rule], c, 1.0, other) if rule == "sp_mcts" else Selection(RULES[rule], c, other)
    counters = seeds.copy()
    for _ in range(simulations):
        leaves, actions, lengths, draws = forest.descend(rows, chosen, counters, GAME.max_length)
        reached = GAME.after(states, actions, lengths)
        forest.open(rows, leaves, GAME.legal(reached), priors(reached) if rule == "puct" else None)
        GAME.playout(reached, draws)
        forest.back_up(rows, leaves, GAME.points(reached)[:, 0].astype(np.float64))
    return forest


def same(forest: Forest, row: int, place: int, node: Node) -> int:
    """Check a node and all below it; returns their number."""
    tree, here = forest.nodes[row], forest.nodes[row, place]
    assert here["visits"] == len(node.scores)
    assert here["total"] == pytest.approx(sum(node.scores))
    assert here["squares"] == pytest.approx(sum(score * score for score in node.scores))
    assert here["best"] == max(node.scores, default=-np.inf)
    assert np.flatnonzero(forest.untried[row, place]).tolist() == node.untried
    child, tokens, count = here["child"], [], 1
    while child >= 0:
        tokens.append(int(tree[child]["token"]))
        count += same(forest, row, child, node.children[tokens[-1]])
        child = tree[child]["sibling"]
    assert tokens[::-1] == list(node.children)
    return count


@pytest.mark.parametrize(
    ("rule", "numbers"),
    [("uct", (1.0, 1.0)), ("uct", (0.3, -0.5)), ("puct", (1.5, 1.0)), ("puct", (0.2, 0.0)), ("sp_mcts", (4.31, 96.67))],
)
def test_trees_are_those_of_the_plain_algorithm(rule, numbers) -> None:
    states, seeds = GAME.deal(derive_many(5, 12)), derive_many(6, 12)
    forest = grown(rule, numbers, 90, states, seeds)
    given = (lambda state: priors(state)[0]) if rule == "puct" else None
    for row in range(12):
        plain = PlainTree(GAME, states[row : row + 1], seeds[row], rule, numbers, given)
        for _ in range(90):
            plain.simulate()
        assert same(forest, row, 0, plain.root) == forest.sizes[row]


def by_hand(visits: list[int], means: list[float], prior: list[float], rule: int, c: float, equal: float) -> int:
    """The action that the kernels select below one root with these children; an action with no visits is untried."""
    forest = Forest(1, GAME.vocabulary.size, priors=True)
    row, legal = np.zeros(1, np.int64), np.zeros((1, GAME.vocabulary.size), np.bool_)
    forest.clear(row)
    legal[0, : len(visits)] = True
    given = np.zeros((1, GAME.vocabulary.size), np.float32)
    given[0, : len(prior)] = prior
    forest.open(row, forest.roots, legal, given)
    nodes = np.concatenate([forest.nodes, np.repeat(forest.nodes, len(visits), axis=1)], axis=1)
    forest.nodes = nodes
    forest.untried, forest.priors = (
        np.repeat(each, nodes.shape[1], axis=1) for each in (forest.untried, forest.priors)
    )
    last = -1
    for token, (number, mean) in enumerate(zip(visits, means, strict=True)):
        if number:
            place = int(forest.sizes[0])
            nodes[0, place]["visits"], nodes[0, place]["total"] = number, number * mean
            nodes[0, place]["token"], nodes[0, place]["parent"] = token, 0
            nodes[0, place]["child"], nodes[0, place]["sibling"], nodes[0, place]["untried"] = -1, last, 0
            last, forest.sizes[0] = place, place + 1
            forest.untried[0, 0, token] = False
    nodes[0, 0]["child"], nodes[0, 0]["visits"] = last, sum(visits)
    nodes[0, 0]["untried"] = visits.count(0)
    _, actions, _, _ = forest.descend(row, Selection(rule, c, equal), np.zeros(1, np.uint64), GAME.max_length)
    return int(actions[0, 0])


def test_puct_by_hand_from_the_papers_text() -> None:
    """Equations 2 to 4. N(s) = 9, c = 1. Means 10, 30, 50 make -1, 0 and 1.
    U = P sqrt(9) / (1 + n): 0.9 * 3 / 3 = 0.9; 0.06 * 3 / 4 = 0.045; 0.04 * 3 / 5 = 0.024.
    Sums -0.1, 0.045 and 1.024; with c = 4: 2.6, 0.18 and 1.096."""
    assert by_hand([2, 3, 4], [10, 30, 50], [0.9, 0.06, 0.04], PUCT, 1.0, 1.0) == 2
    assert by_hand([2, 3, 4], [10, 30, 50], [0.9, 0.06, 0.04], PUCT, 4.0, 1.0) == 0


def test_puct_by_hand_with_untried_and_equal_actions() -> None:
    """An untried action counts as 1 ("being optimistic"), and so, by ``equal``, do actions of equal means.
    N(s) = 4, c = 1: tried twice each, equal means: 1 + P * 2 / 3; untried: 1 + P * 2 / 1.
    P 0.5, 0.3, 0.2: 1.333, 1.2, 1.4: the untried one."""
    assert by_hand([2, 2, 0], [7, 7, 0], [0.5, 0.3, 0.2], PUCT, 1.0, 1.0) == 2
    # P 0.5, 0.35, 0.15: 1.333, 1.233, 1.3
    assert by_hand([2, 2, 0], [7, 7, 0], [0.5, 0.35, 0.15], PUCT, 1.0, 1.0) == 0
    # equal = -1 is sceptical: -0.667 and below, untried 1.3
    assert by_hand([2, 2, 0], [7, 7, 0], [0.5, 0.35, 0.15], PUCT, 1.0, -1.0) == 2


def test_uct_by_hand_from_the_papers_text() -> None:
    """Equation 1. N(s) = 10; means 0 and 100 make -1 and 1. ln 10 = 2.303.
    c = 1: -1 + sqrt(2.303 / 1) = 0.517 and 1 + sqrt(2.303 / 9) = 1.506; c = 3: 3.552 and 2.517."""
    assert by_hand([1, 9], [0, 100], [0, 0], UCT, 1.0, 1.0) == 1
    assert by_hand([1, 9], [0, 100], [0, 0], UCT, 3.0, 1.0) == 0


def test_the_move_is_the_highest_score_or_the_highest_mean() -> None:
    forest = grown("uct", (1.0, 1.0), 60, GAME.deal(derive_many(5, 12)), derive_many(6, 12))
    for best in (True, False):
        chosen = forest.choices(np.arange(12), best)
        for row in range(12):
            tree, child, figures = forest.nodes[row], forest.nodes[row, 0]["child"], {}
            while child >= 0:
                here = tree[child]
                figures[int(here["token"])] = here["best"] if best else here["total"] / here["visits"]
                child = here["sibling"]
            assert figures[int(chosen[row])] == max(figures.values())
