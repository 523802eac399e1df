"""
Device reporting, an option that makes tensors say ``npu``.

The sink cannot tell the results of device work from host tensors. So every tensor in host memory says npu, except
explicit copies to the host. The option is off by default: PyTorch reads the device of every parameter in its
optimizers, and a property in Python is slower than PyTorch's own.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from drynpu_torch.device._objects import storage_of
from drynpu_torch.device._placement import known_device
from drynpu_torch.device._sink import CPU
from drynpu_torch.device._state import DEVICE_TYPE, DeviceState

_HOST = "_drynpu_host"

raw_device: Callable[[torch.Tensor], torch.device] = torch._C.TensorBase.device.__get__
"""Returns the device on which PyTorch computes a tensor's operators: cpu for every tensor that the sink creates."""


def patch_report(state: DeviceState) -> None:
    """Let ``device``, ``is_cpu`` and ``get_device`` of tensors answer as on a device."""

    def device(self: torch.Tensor) -> torch.device:
        reported = raw_device(self)
        if reported != CPU or _is_host_copy(self):
            return reported
        index = known_device(self)
        return torch.device(DEVICE_TYPE, state.current_device if index is None else index)

    def get_device(self: torch.Tensor) -> int:
        reported = device(self)
        return -1 if reported.index is None or reported.type == "cpu" else reported.index

    torch.Tensor.device = property(device)  # type: ignore[assignment]
    torch.Tensor.is_cpu = property(lambda self: device(self).type == "cpu")  # type: ignore[assignment]
    torch.Tensor.get_device = get_device  # type: ignore[assignment, method-assign]
    torch.Tensor.cpu = _host_copies(torch.Tensor.cpu)  # type: ignore[method-assign]
    torch.Tensor.to = _reported_to(torch.Tensor.to)  # type: ignore[method-assign]
    torch.UntypedStorage._new_shared = classmethod(_new_shared)  # type: ignore[assignment, method-assign]


_original_new_shared = torch.UntypedStorage._new_shared.__func__  # type: ignore[attr-defined]


def _new_shared(
    cls: type[torch.UntypedStorage], size: int, *, device: str | torch.device = "cpu"
) -> torch.UntypedStorage:
    """Make room in shared memory for a batch that says npu: data loaders ask for the device of its first tensor."""
    return _original_new_shared(cls, size, device=CPU if torch.device(device).type == DEVICE_TYPE else device)  # type: ignore[no-any-return]


def _is_host_copy(tensor: torch.Tensor) -> bool:
    return getattr(storage_of(tensor), _HOST, False)


def _host_copies(copy: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Wrap a copy to the host: its result says cpu, as do views of it."""

    def to_host(self: torch.Tensor, *args: object, **kwargs: object) -> torch.Tensor:
        if _is_host_copy(self) and not args and not kwargs:
            return self
        result = copy(self, *args, **kwargs)
        storage = storage_of(result)
        if storage is not None:
            setattr(storage, _HOST, True)
        return result

    return to_host


def _reported_to(to: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """
    Wrap ``Tensor.to``: the destination cpu always means the host, because no tensor of the device says cpu now.

    ``x.to(other)`` goes where the other tensor says it is.
    """
    host_copy = _host_copies(to)

    def reported(self: torch.Tensor, *args: object, **kwargs: object) -> torch.Tensor:
        if args and isinstance(args[0], torch.Tensor):
            args = (args[0].device, args[0].dtype, *args[1:])
        destination = args[0] if args else kwargs.get("device")
        if not isinstance(destination, str | torch.device) or torch.device(destination).type != "cpu":
            return to(self, *args, **kwargs)
        rest = args[1:] if args else ()
        kwargs.pop("device", None)
        # CPU is a device object; for the name "cpu" the sink would copy what is on the host already.
        return to(self, CPU, *rest, **kwargs) if self.device == CPU else host_copy(self, "cpu", *rest, **kwargs)

    return reported
