"""
The dispatcher sink: kernels of the key PrivateUse1 that create CPU tensors.

A tensor that was created for the device has a note of it on its storage. The storage is what views, ``detach`` and
``param.data = ...`` share; a note on the tensor would be lost. Results of operators carry no note.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch

from drynpu_torch.device import npu
from drynpu_torch.device._objects import storage_of
from drynpu_torch.device._placement import MARK
from drynpu_torch.device._state import DEVICE_TYPE, state

CPU = torch.device("cpu")
# An attribute of a storage; the prefix keeps it apart from attributes of PyTorch and of other packages.
_PINNED = "_drynpu_pinned"


def mark(tensor: torch.Tensor, device: torch.device | int) -> torch.Tensor:
    """Note on the storage of *tensor* that it was created for *device*, and return *tensor*."""
    index = state().device_index(device)
    storage = storage_of(tensor)
    if storage is not None:
        mark_storage(storage, index)
    return tensor


def mark_storage(storage: torch.UntypedStorage, index: int) -> torch.UntypedStorage:
    """Note on *storage* that it was created for device *index*, and return it."""
    setattr(storage, MARK, index)
    return storage


def register_sink() -> tuple[torch.library.Library, ...]:
    """Register the device and its kernels; they last as long as the libraries returned."""
    _register_device()
    aten = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    aten.impl("empty.memory_format", _empty, "PrivateUse1")  # type: ignore[no-untyped-call]
    aten.impl("empty_strided", _empty_strided, "PrivateUse1")  # type: ignore[no-untyped-call]
    aten.impl("_pin_memory", _pin_memory, "CPU", allow_override=True)  # type: ignore[no-untyped-call]
    aten.impl("is_pinned", _is_pinned, "CPU", allow_override=True)  # type: ignore[no-untyped-call]
    fallbacks = torch.library.Library("_", "IMPL")  # type: ignore[no-untyped-call]
    fallbacks.fallback(_fallback, "PrivateUse1")  # type: ignore[no-untyped-call]
    return aten, fallbacks


def _register_device() -> None:
    # Imported late, because older releases, which the native device alone serves, have neither (extension.choice).
    from torch._C._acc import DeviceGuard
    from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

    class Guard(DeviceGuard):
        """The device guard that PyTorch needs to register a device; it has nothing to switch."""

        def type_(self) -> torch._C._autograd.DeviceType:  # type: ignore[override]
            return torch._C._autograd.DeviceType.PrivateUse1

    _setup_privateuseone_for_python_backend(DEVICE_TYPE, npu, None, Guard())


# These calls name the CPU, because a device context (``with torch.device("npu")``) would fill in the npu otherwise.
# The CPU's factory runs inside PrivateUse1's; the capture recognises copies to the device by this nesting.


def _empty(
    size: list[int],
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,  # noqa: ARG001
    memory_format: torch.memory_format | None = None,
) -> torch.Tensor:
    memory_format = memory_format or torch.contiguous_format
    return mark(
        torch.empty(size, dtype=dtype, layout=layout, device=CPU, memory_format=memory_format),
        device or state().current_device,
    )


def _empty_strided(
    size: list[int],
    stride: list[int],
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,  # noqa: ARG001
) -> torch.Tensor:
    return mark(
        torch.empty_strided(size, stride, dtype=dtype, layout=layout, device=CPU), device or state().current_device
    )


def _pin_memory(tensor: torch.Tensor, device: torch.device | None = None) -> torch.Tensor:  # noqa: ARG001
    """Return a copy, as pinning does, and note on its storage that it is pinned."""
    pinned = tensor.clone(memory_format=torch.contiguous_format)
    setattr(pinned.untyped_storage(), _PINNED, True)
    return pinned


def _is_pinned(tensor: torch.Tensor, device: torch.device | None = None) -> bool:  # noqa: ARG001
    return getattr(storage_of(tensor), _PINNED, False)


def _fallback(op: torch._ops.OpOverload, *args: object, **kwargs: object) -> object:
    """Run an operator of the device that has no kernel here on the CPU, and mark what it creates."""
    position = _device_argument(op)
    if position is None:
        return op(*args, **kwargs)
    name, index = position
    device = args[index] if index < len(args) else kwargs.get(name)
    if index < len(args):
        args = (*args[:index], CPU, *args[index + 1 :])
    else:
        kwargs[name] = CPU
    result = op(*args, **kwargs)
    if isinstance(result, torch.Tensor) and isinstance(device, torch.device) and device.type == DEVICE_TYPE:
        return mark(result, device)
    return result


@functools.cache
def _device_argument(op: Callable[..., object]) -> tuple[str, int] | None:
    """Return the name and position of the operator's device argument."""
    for index, argument in enumerate(op._schema.arguments):  # type: ignore[attr-defined]
        if argument.name == "device":
            return argument.name, index
    return None
