"""
Text kinds of the host with snapshots below a ``time <raw monotonic ns>`` line.

Lines are copied from /proc (Ascend/msprof host_cpu_usage_parser and host_network_usage_parser read them).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import polars as pl

from drynpu.deliverables.host._proc_lines import PROCESSOR, columns, leading, read_numbers, read_stat, stat_line
from drynpu.raw import Parsed, Row, TextKind, number, whole, word


def _read_timed(lines: Sequence[str], head: int, convert: Callable[[str], Row | None], ignored: str) -> Parsed:
    """Read rows below ``time <ns>`` lines; ``head`` more columns come from an uptime line that has to follow."""
    rows: list[Row] = []
    key: Row | None = None
    left_out = 0
    for line in lines:
        time = re.fullmatch(r"time ([0-9]{1,19})\s*", line)
        time_ns = whole(time[1]) if time else None
        row = convert(line) if key is not None and len(key) == head + 1 else None
        if time_ns is not None:
            key = (time_ns,)
        elif row is not None and key is not None:
            rows.append((*key, *row))
        elif key is not None and len(key) < head + 1:
            uptime = tuple(number(text) for text in line.split())
            key = None if None in uptime or len(uptime) != head else (*key, *uptime)
            left_out += key is None
        elif line.strip() and not re.search(ignored, line):
            left_out += 1
    return Parsed(rows, left_out)


_HOST_CPU = columns(
    *("time_ns", "uptime_s", "idle_s"),
    *("tid", "name", "state", "parent_pid", "utime_ticks", "stime_ticks", "processor"),
    texts=("name", "state"),
    reals=("uptime_s", "idle_s"),
)


def _parse_host_cpu(lines: Sequence[str]) -> Parsed:
    return _read_timed(lines, 2, lambda line: read_stat(line, (3, 13, 14, PROCESSOR)), "^$")


def _write_host_cpu(rows: pl.DataFrame) -> Iterator[str]:
    for (time_ns, uptime, idle), threads in groupby(rows.iter_rows(), leading(3)):
        lines = [
            stat_line(thread_id, name, state, {3: parent, 13: user, 14: system, PROCESSOR: processor})
            for *_, thread_id, name, state, parent, user, system, processor in threads
        ]
        yield f"time {time_ns}\n{uptime:.2f} {idle:.2f}\n{''.join(lines)}"


_NET_COUNTERS = (
    *("rx_bytes", "rx_packets", "rx_errors", "rx_dropped", "rx_fifo", "rx_frame", "rx_compressed", "rx_multicast"),
    *("tx_bytes", "tx_packets", "tx_errors", "tx_dropped", "tx_fifo", "tx_collisions", "tx_carrier", "tx_compressed"),
)
_HOST_NETWORK = columns("time_ns", "interface", *_NET_COUNTERS, texts=("interface",))


def _read_interface(line: str) -> Row | None:
    name, colon, rest = line.rpartition(":")
    values = read_numbers(rest, len(_NET_COUNTERS))
    return (name.strip(), *values) if colon and name.strip() and values else None


def _parse_host_network(lines: Sequence[str]) -> Parsed:
    return _read_timed(lines, 0, _read_interface, r"^$|\|")


def _write_host_network(rows: pl.DataFrame) -> Iterator[str]:
    for (time_ns,), cards in groupby(rows.iter_rows(), leading(1)):
        lines = [f"{word(name)}: {' '.join(map(str, values))}\n" for _, name, *values in cards]
        yield f"time {time_ns}\n{''.join(lines)}"


HOST_CPU = TextKind(
    name="host_cpu",
    side="host",
    stem="host_cpu.data",
    schema=_HOST_CPU,
    chunks=_write_host_cpu,
    parse=_parse_host_cpu,
)
HOST_NETWORK = TextKind(
    name="host_network",
    side="host",
    stem="host_network.data",
    schema=_HOST_NETWORK,
    chunks=_write_host_network,
    parse=_parse_host_network,
)
