"""Engine of the networks of paper 004 for play: features of decisions in, probabilities or values of actions out."""

import numpy as np
import torch

from learner.config import EngineConfig
from learner.model.network import device_of, dtype_of, precision_of
from learner.skat_policies.architecture import NETWORKS, VALUE_SCALE, VALUES
from learner.skat_policies.network import SkatPolicies, inputs_of


class SkatPoliciesEngine:
    """The networks of a checkpoint on one device (``learner.decision_model.DecisionModel``)."""

    def __init__(self, net: SkatPolicies, config: EngineConfig | None = None) -> None:
        """Takes the networks over; ``ValueError`` for a device that is not there."""
        config = config or EngineConfig()
        self._device = device_of(config.device, "engine.device")
        self._dtype = dtype_of(precision_of(config.precision, self._device))
        self._net = net.to(self._device)
        self._max_batch = config.max_batch

    def probabilities(self, point: int, bits: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """``float32[B, A]``: probabilities of all actions at a point of decision, legal or not.

        Args:
            point: index of ``games.skat.policies.points.DECISION_TYPES``.
            bits: ``uint8[B, 385]``
            numbers: ``uint8[B, 4]``
        """
        return torch.softmax(self._ask(point, bits, numbers), dim=1).numpy()

    def values(self, point: int, bits: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """``float32[B, A]``: points that each action at ``CHOICE`` or ``DECLARE`` brings the soloist."""
        network = next(network for network, judged in VALUES.items() if judged == point)
        return (VALUE_SCALE * self._ask(network, bits, numbers)).numpy()

    @torch.inference_mode()
    def _ask(self, network: int, bits: np.ndarray, numbers: np.ndarray) -> torch.Tensor:
        parts = []
        for first in range(0, len(bits), self._max_batch):
            part = slice(first, first + self._max_batch)
            rows = (torch.from_numpy(each[part]).to(self._device) for each in (bits, numbers))
            parts.append(self._net(network, inputs_of(NETWORKS[network], *rows), self._dtype).cpu())
        return torch.cat(parts)
