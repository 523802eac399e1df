"""
Memory of the device.

The native device has an allocator with the vendor's rules; its statistics are exact. With the sink memory is measured:
the storages that PyTorch tensors hold now. There is no device memory to ask, so the objects of the process are searched
for tensors (about 0.2 us per object), and every storage is counted once, as the block that the vendor's allocator takes
for it. Three things differ from a device: sparse tensors and those that only autograd's graph holds are not seen,
tensors that lie on the host beside a real NPU are counted, and peaks are the largest values *seen when asked*. A
recording measures every allocation; these functions are for log lines.
"""

from __future__ import annotations

import functools
import pickle
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from attrs import define, frozen

from drynpu.device import account
from drynpu_torch.compat import with_fx_traces
from drynpu_torch.device._errors import ErrCode, pta_error, tagged
from drynpu_torch.device._library import Library
from drynpu_torch.device._memory_history import CONTEXTS, read_history, snapshot
from drynpu_torch.device._memory_statistics import statistics, summary
from drynpu_torch.device._objects import live_memory
from drynpu_torch.device._state import DeviceLike, state

__all__ = [
    "empty_cache",
    "get_per_process_memory_fraction",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
]

_FRACTION = "MEMORY_FRACTION"
_NOT_FOUND = "ERR00008"


@frozen
class Usage:
    """The memory of the live storages: their number, bytes in allocator blocks and reserved segments, and peaks."""

    blocks: int = 0
    allocated_bytes: int = 0
    reserved_bytes: int = 0
    peak_allocated_bytes: int = 0
    peak_reserved_bytes: int = 0


@define
class _Meter:
    """Peaks over the measurements taken, and the reserved memory, which shrinks in :func:`empty_cache` only."""

    reserved_bytes: int = 0
    peak_allocated_bytes: int = 0
    peak_reserved_bytes: int = 0

    def measure(self) -> Usage:
        """Return the present use of memory, and update the peaks."""
        now = _live_usage()
        self.reserved_bytes = max(self.reserved_bytes, now.reserved_bytes)
        self.peak_allocated_bytes = max(self.peak_allocated_bytes, now.allocated_bytes)
        self.peak_reserved_bytes = max(self.peak_reserved_bytes, self.reserved_bytes)
        return Usage(
            now.blocks, now.allocated_bytes, self.reserved_bytes, self.peak_allocated_bytes, self.peak_reserved_bytes
        )


@functools.cache
def _meter() -> _Meter:
    """Return the meter of this process."""
    return _Meter()


def usage(device: DeviceLike = None) -> Usage:
    """
    Measure *device*.

    All memory counts for the device selected last, since a tensor does not say where it is; any other
    device has none.
    """
    index = state().device_index(device)
    library = state().library
    if library is not None:
        return _exact(statistics(library, index))
    if index != state().last_device:
        return Usage()
    return _meter().measure()


def _exact(values: dict[str, Any]) -> Usage:
    allocated, reserved = values["allocated_bytes"]["all"], values["reserved_bytes"]["all"]
    return Usage(
        values["allocation"]["all"]["current"],
        allocated["current"],
        reserved["current"],
        allocated["peak"],
        reserved["peak"],
    )


def empty_cache() -> None:
    """Release the reserved memory beyond the blocks in use."""
    if (library := state().library) is not None:
        library.empty_cache()
        return
    _meter().reserved_bytes = _live_usage().reserved_bytes


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """Return (free, total) bytes: the chip's memory, less what is reserved."""
    total = state().chip.memory_bytes
    return max(total - usage(device).reserved_bytes, 0), total


def memory_allocated(device: DeviceLike = None) -> int:
    """Return the bytes of the blocks that live tensors hold."""
    return usage(device).allocated_bytes


def max_memory_allocated(device: DeviceLike = None) -> int:
    """Return the largest :func:`memory_allocated` seen so far, this one included."""
    return usage(device).peak_allocated_bytes


def memory_reserved(device: DeviceLike = None) -> int:
    """Return the bytes of the segments that the vendor's allocator would keep."""
    return usage(device).reserved_bytes


def max_memory_reserved(device: DeviceLike = None) -> int:
    """Return the largest :func:`memory_reserved` seen so far, this one included."""
    return usage(device).peak_reserved_bytes


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    """Set the peaks to the present use of memory."""
    if (library := state().library) is not None:
        library.reset_peaks(state().device_index(device))
    elif state().device_index(device) == state().last_device:
        now = _meter().measure()
        _meter().peak_allocated_bytes, _meter().peak_reserved_bytes = now.allocated_bytes, now.reserved_bytes


def reset_accumulated_memory_stats(device: DeviceLike = None) -> None:
    """Set the sums of what was allocated and freed to 0; the sink has none."""
    if (library := state().library) is not None:
        library.reset_accumulated(state().device_index(device))


def get_per_process_memory_fraction(device: DeviceLike = None) -> float:
    """Return the part of the device's memory that this process may reserve."""
    return float(state().options.get(f"{_FRACTION}:{state().device_index(device)}", "1.0"))


