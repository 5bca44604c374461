"""The interface between players and networks: batched queries about histories.

Letters: ``M`` queries of a batch, ``T`` new tokens of a batch, ``V`` tokens of the vocabulary, ``Z`` candidates, ``K``
outcome labels.

A model caches its computations for every token of a history (a transformer: keys and values) and gives the history a
*handle*. A query about a longer history gives the handle of its prefix and the new tokens, so nothing is computed
twice, and histories share common prefixes. Handles are reference-counted: the caller owns each handle of an answer
until it releases it, and the cache of a history is freed once neither it nor a longer one is held. Players know nothing
else of a model: no torch, no checkpoint. ``learner.inference.engine.QueryEngine`` is the real one; tests use hand-made
tables.
"""

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

EMPTY = -1
"""The handle of the empty history. Releasing it does nothing."""


class Answer(NamedTuple):
    """Result of a batch of queries. Candidates are in order of rows, then of tokens, as in ``np.nonzero``."""

    handles: np.ndarray
    """``int64[M]``: the histories, new tokens included; the caller gets one reference to each."""
    next_token: np.ndarray
    """``float32[M, V]``: p(token | h), the distribution of the token that follows the history (illegal and
    impossible tokens included)."""
    value: np.ndarray
    """``float32[M]``: V(h) = sum over outcomes of p(o | h) v(o), equation 1; NaN where not requested."""
    action_handles: np.ndarray
    """``int64[Z]``: the histories h.a of every candidate; the caller gets one reference to each."""
    action_values: np.ndarray
    """``float32[Z]``: V(h.a) of every candidate."""
    action_next: np.ndarray
    """``float32[Z, V]``: p(token | h.a) of every candidate; ``[0, V]`` unless requested."""


class Query(NamedTuple):
    """What ``ObservationModel.query`` takes, as it takes it."""

    handles: np.ndarray
    tokens: np.ndarray
    counts: np.ndarray
    candidates: np.ndarray | None = None
    values: np.ndarray | None = None
    look_ahead: bool = False


class ObservationModel(Protocol):
    """Answers queries. Answers do not depend on how queries are batched (up to rounding)."""

    @property
    def slots_left(self) -> int:
        """Free KV slots: every new token and every candidate needs one."""

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
            handles: ``int64[M]``: handles of the histories' prefixes, ``EMPTY`` for none; they stay the caller's.
            tokens: ``int[T]``: the new tokens, row after row.
            counts: ``int[M]``: number of each row's new tokens. With 0 the history is queried again, which computes its
                last token again; a history may not be empty.
            candidates: ``bool[M, V]`` tokens to evaluate as V(h.a), in the same pass; None for none.
            values: ``bool[M]`` rows whose V(h) is requested; None for none.
            look_ahead: whether p(token | h.a) of the candidates is requested.

        Raises:
            ValueError: naming the row whose handle is not held or whose history is too long, or that the cache is full;
                nothing has changed then.
        """

    def outcomes(self, handles: np.ndarray, tokens: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """``float32[M, K]``: p(o | h), the distribution of the outcome label behind each history. Arguments and errors
        as in ``query``; the caller gets no handles."""

    def release(self, handles: np.ndarray) -> None:
        """Drop one reference to each handle (``int64[...]``, negative ones ignored). ``ValueError`` for a handle that
        is not held."""


class Pool(Protocol):
    """What answers queries to several models in one pass. A model that belongs to one has the attributes ``pool``, and
    ``network``: what the pool knows it by."""

    together: bool
    """Whether it can. If not, each model is asked alone."""
    beside: bool
    """Whether a device computes while the host goes on."""

    def querying(self, asked: Sequence[tuple[Any, Query]]) -> Generator[None, None, list[Answer]]:
        """The answer to each network's query, as ``ObservationModel.query`` gives it and with its errors. Pauses where
        the device is at work; others may query meanwhile."""


def by_token(values: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """``float32[M, V]``: an answer's values of candidates (``float32[Z]``) where ``candidates`` (``bool[M, V]``) is
    true, NaN elsewhere."""
    dense = np.full(candidates.shape, np.nan, np.float32)
    dense[candidates] = values
    return dense
