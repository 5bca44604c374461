"""What an observation model has computed of the histories that a player meets at a table.

A history is (place at the table, seat); it only grows while its deal lasts.

Letters: ``M`` turns of a batch, ``P`` seats, ``L`` token positions, ``V`` tokens of the vocabulary, ``T`` new tokens.
"""

import numpy as np

from games.game import Game
from learner.observation_model import EMPTY, Answer, ObservationModel
from search.players.player import Turns


class Histories:
    """The handles that one player holds at one table."""

    def __init__(self, model: ObservationModel) -> None:
        self.model = model
        self._handle = np.empty((0, 0), np.int64)

    def start(self, game: Game, num_games: int) -> None:
        """A table with ``num_games`` places begins: every earlier history is forgotten."""
        self.model.release(self._handle)
        self._handle = np.full((num_games, game.num_players), EMPTY, np.int64)
        self._held = np.zeros((num_games, game.num_players), np.int64)
        """Tokens behind each handle."""
        self._action = np.full((num_games, game.num_players), EMPTY, np.int64)
        """The chosen action that is the last of them; ``EMPTY`` if it was not chosen here."""

    def forget(self, games: np.ndarray) -> None:
        """The deals at these places have ended."""
        self.model.release(self._handle[games])
        self._handle[games] = self._action[games] = EMPTY
        self._held[games] = 0

    def beginnings(self, turns: Turns) -> tuple[np.ndarray, np.ndarray]:
        """``int64[M]`` handles of what the turns' histories begin with, and ``int64[M]`` how many tokens that is."""
        at = turns.game, turns.seat
        held, action = self._held[at], self._action[at]
        last = turns.tokens[np.arange(len(held)), np.maximum(held, 1) - 1]
        # Somebody asks again about what was already asked, or another action was played than the one chosen here.
        other = (held > turns.lengths) | ((action != EMPTY) & (last != action))
        if other.any():
            self._replace(turns.take(np.flatnonzero(other)), np.full(np.count_nonzero(other), EMPTY), 0)
        return self._handle[at], self._held[at]

    def query(self, turns: Turns, candidates: np.ndarray | None = None) -> Answer:
        """Ask about the turns' histories; see ``ObservationModel.query``. The handles of the answer stay here."""
        handles, held = self.beginnings(turns)
        answer = self.model.query(handles, *tokens_since(turns.tokens, held, turns.lengths), candidates)
        self.store(turns, answer.handles)
        return answer

    def store(self, turns: Turns, handles: np.ndarray) -> None:
        """Hold the handles of the turns' whole histories, ``int64[M]``; ``EMPTY`` where there is nothing new."""
        new = np.flatnonzero(handles != EMPTY)
        self._replace(turns.take(new), handles[new], turns.lengths[new])

    def keep(self, turns: Turns, actions: np.ndarray, candidates: np.ndarray, answer: Answer) -> None:
        """Append to each history the action (``[M]``) that was chosen among the ``candidates`` of its last query, from
        what that query computed; the other candidates are released."""
        rows, tokens = np.nonzero(candidates)
        chosen = tokens == actions[rows]
        self._replace(turns, answer.action_handles[chosen], turns.lengths + 1)
        self._action[turns.game, turns.seat] = actions
        self.model.release(answer.action_handles[~chosen])

    def _replace(self, turns: Turns, handles: np.ndarray, held: np.ndarray | int) -> None:
        at = turns.game, turns.seat
        self.model.release(self._handle[at])
        self._handle[at], self._held[at], self._action[at] = handles, held, EMPTY


def tokens_since(tokens: np.ndarray, held: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The tokens ``held[m] .. lengths[m] - 1`` of each row of ``tokens`` (``[M, L]``), row after row (``[T]``), and how
    many each row has (``int64[M]``): what ``ObservationModel.query`` takes."""
    place = np.arange(tokens.shape[1])
    new = (place >= held[:, None]) & (place < lengths[:, None])
    return tokens[new], (lengths - held).astype(np.int64)
