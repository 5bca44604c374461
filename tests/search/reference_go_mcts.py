"""Algorithm 3 of paper 001, written once more as the paper prints it: one search, one history, one query at a time.

The tree is a dictionary from histories to children. Slow on purpose: it is what ``search.go_mcts.player`` is compared
with.
"""

import math
from collections.abc import Callable

import numpy as np

from games.game import Game, Next
from games.rng import mix
from search.config import GoMctsConfig
from search.go_mcts.tree import sample_rows
from search.players.policy import possible_only

History = tuple[int, ...]
Model = Callable[[History], tuple[np.ndarray, float]]
"""History -> (next-token distribution ``float32[V]``, value)."""


class ReferenceGoMcts:
    """One search from one root history."""

    def __init__(self, game: Game, model: Model, config: GoMctsConfig, seed: int) -> None:
        self.game, self.model, self.config = game, model, config
        self.utility = game.outcomes.utility(config.utility)
        self.seed, self.counter = np.uint64(seed), np.zeros(1, np.uint64)
        self.tree: dict[History, dict[int, list[float]]] = {}
        self.priors: dict[History, dict[int, float]] = {}

    def search(self, root: History) -> int:
        """Run all runs; the root action with the highest mean value."""
        for number in range(1, self.config.num_runs + 1):
            self.counter[:] = mix(self.seed, number)
            history = root
            while not self.terminal(history):
                if not self.to_move(history):
                    history = (*history, self.sample(history))
                elif history in self.tree:
                    history = (*history, self.select(history))
                else:
                    self.expand(history)
                    history = self.rollout(history)
                    break
            self.backup(history, root)
        children = self.tree[root]
        return max(sorted(children), key=lambda action: children[action][0] / children[action][1])

    def select(self, history: History) -> int:
        children = self.tree[history]
        total = sum(visits for _, visits in children.values())
        best, best_score = -1, -math.inf
        for action, (value, visits) in children.items():
            if self.config.selection == "puct":
                bonus = self.priors[history][action] * math.sqrt(total) / (1 + visits)
            else:
                bonus = math.sqrt(math.log(total) / visits)
            score = value / visits + self.config.exploration * bonus
            if score > best_score:
                best, best_score = action, score
        return best

    def expand(self, history: History) -> None:
        legal = np.flatnonzero(self.game.view_legal(self.view(history))[0])
        probabilities = self.model(history)[0][legal]
        policy = probabilities / probabilities.sum()
        chosen = [int(a) for a, p in zip(legal, policy, strict=True) if p > self.config.threshold]
        chosen = chosen or [int(legal[policy.argmax()])]
        self.priors[history] = {int(a): float(p) for a, p in zip(legal, policy, strict=True)}
        self.tree[history] = {a: [float(np.float32(self.model((*history, a))[1])), 1] for a in chosen}

    def rollout(self, history: History) -> History:
        steps = self.config.num_steps
        while steps > 0 and not self.terminal(history):
            history = (*history, self.sample(history))
            if self.to_move(history):
                steps -= 1
        return history

    def backup(self, history: History, root: History) -> None:
        legal = True
        if self.terminal(history):
            view = self.view(history)
            label = int(self.game.view_outcome(view)[0])
            legal = bool(self.game.consistent(view)[0]) and label >= 0
            value = float(self.utility[label]) if legal else 0.0
        else:
            value = float(np.float32(self.model(history)[1]))
        while len(history) > len(root):
            history, action = history[:-1], history[-1]
            child = self.tree.get(history, {}).get(action)
            if child is not None:
                if legal:
                    child[0] += value
                    child[1] += 1
                else:
                    child[0] -= self.config.illegal_penalty

    def sample(self, history: History) -> int:
        probabilities = self.model(history)[0][None]
        if self.config.mask_impossible:
            probabilities = possible_only(probabilities, self.game.view_possible(self.view(history)))
        return int(sample_rows(probabilities, np.zeros(1, np.int64), self.counter)[0])

    def view(self, history: History) -> np.ndarray:
        return self.game.views(np.array([history]), np.array([len(history)]))

    def terminal(self, history: History) -> bool:
        view = self.view(history)
        impossible = self.config.prune_impossible and not self.game.consistent(view)[0]
        return bool(self.game.next(view)[0] == Next.END or impossible)

    def to_move(self, history: History) -> bool:
        return bool(self.game.next(self.view(history))[0] == Next.ACTION)
