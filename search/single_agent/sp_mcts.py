"""SP-MCTS (Schadd, Winands, van den Herik, Chaslot and Uiterwijk 2008): UCT with a third term for the spread of scores,
begun again several times; the best game of all simulations is played.

Letters: ``M`` turns of a batch, ``L`` token positions.
"""

import time
from dataclasses import replace

import numpy as np

from games.rng import mix
from search.players.kinds import PlayerKind
from search.players.memory import check_trees
from search.players.player import Turns
from search.players.support import Support
from search.single_agent.checks import check_one_seat, search_bytes
from search.single_agent.config import SpMctsConfig
from search.single_agent.lines import LinePlayer
from search.single_agent.mcts import rollout_of, simulate
from search.single_agent.tree import SP_MCTS, Forest, Selection
from search.single_agent.trees import Positions


class SpMcts(LinePlayer):
    """Grows the trees of a batch together, one simulation of each at a time."""

    name = "sp_mcts"

    def __init__(self, config: SpMctsConfig, support: Support) -> None:
        self._config = config
        self._selection = Selection(SP_MCTS, float(config.exploration), deviation=float(config.deviation))
        self._rollout = rollout_of(config.rollout, support)

    def find(self, turns: Turns) -> None:
        """The best games of all restarts."""
        config, places, best = self._config, turns.game, np.full(len(turns.game), -np.inf)
        check_trees(len(places), search_bytes(self.game, config.simulations, config.seconds))
        positions = replace(Positions.of(self.game, turns), rows=np.arange(len(places)))

        def keep(rows: np.ndarray, states: np.ndarray) -> None:
            scores = self.game.points(states)[:, 0]
            better = np.flatnonzero(scores > best[rows])
            best[rows[better]] = scores[better]
            self.lines[places[rows[better]]] = self.game.histories(states[better], np.zeros(len(better), np.int64))[0]

        began = time.monotonic()
        for restart in range(config.restarts):
            forest = Forest(len(places), self.game.vocabulary.size)
            forest.clear(positions.rows)
            forest.open(positions.rows, forest.roots, turns.legal)
            counters = mix(turns.seeds, restart)
            for _ in range(config.simulations):
                simulate(forest, self.game, positions, counters, self._selection, self._rollout, keep)
                self.simulations[places] += 1
                if config.seconds and time.monotonic() - began > config.seconds * (restart + 1) / config.restarts:
                    break


KIND = PlayerKind(
    name="sp_mcts",
    summary="SP-MCTS for games of one seat: several searches of the whole game, whose best line is played (2008).",
    seats=1,
    settings=SpMctsConfig,
    asks_support=True,
    check=check_one_seat,
    decision_bytes=lambda game, settings: search_bytes(game, settings.simulations, settings.seconds),
    factory=lambda game, model, settings, support: SpMcts(settings, support),
)
