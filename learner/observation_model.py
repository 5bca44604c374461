"""The one seam between deciding and the model: batched queries.

Letters: ``M`` queries of a batch, ``L`` token positions, ``V`` tokens of the vocabulary, ``Z`` candidates of a batch.

A model keeps what it has computed of a token (a transformer: its keys and values) in a *slot*, and a history's slots,
one per token, are its *path*. Histories that begin alike share slots, so a search tree keeps every token once; what a
path has is never computed again. The algorithms of this package know nothing else of a model: no torch, no checkpoint.
``learner.inference.engine.QueryEngine`` is the real one; tests use hand-made tables.
"""

from typing import NamedTuple, Protocol

import numpy as np


class Answer(NamedTuple):
    """What one batch of queries returns. Candidates are in order of rows, then of tokens, as ``np.nonzero`` gives."""

    next_token: np.ndarray
    """``float32[M, V]``: p(token | h), the distribution of the token that follows the history (illegal and
    impossible tokens included)."""
    value: np.ndarray
    """``float32[M]``: V(h) = sum over outcomes of p(o | h) v(o), equation 1; NaN where it was not asked for."""
    action_values: np.ndarray
    """``float32[Z]``: V(h.a) of every candidate."""
    action_slots: np.ndarray
    """``int64[Z]``: the slot of every candidate; the caller's from now on."""
    action_next: np.ndarray
    """``float32[Z, V]``: p(token | h.a) of every candidate; ``[0, V]`` unless asked for."""


class ObservationModel(Protocol):
    """Answers queries. Answers do not depend on how queries are batched (up to rounding)."""

    @property
    def slots_left(self) -> int:
        """Slots that are free."""

    def query(
        self,
        paths: np.ndarray,
        held: np.ndarray,
        tokens: np.ndarray,
        lengths: np.ndarray,
        candidates: np.ndarray | None = None,
        values: np.ndarray | None = None,
        look_ahead: bool = False,
    ) -> Answer:
        """Answer for the histories ``tokens[m, :lengths[m]]``.

        Args:
            paths: ``int64[M, L]`` slots of the histories' tokens. The first ``held[m]`` of a row are there already; the
                others up to ``lengths[m]`` are computed and written here, the caller's from now on.
            held: ``int64[M]``, at most ``lengths``. A history that is held whole is answered again.
            tokens: ``[M, L]`` whole histories.
            lengths: ``int[M]``, at least 1.
            candidates: ``bool[M, V]`` tokens to evaluate as V(h.a), in the same pass; None for none.
            values: ``bool[M]`` rows whose V(h) is asked for; None for none.
            look_ahead: whether p(token | h.a) of the candidates is asked for.
        """

    def free(self, slots: np.ndarray) -> None:
        """Give back slots (``int64[...]``); entries below 0 are passed over."""


def by_token(values: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """``float32[M, V]``: what an answer says of each candidate (``float32[Z]``) where ``candidates`` (``bool[M, V]``)
    holds, NaN elsewhere."""
    dense = np.full(candidates.shape, np.nan, np.float32)
    dense[candidates] = values
    return dense
