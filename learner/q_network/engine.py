"""Engine of a Q-network for search: true states in, values of all actions out.

Shape letters: ``B`` states, ``F`` numbers of a state, ``V`` tokens. It implements the protocol
``learner.state_model.StateModel``.
"""

import numpy as np
import torch
import torch.nn.functional as F

from games.game import Game
from learner.config import EngineConfig
from learner.model.network import device_of, dtype_of, precision_of
from learner.q_network.architecture import state_features
from learner.q_network.compiled import FEW, CompiledQNet
from learner.q_network.network import QNet

_ROWS = 64
"""Passes in bf16 are padded to a multiple of this: torch prepares their products anew for every number of rows."""


class QEngine:
    """``StateModel`` over a checkpoint on one device. On a CPU compiled loops answer for a few states, in float32."""

    def __init__(self, net: QNet, game: Game, config: EngineConfig | None = None) -> None:
        """
        Args:
            net: the network, which the engine takes over.
            game: the game it plays.
            config: where and how it runs; only ``device``, ``precision`` and ``max_batch`` have an effect. The default
                settings if None.

        Raises ``ValueError`` for a device that is not there.
        """
        config = config or EngineConfig()
        self._device = device_of(config.device, "engine.device")
        self._dtype = dtype_of(precision_of(config.precision, self._device))
        self._few = CompiledQNet(net) if self._device.type == "cpu" else None
        self._net = net.to(self._device, self._dtype).eval()
        self._features = state_features(game)
        self._max_batch = config.max_batch

    def values(self, states: np.ndarray, seats: np.ndarray) -> np.ndarray:
        """See ``StateModel``."""
        numbers = self._features.encode(states, seats)
        if self._few and len(numbers) <= FEW:
            return self._few(numbers)
        return self._in_passes(numbers)

    @torch.inference_mode()
    def _in_passes(self, numbers: np.ndarray) -> np.ndarray:
        answers = np.empty((len(numbers), self._net.arch.vocab_size), np.float32)
        for first in range(0, len(numbers), self._max_batch):
            part = torch.from_numpy(numbers[first : first + self._max_batch]).to(self._device)
            unused = -len(part) % _ROWS if self._dtype == torch.bfloat16 else 0
            values = self._net(F.pad(part, (0, 0, 0, unused)), self._dtype)[: len(part)]
            answers[first : first + len(part)] = values.cpu().numpy()
        return answers
