"""Translation of CUDA devices in the arguments of a call to NPU devices."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch

from drynpu.device.collectives import HCCL
from drynpu_torch.device import DEVICE_TYPE

_CUDA, _NCCL = "cuda", "nccl"
_DEVICE_KEYWORDS = ("device", "device_type", "map_location", "device_id", "pin_memory_device")
_SEVERAL = "device_ids"
"""The keyword of functions that take several devices."""


def to_npu(value: object, *, indices: bool = False) -> Any:
    """
    Return *value* with ``npu`` in place of ``cuda``: in text, a device, or the keys and values of a mapping.

    ``indices``: a whole number is an index of a device, too.
    """
    if isinstance(value, str):
        return value.replace(_CUDA, DEVICE_TYPE)
    if isinstance(value, torch.device):
        return _same_index(value) if value.type == _CUDA else value
    if isinstance(value, Mapping):
        return {to_npu(key): to_npu(device) for key, device in value.items()}
    if indices and isinstance(value, int) and not isinstance(value, bool):
        return torch.device(DEVICE_TYPE, value)
    return value


def to_hccl(value: object) -> Any:
    """Return the name of a communication backend, or of several by device type, with ``hccl`` in place of ``nccl``."""
    return value.replace(_NCCL, HCCL).replace(_CUDA, DEVICE_TYPE) if isinstance(value, str) else value


def with_npu_devices(function: Callable[..., Any], *, indices: bool = False) -> Callable[..., Any]:
    """Wrap *function*: devices among its arguments are translated first. ``indices`` as for `to_npu`, positional."""

    @functools.wraps(function)
    def wrapper(*args: object, **kwargs: object) -> Any:
        for name in _DEVICE_KEYWORDS:
            if kwargs.get(name) is not None:
                kwargs[name] = to_npu(kwargs[name], indices=True)
        several = kwargs.get(_SEVERAL)
        if isinstance(several, (list, tuple)):
            kwargs[_SEVERAL] = type(several)([to_npu(value) for value in several])
        return function(*[_positional(value, indices) for value in args], **kwargs)

    return wrapper


def with_hccl_backend(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap *function*: a backend among its arguments is translated first."""

    @functools.wraps(function)
    def wrapper(*args: object, **kwargs: object) -> Any:
        if "backend" in kwargs:
            kwargs["backend"] = to_hccl(kwargs["backend"])
        return function(*[to_hccl(value) for value in args], **kwargs)

    return wrapper


def _positional(value: object, indices: bool) -> Any:
    # No mappings and lists: a mapping may be any argument, and a list may be long.
    return to_npu(value, indices=indices) if isinstance(value, str | torch.device | int) else value


def _same_index(device: torch.device) -> torch.device:
    return torch.device(DEVICE_TYPE) if device.index is None else torch.device(DEVICE_TYPE, device.index)
