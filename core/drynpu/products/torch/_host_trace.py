"""The framework's part of trace_view.json: operators, task queue, arrows to kernels (torch_npu_profiler.md 4.1)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import polars as pl
from attrs import field, frozen

from drynpu.analysis.links import first_rows
from drynpu.analysis.python_frames import python_frames
from drynpu.arrays import I64
from drynpu.tables.stored import Filled, Stored, gathered, stored, with_codes
from drynpu.writers.events import PYTHON_FUNCTION
from drynpu.writers.number_text import decimal_text, us_text
from drynpu.writers.text_table import Rows
from drynpu.writers.trace_json import Events, JsonStyle, Present, Value, constant

LINE_SEPARATOR = ";\r\n"
"""Between the arguments of an operator or the frames of a stack, in place of ``;``."""

Block = Events | Sequence[str]
_Metadata = tuple[str, int, dict[str, object]]


@frozen(kw_only=True)
class HostTrace:
    """The frames of a profile that the host block shows (schemas of the tables room)."""

    pid: int
    device_ids: tuple[int, ...]
    host_ops: Stored = field(converter=stored)
    queue: Stored = field(converter=stored)
    python_calls: pl.DataFrame
    gc: pl.DataFrame


def host_blocks(data: HostTrace, style: JsonStyle) -> Iterator[Block]:
    """
    Yield the host block in the order of the vendor's file.

    Operators, dequeues, enqueues, metadata, forward-backward arrows, Python frames, garbage collections.
    """
    yield _operators(data.host_ops)
    names = QueueNames.from_queue(data.queue)
    yield _queue_events(data.queue, names, "dequeue")
    yield _queue_events(data.queue, names, "enqueue")
    del names
    yield _metadata(data, style)
    yield _forward_backward(data.host_ops)
    if not data.python_calls.is_empty():
        yield _python_functions(data.python_calls)
    yield from _collections(data, style)


def _operators(host_ops: Stored) -> Events:
    """Operators as X events; shapes and types appear together, wherever they were recorded."""
    fields = ("input_shapes", "input_dtypes", "call_stack", "module_hierarchy")
    cells = [
        *(pl.col(name).str.replace_all(";", LINE_SEPARATOR, literal=True) for name in fields),
        (pl.col("input_dtypes") != "").alias("with_shapes"),
        (pl.col("call_stack") != "").alias("with_stack"),
        (pl.col("module_hierarchy") != "").alias("with_modules"),
    ]
    args: dict[str, Value] = {
        "Sequence number": pl.col("sequence"),
        "Fwd thread id": pl.col("fwd_tid"),
        "shapes": Present(
            pl.col("with_shapes"), {"Input Dims": pl.col("input_shapes"), "Input type": pl.col("input_dtypes")}
        ),
        "stack": Present(pl.col("with_stack"), {"Call stack": pl.col("call_stack")}),
        "modules": Present(pl.col("with_modules"), {"Module Hierarchy": pl.col("module_hierarchy")}),
    }
    members = _duration_event(pl.col("name"), "cpu_op", args)
    return Events(host_ops, members, ("name", *fields), prepare=lambda part: part.with_columns(cells))


def _duration_event(name: Value, category: str, args: dict[str, Value]) -> dict[str, Value]:
    return {
        "ph": '"X"',
        "name": name,
        "pid": pl.col("pid"),
        "tid": pl.col("tid"),
        "ts": ('"', us_text(pl.col("start_ns")), '"'),
        "dur": decimal_text(pl.col("end_ns") - pl.col("start_ns")),
        "cat": constant(category),
        "args": args,
    }


def _flow(phase: str, name: str, category: str, identity: pl.Expr, place: str = "") -> dict[str, Value]:
    """Return one end of an arrow; *place* is the suffix of the pid, tid and start_ns columns that it ends at."""
    return {
        "ph": constant(phase),
        "bp": '"e"',
        "name": constant(name),
        "id": identity,
        "pid": pl.col(f"pid{place}"),
        "tid": pl.col(f"tid{place}"),
        "ts": ('"', us_text(pl.col(f"start_ns{place}")), '"'),
        "cat": constant(category),
    }


def _arrows(
    rows: pl.DataFrame | Rows,
    name: str,
    category: str,
    identity: pl.Expr,
    prepare: Callable[[pl.DataFrame], pl.DataFrame] | None = None,
) -> Events:
    """Return pairs of events from (pid, tid, start_ns) to (pid_to, tid_to, start_ns_to)."""
    return Events(
        rows,
        _flow("s", name, category, identity),
        followed_by=(pl.lit(True), _flow("f", name, category, identity, "_to")),
        prepare=prepare,
    )


@frozen(eq=False)
class QueueNames:
    """Entries of the task queue of which both sides were recorded: their ids in order, and what was taken out."""

    ids: I64
    names: pl.Series
    """Of each the number of its name among the words."""
    words: pl.Series

    @classmethod
    def from_queue(cls, queue: Stored) -> QueueNames:
        """Find the entries."""
        names, sides = with_codes(queue), {"dequeue": Filled("i8"), "enqueue": Filled("i8")}
        codes = Filled("i4")
        for part in names.slices("correlation_id", "side"):
            for side, column in sides.items():
                column.append(part.filter(pl.col("side") == side)["correlation_id"].to_numpy())
        dequeue = names.words["side"][1].index_of("dequeue") if names.height else None
        for part in names.kept_slices("side", "name"):
            codes.append(part.filter(pl.col("side") == pl.lit(dequeue))["name"].to_numpy())
        # The first of a number counts.
        ids, first = _distinct_ids(sides["dequeue"].values())
        put, _ = _distinct_ids(sides["enqueue"].values())
        both = first_rows(put, ids) >= 0
        return cls(ids[both], pl.Series(codes.values()[first[both]]), names.words["name"][1])

    def shown(self, entries: pl.DataFrame) -> pl.DataFrame:
        """Return entries with the name that each is shown under, and whether the other side was recorded."""
        row = first_rows(self.ids, entries["correlation_id"].to_numpy())
        known = pl.Series(np.where(row < 0, 0, row)).to_frame("row").select(pl.when(pl.Series(row >= 0)).then("row"))
        dequeued = gathered(self.words, gathered(self.names, known.to_series())).alias("dequeued")
        dequeue = pl.concat_str([pl.lit("Dequeue@"), pl.col("name").str.strip_prefix("Dequeue@")])
        enqueue = pl.concat_str([pl.lit("Enqueue@"), pl.col("dequeued").str.strip_prefix("Dequeue@")])
        return entries.with_columns(dequeued).with_columns(
            pl.Series(row >= 0).alias("paired"),
            pl.when(pl.col("side") == "dequeue").then(dequeue).otherwise(enqueue.fill_null("Enqueue")).alias("shown"),
        )


def _distinct_ids(ids: I64) -> tuple[I64, I64]:
    """Return each id once and in order, with the row at which it stands first."""
    if (ids[1:] > ids[:-1]).all():
        return ids, np.arange(len(ids))
    distinct, first = np.unique(ids, return_index=True)
    return distinct, first


def _queue_events(queue: Stored, names: QueueNames, side: str) -> Events:
    identity = pl.col("correlation_id")
    phase = "f" if side == "dequeue" else "s"
    return Events(
        queue,
        _duration_event(pl.col("shown"), side, {"correlation_id": identity}),
        ("shown",),
        (pl.col("paired"), _flow(phase, "enqueue_to_dequeue", "async_task_queue", identity)),
        prepare=lambda part: names.shown(part.filter(pl.col("side") == side)),
    )


def _metadata(data: HostTrace, style: JsonStyle) -> list[str]:
    """Process and thread names; the launching (dequeue) threads sort after all others."""
    thread_ids = [part["tid"].unique() for table in (data.host_ops, data.queue) for part in table.slices("tid")]
    tids = pl.concat([*thread_ids, data.python_calls["tid"]]).unique().sort().to_list()
    if not tids:
        return []
    launching = {
        tid
        for part in data.queue.slices("side", "tid")
        for tid in part.filter(pl.col("side") == "dequeue")["tid"].unique().to_list()
    }
    threads: list[_Metadata] = []
    for tid in sorted(tids, key=lambda tid: (tid in launching, tid)):
        threads.append(("thread_name", tid, {"name": f"Thread {tid}"}))
        threads.append(("thread_sort_index", tid, {"sort_index": max(tids) + 1 if tid in launching else tid}))
    return _metadata_texts(data.pid, [*_process("Python", 0), *threads], style)


def _process(name: str, sort_index: int) -> list[_Metadata]:
    return [
        ("process_name", 0, {"name": name}),
        ("process_labels", 0, {"labels": "CPU"}),
        ("process_sort_index", 0, {"sort_index": sort_index}),
    ]


def _metadata_texts(pid: int, events: list[_Metadata], style: JsonStyle) -> list[str]:
    return [
        json.dumps(
            {"ph": "M", "name": name, "pid": pid, "tid": tid, "args": args},
            separators=(style.comma, style.colon),
        )
        for name, tid, args in events
    ]


def paired_operators(host_ops: Stored, wanted: pl.Series | None = None) -> pl.DataFrame:
    """
    Return the rows of these operators, ``row`` and ``row_to``, by their ``sequence``, in order of the forward's.

    *wanted*: which operators count; default all.
    """
    columns = ("sequence", "start_ns", "fwd_tid")
    is_backward = pl.col("fwd_tid") != 0
    sequences = pl.concat(
        part.filter(is_backward & (pl.col("sequence") >= 0))["sequence"].unique() for part in host_ops.slices(*columns)
    ).unique()
    flags = pl.Series([True]).new_from_index(0, host_ops.height) if wanted is None else wanted
    sides: dict[bool, list[pl.DataFrame]] = {False: [], True: []}
    offset = 0
    for part in host_ops.slices(*columns):
        rows = part.with_columns(pl.int_range(offset, offset + pl.len(), dtype=pl.Int64).alias("row"), is_backward)
        rows = rows.filter(pl.col("sequence").is_in(sequences.implode()) & flags.slice(offset, part.height))
        for backward, latest in sides.items():
            side = rows.filter(pl.col("fwd_tid") == backward).select("sequence", "start_ns", "row")
            latest.append(_latest(side))
        offset += part.height
    forward, to = (_latest(pl.concat(latest)).select("sequence", "row") for latest in sides.values())
    return forward.join(to, on="sequence", how="inner", suffix="_to", maintain_order="left")


def _latest(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.sort("start_ns", maintain_order=True).unique("sequence", keep="last", maintain_order=True)


def _ends(host_ops: Stored, pairs: pl.DataFrame) -> pl.DataFrame:
    columns = ("op_id", "pid", "tid", "start_ns")
    forward, backward = (host_ops.gather(pairs[name], *columns) for name in ("row", "row_to"))
    return pairs.select("sequence").hstack(forward).hstack(backward.rename(lambda name: f"{name}_to"))


def _forward_backward(host_ops: Stored) -> Events:
    """Return the arrows from forward to backward operators, across threads only."""
    across = pl.col("tid") != pl.col("tid_to")
    return _arrows(
        paired_operators(host_ops),
        "fwdbwd",
        "fwdbwd",
        pl.col("sequence"),
        lambda pairs: _ends(host_ops, pairs).filter(across),
    )


def _python_functions(calls: pl.DataFrame) -> Events:
    args: dict[str, Value] = {
        "Python id": pl.col("id"),
        "Python parent id": pl.col("parent_id"),
        "module": Present(
            pl.col("module_id").is_not_null(), {"Python module id": pl.col("module_id").cast(pl.String).fill_null("")}
        ),
    }
    return Events(python_frames(calls), _duration_event(pl.col("name"), PYTHON_FUNCTION, args), ("name",))


def _collections(data: HostTrace, style: JsonStyle) -> Iterator[Block]:
    """Garbage collections, in a process of their own; its number is -1 when there is no single device."""
    if data.gc.is_empty():
        return
    device = data.device_ids[0] if len(data.device_ids) == 1 else -1
    pid = (data.pid << 10) | (1 << 5) | device
    rows = data.gc.with_columns(pl.lit(pid, pl.Int64).alias("pid"), pl.lit(0, pl.Int64).alias("tid"))
    yield Events(rows, _duration_event('"GC"', "GC", {}))
    threads: list[_Metadata] = [
        ("thread_name", 0, {"name": "Python GC"}),
        ("thread_sort_index", 0, {"sort_index": 0}),
    ]
    yield _metadata_texts(pid, [*_process("Python GC", 1), *threads], style)


@frozen(eq=False)
class ArrowEnds:
    """Arrows in order of their ends, made part by part; ``starts_to`` are the ends' starts, ns."""

    starts_to: pl.Series
    make: Callable[[int, int], pl.DataFrame]
    ids: I64 = field(init=False)

    @ids.default
    def _ids(self) -> I64:
        # Events that start in the same nanosecond get the next free numbers, since an id must be unique.
        row = np.arange(self.starts_to.len(), dtype=np.int64)
        return np.asarray(np.maximum.accumulate(self.starts_to.to_numpy() - row) + row, np.int64)

    @property
    def height(self) -> int:
        """Number of rows."""
        return self.starts_to.len()

    def slice(self, offset: int, count: int, /) -> pl.DataFrame:
        """Return *count* rows from *offset* on, or those that are left."""
        return self.make(offset, count).with_columns(pl.Series("id", self.ids[offset : offset + count]))


def kernel_arrows(ends: ArrowEnds) -> Events:
    """
    Return the arrows from the innermost framework operator to each of its kernels, copies and collectives.

    *ends*: one row per arrow with ``pid``, ``tid``, ``start_ns`` of the operator and ``pid_to``, ``tid_to``,
    ``start_ns_to`` of the device event. The id is the device start, or the next free number.
    """
    return _arrows(ends, "torch_to_npu", "async_npu", pl.col("id"))
