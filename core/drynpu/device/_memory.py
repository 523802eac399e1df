"""
Device memory from the lives of tensors, as the caching allocator would account for it.

Sizes and times of allocations are measured; the rounding of blocks and the growth of the reserved memory follow
the allocator's published rules and are a model of what the device would have reserved.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import frozen

__all__ = ["MemoryTimeline", "account", "block_bytes", "pair"]

I64 = npt.NDArray[np.int64]

_ALIGN = 512
_PADDING = 32
_SMALL_REQUEST = 1 << 20
_SMALL_SEGMENT = 2 << 20
_LARGE_SEGMENT = 20 << 20


def block_bytes(size_bytes: I64) -> I64:
    """Round requests up to allocator blocks: 32 bytes of padding, then a multiple of 512 (measured: 32 KiB -> 32.5)."""
    return (size_bytes + _PADDING + _ALIGN - 1) // _ALIGN * _ALIGN


@frozen(eq=False, kw_only=True)
class MemoryTimeline:
    """
    Allocator events in time order, shape ``[n]``.

    ``size_bytes`` is the signed block size; the totals are those right after the event. ``partner`` is the row
    of the matching release (allocation), -1 when it lies outside the recording. ``reserved_before_bytes`` is what
    was reserved before the first event.
    """

    time_ns: I64
    thread: I64
    address: npt.NDArray[np.uint64]
    size_bytes: I64
    partner: I64
    allocated_bytes: I64
    reserved_bytes: I64
    reserved_before_bytes: int = 0


def pair(address: npt.NDArray[np.uint64], size_bytes: I64) -> I64:
    """
    Return for every event the row of its counterpart, -1 if it has none; events are in time order.

    An allocation belongs to the next event at the same address if that is a release.
    """
    partner = np.full(len(address), -1, np.int64)
    order = np.lexsort((np.arange(len(address)), address))
    here, following = order[:-1], order[1:]
    match = (address[here] == address[following]) & (size_bytes[here] > 0) & (size_bytes[following] < 0)
    partner[here[match]] = following[match]
    partner[following[match]] = here[match]
    return partner


def account(
    time_ns: I64,
    thread: I64,
    address: npt.NDArray[np.uint64],
    size_bytes: I64,
    *,
    live_before_bytes: int = 0,
) -> MemoryTimeline:
    """
    Account for allocations and releases given in time order; *size_bytes* is the requested size, signed.

    ``live_before_bytes`` is what tensors held when the recording began. Reserved memory never shrinks: per pool
    (requests up to 1 MiB, larger ones) it is the high-water mark rounded up to segments of 2 and 20 MiB.
    """
    block = np.sign(size_bytes) * block_bytes(np.abs(size_bytes))
    small = np.abs(size_bytes) <= _SMALL_REQUEST
    held_small = np.cumsum(np.where(small, block, 0))
    held_large = np.cumsum(np.where(small, 0, block)) + live_before_bytes
    return MemoryTimeline(
        time_ns=time_ns,
        thread=thread,
        address=address,
        size_bytes=block,
        partner=pair(address, size_bytes),
        allocated_bytes=held_small + held_large,
        reserved_bytes=_segments(held_small, 0, _SMALL_SEGMENT)
        + _segments(held_large, live_before_bytes, _LARGE_SEGMENT),
        reserved_before_bytes=-(-live_before_bytes // _LARGE_SEGMENT) * _LARGE_SEGMENT,
    )


def _segments(held: I64, before: int, segment: int) -> I64:
    peak = np.maximum.accumulate(np.maximum(held, before)) if len(held) else held
    return -(-peak // segment) * segment
