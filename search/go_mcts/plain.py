"""GO-MCTS as paper 001 prints it in Algorithm 3: one search, one simulation, one query at a time.

This is the definition. Slow on purpose: no tree of arrays, nothing kept between queries. ``search.go_mcts.player`` must
grow the same trees, which the tests check, and the benchmarks measure its speed-up.

The tree is a dictionary from histories to children. Section 3 judges legality at terminal histories alone: the model
values a history that is cut short, possible or not. A history is terminal when the deal is over, or when a
token of a wrong kind leaves open who is next (``Game.advance``); the latter is illegal.
"""

import math
from collections.abc import Callable

import numpy as np

from games.game import Game, Next
from games.rng import mix
from search.go_mcts.config import GoMctsConfig
from search.go_mcts.sampling import sample_rows
from search.players.policy import legal_policy, log_policy, possible_only

History = tuple[int, ...]
Model = Callable[[History], tuple[np.ndarray, float]]
"""History -> (next-token distribution ``float32[V]``, value V(h))."""


class PlainGoMcts:
    """One search. Of the settings beyond the paper it supports ``mask_impossible``, ``policy_weight``
    and ``prior_visits``."""

    def __init__(self, game: Game, model: Model, config: GoMctsConfig, seed: int) -> None:
        self.game, self.model, self.config = game, model, config
        self.utility = game.outcomes.utility(config.utility)
        self.seed, self.counter = np.uint64(seed), np.zeros(1, np.uint64)
        self.tree: dict[History, dict[int, list[float]]] = {}
        """History -> action -> [sum of values, visits]."""
        self.policies: dict[History, np.ndarray] = {}

    def search(self, root: History) -> int:
        """The function GO-MCTS; the root action with the highest mean value (beyond the paper, ``worth``)."""
        for number in range(1, self.config.num_runs + 1):
            self.counter[:] = mix(self.seed, number)  # each simulation has its own random numbers
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
            self.backup(history)
        children = self.tree[root]
        return max(sorted(children), key=lambda action: self.worth(root, action))

    def select(self, history: History) -> int:
        """The function Select: the child with the highest UCT score, ties to the first."""
        children = self.tree[history]
        total = sum(visits for _, visits in children.values())
        best, best_score = -1, -math.inf
        for action, (_, visits) in children.items():
            score = self.worth(history, action) + self.config.exploration * math.sqrt(math.log(total) / visits)
            if score > best_score:
                best, best_score = action, score
        return best

    def worth(self, history: History, action: int) -> float:
        """The mean value of an action; beyond the paper ``policy_weight`` times the log of its probability is added."""
        value, visits = self.tree[history][action]
        return value / visits + self.config.policy_weight * float(log_policy(self.policies[history])[action])

    def expand(self, history: History) -> None:
        """The function Expand: a child for every legal action above the threshold, valued by the model as one visit
        (beyond the paper as ``prior_visits``); the most probable action where none exceeds it."""
        legal = self.game.view_legal(self.view(history))
        policy = self.policies[history] = legal_policy(self.model(history)[0][None], legal)[0]
        chosen = [a for a in np.flatnonzero(legal[0]).tolist() if policy[a] > self.config.threshold]
        chosen = chosen or [int(policy.argmax())]
        visits = self.config.prior_visits
        self.tree[history] = {a: [visits * float(np.float32(self.model((*history, a))[1])), visits] for a in chosen}

    def rollout(self, history: History) -> History:
        """The function Rollout: append the model's tokens, until the search player has had N_steps turns."""
        steps = self.config.num_steps
        while steps > 0 and not self.terminal(history):
            history = (*history, self.sample(history))
            if self.to_move(history):
                steps -= 1
        return history

    def backup(self, history: History) -> None:
        """The function Backup: an illegal history costs mu and adds no visit. A rollout's first move gets nothing if it
        is no child of the decision before it."""
        if self.terminal(history):
            view = self.view(history)
            label = int(self.game.view_outcome(view)[0])
            legal = bool(self.game.consistent(view)[0]) and label >= 0
            value = float(self.utility[label]) if legal else 0.0
        else:
            legal, value = True, float(np.float32(self.model(history)[1]))
        while history:
            history, action = history[:-1], history[-1]
            child = self.tree.get(history, {}).get(action)
            if child is not None and legal:
                child[0] += value
                child[1] += 1
            elif child is not None:
                child[0] -= self.config.illegal_penalty

    def sample(self, history: History) -> int:
        """The function Sample: the model's next token."""
        probabilities = self.model(history)[0][None]
        if self.config.mask_impossible:
            probabilities = possible_only(probabilities, self.game.view_possible(self.view(history)))
        return int(sample_rows(probabilities, np.zeros(1, np.int64), self.counter)[0])

    def view(self, history: History) -> np.ndarray:
        """The game's view of the history."""
        return self.game.views(np.array([history]), np.array([len(history)]))

    def terminal(self, history: History) -> bool:
        """Whether the history has ended."""
        return bool(self.game.next(self.view(history))[0] == Next.END)

    def to_move(self, history: History) -> bool:
        """Whether the search player acts next."""
        return bool(self.game.next(self.view(history))[0] == Next.ACTION)
