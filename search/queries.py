"""The one seam between deciding and the model: batched queries.

Letters: ``M`` queries of a batch, ``L`` token positions, ``V`` tokens of the vocabulary.

A *lane* is one growing history whose keys and values an observation model keeps between queries. The algorithms of
this package know nothing else of a model: no torch, no checkpoint. ``learner.engine.QueryEngine`` is the real one;
tests use hand-made tables.
"""

from typing import NamedTuple, Protocol

import numpy as np


class Answer(NamedTuple):
    """What one batch of queries returns."""

    next_token: np.ndarray
    """``float32[M, V]``: p(token | h), the distribution of the token that follows the history (illegal and
    impossible tokens included)."""
    value: np.ndarray
    """``float32[M]``: V(h) = sum over outcomes of p(o | h) v(o), equation 1."""
    action_values: np.ndarray
    """``float32[M, V]``: V(h.a) where a was a candidate, NaN elsewhere."""


class ObservationModel(Protocol):
    """Answers queries over lanes. Answers do not depend on how queries are batched (up to rounding)."""

    def reset(self, num_lanes: int) -> None:
        """Provide ``num_lanes`` empty lanes, forgetting all there were."""

    def query(
        self, lanes: np.ndarray, tokens: np.ndarray, lengths: np.ndarray, candidates: np.ndarray | None = None
    ) -> Answer:
        """Answer for the histories ``tokens[m, :lengths[m]]``, one forward pass for the whole batch.

        Args:
            lanes: ``int64[M]``, no lane twice.
            tokens: ``[M, L]`` whole histories; what the lane already holds must be their beginning. Only the rest is
                computed.
            lengths: ``int[M]``, at least 1.
            candidates: ``bool[M, V]`` tokens to evaluate as V(h.a), in the same pass; None for none.

        Afterwards every lane holds its history; candidates are not part of it unless ``keep`` says so.
        """

    def keep(self, lanes: np.ndarray, tokens: np.ndarray) -> None:
        """Append to each lane one token (``[M]``) that was a candidate of the last ``query`` of that lane, from what
        that query computed."""

    def truncate(self, lanes: np.ndarray, lengths: np.ndarray) -> None:
        """Shorten lanes to at most ``lengths`` tokens, before a history that branches off there."""
