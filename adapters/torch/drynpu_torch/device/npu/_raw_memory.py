"""Memory of the device that another framework asks the allocator for, by its address."""

from __future__ import annotations

import functools

import torch

from drynpu_torch.device._errors import ErrCode, pta_error
from drynpu_torch.device._state import DEVICE_TYPE, DeviceLike, state
from drynpu_torch.device._streams import Stream

__all__ = ["caching_allocator_alloc", "caching_allocator_delete"]


@functools.cache
def _held() -> dict[int, torch.Tensor]:
    """Return what was allocated, by address: bytes that live until they are given back."""
    return {}


def caching_allocator_alloc(size: int, device: DeviceLike = None, stream: object = None) -> int:
    """
    Allocate *size* bytes on *device* and return their address.

    The device has one order of addresses for all streams, so *stream* decides nothing.

    Raises
    ------
    TypeError
        *stream* is neither a stream nor a number.
    """
    if not isinstance(stream, (Stream, int, type(None))):
        text = (
            "Invalid type for stream argument, must be `torch_npu.npu.Stream` or `int` representing a pointer "
            "to a existing stream"
        )
        raise TypeError(text + pta_error(ErrCode.TYPE))
    index = state().device_index(device)
    block = torch.empty(size, dtype=torch.uint8, device=torch.device(DEVICE_TYPE, index))
    _held()[block.data_ptr()] = block
    return block.data_ptr()


def caching_allocator_delete(mem_ptr: int) -> None:
    """Give back what :func:`caching_allocator_alloc` returned; any other address is left alone."""
    _held().pop(mem_ptr, None)
