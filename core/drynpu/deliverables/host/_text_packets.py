"""
Text kinds with one packet per sample: a head that says when, which and how long, then lines of /proc.

Each kind of packet stands in a file of the host and in one of a device, whose system is sampled the same way
(hicann/runtime collector of proc samples; Ascend/msprof sys_mem and cpu usage parsers).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

import polars as pl
from attrs import frozen

from drynpu.deliverables.host._proc_lines import (
    CPU_TIMES,
    STATM,
    columns,
    leading,
    read_cpu,
    read_numbers,
    read_stat,
    stat_line,
)
from drynpu.raw import Chunks, Parse, Parsed, Row, TextKind, one_line, whole


@frozen
class _Packet:
    time_ns: int
    index: int
    lines: list[str]


def _packets(lines: Sequence[str]) -> tuple[list[_Packet], int]:
    """Find the packets that are whole; the second result is the number of lines that belong to none."""
    starts = [at for at, line in enumerate(lines) if line.startswith("TimeStamp:")]
    packets: list[_Packet] = []
    left_out = sum(bool(line.strip()) for line in lines[: starts[0] if starts else len(lines)])
    for start, end in pairwise([*starts, len(lines)]):
        head = "\n".join(lines[start : start + 3])
        match = re.fullmatch(r"TimeStamp:([0-9]{1,19})\nIndex:([0-9]{1,19})\nDataLen:([0-9]{1,19})\s*", head)
        numbers = [whole(text) for text in match.groups()] if match else [None]
        body = list(lines[start + 3 : end])
        while body and not body[-1].strip():
            body.pop()
        time_ns, index, size = numbers if len(numbers) == 3 else (None, None, None)
        # Writers differ in whether the blank line behind the data counts.
        held = sum(len(line.encode("utf-8", "replace")) + 1 for line in body) + 1
        if time_ns is None or index is None or size is None or held < size:
            left_out += sum(bool(line.strip()) for line in lines[start:end])
        else:
            packets.append(_Packet(time_ns, index, body))
    return packets, left_out


def _packet(time_ns: object, index: object, body: str) -> str:
    return f"TimeStamp:{time_ns}\nIndex:{index}\nDataLen:{len(body.encode('utf-8', 'replace'))}\n{body}\n"


_SYS_CPU = columns("time_ns", "index", "cpu", *CPU_TIMES, texts=("cpu",))


def _parse_sys_cpu(lines: Sequence[str]) -> Parsed:
    packets, left_out = _packets(lines)
    rows: list[Row] = []
    for packet in packets:
        for line in packet.lines:
            values = read_cpu(line)
            if values is not None:
                rows.append((packet.time_ns, packet.index, *values))
            elif line.startswith("cpu"):
                left_out += 1
    return Parsed(rows, left_out)


def _write_sys_cpu(rows: pl.DataFrame) -> Iterator[str]:
    for (time_ns, index), cores in groupby(rows.iter_rows(), leading(2)):
        yield _packet(time_ns, index, "".join(" ".join(map(str, core)) + "\n" for _, _, *core in cores))


_MEMORY_KEYS = {
    "MemTotal": "total_kb",
    "MemFree": "free_kb",
    "Buffers": "buffers_kb",
    "Cached": "cached_kb",
    "Shmem": "shmem_kb",
    "CommitLimit": "commit_limit_kb",
    "Committed_AS": "committed_kb",
    "HugePages_Total": "huge_pages_total",
    "HugePages_Free": "huge_pages_free",
}
SYSTEM_MEMORY = tuple(_MEMORY_KEYS.values())
"""What is read of /proc/meminfo."""
_SYS_MEM = columns("time_ns", "index", *SYSTEM_MEMORY)


def _parse_sys_mem(lines: Sequence[str]) -> Parsed:
    packets, left_out = _packets(lines)
    rows: list[Row] = []
    for packet in packets:
        values: dict[str, int] = {}
        for line in packet.lines:
            match = re.fullmatch(r"(\w+):\s+([0-9]{1,19})( kB)?\s*", line)
            value = whole(match[2]) if match else None
            if match and value is not None:
                values.setdefault(match[1], value)
        if "MemTotal" in values and "MemFree" in values:
            rows.append((packet.time_ns, packet.index, *(values.get(key, 0) for key in _MEMORY_KEYS)))
        else:
            left_out += len(packet.lines) + 3
    return Parsed(rows, left_out)


def _write_sys_mem(rows: pl.DataFrame) -> Iterator[str]:
    for time_ns, index, *values in rows.iter_rows():
        pairs = zip(_MEMORY_KEYS, values, strict=True)
        body = "".join(f"{key}: {value}{'' if key.startswith('Huge') else ' kB'}\n" for key, value in pairs)
        yield _packet(time_ns, index, body)


_PROCESS_CPU = columns(
    *("time_ns", "index", "pid", "name"),
    *("utime_ticks", "stime_ticks", "children_utime_ticks", "children_stime_ticks"),
    *(f"all_{name}" for name in CPU_TIMES),
    texts=("name",),
)


def _process_name(packet: _Packet) -> str | None:
    names = [line.partition(":")[2].strip() for line in packet.lines if line.startswith("ProcessName:")]
    return names[0] if names else None


def _first(rows: Iterator[Row | None]) -> Row | None:
    return next((row for row in rows if row is not None), None)


def _parse_process_cpu(lines: Sequence[str]) -> Parsed:
    packets, left_out = _packets(lines)
    rows: list[Row] = []
    for packet in packets:
        process_ticks = _first(read_stat(line, (13, 14, 15, 16)) for line in packet.lines)
        everything = _first(read_cpu(line) for line in packet.lines)
        name = _process_name(packet)
        if process_ticks is None or everything is None or name is None:
            left_out += len(packet.lines) + 3
        else:
            rows.append((packet.time_ns, packet.index, process_ticks[0], name, *process_ticks[3:], *everything[1:]))
    return Parsed(rows, left_out)


def _write_process_cpu(rows: pl.DataFrame) -> Iterator[str]:
    for time_ns, index, pid, name, *times in rows.iter_rows():
        stat = stat_line(pid, name, "S", dict(zip((13, 14, 15, 16), times[:4], strict=True)))
        everything = " ".join(map(str, times[4:]))
        yield _packet(time_ns, index, f"{stat}ProcessName:{one_line(name)}\ncpu  {everything}\n")


_PROCESS_MEM = columns("time_ns", "index", "name", *STATM, texts=("name",))


def _parse_process_mem(lines: Sequence[str]) -> Parsed:
    packets, left_out = _packets(lines)
    rows: list[Row] = []
    for packet in packets:
        pages = _first(read_numbers(line, len(STATM)) for line in packet.lines)
        name = _process_name(packet)
        if pages is None or name is None:
            left_out += len(packet.lines) + 3
        else:
            rows.append((packet.time_ns, packet.index, name, *pages))
    return Parsed(rows, left_out)


def _write_process_mem(rows: pl.DataFrame) -> Iterator[str]:
    for time_ns, index, name, *pages in rows.iter_rows():
        yield _packet(time_ns, index, f"{' '.join(map(str, pages))}\nProcessName:{one_line(name)}\n")


def _both(
    name: str, stems: tuple[str, str], schema: pl.Schema, chunks: Chunks, parse: Parse
) -> tuple[TextKind, TextKind]:
    """Describe a kind of packet of the host and of a device."""
    host, device = (
        TextKind(name=f"{side}_{name}", side=side, stem=stem, schema=schema, chunks=chunks, parse=parse)
        for side, stem in zip(("host", "device"), stems, strict=True)
    )
    return host, device


HOST_SYS_CPU, DEVICE_SYS_CPU = _both(
    "sys_cpu", ("host_sys_cpu.data", "SystemCpuUsage.data"), _SYS_CPU, _write_sys_cpu, _parse_sys_cpu
)
HOST_SYS_MEM, DEVICE_SYS_MEM = _both(
    "sys_mem", ("host_sys_mem.data", "Memory.data"), _SYS_MEM, _write_sys_mem, _parse_sys_mem
)
HOST_PROCESS_CPU, DEVICE_PROCESS_CPU = _both(
    "process_cpu", ("{pid}-CpuUsage.data",) * 2, _PROCESS_CPU, _write_process_cpu, _parse_process_cpu
)
HOST_PROCESS_MEM, DEVICE_PROCESS_MEM = _both(
    "process_mem", ("{pid}-Memory.data",) * 2, _PROCESS_MEM, _write_process_mem, _parse_process_mem
)
