"""Memory and disk of the host: lines of /proc/<pid>/statm and of iotop in batch mode."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import polars as pl

from drynpu.deliverables.host._proc_lines import STATM
from drynpu.raw import Parsed, Row, TextKind, by_line, counter_columns, one_line, whole, word

_UNITS = {"B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

_HOST_MEM = counter_columns(*STATM)


def _read_host_mem(line: str) -> Row | None:
    values = [whole(text) for text in line.split()]
    return None if None in values or len(values) != len(_HOST_MEM) else tuple(values)


def _write_host_mem(rows: pl.DataFrame) -> Iterator[str]:
    for values in rows.iter_rows():
        yield " ".join(map(str, values)) + "\n"


_HOST_DISK = pl.Schema(
    {
        "time_s": pl.Int64(),  # of the day, local time
        "pid": pl.Int64(),
        "priority": pl.String(),
        "user": pl.String(),
        "read_bytes_s": pl.Float64(),
        "write_bytes_s": pl.Float64(),
        "swapin_percent": pl.Float64(),  # null where the kernel does not say
        "io_percent": pl.Float64(),  # null where the kernel does not say
        "command": pl.String(),
        "start_ns": pl.Int64(),  # raw monotonic time at which the monitor began
    }
)
_RATE = r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ([BKMGT])/s"
_SHARE = r"([0-9]{1,3}(?:\.[0-9]{1,9})?) %"
_DISK_LINE = re.compile(
    rf"\s*([0-9]{{2}}):([0-9]{{2}}):([0-9]{{2}})\s+([0-9]{{1,10}})\s+(\S+)\s+(\S+)\s+{_RATE}\s+{_RATE}\s+"
    rf"(?:{_SHARE}\s+{_SHARE}|\?unavailable\?)(?:\s+(.*))?"
)


def _read_disk_line(line: str) -> Row | None:
    match = _DISK_LINE.fullmatch(line)
    if not match:
        return None
    hours, minutes, seconds, pid = (int(text) for text in match.groups()[:4])
    read, write = float(match[7]) * _UNITS[match[8]], float(match[9]) * _UNITS[match[10]]
    shares = [None if text is None else float(text) for text in (match[11], match[12])]
    command = (match[13] or "").strip()
    return hours * 3600 + minutes * 60 + seconds, pid, match[5], match[6], read, write, *shares, command


def _parse_host_disk(lines: Sequence[str]) -> Parsed:
    """Rows get the start that stands behind them; those without one get 0."""
    rows: list[Row] = []
    waiting: list[Row] = []
    left_out = 0
    for line in lines:
        row = _read_disk_line(line)
        start = re.fullmatch(r"start_time ([0-9]{1,19})\s*", line)
        start_ns = whole(start[1]) if start else None
        if row is not None:
            waiting.append(row)
        elif start_ns is not None:
            rows += [(*entry, start_ns) for entry in waiting]
            waiting = []
        elif line.strip() and not re.search(r"DISK (READ|WRITE)|\bTIME\b", line):
            left_out += 1
    return Parsed(rows + [(*entry, 0) for entry in waiting], left_out)


def _write_host_disk(rows: pl.DataFrame) -> Iterator[str]:
    for row in rows.iter_rows(named=True):
        second = row["time_s"] % 86400
        clock = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        rates = f"{row['read_bytes_s']:.2f} B/s {row['write_bytes_s']:.2f} B/s"
        shares = "?unavailable?"
        if row["swapin_percent"] is not None and row["io_percent"] is not None:
            shares = f"{row['swapin_percent']:.2f} % {row['io_percent']:.2f} %"
        who = f"{row['pid']} {word(row['priority'])} {word(row['user'])}"
        yield f"{clock} {who} {rates} {shares} {one_line(row['command'])}\n"


def _disk_start(rows: pl.DataFrame) -> str:
    return f"start_time {rows['start_ns'][-1]}\n"


# /proc/<pid>/statm behind the raw monotonic time (Ascend/msprof host_mem_usage_parser).
HOST_MEM = TextKind(
    name="host_mem",
    side="host",
    stem="host_mem.data",
    schema=_HOST_MEM,
    chunks=_write_host_mem,
    parse=by_line(_read_host_mem, "^$"),
)

# iotop in batch mode (Ascend/msprof host_disk_usage_parser).
HOST_DISK = TextKind(
    name="host_disk",
    side="host",
    stem="host_disk.data",
    schema=_HOST_DISK,
    optional=frozenset({"swapin_percent", "io_percent"}),
    chunks=_write_host_disk,
    parse=_parse_host_disk,
    footer=_disk_start,
)
