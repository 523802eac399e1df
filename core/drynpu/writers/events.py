"""Events that several layers of the toolkit's timeline share."""

from __future__ import annotations

import polars as pl

from drynpu.writers.number_text import decimal_text, us_text
from drynpu.writers.trace_json import Present, Value, constant

PYTHON_FUNCTION = "python_function"
"""Category of the calls of Python in timelines of PyTorch and MindSpore."""


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


def launched_by(work: pl.DataFrame) -> dict[str, Value]:
    """Return the argument that names the framework's launch, of *work* that was told it: column ``mindspore_op``."""
    name = "mindspore_op"
    return {name: Present(pl.col(name).is_not_null(), {name: pl.col(name)})} if name in work.columns else {}
