"""Rows of the Comm tables from communication.json and communication_matrix.json (cann_msprof.md 4.7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_TIME, _BANDWIDTH = "Communication Time Info", "Communication Bandwidth Info"
_TIME_COLUMNS = (
    "Start Timestamp(us)",
    "Elapse Time(ms)",
    "Transit Time(ms)",
    "Wait Time(ms)",
    "Synchronization Time(ms)",
    "Idle Time(ms)",
)
_LINK_COLUMNS = ("Transit Size(MB)", "Transit Time(ms)", "Bandwidth(GB/s)")
_LARGE, _SIZES = "Large Packet Ratio", "Size Distribution"
_NO_PACKETS = {"0": (0, 0)}

Row = tuple[Any, ...]
Operators = Mapping[str, Mapping[str, Any]]
"""Entries of one document by ``<operator>@<group>``; the sum of all operators has no group and no row."""


def time_rows(operators: Operators) -> Iterator[Row]:
    """Yield operator, group, start in us, and five times in ms."""
    for name, group, entry in _entries(operators):
        yield name, group, *(entry[_TIME][title] for title in _TIME_COLUMNS)


def bandwidth_rows(operators: Operators) -> Iterator[Row]:
    """
    Yield operator, group, transport, 10^6 bytes, ms, GB/s, ratio of large packets; size, number and ms of packets.

    A transport that moved nothing has no row; one without packets of its own (SDMA, the sum of others) has one row
    with packet size 0.
    """
    for name, group, entry in _entries(operators):
        for transport, moved in entry[_BANDWIDTH].items():
            own = (*(moved[title] for title in _LINK_COLUMNS), moved[_LARGE])
            if own[0]:
                for size, (count, total) in (moved[_SIZES] or _NO_PACKETS).items():
                    yield name, group, transport, *own, float(size), count, total


def link_rows(operators: Operators) -> Iterator[tuple[Row, Mapping[str, Any]]]:
    """Yield operator, group, both ranks, transport, 10^6 bytes, ms, GB/s; and what the document says of the link."""
    for name, group, entry in _entries(operators):
        for ends, link in entry.items():
            moved = (link["Transport Type"], *(link[title] for title in _LINK_COLUMNS))
            yield (name, group, *ends.split("-"), *moved), link


def _entries(operators: Operators) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for key, entry in operators.items():
        name, separator, group = key.partition("@")
        if separator:
            yield name, group, entry
