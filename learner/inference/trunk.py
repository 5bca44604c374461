"""Protocol of trunks, which run a network's passes over cached keys and values, and the choice between the two
(docs/learner.md)."""

import copy
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import torch

from learner.config import EngineConfig
from learner.inference.packing import Pass
from learner.inference.torch_trunk import TorchTrunk
from learner.model.network import PolicyValueNet, dtype_of, precision_of
from learner.model.rule_inputs import NO_INPUTS, RuleInputs


class Trunk(Protocol):
    """A copy of a network with both its heads, and a cache of keys and values with a place per slot.

    Letters as in ``learner.inference.packing``; ``J`` rows whose value is requested, ``V`` tokens of the vocabulary,
    ``K`` outcome labels.
    """

    cache: Any
    """Keys and values of every slot; other trunks of networks of this shape may use it too."""

    def start(
        self, plan: Pass, valued: np.ndarray, look_ahead: bool, inputs: RuleInputs = NO_INPUTS
    ) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
        """Start a pass, which adds all of its tokens to the cache; passes that are started later come after it.

        Args:
            plan: the pass; every slot that it reads is in the cache.
            valued: ``int64[J + Z]`` places in ``plan.answered`` whose value is requested: rows, then all candidates.
            look_ahead: whether p(token | h.a) of the candidates is requested.
            inputs: types and features of the packed tokens; masks of next tokens and outcomes, with a row for every
                row of the answer.

        Returns:
            What waits for the answer: ``float32[M, V]``, with ``look_ahead`` ``[M + Z, V]``: next-token distributions
            of rows, then candidates; and ``float32[J + Z]``: values of the judged rows, then of the candidates.
        """

    def outcomes(self, plan: Pass, inputs: RuleInputs = NO_INPUTS) -> np.ndarray:
        """``float32[M, K]``: distribution of the outcome label behind every row of a pass without candidates; adds all
        of its tokens to the cache. The mask of outcomes has a row for each."""


def make_trunk(
    net: PolicyValueNet,
    utility: np.ndarray,
    num_slots: int,
    device: torch.device,
    config: EngineConfig,
    cache: Any = None,
) -> Trunk:
    """The trunk for this device; ``utility`` is ``float32[K]``, v(o) of every outcome label. ``cache``: that of another
    such trunk, to share; one of its own if None. ``ValueError`` where the device has no room for it."""
    dtype = dtype_of(precision_of(config.precision, device))
    own = copy.deepcopy(net).requires_grad_(False)
    compiled = _compiled_trunk() if device.type == "cpu" and config.trunk == "auto" else None
    if compiled is not None:
        return compiled(own, utility, num_slots, dtype, config.history, cache)
    try:
        return TorchTrunk(own, utility, num_slots, device, dtype, config.cuda_graphs, config.history, cache)
    except torch.cuda.OutOfMemoryError as error:
        raise ValueError(
            f"engine.cache_mb={config.cache_mb}: the device has no room for as much; lower it, or give each engine a "
            "larger share of the device"
        ) from error


def _compiled_trunk() -> Callable[..., Trunk] | None:
    """The trunk of ``learner.inference.cpu``, if that folder is there: it may be deleted."""
    try:
        from learner.inference.cpu.trunk import CpuTrunk
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("learner.inference.cpu"):
            raise
        return None
    return CpuTrunk
