"""
Questions about any object of the script: its kind, its storage, its memory.

Nothing here raises and nothing runs the script's code. A wrapper, a fake or a batched tensor has no memory of its own;
a subclass may raise from any attribute or function; other objects raise from ``__class__``, which ``isinstance`` asks.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, TypeGuard

import torch

from drynpu_torch.device._state import DEVICE_TYPE

_TENSOR: Any = torch._C.TensorBase
_data_address: Callable[[Any], int] = getattr(torch._C, "_data_address")  # noqa: B009 - PyTorch's types lack it


def is_tensor(value: object) -> TypeGuard[torch.Tensor]:
    """Return whether *value* is a tensor by its type."""
    return issubclass(type(value), torch.Tensor)


def on_npu(value: object) -> bool:
    """Return whether *value* is a tensor that says it is on the device."""
    try:
        return is_tensor(value) and value.device.type == DEVICE_TYPE
    except Exception:  # noqa: BLE001 - a subclass may raise anything
        return False


def storage_of(value: object) -> torch.UntypedStorage | None:
    """Return the storage of a tensor; ``None`` for other objects and for tensors that have none, as sparse ones."""
    if not is_tensor(value):
        return None
    try:
        with torch._C.DisableTorchFunction():
            storage: torch.UntypedStorage = _TENSOR.untyped_storage(value)
            return storage
    except Exception:  # noqa: BLE001 - PyTorch has several errors for it
        return None


def address_of(value: object) -> int:
    """Return where the storage of a tensor begins, 0 without memory. Unlike ``data_ptr`` it leaves lazy copies lazy."""
    try:
        return _data_address(value) if is_tensor(value) else 0
    except Exception:  # noqa: BLE001 - as above
        return 0


def live_memory() -> dict[int, int]:
    """
    Return the bytes of all storages in host memory that Python's tensors hold, by address.

    A gradient that no Python code has read yet is no Python object, so the collector does not list it.
    """
    sizes: dict[int, int] = {}
    for value in gc.get_objects():
        if not is_tensor(value):
            continue
        for tensor in (value, _gradient(value)):
            storage = storage_of(tensor)
            if storage is not None and storage.device.type == "cpu" and (address := address_of(tensor)):
                sizes[address] = storage.nbytes()
    return sizes


def _gradient(tensor: torch.Tensor) -> torch.Tensor | None:
    try:
        with torch._C.DisableTorchFunction():
            # Of others PyTorch warns.
            is_leaf = _TENSOR.is_leaf.__get__(tensor) and _TENSOR.requires_grad.__get__(tensor)
            gradient: torch.Tensor | None = _TENSOR.grad.__get__(tensor) if is_leaf else None
            return gradient
    except Exception:  # noqa: BLE001 - as above
        return None
