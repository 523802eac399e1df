"""
Device memory from the lives of tensors, as the framework's allocator would account for it.

Sizes and times of allocations are given; the rounding of blocks and the growth of the reserved memory follow the
allocators' published rules and are a model of what the device would have reserved.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from attrs import frozen

from drynpu.arrays import I64, U64

# Blocks are multiples of 512 bytes, 32 of which are padding: see `block_bytes` for the sources.
_ALIGN = 512
_PADDING = 32


@frozen(kw_only=True)
class MemoryPool:
    """
    How an allocator's reserved memory grows.

    Requests up to ``small_request_bytes`` have segments of their own. ``lasting_apart``: so has what lived before the
    recording.
    """

    small_request_bytes: int
    small_segment_bytes: int
    segment_bytes: int
    lasting_apart: bool


CACHING_POOL: Final = MemoryPool(
    small_request_bytes=1 << 20, small_segment_bytes=2 << 20, segment_bytes=20 << 20, lasting_apart=False
)
"""The caching allocator of torch_npu."""
BEST_FIT_POOL: Final = MemoryPool(
    small_request_bytes=0, small_segment_bytes=1 << 30, segment_bytes=1 << 30, lasting_apart=True
)
"""
MindSpore's best-fit pool: parameters are in a persistent one, the rest in a common one, and both grow by
``kDynamicMemAllocUnitSize`` = 1 GB (mem_dynamic_allocator.h of MindSpore's sources), unless the script sets another.
"""


def block_bytes(size_bytes: I64) -> I64:
    """
    Round requests up to allocator blocks: 32 bytes of padding, then a multiple of 512.

    That is measured with torch_npu (32 KiB -> 32.5), and MindSpore asks its pool for as much:
    ``(size + 512 + 32 - 1) / 512 * 512`` (``MemoryManager::GetCommonAlignSize`` in its memory_manager.cc).
    """
    return (size_bytes + _PADDING + _ALIGN - 1) // _ALIGN * _ALIGN


@frozen(eq=False, kw_only=True)
class DeviceMemory:
    """
    Allocator events in time order, shape ``[n]``.

    ``size_bytes`` is the signed block size; the totals are those right after the event. ``partner`` is the row
    of the matching release (allocation), -1 when it lies outside the recording. ``reserved_before_bytes`` is what
    was reserved before the first event.
    """

    time_ns: I64
    thread: I64
    address: U64
    size_bytes: I64
    partner: I64
    allocated_bytes: I64
    reserved_bytes: I64
    reserved_before_bytes: int = 0


def pair(address: U64, size_bytes: I64) -> I64:
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
    address: U64,
    size_bytes: I64,
    *,
    live_before_bytes: int = 0,
    pool: MemoryPool = CACHING_POOL,
) -> DeviceMemory:
    """
    Account for allocations and releases given in time order; *size_bytes* is the requested size, signed.

    ``live_before_bytes`` is what tensors held when the recording began. Reserved memory never shrinks: per kind of
    segments of the *pool* it is the high-water mark rounded up to whole ones.
    """
    block = np.sign(size_bytes) * block_bytes(np.abs(size_bytes))
    small = np.abs(size_bytes) <= pool.small_request_bytes
    held_small = np.cumsum(np.where(small, block, 0))
    held_large = np.cumsum(np.where(small, 0, block))
    reserved_before = -(-live_before_bytes // pool.segment_bytes) * pool.segment_bytes
    shared, apart = (0, reserved_before) if pool.lasting_apart else (live_before_bytes, 0)
    return DeviceMemory(
        time_ns=time_ns,
        thread=thread,
        address=address,
        size_bytes=block,
        partner=pair(address, size_bytes),
        allocated_bytes=held_small + held_large + live_before_bytes,
        reserved_bytes=_segments(held_small, 0, pool.small_segment_bytes)
        + _segments(held_large + shared, shared, pool.segment_bytes)
        + apart,
        reserved_before_bytes=reserved_before,
    )


def _segments(held: I64, before: int, segment: int) -> I64:
    peak = np.maximum.accumulate(np.maximum(held, before)) if len(held) else held
    return -(-peak // segment) * segment
