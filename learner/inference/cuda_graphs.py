"""A pass on a GPU: one array of integers, padded to one of a few shapes that can be replayed.

A CUDA graph launches all kernels of a pass at once, but serves only one shape. Padding reads and writes a spare slot
that no history uses, and its results are ignored.

Letters as in ``learner.inference.packing``; ``W`` = M + Z queried packed tokens, ``J`` rows whose value is requested.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from learner.inference.packing import Pass
from learner.model.rule_inputs import RuleInputs

_STEP = 16
"""Keys of a row are padded to a multiple of this."""
_MOST_GRAPHS = 64
"""Most graphs kept; each holds the memory of its results."""


class Shape(NamedTuple):
    """Sizes of a pass, which fix its kernels and their shapes."""

    tokens: int
    """``T``"""
    rows: int
    """``M``"""
    width: int
    """``Q``"""
    slots: int
    """``S``"""
    answered: int
    """``W``"""
    valued: int
    """``J + Z``"""
    look_ahead: bool
    """Whether next-token distributions are requested for all of ``W``, or for the first ``M``."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Lengths of the arrays of ``Indices``."""
        return (*(self.tokens,) * 4, self.rows * self.slots, self.rows, self.rows, self.answered, self.valued)


class Indices(NamedTuple):
    """The index arrays of a pass on the device, each ``int64``; as in ``Pass`` unless noted."""

    ids: torch.Tensor
    position: torch.Tensor
    slot: torch.Tensor
    padded: torch.Tensor
    """Index into the padded ``[M, Q]`` grid of the attention."""
    keys: torch.Tensor
    start: torch.Tensor
    lengths: torch.Tensor
    answered: torch.Tensor
    valued: torch.Tensor
    """Places in ``answered``."""


Forward = Callable[[Shape, torch.Tensor, RuleInputs], torch.Tensor]
"""Answers of a pass, in one tensor on the device; given its ``Indices`` as ``lay_out`` has them, and its rule
inputs."""


def shape_of(plan: Pass, valued: np.ndarray, look_ahead: bool) -> Shape:
    """The shape of a pass without padding."""
    rows, slots = plan.keys.shape
    return Shape(len(plan.ids), rows, plan.width, slots, len(plan.answered), len(valued), look_ahead)


def filled_up(shape: Shape) -> Shape:
    """The padded shape: powers of two, keys to a multiple of 16."""
    tokens, rows, width, answered, valued = (
        1 << max(size - 1, 0).bit_length()
        for size in (shape.tokens, shape.rows, shape.width, shape.answered, shape.valued)
    )
    slots = -(-shape.slots // _STEP) * _STEP
    return Shape(tokens, rows, width, slots, answered, valued, shape.look_ahead)


def lay_out(plan: Pass, valued: np.ndarray, shape: Shape, spare: int) -> np.ndarray:
    """``int64``: the arrays of ``Indices``, concatenated and padded to ``shape`` with tokens of the slot ``spare``,
    placed behind the grid, and with rows that attend only to that slot."""
    rows, slots = plan.keys.shape
    keys = np.full((shape.rows, shape.slots), spare, np.int64)
    keys[:rows, :slots] = plan.keys
    keys[:rows, slots:] = plan.keys[:, -1:]
    padded = plan.row * shape.width + plan.column
    filled = zip(
        (plan.ids, plan.position, plan.slot, padded, keys.ravel(), plan.start, plan.lengths, plan.answered, valued),
        (0, 0, spare, shape.rows * shape.width, spare, 0, 1, 0, 0),
        shape.sizes,
        strict=True,
    )
    return np.concatenate([np.append(array, np.full(size - len(array), fill)) for array, fill, size in filled])


def inputs_filled_up(inputs: RuleInputs, shape: Shape) -> RuleInputs:
    """Rule inputs of a pass, padded to the rows of ``shape``: padding has zeros, and masks nothing."""
    asked = shape.answered if shape.look_ahead else shape.rows
    filled = zip(inputs, (shape.tokens, shape.tokens, asked, shape.valued, asked), (0, 0, True, True, 0), strict=True)
    return RuleInputs(
        *(
            None if part is None else F.pad(part, (0, 0) * (part.ndim - 1) + (0, rows - len(part)), value=fill)
            for part, rows, fill in filled
        )
    )


def to_device(given: torch.Tensor, device: torch.device) -> torch.Tensor:
    """An asynchronous copy."""
    return given.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else given


class Graphs:
    """Passes of a CUDA device: a shape is captured when it is first met, then replayed."""

    def __init__(self, forward: Forward) -> None:
        """``forward`` must do the same work whenever the shape is the same, and never wait for the device."""
        self._forward = forward
        self._captured: dict[Shape, _Captured] = {}

    def __call__(self, shape: Shape, given: torch.Tensor, inputs: RuleInputs) -> torch.Tensor:
        """The result of ``forward``, valid until the next call; the arguments are on the device. All passes have the
        same rule inputs, or none."""
        captured = self._captured.pop(shape, None)
        if captured is None:
            if len(self._captured) == _MOST_GRAPHS:  # drop the least recently used
                del self._captured[next(iter(self._captured))]
            captured = _Captured(self._forward, shape, given, inputs)
        self._captured[shape] = captured
        return captured.replay(given, inputs)


class _Captured:
    """One shape as a CUDA graph, and the memory it reads from and writes to."""

    def __init__(self, forward: Forward, shape: Shape, given: torch.Tensor, inputs: RuleInputs) -> None:
        self._given = given.clone()
        self._inputs = RuleInputs(*(None if part is None else part.clone() for part in inputs))
        here = torch.cuda.current_stream(given.device)
        aside = torch.cuda.Stream(given.device)
        aside.wait_stream(here)
        with torch.cuda.stream(aside):  # libraries set themselves up in a first run, which cannot be captured
            forward(shape, self._given, self._inputs)
        here.wait_stream(aside)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._result = forward(shape, self._given, self._inputs)

    def replay(self, given: torch.Tensor, inputs: RuleInputs) -> torch.Tensor:
        self._given.copy_(given)
        for own, new in zip(self._inputs, inputs, strict=True):
            if own is not None and new is not None:
                own.copy_(new)
        self._graph.replay()
        return self._result
