"""Memory, as far as it can be measured: see :mod:`drynpu_torch.device._memory` for what the numbers are."""

from __future__ import annotations

from collections import OrderedDict

from drynpu_torch.device._memory import empty_cache, mem_get_info, nested_stats, reset_peak, usage
from drynpu_torch.device._state import DeviceLike

__all__ = [
    "empty_cache",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
]


def memory_allocated(device: DeviceLike = None) -> int:
    """Return the bytes of the blocks that live tensors hold."""
    return usage(device).allocated_bytes


def max_memory_allocated(device: DeviceLike = None) -> int:
    """Return the largest :func:`memory_allocated` seen so far, this one included."""
    return usage(device).peak_allocated_bytes


def memory_reserved(device: DeviceLike = None) -> int:
    """Return the bytes of the segments that the allocator would keep."""
    return usage(device).reserved_bytes


def max_memory_reserved(device: DeviceLike = None) -> int:
    """Return the largest :func:`memory_reserved` seen so far, this one included."""
    return usage(device).peak_reserved_bytes


def memory_cached(device: DeviceLike = None) -> int:
    """Return :func:`memory_reserved` under its old name."""
    return memory_reserved(device)


def max_memory_cached(device: DeviceLike = None) -> int:
    """Return :func:`max_memory_reserved` under its old name."""
    return max_memory_reserved(device)


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    """Let the peaks begin again at what is in use now."""
    reset_peak(device)


def reset_max_memory_allocated(device: DeviceLike = None) -> None:
    """Reset the peaks, under its old name."""
    reset_peak(device)


def reset_max_memory_cached(device: DeviceLike = None) -> None:
    """Reset the peaks, under its old name."""
    reset_peak(device)


def memory_stats_as_nested_dict(device: DeviceLike = None) -> dict[str, object]:
    """Return the measured statistics, nested by name, pool and kind."""
    return nested_stats(device)


def memory_stats(device: DeviceLike = None) -> OrderedDict[str, int]:
    """Return the measured statistics by dotted name, e.g. ``allocated_bytes.all.current``, sorted."""
    flat: dict[str, int] = {}

    def flatten(prefix: str, value: object) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                flatten(f"{prefix}.{key}" if prefix else key, inner)
        elif isinstance(value, int):
            flat[prefix] = value

    flatten("", nested_stats(device))
    return OrderedDict(sorted(flat.items()))


def memory_summary(device: DeviceLike = None, abbreviated: bool = False) -> str:  # noqa: ARG001
    """Return the measured statistics as a table for people."""
    stats = memory_stats(device)
    rows = [("statistic", "value"), *((name, f"{value:,}") for name, value in stats.items())]
    width = max(len(name) for name, _ in rows), max(len(value) for _, value in rows)
    lines = [f"| {name:<{width[0]}} | {value:>{width[1]}} |" for name, value in rows]
    title = "npu memory, measured from live tensors (bytes; peaks as seen when asked)"
    return "\n".join([title, lines[0], "|" + "-" * (len(lines[0]) - 2) + "|", *lines[1:]])
