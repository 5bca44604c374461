"""A GPU that is not there: tensors that are moved to CUDA or made there become fake ones, which have shape, dtype and
device but no numbers; all others stay real. Mixed devices raise, and what would make the host wait is counted.

torch's own fake tensors (``FakeTensorMode``) do that much on a build of torch without CUDA once it has a guard of
devices, which a few lines of C++ give it. Gradients cannot be had: autograd asks the device itself.
"""

import traceback
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

CUDA = torch.device("cuda", 0)
_GUARD = """
#include <c10/core/impl/DeviceGuardImplInterface.h>
C10_REGISTER_GUARD_IMPL(CUDA, c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::CUDA>)
"""
_ROOT = Path(__file__).parents[2]
_aten = torch.ops.aten
_NUMBERS = (_aten._local_scalar_dense.default, _aten.is_nonzero.default, _aten.equal.default)
"""The host reads a number."""
_SIZES = {
    _aten.nonzero.default: lambda x: torch.zeros(1, x.ndim, dtype=torch.int64, device=CUDA),
    _aten.masked_select.default: lambda x, mask: x.new_zeros(1),
    _aten.bincount.default: lambda x, weights=None, minlength=0: torch.zeros(
        max(minlength, 1), dtype=torch.int64 if weights is None else weights.dtype, device=CUDA
    ),
}
"""The host reads the size of a result, here of the least one."""
_NO_KERNELS = (_aten.view.dtype, _aten.detach.default, _aten.empty.memory_format, _aten.empty_strided.default)
_UNKNOWN = (_aten._fused_adamw_.tensor_lr,)
"""Fake tensors do not know them; they change tensors in place."""
_INDEXED = {getattr(_aten, name).default for name in ("index_put", "index_put_", "_index_put_impl_")}


