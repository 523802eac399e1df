"""The framework's part of trace_view.json: operators, task queue, arrows to kernels (torch_npu_profiler.md 4.1)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import polars as pl
from attrs import frozen

from drynpu.analysis._python_frames import python_frames
from drynpu.writers._json import Events, JsonStyle, Present, Value, constant
from drynpu.writers._numbers import decimal_text, us_text

LINE_SEPARATOR = ";\r\n"
"""Between the arguments of an operator or the frames of a stack, in place of ``;``."""

Block = Events | Sequence[str]
_Metadata = tuple[str, int, dict[str, object]]


@frozen(kw_only=True)
class HostTrace:
    """The frames of a profile that the host block shows (schemas of the tables room)."""

    pid: int
    device_ids: tuple[int, ...]
    host_ops: pl.DataFrame
    queue: pl.DataFrame
    python_calls: pl.DataFrame
    gc: pl.DataFrame


def host_blocks(data: HostTrace, style: JsonStyle) -> Iterator[Block]:
    """
    Yield the host block in the order of the vendor's file.

    Operators, dequeues, enqueues, metadata, forward-backward arrows, Python frames, garbage collections.
    """
    yield _operators(data.host_ops)
    entries = queue_entries(data.queue)
    yield _queue_events(entries, "dequeue")
    yield _queue_events(entries, "enqueue")
    yield _metadata(data, style)
    yield _forward_backward(data.host_ops)
    if not data.python_calls.is_empty():
        yield _python_functions(data.python_calls)
    yield from _collections(data, style)


def _operators(host_ops: pl.DataFrame) -> Events:
    """Operators as X events; shapes and types appear together, wherever they were recorded."""
    fields = ("input_shapes", "input_dtypes", "call_stack", "module_hierarchy")
    rows = host_ops.select(
        "name", "pid", "tid", "start_ns", "end_ns", "sequence", "fwd_tid",
        *(pl.col(name).str.replace_all(";", LINE_SEPARATOR, literal=True) for name in fields),
        (pl.col("input_dtypes") != "").alias("with_shapes"),
        (pl.col("call_stack") != "").alias("with_stack"),
        (pl.col("module_hierarchy") != "").alias("with_modules"),
    )  # fmt: skip
    args: dict[str, Value] = {
        "Sequence number": pl.col("sequence"),
        "Fwd thread id": pl.col("fwd_tid"),
        "shapes": Present(
            pl.col("with_shapes"), {"Input Dims": pl.col("input_shapes"), "Input type": pl.col("input_dtypes")}
        ),
        "stack": Present(pl.col("with_stack"), {"Call stack": pl.col("call_stack")}),
        "modules": Present(pl.col("with_modules"), {"Module Hierarchy": pl.col("module_hierarchy")}),
    }
    return Events(rows, _duration_event(pl.col("name"), "cpu_op", args), ("name", *fields))


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


def _arrows(rows: pl.DataFrame, name: str, category: str, identity: pl.Expr) -> Events:
    """Return pairs of events from (pid, tid, start_ns) to (pid_to, tid_to, start_ns_to)."""
    return Events(
        rows,
        _flow("s", name, category, identity),
        followed_by=(pl.lit(True), _flow("f", name, category, identity, "_to")),
    )


def queue_entries(queue: pl.DataFrame) -> pl.DataFrame:
    """Return the task queue with the name that each entry is shown under, and whether the other side was recorded."""
    dequeues = queue.filter(pl.col("side") == "dequeue").select("correlation_id", pl.col("name").alias("dequeued"))
    enqueues = queue.filter(pl.col("side") == "enqueue").select("correlation_id")
    both = dequeues.join(enqueues, on="correlation_id", how="semi").unique("correlation_id", keep="first")
    dequeue = pl.concat_str([pl.lit("Dequeue@"), pl.col("name").str.strip_prefix("Dequeue@")])
    enqueue = pl.concat_str([pl.lit("Enqueue@"), pl.col("dequeued").str.strip_prefix("Dequeue@")])
    return queue.join(both, on="correlation_id", how="left", maintain_order="left").with_columns(
        pl.col("dequeued").is_not_null().alias("paired"),
        pl.when(pl.col("side") == "dequeue").then(dequeue).otherwise(enqueue.fill_null("Enqueue")).alias("shown"),
    )


def _queue_events(entries: pl.DataFrame, side: str) -> Events:
    identity = pl.col("correlation_id")
    phase = "f" if side == "dequeue" else "s"
    return Events(
        entries.filter(pl.col("side") == side),
        _duration_event(pl.col("shown"), side, {"correlation_id": identity}),
        ("shown",),
        (pl.col("paired"), _flow(phase, "enqueue_to_dequeue", "async_task_queue", identity)),
    )


def _metadata(data: HostTrace, style: JsonStyle) -> list[str]:
    """Process and thread names; the launching (dequeue) threads sort after all others."""
    tids = pl.concat([data.host_ops["tid"], data.queue["tid"], data.python_calls["tid"]]).unique().sort().to_list()
    if not tids:
        return []
    launching = set(data.queue.filter(pl.col("side") == "dequeue")["tid"].to_list())
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


def forward_backward_pairs(host_ops: pl.DataFrame) -> pl.DataFrame:
    """
    Return the latest forward and the latest backward operator of each sequence number that has both.

    Columns: ``sequence``; ``op_id``, ``pid``, ``tid``, ``start_ns`` of the forward operator; the same with ``_to`` of
    the backward one.
    """
    numbered = host_ops.filter(pl.col("sequence") >= 0).sort("start_ns", maintain_order=True)
    numbered = numbered.select("sequence", "op_id", "pid", "tid", "start_ns", "fwd_tid")
    forward, backward = (
        numbered.filter(condition).drop("fwd_tid").unique("sequence", keep="last", maintain_order=True)
        for condition in (pl.col("fwd_tid") == 0, pl.col("fwd_tid") != 0)
    )
    return forward.join(backward, on="sequence", suffix="_to", maintain_order="left")


def _forward_backward(host_ops: pl.DataFrame) -> Events:
    """Return the arrows from forward to backward operators, across threads only."""
    pairs = forward_backward_pairs(host_ops)
    return _arrows(pairs.filter(pl.col("tid") != pl.col("tid_to")), "fwdbwd", "fwdbwd", pl.col("sequence"))


def _python_functions(calls: pl.DataFrame) -> Events:
    args: dict[str, Value] = {
        "Python id": pl.col("id"),
        "Python parent id": pl.col("parent_id"),
        "module": Present(
            pl.col("module_id").is_not_null(), {"Python module id": pl.col("module_id").cast(pl.String).fill_null("")}
        ),
    }
    return Events(python_frames(calls), _duration_event(pl.col("name"), "python_function", args), ("name",))


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


def kernel_arrows(links: pl.DataFrame) -> Events:
    """
    Return the arrows from the innermost framework operator to each of its kernels, copies and collectives.

    *links*: one row per arrow with ``pid``, ``tid``, ``start_ns`` of the operator and ``pid_to``, ``tid_to``,
    ``start_ns_to`` of the device event. The id is the device start; events that start in the same nanosecond get
    the next free numbers, since an id must be unique.
    """
    ordered = links.sort("start_ns_to", maintain_order=True)
    row = pl.int_range(pl.len(), dtype=pl.Int64)
    rows = ordered.with_columns(((pl.col("start_ns_to") - row).cum_max() + row).alias("id"))
    return _arrows(rows, "torch_to_npu", "async_npu", pl.col("id"))
