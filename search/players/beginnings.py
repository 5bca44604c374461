"""Beginnings that many histories share, computed once for all players that go on from them.

Playouts from one position continue the same histories, one of every seat. A player of playouts knows nothing of that:
it asks about each from its first token. So its model holds the beginnings, and continues them where they are asked for.

Letters as in ``learner.observation_model``; ``D`` positions, ``P`` seats, ``L`` token positions.
"""

import numpy as np

from games.game import Game
from learner.observation_model import EMPTY, Answer, ObservationModel
from search.players.histories import tokens_since


class Beginnings:
    """An observation model that holds what all seats of some deals have seen. It answers as the model that it asks, up
    to rounding."""

    def __init__(self, model: ObservationModel) -> None:
        self._model = model
        self._handles = self._held = np.empty((0, 0), np.int64)
        self._known: dict[bytes, int] = {}
        """Tokens of the latest positions' histories -> their handles."""
        self._lengths: list[int] = []
        """Lengths of these histories, longest first."""

    @property
    def slots_left(self) -> int:
        """See ``ObservationModel``."""
        return self._model.slots_left

    def start(self, game: Game, num_deals: int) -> None:
        """So many other deals begin; 0 to hold nothing."""
        self._model.release(self._handles.ravel())
        self._game, self._known, self._lengths = game, {}, []
        self._handles = np.full((num_deals, game.num_players), EMPTY, np.int64)
        self._held = np.zeros((num_deals, game.num_players), np.int64)
        """Tokens behind each handle."""

    def hold(self, deals: np.ndarray, states: np.ndarray) -> None:
        """Hold the histories of all seats in the ``states`` (``[D]``) of some ``deals`` (``int64[D]``), and continue
        only these until the next call. The states of a deal come in the order in which it is played."""
        row, seat = np.indices((len(deals), self._game.num_players)).reshape(2, -1)
        tokens, lengths = self._game.histories(states[row], seat)
        some = np.flatnonzero(lengths > 0)
        tokens, lengths, at = (
            tokens[some].astype(np.int32),
            lengths[some].astype(np.int64),
            (deals[row[some]], seat[some]),
        )
        before = self._handles[at]
        answer = self._model.query(before, *tokens_since(tokens, self._held[at], lengths))
        self._model.release(before)
        self._handles[at], self._held[at] = answer.handles, lengths
        self._lengths = sorted(set(lengths.tolist()), reverse=True)
        self._known = {
            each[:length].tobytes(): int(handle)
            for each, length, handle in zip(tokens, lengths, answer.handles, strict=True)
        }

    def query(
        self,
        handles: np.ndarray,
        tokens: np.ndarray,
        counts: np.ndarray,
        candidates: np.ndarray | None = None,
        values: np.ndarray | None = None,
        look_ahead: bool = False,
    ) -> Answer:
        """See ``ObservationModel``."""
        return self._model.query(*self._continued(handles, tokens, counts), candidates, values, look_ahead)

    def outcomes(self, handles: np.ndarray, tokens: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """See ``ObservationModel``."""
        return self._model.outcomes(*self._continued(handles, tokens, counts))

    def release(self, handles: np.ndarray) -> None:
        """See ``ObservationModel``."""
        self._model.release(handles)

    def _continued(
        self, handles: np.ndarray, tokens: np.ndarray, counts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same histories, those from their first token as continuations of what is held."""
        handles, tokens, left = np.array(handles), np.asarray(tokens, np.int32), np.array(counts)
        ends, new = np.cumsum(counts), np.ones(len(tokens), np.bool_)
        for row in np.flatnonzero(handles == EMPTY):
            first = int(ends[row]) - int(left[row])
            for length in self._lengths:
                handle = self._known.get(tokens[first : first + length].tobytes()) if length <= left[row] else None
                if handle is not None:
                    handles[row], left[row] = handle, left[row] - length
                    new[first : first + length] = False
                    break
        return handles, tokens[new], left
