"""Text records with a row per line: a clock reading and counters behind it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import polars as pl

from drynpu.raw._clock import NS_PER_S
from drynpu.raw._text_kind import Parse, Parsed, Row, whole

CLOCK_TITLE = "time_stamp(s):time_stamp(ns)"
"""What the drivers' headers call the first column."""


def counter_columns(*names: str) -> pl.Schema:
    """Return the schema of ``time_ns`` and whole numbers."""
    return pl.Schema({"time_ns": pl.Int64(), **{name: pl.Int64() for name in names}})


def by_line(convert: Callable[[str], Row | None], ignored: str) -> Parse:
    """Read line by line; lines that match ``ignored`` are headers."""

    def parse(lines: Sequence[str]) -> Parsed:
        rows: list[Row] = []
        left_out = 0
        for line in lines:
            row = convert(line)
            if row is not None:
                rows.append(row)
            elif line.strip() and not re.search(ignored, line):
                left_out += 1
        return Parsed(rows, left_out)

    return parse


def read_clock(text: str) -> int | None:
    """Read ``<seconds>:<nanoseconds>`` as nanoseconds; ``None`` if the text is no such reading."""
    seconds, _, nanoseconds = text.partition(":")
    if not re.fullmatch(r"[0-9]{1,9}", seconds) or not re.fullmatch(r"[0-9]{1,9}", nanoseconds):
        return None
    return int(seconds) * NS_PER_S + int(nanoseconds)


def clock_text(time_ns: int) -> str:
    """Write nanoseconds as ``<seconds>:<nanoseconds>``."""
    return f"{time_ns // NS_PER_S}:{time_ns % NS_PER_S:09d}"


def read_counters(count: int, optional: int = 0) -> Callable[[str], Row | None]:
    """Read a clock and ``count`` counters; the last ``optional`` may be missing, and one more may follow them."""

    def convert(line: str) -> Row | None:
        first, *rest = line.split() or [""]
        time_ns = read_clock(first)
        values = [whole(text) for text in rest]
        if time_ns is None or None in values or not count - optional <= len(values) <= count + optional:
            return None
        return (time_ns, *(values + [0] * optional)[:count])

    return convert


def write_counters(rows: pl.DataFrame) -> Iterator[str]:
    """Write a clock and counters per line."""
    for time_ns, *values in rows.iter_rows():
        yield f"{clock_text(time_ns)} {' '.join(map(str, values))}\n"
