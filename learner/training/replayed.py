"""Steps of a training on a GPU as CUDA graphs: one launch in place of a thousand kernels."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

from learner.inference.cuda_graphs import recorded
from learner.training.sending import Sent, within

_OFTEN = 4
"""Steps that are made as they stand before their layout is captured: few layouts come back that have not by then."""
_MOST = 32
"""Layouts that are captured; steps of further ones are made as they stand."""


class Replayed:
    """A step that is captured for every layout of batches that comes often."""

    def __init__(self, step: Callable[[Any], None], generator: torch.Generator) -> None:
        """``step`` makes a step on a batch: the same work whenever the layout is the same, without ever waiting for
        the device. ``generator``: where it draws from."""
        self._step, self._generator = step, generator
        self._met = Counter[tuple[Any, ...]]()
        self._captured: dict[tuple[Any, ...], tuple[torch.Tensor, Callable[[], None]]] = {}

    def __call__(self, sent: Sent[Any]) -> None:
        """Make a step."""
        batch, layout = sent.arrived(), sent.layout()
        if layout in self._captured:
            buffer, replay = self._captured[layout]
            buffer.copy_(sent.buffer)
            replay()
        elif self._met[layout] < _OFTEN or len(self._captured) == _MOST:
            self._met[layout] += 1
            self._step(batch)
        else:
            buffer = sent.buffer.clone()
            own = within(buffer, batch)
            try:  # recording makes the step too
                replay, _ = recorded(lambda: self._step(own), buffer.device, self._generator)
            except RuntimeError as error:
                error.add_note("learner.cuda_graphs=false trains without the capture of steps, in which this happened")
                raise
            self._captured[layout] = buffer, replay
