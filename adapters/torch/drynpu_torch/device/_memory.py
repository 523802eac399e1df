"""
Memory of the device, measured: the storages that PyTorch tensors hold now.

There is no device memory to ask, so the objects of the process are walked for tensors (about 0.2 us per object) and
every storage is counted once, as the block that the vendor's allocator takes for it. Tensors that only autograd's
graph holds are not seen, tensors that lie on the host beside a real NPU are counted, and peaks are the largest
values *seen when asked*. A recording measures every allocation; these functions are for log lines.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Iterator

import numpy as np
import torch
from attrs import define, frozen

from drynpu.device import account
from drynpu_torch.device._state import DeviceLike, state


@frozen
class Usage:
    """What the live storages take: their number, bytes in allocator blocks and in reserved segments; peaks seen."""

    blocks: int = 0
    allocated_bytes: int = 0
    reserved_bytes: int = 0
    peak_allocated_bytes: int = 0
    peak_reserved_bytes: int = 0


@define
class Meter:
    """Peaks over the measurements taken, and the reserved memory, which shrinks in :func:`empty_cache` only."""

    reserved_bytes: int = 0
    peak_allocated_bytes: int = 0
    peak_reserved_bytes: int = 0

    def measure(self) -> Usage:
        """Measure now."""
        now = _live_usage()
        self.reserved_bytes = max(self.reserved_bytes, now.reserved_bytes)
        self.peak_allocated_bytes = max(self.peak_allocated_bytes, now.allocated_bytes)
        self.peak_reserved_bytes = max(self.peak_reserved_bytes, self.reserved_bytes)
        return Usage(
            now.blocks, now.allocated_bytes, self.reserved_bytes, self.peak_allocated_bytes, self.peak_reserved_bytes
        )


@functools.cache
def meter() -> Meter:
    """Return the meter of this process."""
    return Meter()


def usage(device: DeviceLike = None) -> Usage:
    """
    Measure *device*.

    All memory is counted as that of the device selected last, since a tensor does not say where it is; any other
    device has none.
    """
    if state().index_of(device) != state().last_device:
        return Usage()
    return meter().measure()


def empty_cache() -> None:
    """Give back what is reserved beyond the blocks in use."""
    meter().reserved_bytes = _live_usage().reserved_bytes


def reset_peak(device: DeviceLike = None) -> None:
    """Let the peaks begin again at what is in use now."""
    if state().index_of(device) == state().last_device:
        now = meter().measure()
        meter().peak_allocated_bytes, meter().peak_reserved_bytes = now.allocated_bytes, now.reserved_bytes


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """Return (free, total) bytes: the chip's memory, less what is reserved."""
    total = state().chip.memory_bytes
    return max(total - usage(device).reserved_bytes, 0), total


def nested_stats(device: DeviceLike = None) -> dict[str, object]:
    """Return what is measured in the layout of PyTorch's allocator statistics; what is not measured is left out."""
    now = usage(device)
    allocated = {"all": {"current": now.allocated_bytes, "peak": now.peak_allocated_bytes}}
    return {
        "active_bytes": allocated,
        "allocated_bytes": allocated,
        "allocation": {"all": {"current": now.blocks}},
        "reserved_bytes": {"all": {"current": now.reserved_bytes, "peak": now.peak_reserved_bytes}},
    }


def _live_usage() -> Usage:
    sizes = np.fromiter({storage._cdata: storage.nbytes() for storage in _live_storages()}.values(), np.int64)
    sizes = sizes[sizes > 0]
    count = len(sizes)
    if not count:
        return Usage()
    number = np.arange(count)
    timeline = account(number, number, number.astype(np.uint64), sizes)
    return Usage(count, int(timeline.allocated_bytes[-1]), int(timeline.reserved_bytes[-1]))


def _live_storages() -> Iterator[torch.UntypedStorage]:
    for found in gc.get_objects():
        kind = type(found)  # not isinstance: that would wake lazy proxies
        if not issubclass(kind, torch.Tensor):
            continue
        tensors = (found, found.grad) if found.is_leaf and found.requires_grad else (found,)
        for tensor in tensors:
            if tensor is not None and tensor.layout is torch.strided and tensor.device.type == "cpu":
                try:
                    yield tensor.untyped_storage()
                except (NotImplementedError, RuntimeError):
                    continue  # a wrapper without storage