class FakeGpu(TorchDispatchMode):
    """While it is entered, there is a GPU."""

    def __init__(self) -> None:
        super().__init__()
        self.syncs: Counter[str] = Counter()
        """Place in the code -> how often the host waited for what the device had computed."""
        self.blocking: Counter[str] = Counter()
        """Place in the code -> copies to the device that the host waited for: not from pinned memory, or without
        ``non_blocking``."""
        self.copies = 0
        """Copies to the device."""
        self.launches = 0
        """Operations on the device, views and memory aside: kernels at least."""
        self._fake = FakeTensorMode(allow_non_fake_inputs=True)
        self._depth = 0

    def __enter__(self) -> "FakeGpu":
        """Also replaces what a build of torch without CUDA refuses before it comes to an operation. An operation that
        is taken apart enters again."""
        self._depth += 1
        if self._depth > 1:
            super().__enter__()
            return self
        self._patch = pytest.MonkeyPatch()
        self._patch.setattr(torch.Tensor, "pin_memory", _pinned)
        self._patch.setattr(torch.Tensor, "record_stream", lambda tensor, stream: None)
        self._patch.setattr(torch.cuda, "current_stream", MagicMock())
        self._patch.setattr(torch.Tensor, "numpy", _numpy)
        self._patch.setattr(torch, "Generator", _Generator)
        if not torch.cuda.is_available():
            self._patch.setattr(torch.cuda, "_lazy_init", lambda: None)
        self._patch.setattr(torch.nn.Module, "_apply", _apply)
        torch._C._set_only_lift_cpu_tensors(True)  # torch.tensor begins on the host, then moves
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        """See ``__enter__``."""
        super().__exit__(*error)
        self._depth -= 1
        if self._depth == 0:
            torch._C._set_only_lift_cpu_tensors(False)
            self._patch.undo()

    def forget(self) -> None:
        """Count anew."""
        self.syncs.clear()
        self.blocking.clear()
        self.copies = self.launches = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if torch.is_inference_mode_enabled() and func.namespace == "aten":  # operations come whole
            with self:
                if (result := func.decompose(*args, **kwargs)) is not NotImplemented:
                    return result
        tensors = [x for x in torch.utils._pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        there = [x for x in tensors if isinstance(x, FakeTensor) and x.device.type == "cuda"]
        asked = kwargs.get("device")
        if func is _aten.empty.memory_format and kwargs.get("pin_memory"):
            return _pinned(func(*args, **kwargs | {"pin_memory": False}))
        if not there and (asked is None or asked.type != "cuda"):
            return func(*args, **kwargs)
        self.launches += func.namespace == "aten" and not (func.is_view or func in _NO_KERNELS)
        if func in _UNKNOWN:
            assert len(there) == len(tensors)
            return None
        if there and func in _NUMBERS:
            self.syncs[_place()] += 1
            return 1 if func is _NUMBERS[0] else True
        if there and func in _SIZES:
            self.syncs[_place()] += 1
            with self._fake:
                return _SIZES[func](*args, **kwargs)
        if there and (func is _aten.index.Tensor or func in _INDEXED):
            args = args[0], [part for index in args[1] for part in self._indices(index)], *args[2:]
        if func is _aten._to_copy.default or func is _aten.copy_.default:
            return self._copied(func, args, kwargs)
        with self._fake:
            return func(*args, **kwargs)

    def _indices(self, index: torch.Tensor | None) -> list[torch.Tensor | None]:
        """An index of a tensor on the device; for a mask those of a single mark."""
        if index is None:
            return [index]
        if index.device.type == "cpu":
            self.copies += 1
            self.blocking[_place()] += 1
        masks = index.dtype == torch.bool
        if masks:
            self.syncs[_place()] += 1
        shape, count = ((1,), index.ndim) if masks else (index.shape, 1)
        with self._fake:
            return [torch.empty(shape, dtype=torch.int64, device=CUDA) for _ in range(count)]

    def _copied(self, func: Any, args: Any, kwargs: Any) -> Any:
        """``_to_copy`` or ``copy_``."""
        new = func is _aten._to_copy.default
        source = args[0] if new else args[1]
        target = (kwargs.get("device") or source.device) if new else args[0].device
        if target.type == "cpu":
            self.syncs[_place()] += 1
            return torch.zeros(source.shape, dtype=kwargs.get("dtype") or source.dtype) if new else args[0]
        if source.device.type == "cpu" and (new or source.ndim):  # a number is an argument of the kernel
            self.copies += 1
            if not ((kwargs.get("non_blocking") or True in args[2:]) and getattr(source, "is_pinned_here", False)):
                self.blocking[_place()] += 1
        with self._fake:
            return func(*args, **kwargs)


def _place() -> str:
    """The line of the project that is at work."""
    for frame in reversed(traceback.extract_stack()):
        path = Path(frame.filename)
        if path.is_relative_to(_ROOT) and path != Path(__file__) and ".venv" not in path.parts:
            return f"{path.relative_to(_ROOT)}:{frame.lineno}"
    return "?"


def _numpy(tensor: torch.Tensor, *, force: bool = False, real: Any = torch.Tensor.numpy) -> Any:
    return real(tensor.cpu() if force else tensor)


class _Generator(torch.Generator):
    def __new__(cls, device: Any = "cpu") -> "_Generator":
        return super().__new__(cls, "cpu")


def _apply(module: torch.nn.Module, change: Any, recurse: bool = True) -> torch.nn.Module:
    """``Module.to`` and the like with new parameters: torch changes them in place, which fake ones do not allow."""
    for part in module.modules():
        for name, parameter in part._parameters.items():
            if parameter is not None and (changed := change(held := parameter.detach())) is not held:
                part._parameters[name] = torch.nn.Parameter(changed, parameter.requires_grad)
        part._buffers.update({name: change(buffer) for name, buffer in part._buffers.items() if buffer is not None})
    return module


def _pinned(tensor: torch.Tensor) -> torch.Tensor:
    copy = tensor.clone()
    copy.is_pinned_here = True  # type: ignore[attr-defined]
    return copy


@cache
def _why_not() -> str:
    """Give this process a guard of CUDA devices, compiled once and kept by torch; why it cannot be, or nothing."""
    if torch.version.cuda is None:
        try:
            from torch.utils import cpp_extension  # wants setuptools

            cpp_extension.load_inline(
                "kibitz_fake_gpu", _GUARD, extra_cflags=["-O0"], no_implicit_headers=True, is_python_module=False
            )
        except (ImportError, RuntimeError, OSError) as error:
            return f"no guard of CUDA devices can be compiled here: {str(error).splitlines()[0]}"
    return ""


def fake_gpu() -> FakeGpu:
    """A GPU that is there while it is entered; skips the test where there can be none."""
    if reason := _why_not():
        pytest.skip(reason)
    return FakeGpu()
