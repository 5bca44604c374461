"""MCTransformer: PUCT with the network's priors, and rollouts in which the network plays on (paper 003, section 3.5).

All searches of a table advance together: every step of their rollouts is one query, in which each computes one token.

Letters: ``M`` searches, ``V`` tokens, ``N`` nodes of a tree.
"""

import time

import numpy as np

from games.game import Game
from learner.observation_model import EMPTY, ObservationModel
from search.players.histories import tokens_since
from search.players.kinds import PlayerKind
from search.players.memory import check_slots
from search.players.player import Turns
from search.players.policy import legal_policy
from search.single_agent.checks import check_one_seat, kept_tree_bytes
from search.single_agent.config import McTransformerConfig
from search.single_agent.tree import PUCT, Selection
from search.single_agent.trees import Positions, TreePlayer


class McTransformer(TreePlayer):
    """Grows the trees of a batch together, one simulation of each at a time."""

    name, priors = "mctransformer", True

    def __init__(self, model: ObservationModel, config: McTransformerConfig) -> None:
        self._model, self._config = model, config
        self._selection = Selection(PUCT, float(config.exploration), float(config.equal))
        self._handles = np.full((0, 0), EMPTY, np.int64)

    def start(self, game: Game, num_games: int) -> None:
        """A new table begins: every earlier tree is forgotten."""
        self._model.release(self._handles)
        self.tree_bytes = kept_tree_bytes(game, self._config.simulations, self._config.seconds, by_token=5)
        super().start(game, num_games)
        self._handles = np.full((num_games, 1), EMPTY, np.int64)
        """``[places, N]``: handles of the nodes' histories."""

    def forget(self, games: np.ndarray) -> None:
        """Release the model's handles of ended games."""
        super().forget(games)
        self._drop(games)

    def choose(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: of the actions tried the one of the highest score seen, or of the highest mean."""
        began, config = time.monotonic(), self._config
        positions, new = self.positions(turns)
        if new.any():
            self._begin(positions.take(np.flatnonzero(new)))
        for row in positions.rows[~new]:  # what the root has left behind is asked about no more
            left = np.flatnonzero(self.forest.outside(int(row))[: self._handles.shape[1]])
            self._model.release(self._handles[row, left])
            self._handles[row, left] = EMPTY
        self._check_room(len(positions.rows))
        for _ in range(config.simulations):
            self._simulate(positions)
            if config.seconds and time.monotonic() - began > config.seconds:
                break
            if self._model.slots_left < len(positions.rows) * self.game.max_length:
                break  # as many simulations as the cache holds
        return self.forest.choices(positions.rows, config.final == "best")

    def _check_room(self, searches: int) -> None:
        """``UserError`` where the cache has no room for the simulations of so many searches."""
        config = self._config
        needed = searches * (self.game.max_length + (0 if config.seconds else config.simulations))
        what = f"mctransformer.simulations={config.simulations}: {searches} searches"
        check_slots(what, needed, self._model.slots_left)

    def _begin(self, positions: Positions) -> None:
        """Ask about the positions of new trees."""
        rows, states = positions.rows, positions.states
        self._drop(rows)
        nothing = np.zeros(len(rows), np.int64)
        asked = tokens_since(positions.tokens, nothing, positions.lengths)
        answer = self._model.query(np.full(len(rows), EMPTY), *asked)
        self._handles[rows, 0] = answer.handles
        legal = self.game.legal(states)
        self.forest.open(rows, self.forest.roots[rows], legal, _priors(self.game, states, legal, answer.next_token))

    def _simulate(self, positions: Positions) -> None:
        """One simulation of every tree."""
        rows, forest, longest = positions.rows, self.forest, self.game.max_length
        nodes, actions, lengths, _ = forest.descend(rows, self._selection, self.counters, longest)
        if forest.nodes.shape[1] > self._handles.shape[1]:
            more = forest.nodes.shape[1] - self._handles.shape[1]
            self._handles = np.pad(self._handles, ((0, 0), (0, more)), constant_values=EMPTY)
        states = self.game.after(positions.states, actions, lengths)
        forest.back_up(rows, nodes, self._played_on(states, *self._reached(rows, nodes, states)))
        self.simulations[rows] += 1

    def _reached(self, rows: np.ndarray, nodes: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ask about nodes that are new, and open them; the others' priors are known. Returns ``int64[M]`` handles of
        the leaves' histories, which the trees hold, and ``float32[M, V]``: how likely each legal action is."""
        game, forest = self.game, self.forest
        legal = game.legal(states)
        handles = self._handles[rows, nodes]
        fresh = np.flatnonzero((handles == EMPTY) & legal.any(axis=1))
        priors = forest.priors[rows, nodes]
        if len(fresh):
            tokens, parents = (forest.nodes[name][rows[fresh], nodes[fresh]] for name in ("token", "parent"))
            before = self._handles[rows[fresh], parents]
            answer = self._model.query(before, tokens, np.ones(len(fresh), np.int64))
            self._handles[rows[fresh], nodes[fresh]] = handles[fresh] = answer.handles
            priors[fresh] = _priors(game, states[fresh], legal[fresh], answer.next_token)
        forest.open(rows, nodes, legal, priors)
        return handles, priors

    def _played_on(self, states: np.ndarray, handles: np.ndarray, priors: np.ndarray) -> np.ndarray:
        """``float64[M]``: scores of games that the network plays on from the leaves (``[M]``, changed in place), always
        its most probable move."""
        game = self.game
        active = np.flatnonzero(game.to_move(states) >= 0)
        handles, priors, own = handles[active], priors[active], False
        while len(active):
            now = states[active]
            actions = priors.argmax(axis=1)
            game.play(now, actions)
            states[active] = now
            on = game.to_move(now) >= 0
            if own:
                self._model.release(handles[~on])
            active, now, before = active[on], now[on], handles[on]
            if len(active):
                answer = self._model.query(before, actions[on], np.ones(len(active), np.int64))
                priors = _priors(game, now, game.legal(now), answer.next_token)
                if own:
                    self._model.release(before)
                handles, own = answer.handles, True
        return game.points(states)[:, 0].astype(np.float64)

    def _drop(self, rows: np.ndarray) -> None:
        """Release the handles of these places."""
        self._model.release(self._handles[rows])
        self._handles[rows] = EMPTY


def _priors(game: Game, states: np.ndarray, legal: np.ndarray, next_token: np.ndarray) -> np.ndarray:
    """``float32[M, V]``: the network's policy over the legal actions, of which every row has one."""
    return legal_policy(game.merged(states, legal, next_token), legal).astype(np.float32)


KIND = PlayerKind(
    name="mctransformer",
    summary="MCTransformer: PUCT with the network's priors; the network plays its simulations on (paper 003).",
    seats=1,
    settings=McTransformerConfig,
    needs_model=True,
    asks_support=True,
    check=check_one_seat,
    decision_bytes=lambda game, settings: kept_tree_bytes(game, settings.simulations, settings.seconds, by_token=5),
    factory=lambda game, model, settings, support: McTransformer(model, settings),
)
