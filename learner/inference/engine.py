"""The query engine: one forward pass answers a batch of decisions, and computes no token twice.

An engine is a network in a slot pool (``learner.inference.pool``), where ``learner.inference.prefix_tree`` maps
histories to KV slots, ``learner.inference.packing`` lays out the tokens without a slot, and a trunk
(``learner.inference.trunk``) runs the pass.

The engine implements the protocol ``learner.observation_model.ObservationModel``.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from games.game import Game
from learner.config import EngineConfig
from learner.inference.pool import PoolStats, SlotPool, slot_bytes
from learner.model.architecture import Architecture
from learner.model.checkpoint import load_weights
from learner.model.network import PolicyValueNet
from learner.observation_model import Answer, Query


def history_bytes(arch: Architecture, config: EngineConfig) -> int:
    """Bytes of keys and values of a history of full length."""
    return arch.n_positions * slot_bytes(arch, config.device, config.precision)


def open_engine(
    checkpoint: str | Path, game: Game, config: EngineConfig, utility: str, beside: Collection[Any] = ()
) -> "QueryEngine":
    """The engine of a checkpoint, for values by the utility of this name; in the pool of one of the engines ``beside``
    if its networks have the same shape and settings. ``ValueError`` as from ``load_weights`` and ``QueryEngine``."""
    net, values = load_weights(checkpoint, game), game.outcomes.utility(utility)
    pools = (pool for engine in beside if isinstance(pool := getattr(engine, "pool", None), SlotPool))
    shared = next((pool for pool in pools if (pool.arch, pool.config) == (net.arch, config)), None)
    return QueryEngine(net, values, config, game, shared)


class QueryEngine:
    """``ObservationModel`` over a network, with keys and values cached on one device."""

    def __init__(
        self,
        net: PolicyValueNet,
        utility: np.ndarray,
        config: EngineConfig | None = None,
        game: Game | None = None,
        pool: SlotPool | None = None,
    ) -> None:
        """The engine keeps a copy of the weights.

        Args:
            net: the network, e.g. from ``learner.model.checkpoint.load_weights``.
            utility: ``float32[K]``: v(o) of every outcome label.
            config: its settings; the defaults if None. Layer norms, the residual stream and probabilities are float32
                in every precision.
            game: the network's game; needed for rule inputs (``learner.model.rule_inputs``) or masked outcomes.
            pool: shared with other engines of networks of this shape, game and settings; one of its own if None.

        Raises ``ValueError``: a utility of another size, no such device, a cache that is too small or does not fit.
        """
        if np.shape(utility) != (net.arch.num_outcomes,):
            raise ValueError(
                f"utility has shape {np.shape(utility)}; the network predicts {net.arch.num_outcomes} outcome labels"
            )
        self.arch = net.arch
        self.pool = pool or SlotPool(net.arch, config or EngineConfig(), game)
        self.network = self.pool.trunk(net, np.asarray(utility, np.float32))

    @property
    def stats(self) -> PoolStats:
        """Work of all engines of the pool."""
        return self.pool.stats

    @property
    def slots_left(self) -> int:
        """See ``ObservationModel``."""
        return self.pool.tree.left

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
        return self.pool.query([(self.network, Query(handles, tokens, counts, candidates, values, look_ahead))])[0]

    def outcomes(self, handles: np.ndarray, tokens: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """See ``ObservationModel``."""
        return self.pool.outcomes(self.network, Query(handles, tokens, counts))

    def release(self, handles: np.ndarray) -> None:
        """See ``ObservationModel``."""
        self.pool.tree.release(np.ascontiguousarray(handles, np.int64).ravel())
