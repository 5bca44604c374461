"""The trees of ``search.single_agent.tree`` written plainly, from the text of paper 003 and of Schadd et al. 2008: one
tree of objects, one simulation at a time; the best game by trying all."""

import math
from dataclasses import dataclass, field

import numpy as np

from games.game import Game
from games.rng import below, next_state, output


@dataclass
class Node:
    untried: list[int]
    """In order of tokens."""
    priors: dict[int, float] = field(default_factory=dict)
    children: "dict[int, Node]" = field(default_factory=dict)
    """By action, in order of trial."""
    scores: list[float] = field(default_factory=list)

    @property
    def mean(self) -> float:
        return sum(self.scores) / len(self.scores)


def normalised(node: Node, action: int, equal: float) -> float:
    """Equation 4: 1 where the action was never tried."""
    if action not in node.children:
        return 1.0
    means = [child.mean for child in node.children.values()]
    if max(means) == min(means):
        return equal
    return 2 * (node.children[action].mean - min(means)) / (max(means) - min(means)) - 1


def uct(node: Node, action: int, c: float, equal: float) -> float:
    """Equation 1."""
    child = node.children[action]
    return normalised(node, action, equal) + c * math.sqrt(math.log(len(node.scores)) / len(child.scores))


def puct(node: Node, action: int, c: float, equal: float) -> float:
    """Equations 2 and 3; a root that no simulation has gone through counts as visited once, so that priors tell."""
    visits = len(node.children[action].scores) if action in node.children else 0
    exploration = c * node.priors[action] * math.sqrt(max(len(node.scores), 1)) / (1 + visits)
    return normalised(node, action, equal) + exploration


def sp_mcts(node: Node, action: int, c: float, d: float) -> float:
    """Schadd et al. 2008: mean + C sqrt(ln N / n) + sqrt((sum of squares - n mean^2 + D) / n)."""
    child = node.children[action]
    n = len(child.scores)
    spread = sum(score * score for score in child.scores) - n * child.mean**2 + d
    return child.mean + c * math.sqrt(math.log(len(node.scores)) / n) + math.sqrt(spread / n)


class PlainTree:
    """One search. ``rule``: ``uct``, ``puct`` or ``sp_mcts``."""

    def __init__(
        self, game: Game, state: np.ndarray, seed: int, rule: str, numbers: tuple[float, float], priors
    ) -> None:
        self.game, self.state, self.rule, self.numbers, self.priors = game, state, rule, numbers, priors
        self.counter = np.uint64(seed)
        self.root = self.node(state)

    def node(self, state: np.ndarray) -> Node:
        legal = np.flatnonzero(self.game.legal(state)[0]).tolist()
        return Node(legal, {action: float(self.priors(state)[action]) for action in legal} if self.priors else {})

    def simulate(self) -> None:
        state, path = self.state.copy(), [self.root]
        while path[-1].untried or path[-1].children:
            node, bits = path[-1], self.draw()
            action = self.select(node, bits)
            self.game.play(state, np.array([action]))
            new = action not in node.children
            if new:
                node.untried.remove(action)
                node.children[action] = self.node(state)
            path.append(node.children[action])
            if new:
                break
        else:
            self.draw()  # the end of a game is found by a look that draws too
        self.finish(state)
        for node in path:
            node.scores.append(float(self.game.points(state)[0, 0]))

    def finish(self, state: np.ndarray) -> None:
        """Play a game on to its end."""
        self.game.playout(state, np.array([self.draw()], np.uint64))

    def select(self, node: Node, bits: np.uint64) -> int:
        score = {"uct": uct, "puct": puct, "sp_mcts": sp_mcts}[self.rule]
        if self.rule == "puct":
            every = [*node.children, *node.untried]
            return max(every, key=lambda action: score(node, action, *self.numbers))
        if node.untried:
            return node.untried[below(bits, len(node.untried))]
        return max(node.children, key=lambda action: score(node, action, *self.numbers))

    def draw(self) -> np.uint64:
        with np.errstate(over="ignore"):
            self.counter = np.uint64(next_state(self.counter))
            return np.uint64(output(self.counter))


def best_score(game: Game, state: np.ndarray, known: dict[bytes, float]) -> float:
    """The highest score that can be reached from a state (``[1]``), by trying every game."""
    if game.to_move(state)[0] < 0:
        return float(game.points(state)[0, 0])
    public = state["public"][0]
    key = public["tiles"].tobytes()
    if key not in known:  # what comes after a board does not depend on what came before
        best = -math.inf
        for action in np.flatnonzero(game.legal(state)[0]):
            after = state.copy()
            game.play(after, np.array([action]))
            best = max(best, best_score(game, after, known) - float(public["score"]))
        known[key] = best
    return known[key] + float(public["score"])
