"""``torch.Tensor`` on the device: copies between host and device, and methods that PyTorch cannot answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._C._profiler import _RecordFunctionFast

from drynpu_torch.device._placement import known_device
from drynpu_torch.device._report import raw_device
from drynpu_torch.device._sink import CPU, mark
from drynpu_torch.device._state import DEVICE_TYPE, DeviceState
from drynpu_torch.device._streams import Stream

COPY_TO_HOST = "drynpu::copy_to_host"
"""Name of the range around a copy to the host while a recorder is set; its one child copy is ``aten::clone``."""

_MAKE_NO_OTHER = {"non_blocking", "copy"}
"""Keywords of ``Tensor.to`` that do not change the values of the copy."""

_TensorMethod = Callable[..., torch.Tensor]


def patch_tensor(state: DeviceState) -> None:
    """Replace ``to``, ``cpu``, ``record_stream`` and ``is_npu`` of ``torch.Tensor``."""
    torch.Tensor.to = _make_to(state, torch.Tensor.to)  # type: ignore[method-assign]
    torch.Tensor.cpu = _make_cpu(state, torch.Tensor.cpu)  # type: ignore[method-assign]
    torch.Tensor.record_stream = _make_record_stream(torch.Tensor.record_stream)  # type: ignore[method-assign]
    torch.Tensor.is_npu = property(_is_npu)  # type: ignore[attr-defined]


def _is_npu(self: torch.Tensor) -> bool:
    """Whether the tensor may be on the device, as every CPU tensor may (docs/torch-device.md)."""
    return raw_device(self).type in ("cpu", DEVICE_TYPE)


def _make_to(state: DeviceState, original: _TensorMethod) -> _TensorMethod:
    def to(self: torch.Tensor, *args: object, **kwargs: object) -> torch.Tensor:
        destination: Any = args[0] if args else kwargs.get("device")
        kind = type(destination)
        if kind is str:
            if destination == "cpu":
                return _to_host(state, original, self, args[1:], kwargs)
            if destination.partition(":")[0] != DEVICE_TYPE:
                return original(self, *args, **kwargs)
        elif kind is torch.device:
            # A device object that says cpu is most often some tensor's ``.device``, which asks for no copy.
            if destination.type != DEVICE_TYPE:
                return original(self, *args, **kwargs)
        elif kind is not int:
            return original(self, *args, **kwargs)
        return _to_device(state.device_index(destination), original, self, args[1:], kwargs)

    to.__doc__ = original.__doc__
    return to


def _to_device(
    index: int, original: _TensorMethod, tensor: torch.Tensor, args: tuple[object, ...], kwargs: dict[str, Any]
) -> torch.Tensor:
    kwargs.pop("device", None)
    if known_device(tensor) == index:  # it is there already: only a change of dtype or format makes a new tensor
        return mark(original(tensor, CPU, *args, **kwargs), index)
    return original(tensor, torch.device(DEVICE_TYPE, index), *args, **kwargs)


def _to_host(
    state: DeviceState, original: _TensorMethod, tensor: torch.Tensor, args: tuple[object, ...], kwargs: dict[str, Any]
) -> torch.Tensor:
    kwargs.pop("device", None)
    if state.recorder is not None and raw_device(tensor) == CPU and not args and kwargs.keys() <= _MAKE_NO_OTHER:
        with _RecordFunctionFast(COPY_TO_HOST):  # the range shows as aten::to, so that operator need not run inside
            return tensor.clone()
    result = original(tensor, CPU, *args, **kwargs)
    if state.recorder is not None:
        with _RecordFunctionFast(COPY_TO_HOST):
            return result.clone()
    return result.clone() if result is tensor else result


def _make_cpu(state: DeviceState, original: _TensorMethod) -> _TensorMethod:
    def cpu(self: torch.Tensor, memory_format: torch.memory_format = torch.preserve_format) -> torch.Tensor:
        if raw_device(self) != CPU:
            return original(self, memory_format=memory_format)
        if state.recorder is not None:
            with _RecordFunctionFast(COPY_TO_HOST):
                return self.clone(memory_format=memory_format)
        return self.clone(memory_format=memory_format)

    cpu.__doc__ = original.__doc__
    return cpu


def _make_record_stream(original: Callable[..., None]) -> Callable[..., None]:
    """Wrap ``record_stream``: streams of the npu share host memory, so that nothing has to be kept for them."""

    def record_stream(self: torch.Tensor, stream: torch.Stream) -> None:
        if not isinstance(stream, Stream):
            original(self, stream)

    record_stream.__doc__ = original.__doc__
    return record_stream
