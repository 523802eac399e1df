"""Events that several layers of the toolkit's timeline share."""

from __future__ import annotations

import polars as pl

from drynpu.export._json import Value, constant
from drynpu.export._numbers import decimal_text, us_text

__all__ = ["duration_event", "flow"]


def flow(phase: str, pid: Value, tid: pl.Expr) -> dict[str, Value]:
    """Return one end of a HostToDevice arrow of rows with connection_id and start_ns."""
    identity = (pl.col("connection_id") * 2**32).cast(pl.String)
    members: dict[str, Value] = {
        "name": ('"HostToDevice', identity, '"'),
        "pid": pid,
        "tid": tid,
        "ph": constant(phase),
        "cat": '"HostToDevice"',
        "id": ('"', identity, '"'),
        "ts": ('"', us_text(pl.col("start_ns")), '"'),
    }
    return members if phase == "s" else {**members, "bp": '"e"'}


def duration_event(name: Value, pid: Value, tid: Value, args: dict[str, Value] | None) -> dict[str, Value]:
    """Return an X event of rows with start_ns and duration_ns."""
    members: dict[str, Value] = {
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": ('"', us_text(pl.col("start_ns")), '"'),
        "dur": decimal_text(pl.col("duration_ns")),
        "ph": '"X"',
    }
    return members if args is None else {**members, "args": args}
