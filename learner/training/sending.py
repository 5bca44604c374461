"""Batches on their way to a GPU: one copy of all their tensors, out of pinned memory, for which nobody waits."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, Generic, TypeVar

import torch

from learner.model.rule_inputs import RuleInputs

T = TypeVar("T")


class Sent(Generic[T]):
    """A batch that is sent to a device, where its tensors are parts of one buffer. On a CPU it stays what it is."""

    def __init__(self, batch: T, device: torch.device) -> None:
        """Queue the copy on the current stream."""
        self._batch, self._device = batch, device
        if is_copied(device):
            tensors = _tensors(batch)
            packed = _pinned(sum(map(_room, tensors)))
            for tensor, place in zip(tensors, _tensors(within(packed, batch)), strict=True):
                place.copy_(tensor)
            self.buffer = packed.to(device, non_blocking=True)
            self._batch = within(self.buffer, batch)
            self._copied = torch.cuda.current_stream(device).record_event()

    def arrived(self) -> T:
        """The batch, for work that is queued on the current stream from now on."""
        if is_copied(self._device):
            stream = torch.cuda.current_stream(self._device)
            stream.wait_event(self._copied)
            self.buffer.record_stream(stream)  # else torch would give its memory to a later batch of the other stream
        return self._batch

    def layout(self) -> tuple[Any, ...]:
        """What batches have in common that can take each other's place in memory: shapes and types of their tensors,
        and all that is no tensor."""
        found: list[Any] = []
        _changed(self._batch, lambda part: found.append((part.shape, part.dtype) if torch.is_tensor(part) else part))
        return tuple(found)


def is_copied(device: torch.device) -> bool:
    """Whether batches are copied to the device."""
    return device.type == "cuda"


def on_a_stream_of_its_own(device: torch.device) -> None:
    """Let the copies of this thread run beside the steps."""
    if is_copied(device):
        torch.cuda.set_stream(torch.cuda.Stream(device))


def _pinned(size: int) -> torch.Tensor:
    return torch.empty(size, dtype=torch.uint8, pin_memory=True)


def within(buffer: torch.Tensor, batch: T) -> T:
    """The batch with tensors of the same shapes and types that are parts of a buffer, ``uint8[...]``."""
    end = 0

    def place(part: Any) -> Any:
        nonlocal end
        if not torch.is_tensor(part):
            return part
        first, end = end, end + _room(part)
        return buffer[first : first + part.nbytes].view(part.dtype).view(part.shape)

    return _changed(batch, place)


def _room(tensor: torch.Tensor) -> int:
    """Its bytes in a buffer, so that the next one begins where memory can be read in the largest steps."""
    return -(-tensor.nbytes // 16) * 16


def _tensors(batch: Any) -> list[torch.Tensor]:
    found: list[Any] = []
    _changed(batch, found.append)
    return [part for part in found if torch.is_tensor(part)]


def _changed(batch: Any, change: Callable[[Any], Any]) -> Any:
    """The batch with every field changed, those of the dataclasses and rule inputs in it too."""
    if isinstance(batch, RuleInputs):
        return RuleInputs(*(_changed(part, change) for part in batch))
    if is_dataclass(batch) and not isinstance(batch, type):
        return replace(batch, **{field.name: _changed(getattr(batch, field.name), change) for field in fields(batch)})
    return change(batch)
