"""The one seam between deciding and the network: batched queries about histories.

Letters: ``M`` queries of a batch, ``T`` new tokens of a batch, ``V`` tokens of the vocabulary, ``Z`` candidates.

A model keeps what it has computed of every token of a history (a transformer: its keys and values) and gives the
history a *handle*. A longer history is asked about by the handle of its beginning and the tokens since, so nothing is
computed twice, and histories that begin alike share what they have in common. Handles are held: each that an answer
brings is the caller's until it is released, and what nobody holds, itself or as the beginning of a longer history, is
given back. The players know nothing else of a model: no torch, no checkpoint.
``learner.inference.engine.QueryEngine`` is the real one; tests use hand-made tables.
"""

from typing import NamedTuple, Protocol

import numpy as np

EMPTY = -1
"""The handle of the empty history. Releasing it does nothing."""


class Answer(NamedTuple):
    """What one batch of queries returns. Candidates are in order of rows, then of tokens, as ``np.nonzero`` gives."""

    handles: np.ndarray
    """``int64[M]``: the histories, new tokens included; each held once by the caller from now on."""
    next_token: np.ndarray
    """``float32[M, V]``: p(token | h), the distribution of the token that follows the history (illegal and
    impossible tokens included)."""
    value: np.ndarray
    """``float32[M]``: V(h) = sum over outcomes of p(o | h) v(o), equation 1; NaN where it was not asked for."""
    action_handles: np.ndarray
    """``int64[Z]``: the histories h.a of every candidate; each held once by the caller from now on."""
    action_values: np.ndarray
    """``float32[Z]``: V(h.a) of every candidate."""
    action_next: np.ndarray
    """``float32[Z, V]``: p(token | h.a) of every candidate; ``[0, V]`` unless asked for."""


class ObservationModel(Protocol):
    """Answers queries. Answers do not depend on how queries are batched (up to rounding)."""

    @property
    def slots_left(self) -> int:
        """KV slots that are free: one is needed for every new token and every candidate."""

    def query(
        self,
        handles: np.ndarray,
        tokens: np.ndarray,
        counts: np.ndarray,
        candidates: np.ndarray | None = None,
        values: np.ndarray | None = None,
        look_ahead: bool = False,
    ) -> Answer:
        """Answer for ``M`` histories.

        Args:
            handles: ``int64[M]``: what the histories begin with, ``EMPTY`` for nothing; they stay the caller's.
            tokens: ``int[T]``: the tokens behind it, row after row.
            counts: ``int[M]``: how many each row has. With 0 the history itself is asked about again, and its last
                token is computed again; a history may not be empty.
            candidates: ``bool[M, V]`` tokens to evaluate as V(h.a), in the same pass; None for none.
            values: ``bool[M]`` rows whose V(h) is asked for; None for none.
            look_ahead: whether p(token | h.a) of the candidates is asked for.

        Raises:
            ValueError: naming the row whose handle nobody holds or whose history is too long, or that the cache is
                full; nothing has changed then.
        """

    def release(self, handles: np.ndarray) -> None:
        """Give up one hold of each handle (``int64[...]``, those below 0 passed over). ``ValueError`` if nobody holds
        one."""


def by_token(values: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """``float32[M, V]``: what an answer says of each candidate (``float32[Z]``) where ``candidates`` (``bool[M, V]``)
    holds, NaN elsewhere."""
    dense = np.full(candidates.shape, np.nan, np.float32)
    dense[candidates] = values
    return dense
