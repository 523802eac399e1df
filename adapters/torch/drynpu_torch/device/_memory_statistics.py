"""The statistics of the native device's allocator under the vendor's names, and its summary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from drynpu_torch.device._library import Library

# The order of `Statistic`, `Pool` and `Stat` in adapters/torch/native/block.h.
STATISTICS = (
    "allocation",
    "segment",
    "active",
    "inactive_split",
    "allocated_bytes",
    "reserved_bytes",
    "active_bytes",
    "inactive_split_bytes",
    "requested_bytes",
)
_OVERSIZE_STATISTICS = ("oversize_allocations", "oversize_segments")
"""The rows behind them, which are of all pools together."""
_POOLS = ("all", "small_pool", "large_pool")
_VALUES = ("current", "peak", "allocated", "freed")
_WIDTH = 75


@frozen
class _Row:
    """A row of the summary: its title, the statistic and whether that is in bytes."""

    title: str
    statistic: str
    in_bytes: bool


_ROWS = (
    _Row("Allocated memory", "allocated_bytes", True),
    _Row("Active memory", "active_bytes", True),
    _Row("NPU reserved memory", "reserved_bytes", True),
    _Row("Non-releasable memory", "inactive_split_bytes", True),
    _Row("Allocations", "allocation", False),
    _Row("Active allocs", "active", False),
    _Row("NPU reserved segments", "segment", False),
    _Row("Non-releasable allocs", "inactive_split", False),
)
_OVERSIZE = (("Oversize allocations", "oversize_allocations"), ("Oversize NPU segments", "oversize_segments"))
_POOL_TITLES = (("all", ""), ("large_pool", "      from large pool"), ("small_pool", "      from small pool"))


def statistics(library: Library, device: int) -> dict[str, Any]:
    """Return all statistics, nested: statistic, pool, value."""
    table, retries, failures = library.memory_statistics(device)
    values: dict[str, Any] = {
        name: {pool: dict(zip(_VALUES, table[row, column].tolist(), strict=True)) for column, pool in enumerate(_POOLS)}
        for row, name in enumerate(STATISTICS)
    }
    for row, name in enumerate(_OVERSIZE_STATISTICS, len(STATISTICS)):
        values[name] = dict(zip(_VALUES, table[row, 0].tolist(), strict=True))
    return values | {
        "num_alloc_retries": retries,
        "num_ooms": failures,
        "num_oom_rejections": 0,
        "max_split_size": library.max_split_size,
    }


def summary(values: Mapping[str, Any], device: int, *, abbreviated: bool) -> str:
    """Return the vendor's table of :func:`statistics`, 75 columns wide."""
    failures = f"{'':9} NPU OOMs: {values['num_ooms']:<13d}"
    retries = f"{'':6} npuMalloc retries: {values['num_alloc_retries']:<9d}"
    lines = [
        "=" * _WIDTH,
        f" {'':16} PyTorch NPU memory summary, device ID {device:<18d} ",
        "-" * _WIDTH,
        f"  {failures} | {retries}  ",
        "=" * _WIDTH,
        "        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  ",
    ]
    for row in _ROWS:
        lines.append("-" * _WIDTH)
        for pool, title in _POOL_TITLES[: 1 if abbreviated else None]:
            lines.append(_line(title or row.title, values[row.statistic][pool], in_bytes=row.in_bytes))
    for title, name in _OVERSIZE:
        lines += ["-" * _WIDTH, _line(title, values[name], in_bytes=False)]
    lines.append("=" * _WIDTH)
    return "|" + "|\n|".join(lines) + "|\n"


def _line(title: str, values: Mapping[str, int], *, in_bytes: bool) -> str:
    show = _size if in_bytes else _count
    return f" {title:<22}| " + " | ".join(show(values[name]) for name in _VALUES) + " "


def _size(value: int) -> str:
    prefixes = iter(("B  ", "KiB", "MiB", "GiB", "TiB", "PiB"))
    prefix = next(prefixes)
    while value > 768 * 1024:  # where PyTorch's table takes the next unit
        value, prefix = value // 1024, next(prefixes)
    return f"{value:6d} {prefix}"


def _count(value: int) -> str:
    prefixes = iter((" ", "K", "M"))
    prefix = next(prefixes)
    while value > 750 * 1000:
        value, prefix = value // 1000, next(prefixes)
    return f"{value:7d} {prefix} "
