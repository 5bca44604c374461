"""Plain MCTS with rollouts by the rules alone (paper 003, section 3.2).

Letters: ``M`` turns of a batch, ``B`` states.
"""

import time
from collections.abc import Callable

import numpy as np

from games.game import Game
from search.players.kinds import PlayerKind
from search.players.player import Turns
from search.players.support import Rollout, Support
from search.single_agent.checks import check_one_seat, kept_tree_bytes
from search.single_agent.config import MctsConfig
from search.single_agent.tree import UCT, Forest, Selection
from search.single_agent.trees import Positions, TreePlayer


def uniform(game: Game, states: np.ndarray, seeds: np.ndarray) -> None:
    """Any legal action, each as likely."""
    game.playout(states, seeds)


def rollout_of(name: str, support: Support) -> Rollout:
    """The rollout of a name; ``ValueError`` for one that the game does not have."""
    return uniform if name == "uniform" else support.rollouts[name]


def simulate(
    forest: Forest,
    game: Game,
    positions: Positions,
    counters: np.ndarray,
    selection: Selection,
    rollout: Rollout,
    reached: Callable[[np.ndarray, np.ndarray], None] = lambda rows, states: None,
) -> None:
    """One simulation of every tree: down to a new node, a rollout, its score to the whole path.

    Args:
        counters: ``uint64[G]``: random numbers of the table's places.
        reached: called with places and final states.
    """
    rows = positions.rows
    leaves, actions, lengths, draws = forest.descend(rows, selection, counters, game.max_length)
    states = game.after(positions.states, actions, lengths)
    forest.open(rows, leaves, game.legal(states))
    rollout(game, states, draws)
    reached(rows, states)
    forest.back_up(rows, leaves, game.points(states)[:, 0].astype(np.float64))


class Mcts(TreePlayer):
    """Grows the trees of a batch together, one simulation of each at a time."""

    name = "mcts"

    def __init__(self, config: MctsConfig, support: Support) -> None:
        self._config = config
        self._selection = Selection(UCT, float(config.exploration), float(config.equal))
        self._rollout = rollout_of(config.rollout, support)

    def start(self, game: Game, num_games: int) -> None:
        """A new table begins."""
        self.tree_bytes = kept_tree_bytes(game, self._config.simulations, self._config.seconds)
        super().start(game, num_games)

    def choose(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: of the actions tried the one of the highest score seen, or of the highest mean."""
        began, config = time.monotonic(), self._config
        positions, _ = self.positions(turns)
        numbers = simulations_now(self.game, turns, config)
        for done in range(int(numbers.max())):
            active = positions if done < numbers.min() else positions.take(np.flatnonzero(numbers > done))
            simulate(self.forest, self.game, active, self.counters, self._selection, self._rollout)
            self.simulations[active.rows] += 1
            if config.seconds and time.monotonic() - began > config.seconds:
                break
        return self.forest.choices(positions.rows, config.final == "best")


def simulations_now(game: Game, turns: Turns, config: MctsConfig) -> np.ndarray:
    """``int64[M]``: simulations of each turn; with ``decay`` fewer the more moves were made."""
    if config.decay == 1.0:
        return np.full(len(turns.game), config.simulations)
    views, moves = game.views(turns.tokens, np.zeros(len(turns.tokens), np.int64)), np.zeros(len(turns.game), np.int64)
    for place in range(int(turns.lengths.max())):
        moves += (game.view_legal(views).any(axis=1)) & (place < turns.lengths)
        game.advance(views, turns.tokens[:, place])
    return np.maximum(np.rint(config.simulations * config.decay**moves), 1).astype(np.int64)


KIND = PlayerKind(
    name="mcts",
    summary="MCTS for games of one seat: UCT over normalised scores, random rollouts (paper 003, section 3.2).",
    seats=1,
    settings=MctsConfig,
    asks_support=True,
    check=check_one_seat,
    decision_bytes=lambda game, settings: kept_tree_bytes(game, settings.simulations, settings.seconds),
    factory=lambda game, model, settings, support: Mcts(settings, support),
)
