"""A pass on a GPU: one array of integers, padded to one of a few shapes that can be replayed.

A CUDA graph launches all kernels of a pass at once, but serves only one shape. Padding reads and writes a spare slot
that no history uses, and its results are ignored.

Letters as in ``learner.inference.packing``; ``W`` = M + Z queried packed tokens, ``J`` rows whose value is requested.
"""

import warnings
from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeVar

import numpy as np
import torch
import torch.nn.functional as F

from learner.inference.packing import Pass
from learner.model.rule_inputs import RuleInputs

_TOKENS, _ROWS, _WIDTH = 256, 32, 32
"""Least tokens, rows and width of a padded pass, for which a GPU takes hardly longer than for fewer (an estimate). With
64 tokens and 16 rows ten networks capture 172 graphs in 10,000 deals and not 103."""
_KEYS = 96
"""Keys of a row are padded to a multiple of this: a whole history of Hearts and its candidates."""


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


T = TypeVar("T")
Forward = Callable[[Shape, torch.Tensor, RuleInputs], torch.Tensor]
"""Answers of a pass, in one tensor on the device; given its ``Indices`` as ``lay_out`` has them, and its rule
inputs."""


def shape_of(plan: Pass, valued: np.ndarray, look_ahead: bool) -> Shape:
    """The shape of a pass without padding."""
    rows, slots = plan.keys.shape
    return Shape(len(plan.ids), rows, plan.width, slots, len(plan.answered), len(valued), look_ahead)


def filled_up(shape: Shape) -> Shape:
    """The padded shape, of which an engine meets some twenty: powers of two, and keys to a multiple of ``_KEYS``.

    All tokens are answered and valued, as every further number that varies would multiply the shapes, and each costs a
    capture. A pass that asks for no values, as imitations do, is a shape of its own.
    """
    tokens, rows, width = (
        max(1 << (size - 1).bit_length(), least)
        for size, least in ((shape.tokens, _TOKENS), (shape.rows, _ROWS), (shape.width, _WIDTH))
    )
    slots = -(-shape.slots // _KEYS) * _KEYS
    return Shape(tokens, rows, width, slots, tokens, tokens if shape.valued else 0, shape.look_ahead)


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
    sizes = shape.tokens, shape.tokens, asked, shape.valued, asked, 0
    filled = zip(inputs, sizes, (0, 0, True, True, 0, 0), strict=True)
    return RuleInputs(
        *(
            None if part is None else F.pad(part, (0, 0) * (part.ndim - 1) + (0, rows - len(part)), value=fill)
            for part, rows, fill in filled
        )
    )


def to_device(given: torch.Tensor, device: torch.device) -> torch.Tensor:
    """An asynchronous copy."""
    return given.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else given


def to_host(result: torch.Tensor) -> Callable[[], np.ndarray]:
    """Start to copy what a device computes; what waits for the copy."""
    if not result.is_cuda:
        return result.numpy
    copy = torch.empty(result.shape, dtype=result.dtype, pin_memory=True).copy_(result, non_blocking=True)
    copied = torch.cuda.current_stream(result.device).record_event()

    def arrived() -> np.ndarray:
        copied.synchronize()
        return copy.numpy()

    return arrived


class Graphs:
    """Passes of a CUDA device: a shape is captured when it is first met, then replayed for as long as this lives."""

    def __init__(self, forward: Forward) -> None:
        """``forward`` must do the same work whenever the shape is the same, and never wait for the device."""
        self._forward = forward
        self._captured: dict[Shape, _Captured] = {}

    def __call__(self, shape: Shape, given: torch.Tensor, inputs: RuleInputs) -> torch.Tensor:
        """The result of ``forward``, valid until the next call of any ``Graphs`` of the process; the arguments are on
        the device. All passes have the same rule inputs, or none."""
        if shape not in self._captured:
            self._captured[shape] = _Captured(self._forward, shape, given, inputs)
        return self._captured[shape].replay(given, inputs)


class _Captured:
    """One shape as a CUDA graph, and the memory it reads from and writes to."""

    def __init__(self, forward: Forward, shape: Shape, given: torch.Tensor, inputs: RuleInputs) -> None:
        self._given = given.clone()
        self._inputs = RuleInputs(*(None if part is None else part.clone() for part in inputs))
        self._replay, self._result = recorded(lambda: forward(shape, self._given, self._inputs), given.device)

    def replay(self, given: torch.Tensor, inputs: RuleInputs) -> torch.Tensor:
        self._given.copy_(given)
        for own, new in zip(self._inputs, inputs, strict=True):
            if own is not None and new is not None:
                own.copy_(new)
        self._replay()
        return self._result


def recorded(
    run: Callable[[], T], device: torch.device, generator: torch.Generator | None = None
) -> tuple[Callable[[], None], T]:
    """Call ``run``; what computes it again as a CUDA graph, and what it then writes to. ``generator``: where it draws
    from; every replay draws what the generator would give next.

    cuBLAS keeps a workspace for every stream, and torch 2.12 and 2.13 free that of the capturing stream whenever one of
    its graphs is dropped, though others still point to it (pytorch#193402). So every capture begins and ends without
    any, as in ``torch/_inductor/cudagraph_trees.py``: its workspace then lies in the shared memory, which stays.
    """
    shared = _shared(device)
    with torch.cuda.device(device):
        here = torch.cuda.current_stream()
        shared.stream.wait_stream(here)
        with torch.cuda.stream(shared.stream):  # libraries set themselves up in a first run, which cannot be captured
            run()
        here.wait_stream(shared.stream)
        graph = torch.cuda.CUDAGraph()
        if generator is not None:
            graph.register_generator_state(generator)
        torch._C._cuda_clearCublasWorkspaces()
        try:
            with shared.capturing(graph):
                result = run()
        except RuntimeError as error:
            if not _out_of_memory(error):
                raise
            # Memory cannot be cleared up within a capture; work that is not captured needs less at once.
            raise torch.cuda.OutOfMemoryError(
                "CUDA out of memory in the capture of a graph; engine.cuda_graphs=false or learner.cuda_graphs=false "
                "takes less"
            ) from error
        finally:
            torch._C._cuda_clearCublasWorkspaces()
    return graph.replay, result


def _out_of_memory(error: BaseException | None) -> bool:
    """Whether memory ran out; the end of a capture that broke off may raise another error behind it."""
    return error is not None and (isinstance(error, torch.cuda.OutOfMemoryError) or _out_of_memory(error.__context__))


class _Shared:
    """What all graphs of a process on one device share: their memory, and the stream that they are captured on.

    A graph needs its memory while it runs, and graphs run one after the other, on one stream and thread. Only the
    result is read behind a graph's end: it is copied to the host before the next graph of any engine, which may write
    over it. So memory is that of the largest pass, not the sum over all graphs.
    """

    def __init__(self, device: torch.device) -> None:
        self._pool = torch.cuda.graph_pool_handle()
        self.stream = torch.cuda.Stream(device)
        """One: memory freed on a stream serves that stream alone."""
        self._keeper = torch.cuda.CUDAGraph()
        """Empty; keeps the memory where all engines have been dropped, as a pool given up cannot be used again."""
        with torch.cuda.device(device), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it is empty
            with self.capturing(self._keeper):
                pass

    def capturing(self, graph: torch.cuda.CUDAGraph) -> torch.cuda.graph:
        """Context in which work becomes part of ``graph``. Work of other threads on the device does not break it."""
        return torch.cuda.graph(graph, pool=self._pool, stream=self.stream, capture_error_mode="thread_local")


_shared = cache(_Shared)