def set_per_process_memory_fraction(fraction: float, device: DeviceLike = None) -> None:
    """
    Let this process reserve no more than that part of the device's memory; the sink has no limit to set.

    Raises
    ------
    TypeError
        *fraction* is no float.
    ValueError
        *fraction* is not from 0 to 1.
    """
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`" + pta_error(ErrCode.TYPE))
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1" + pta_error(ErrCode.VALUE))
    index, library = state().device_index(device), state().library
    state().options[f"{_FRACTION}:{index}"] = str(fraction)
    if library is not None:
        library.limit_memory(index, int(fraction * state().chip.memory_bytes))


def _set_allocator_settings(env: str) -> None:
    """Change settings of the allocator, written as in ``PYTORCH_NPU_ALLOC_CONF``."""
    torch._C._accelerator_setAllocatorSettings(env)


def memory_snapshot(device: DeviceLike = None) -> list[dict[str, Any]]:
    """
    Return the allocator's segments and their blocks.

    Raises
    ------
    NotImplementedError
        The sink serves, which has no allocator.
    """
    return snapshot(_allocators(), state().device_index(device))


def _allocators() -> Library:
    library = state().library
    if library is None:
        raise NotImplementedError("the sink has no allocator to look into; run drynpu native build for one that has")
    return library


def _record_memory_history(
    enabled: str | None = "all",
    context: str | None = "all",
    stacks: str = "all",
    max_entries: int = sys.maxsize,
    device: DeviceLike = None,
) -> None:
    """
    Begin, or with ``None`` end, to record what the allocators of all devices do.

    Parameters
    ----------
    enabled:
        ``all`` keeps every event, ``state`` the last one only, beside the stacks of what is allocated.
    context:
        Where stacks are read: ``state`` and ``alloc`` for allocations, ``all`` also for what is freed. None reads none.
    stacks:
        ``python``, or ``all`` with the frames of C++.
    max_entries:
        How many events of each device are kept, the last ones.
    device:
        Accepted as by the vendor, without effect.

    Raises
    ------
    NotImplementedError
        The sink serves, which has no allocator.
    RuntimeError
        One of the texts is none of those above.
    """
    del device
    for value, allowed, text in (
        (enabled, (None, "state", "all"), "expected state to be 'state', 'all', or None"),
        (context, CONTEXTS, "expected context to be 'state', 'alloc', 'all', or None"),
        (stacks, ("python", "all"), "expected stacks to be 'python', or 'all'"),
    ):
        if value not in allowed:
            raise RuntimeError(tagged(text, _NOT_FOUND))
    most = max_entries if enabled == "all" else 1
    _allocators().record_memory_history(
        wanted=enabled is not None, context=CONTEXTS.index(context), native_stacks=stacks == "all", most=most
    )


def _snapshot(device: DeviceLike = None, augment_with_fx_traces: bool = False) -> dict[str, Any]:
    """
    Return the segments of all devices, and for each device the events recorded since ``_record_memory_history``.

    It has the layout that ``torch.cuda._memory_viz`` and pytorch.org/memory_viz read.
    """
    del device  # as by the vendor
    library = _allocators()
    history: Any = read_history(library, state().device_count)
    return dict(with_fx_traces(history) if augment_with_fx_traces else history)


def _dump_snapshot(filename: str = "dump_snapshot.pickle", augment_with_fx_traces: bool = False) -> None:
    """Write :func:`_snapshot` to a file, pickled."""
    with Path(filename).open("wb") as file:
        pickle.dump(_snapshot(augment_with_fx_traces=augment_with_fx_traces), file)


# Older names, which the vendor keeps.
memory_cached, max_memory_cached = memory_reserved, max_memory_reserved
reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def memory_stats_as_nested_dict(device: DeviceLike = None) -> dict[str, object]:
    """Return the statistics in PyTorch's layout; with the sink those that are measured, and no others."""
    if (library := state().library) is not None:
        return statistics(library, state().device_index(device))
    now = usage(device)
    allocated = {"all": {"current": now.allocated_bytes, "peak": now.peak_allocated_bytes}}
    return {
        "active_bytes": allocated,
        "allocated_bytes": allocated,
        "allocation": {"all": {"current": now.blocks}},
        "reserved_bytes": {"all": {"current": now.reserved_bytes, "peak": now.peak_reserved_bytes}},
    }


def memory_stats(device: DeviceLike = None) -> OrderedDict[str, int]:
    """Return the measured statistics by dotted name, e.g. ``allocated_bytes.all.current``, sorted."""
    flat: dict[str, int] = {}

    def flatten(prefix: str, value: object) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                flatten(f"{prefix}.{key}" if prefix else key, inner)
        elif isinstance(value, int):
            flat[prefix] = value

    flatten("", memory_stats_as_nested_dict(device))
    return OrderedDict(sorted(flat.items()))


def memory_summary(device: DeviceLike = None, abbreviated: bool = False) -> str:
    """Return the statistics as a table for people."""
    library = state().library
    if library is not None:
        index = state().device_index(device)
        return summary(statistics(library, index), index, abbreviated=abbreviated)
    stats = memory_stats(device)
    rows = [("statistic", "value"), *((name, f"{value:,}") for name, value in stats.items())]
    width = max(len(name) for name, _ in rows), max(len(value) for _, value in rows)
    lines = [f"| {name:<{width[0]}} | {value:>{width[1]}} |" for name, value in rows]
    title = "npu memory, measured from live tensors (bytes; peaks as seen when asked)"
    return "\n".join([title, lines[0], "|" + "-" * (len(lines[0]) - 2) + "|", *lines[1:]])


def _live_usage() -> Usage:
    sizes = np.fromiter(live_memory().values(), np.int64)
    sizes = sizes[sizes > 0]
    count = len(sizes)
    if not count:
        return Usage()
    number = np.arange(count)
    timeline = account(number, number, number.astype(np.uint64), sizes)
    return Usage(count, int(timeline.allocated_bytes[-1]), int(timeline.reserved_bytes[-1]))
