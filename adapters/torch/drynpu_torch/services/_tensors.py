"""Functions of ``torch_npu`` that make and copy tensors in the device's formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from drynpu_torch.device import DEVICE_TYPE, Format, mark_format, state, storage_elements

unsupported_dtype = [torch.quint8, torch.quint4x2, torch.quint2x4, torch.qint32, torch.qint8]
"""Types of PyTorch that the device does not have (torch_npu/_init/registry/backend.py)."""


def copy_memory_(destination: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """
    Copy the elements of *source* into *destination*, both on the device, and return it.

    Raises
    ------
    RuntimeError
        The dtypes differ: the memory is copied as it is.
    """
    if destination.dtype != source.dtype:
        raise RuntimeError("input tensors of copy_memory_ should have same dtype")
    return destination.copy_(source, non_blocking=non_blocking)


def empty_with_format(size: Sequence[int], *, acl_format: int = Format.ND, **options: Any) -> torch.Tensor:
    """Return a tensor without values in that format, as ``torch.empty`` does on the device."""
    tensor = torch.empty(tuple(size), **({"device": DEVICE_TYPE} | options))
    return tensor if acl_format == Format.ND else mark_format(tensor, acl_format)


def get_storage_size(self: torch.Tensor) -> int:
    """Return how many elements of the tensor's dtype its storage has room for on the device."""
    return storage_elements(self)


def empty_with_swapped_memory(
    size: Sequence[int], *, dtype: torch.dtype | None = None, device: torch.device | str | None = None
) -> torch.Tensor:
    """Return a tensor of the device whose memory lies on the host, so that it counts as none of the device's."""
    library = state().library
    try:
        if library is not None:
            library.count_memory(counted=False)
        return torch.empty(tuple(size), dtype=dtype, device=device or DEVICE_TYPE)
    finally:
        if library is not None:
            library.count_memory(counted=True)
