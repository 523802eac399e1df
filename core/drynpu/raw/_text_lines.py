"""Text families with a row per line: traffic counters of links and network, DVPP, memory and disk of the host."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import polars as pl

from drynpu.raw._text_family import Parse, Parsed, TextFamily, number, one_line, shortest, whole, word

__all__ = ["LINE_FAMILIES"]

_GIGA = 1_000_000_000
_Row = tuple[object, ...]
_UNITS = {"B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_CLOCK = "time_stamp(s):time_stamp(ns)"


def _counters(*names: str) -> pl.Schema:
    return pl.Schema({"time_ns": pl.Int64(), **{name: pl.Int64() for name in names}})


def _by_line(convert: Callable[[str], _Row | None], ignored: str) -> Parse:
    """Read line by line; lines that match ``ignored`` are headers."""

    def parse(lines: Sequence[str]) -> Parsed:
        rows: list[_Row] = []
        left_out = 0
        for line in lines:
            row = convert(line)
            if row is not None:
                rows.append(row)
            elif line.strip() and not re.search(ignored, line):
                left_out += 1
        return Parsed(rows, left_out)

    return parse


def _clock(text: str) -> int | None:
    seconds, _, nanoseconds = text.partition(":")
    if not re.fullmatch(r"[0-9]{1,9}", seconds) or not re.fullmatch(r"[0-9]{1,9}", nanoseconds):
        return None
    return int(seconds) * _GIGA + int(nanoseconds)


def _clock_text(time_ns: int) -> str:
    return f"{time_ns // _GIGA}:{time_ns % _GIGA:09d}"


def _read_counters(count: int, optional: int = 0) -> Callable[[str], _Row | None]:
    """Read a clock and ``count`` counters; the last ``optional`` may be missing, and one more may follow them."""

    def convert(line: str) -> _Row | None:
        first, *rest = line.split() or [""]
        time_ns = _clock(first)
        values = [whole(text) for text in rest]
        if time_ns is None or None in values or not count - optional <= len(values) <= count + optional:
            return None
        return (time_ns, *(values + [0] * optional)[:count])

    return convert


def _write_counters(rows: pl.DataFrame) -> Iterator[str]:
    for time_ns, *values in rows.iter_rows():
        yield f"{_clock_text(time_ns)} {' '.join(map(str, values))}\n"


_HCCS = _counters("tx_bytes", "rx_bytes")

_PORT = _counters(
    "bandwidth",
    "rx_packet_rate",
    "rx_byte_rate",
    "rx_packets",
    "rx_bytes",
    "rx_errors",
    "rx_dropped",
    "tx_packet_rate",
    "tx_byte_rate",
    "tx_packets",
    "tx_bytes",
    "tx_errors",
    "tx_dropped",
    "func_id",
)
_PORT_HEADER = (
    f"{_CLOCK} bandwidth rxPacket/s rxByte/s rxPackets rxBytes rxErrors rxDropped "
    "txPacket/s txByte/s txPackets txBytes txErrors txDropped funcId"
)

_DVPP = pl.Schema(
    {
        "time_ns": pl.Int64(),
        "dvpp_id": pl.Int64(),
        "engine_type": pl.Int64(),
        "engine_id": pl.Int64(),
        "all_time": pl.Int64(),
        "all_frame": pl.Int64(),
        "all_utilization": pl.Float64(),
        "proc_time": pl.Int64(),
        "proc_frame": pl.Int64(),
        "proc_utilization": pl.Float64(),
        "last_time": pl.Int64(),
        "last_frame": pl.Int64(),
    }
)
_DVPP_HEADER = (
    f"{_CLOCK} dvpp_id engine_type engine_id all_time all_frame all_utilization "
    "proc_time proc_frame proc_utilization last_time last_frame"
)


def _read_dvpp(line: str) -> _Row | None:
    first, *rest = line.split() or [""]
    time_ns = _clock(first)
    if len(rest) == len(_DVPP) - 2:  # chips with one DVPP leave its id out
        rest.insert(0, "0")
    if time_ns is None or len(rest) != len(_DVPP) - 1:
        return None
    kinds = list(_DVPP.values())[1:]
    values = [
        number(text[:-1]) if kind == pl.Float64 and text.endswith("%") else whole(text)
        for text, kind in zip(rest, kinds, strict=True)
    ]
    return None if None in values else (time_ns, *values)


def _write_dvpp(rows: pl.DataFrame) -> Iterator[str]:
    for time_ns, *values in rows.iter_rows():
        texts = (f"{shortest(value)}%" if isinstance(value, float) else str(value) for value in values)
        yield f"{_clock_text(time_ns)} {' '.join(texts)}\n"


_HOST_MEM = _counters(
    "size_pages", "resident_pages", "shared_pages", "text_pages", "lib_pages", "data_pages", "dirty_pages"
)


def _read_host_mem(line: str) -> _Row | None:
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


def _read_disk_line(line: str) -> _Row | None:
    match = _DISK_LINE.fullmatch(line)
    if not match:
        return None
    hours, minutes, seconds, pid = (int(text) for text in match.groups()[:4])
    read, write = float(match[7]) * _UNITS[match[8]], float(match[9]) * _UNITS[match[10]]
    shares = [None if text is None else float(text) for text in (match[11], match[12])]
    command = (match[13] or "").strip()
    return hours * 3600 + minutes * 60 + seconds, pid, match[5], match[6], read, write, *shares, command


def _read_host_disk(lines: Sequence[str]) -> Parsed:
    """Rows get the start that stands behind them; those without one get 0."""
    rows: list[_Row] = []
    waiting: list[_Row] = []
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


def _traffic(name: str, schema: pl.Schema, header: str, optional: int = 0) -> TextFamily:
    return TextFamily(
        name=name,
        side="device",
        stem=f"{name}.data",
        schema=schema,
        header=header,
        chunks=_write_counters,
        parse=_by_line(_read_counters(len(schema) - 1, optional), r"time_stamp|rxPacket/s"),
    )


LINE_FAMILIES = (
    # hicann/driver devdrv hccs sampler: bytes since the chip began to count.
    _traffic("hccs", _HCCS, f"{_CLOCK} send_amount receive_amount"),
    # hicann/driver hclge_profiling: bandwidth in Mbit/s, rates per second, the other counters since the port came up.
    _traffic("nic", _PORT, _PORT_HEADER, optional=1),
    _traffic("roce", _PORT, _PORT_HEADER, optional=1),
    TextFamily(
        name="dvpp",
        side="device",
        stem="dvpp.data",
        schema=_DVPP,
        header=_DVPP_HEADER,
        chunks=_write_dvpp,
        parse=_by_line(_read_dvpp, "time_stamp"),
    ),
    # /proc/<pid>/statm behind the raw monotonic time (Ascend/msprof host_mem_usage_parser).
    TextFamily(
        name="host_mem",
        side="host",
        stem="host_mem.data",
        schema=_HOST_MEM,
        chunks=_write_host_mem,
        parse=_by_line(_read_host_mem, "^$"),
    ),
    # iotop in batch mode (Ascend/msprof host_disk_usage_parser).
    TextFamily(
        name="host_disk",
        side="host",
        stem="host_disk.data",
        schema=_HOST_DISK,
        optional=frozenset({"swapin_percent", "io_percent"}),
        chunks=_write_host_disk,
        parse=_read_host_disk,
        footer=_disk_start,
    ),
)
