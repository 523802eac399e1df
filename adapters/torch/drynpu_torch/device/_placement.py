"""Which device a tensor was created for: the native device's tensors say it, the sink's storages carry a note."""

from __future__ import annotations

from typing import Final

import torch

from drynpu_torch.device._objects import storage_of
from drynpu_torch.device._state import DEVICE_TYPE, state

MARK: Final = "_drynpu_device"
"""The attribute of a storage with the device's index; the prefix keeps it apart from attributes of other packages."""


def storage_device(storage: torch.UntypedStorage) -> int | None:
    """Return the device that *storage* was created for, or None if that is not known."""
    return getattr(storage, MARK, None)


def known_device(tensor: torch.Tensor) -> int | None:
    """Return the device that *tensor* was created for, or None if that is not known (docs/torch-device.md)."""
    if state().library is not None:
        return tensor.device.index if tensor.device.type == DEVICE_TYPE else None
    storage = storage_of(tensor)
    return None if storage is None else storage_device(storage)
