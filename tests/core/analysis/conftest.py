"""Profiles made by hand: give the rows that matter, everything else takes a neutral value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from drynpu import tables
from drynpu.deliverables.registry import GROUPS, schemas
from drynpu.products.mindspore._schemas import SCHEMAS as MINDSPORE_SCHEMAS
from drynpu.tables import Profile

__all__ = ["host_op", "make_profile", "table"]

_FRAMES: dict[str, pl.Schema] = {
    "host_ops": tables.HOST_OPS,
    "queue": tables.QUEUE,
    "allocations": tables.ALLOCATIONS,
    "python_calls": tables.PYTHON_CALLS,
    "gc": tables.GC,
    "api": tables.API,
    "tasks": tables.TASKS,
    "kernels": tables.KERNELS,
    "communication_ops": tables.COMMUNICATION_OPS,
}

_NEUTRAL: dict[type[pl.DataType], object] = {pl.String: "", pl.Int64: 0, pl.UInt64: 0, pl.Boolean: False}


def table(schema: pl.Schema, rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    """Return *rows* with neutral values for what they leave out."""
    unknown = {key for row in rows for key in row} - set(schema)
    assert not unknown, f"no such columns: {unknown}"
    neutral = {name: _NEUTRAL.get(dtype.base_type()) for name, dtype in schema.items()}
    return pl.DataFrame([{**neutral, **row} for row in rows], schema=schema)


def make_profile(**given: Any) -> Profile:
    """Return a profile; frames are given as lists of row mappings, facts as values."""
    rows = {name: given.pop(name, []) for name in _FRAMES}
    rows["host_ops"] = [
        {"op_id": i, **row}
        for i, row in enumerate(sorted(rows["host_ops"], key=lambda r: (r["start_ns"], -r["end_ns"])))
    ]
    facts: dict[str, Any] = {
        "path": Path("somewhere"),
        "prof_path": None,
        "framework_path": None,
        "pid": 1,
        "pid_name": "python",
        "hostname": "box",
        "rank_id": -1,
        "device_ids": (0,),
        "platform_version": "5",
        "aic_mhz": 1800,
        "aiv_mhz": 1800,
        "aic_cores": 24,
        "aiv_cores": 48,
        "level": "level1",
        "aic_metrics": "",
        "begin_ns": 0,
        "end_ns": 0,
        "notes": (),
        "profiler_info": {},
        "metadata": {},
        "schemas": {**schemas(GROUPS), **MINDSPORE_SCHEMAS},
    }
    frames = {name: table(schema, rows[name]) for name, schema in _FRAMES.items()}
    known = {**schemas(GROUPS), **MINDSPORE_SCHEMAS}
    group_tables = {name: table(known[name], given.pop(name)) for name in known if name in given}
    given["group_tables"] = {**given.get("group_tables", {}), **group_tables}
    return Profile(**{**facts, **given}, **frames)


def host_op(name: str, start: int, end: int, tid: int = 1, **more: object) -> dict[str, object]:
    """Return a host operator row."""
    return {"name": name, "start_ns": start, "end_ns": end, "tid": tid, **more}
