"""Which slots of an observation model hold the histories that a player meets at a table.

A history is (place at the table, seat); it only grows while its deal lasts.

Letters: ``M`` turns of a batch, ``P`` seats, ``L`` token positions, ``V`` tokens of the vocabulary.
"""

import numpy as np

from games.game import Game
from learner.observation_model import Answer, ObservationModel
from search.players.player import Turns

NONE = -1


class Paths:
    """Paths of one player at one table."""

    def __init__(self, model: ObservationModel) -> None:
        self._model = model
        self._slots = np.empty((0, 0, 0), np.int64)
        self._held = np.empty((0, 0), np.int64)
        self._kept = np.empty((0, 0), np.int64)
        """The chosen action that a history ends in; ``NONE`` if it was not chosen here."""

    def start(self, game: Game, num_games: int) -> None:
        """A table with ``num_games`` places begins: every earlier history is forgotten."""
        self._model.free(self._slots)
        self._slots = np.full((num_games, game.num_players, game.max_length), NONE, np.int64)
        self._held = np.zeros((num_games, game.num_players), np.int64)
        self._kept = np.full((num_games, game.num_players), NONE, np.int64)

    def forget(self, games: np.ndarray) -> None:
        """The deals at these places have ended."""
        self._model.free(self._slots[games])
        self._slots[games] = NONE
        self._held[games] = 0
        self._kept[games] = NONE

    def of(self, turns: Turns) -> tuple[np.ndarray, np.ndarray]:
        """``int64[M, L]`` slots and ``int64[M]`` how many of them are there, copies; never more than the histories."""
        slots, held = self._slots[turns.game, turns.seat], self._held[turns.game, turns.seat]
        kept, last = self._kept[turns.game, turns.seat], np.minimum(held, turns.lengths) - 1
        other = (kept != NONE) & (held <= turns.lengths) & (turns.tokens[np.arange(len(last)), last] != kept)
        if other.any():  # another action was played than the one that was chosen
            rows = np.flatnonzero(other)
            self._model.free(slots[rows, last[rows]])
            slots[rows, last[rows]], held[rows] = NONE, last[rows]
            self.store(turns, slots, held)
        if (held > turns.lengths).any():  # a history that was asked about before, and continued since
            beyond = np.arange(slots.shape[1]) >= turns.lengths[:, None]
            self._model.free(slots[beyond])
            slots[beyond] = NONE
            held = np.minimum(held, turns.lengths)
            self.store(turns, slots, held)
        return slots, held

    def store(self, turns: Turns, slots: np.ndarray, held: np.ndarray) -> None:
        """What ``of`` gave, grown."""
        self._slots[turns.game, turns.seat] = slots
        self._held[turns.game, turns.seat] = held
        self._kept[turns.game, turns.seat] = NONE

    def query(self, turns: Turns, candidates: np.ndarray | None = None) -> Answer:
        """Ask about the turns' histories; see ``ObservationModel.query``."""
        slots, held = self.of(turns)
        answer = self._model.query(slots, held, turns.tokens, turns.lengths, candidates)
        self.store(turns, slots, turns.lengths)
        return answer

    def keep(self, turns: Turns, actions: np.ndarray, candidates: np.ndarray, answer: Answer) -> None:
        """Append to each history the action (``[M]``) that was chosen among the ``candidates`` of its last query, from
        what that query computed; the other candidates' slots are given back."""
        rows, tokens = np.nonzero(candidates)
        chosen = tokens == actions[rows]
        self._slots[turns.game, turns.seat, turns.lengths] = answer.action_slots[chosen]
        self._held[turns.game, turns.seat] += 1
        self._kept[turns.game, turns.seat] = tokens[chosen]
        self._model.free(answer.action_slots[~chosen])
