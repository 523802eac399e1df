"""MindSpore's trace_view.json: the framework, its own operators, arrows and scopes (mindspore_profiler.md 12.5)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import polars as pl
from attrs import evolve

from drynpu.analysis import mindspore_launches, scope_bars
from drynpu.deliverables.communication.layer import operation_threads
from drynpu.deliverables.record_group import RecordGroup, iter_layers
from drynpu.deliverables.registry import LAYER_ORDER, in_order
from drynpu.deliverables.tasks.timeline import Block, timeline_blocks
from drynpu.products.toolkit._msprof import timeline_of
from drynpu.tables import Profile
from drynpu.writers import layers
from drynpu.writers.events import PYTHON_FUNCTION
from drynpu.writers.number_text import toolkit_writer, us_text
from drynpu.writers.trace_json import Events, JsonStyle, Value, constant

_MINDSPORE, _HOST_OPS, _SCOPES = 1, 2, 3
"""Process ids of the layers that MindSpore itself adds."""
# Places of the layers in a viewer (mindspore_profiler.md 12.5); the toolkit's layers lie between.
_SORT = {_MINDSPORE: 1, _HOST_OPS: 2, _SCOPES: 12}
_NAMES = {_MINDSPORE: "MindSpore", _HOST_OPS: "CPU OP", _SCOPES: "Scope Layer"}
_MARK_CALLS = "Mstx"
_HCCL = evolve(layers.COMMUNICATION, name="HCCL")
"""As the toolkits that MindSpore 2.7 came out with call it, and as MindSpore looks for it."""
# What a piece of work on the device and its launch are joined by.
_KEY = ["device_id", "connection_id", "start_ns"]


def mindspore_blocks(profile: Profile, style: JsonStyle, groups: Sequence[RecordGroup]) -> Iterator[Block]:
    """Yield trace_view.json in blocks: the framework, operators of the host, the toolkit's layers, arrows, scopes."""
    launches = mindspore_launches(profile)
    yield from _framework(profile.frame("framework_events"), style)
    yield from _host_ops(profile.frame("host_cpu_ops"), style)
    if profile.with_toolkit:
        yield from _toolkit(profile, style, groups)
    yield _self_arrows(profile.frame("framework_events"))
    yield _mark_arrows(profile)
    yield _kernel_arrows(profile, launches)
    yield from _scope_layer(scope_bars(profile, launches), style)


def _event(name: pl.Expr, pid: int, tid: pl.Expr, category: Value, args: dict[str, Value]) -> dict[str, Value]:
    """Return an X event of rows with start_ns and end_ns; both times are texts, unlike in the toolkit."""
    return {
        "ph": '"X"',
        "name": name,
        "pid": constant(pid),
        "tid": tid,
        "ts": ('"', us_text(pl.col("start_ns")), '"'),
        "dur": ('"', us_text(pl.col("end_ns") - pl.col("start_ns")), '"'),
        "cat": category,
        "args": args,
    }


def _framework(events: pl.DataFrame, style: JsonStyle) -> Iterator[Block]:
    """Yield the events of the framework; those that begin a flow show as its arrow alone."""
    shown = events.filter(~(pl.col("is_flow") & (pl.col("start_ns") < pl.col("end_ns"))))
    if events.is_empty():
        return
    long = shown.filter(pl.col("start_ns") < pl.col("end_ns"))
    category = pl.when("is_stack").then(pl.lit(constant(PYTHON_FUNCTION))).otherwise(pl.lit('""'))
    yield Events(long, _event(pl.col("name"), _MINDSPORE, pl.col("tid"), category, {}), ("name",))
    instant: dict[str, Value] = {
        "name": pl.col("name"),
        "ph": '"i"',
        "ts": ('"', us_text(pl.col("start_ns")), '"'),
        "pid": constant(_MINDSPORE),
        "tid": pl.col("tid"),
        "args": {},
    }
    yield Events(shown.filter(pl.col("start_ns") >= pl.col("end_ns")), instant, ("name",))
    yield _metadata(_MINDSPORE, shown["tid"], style)


def _host_ops(ops: pl.DataFrame, style: JsonStyle) -> Iterator[Block]:
    if ops.is_empty():
        return
    rows = ops.with_columns((pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns"))
    args: dict[str, Value] = {"type": pl.col("op_type")}
    yield Events(rows, _event(pl.col("name"), _HOST_OPS, pl.col("tid"), '""', args), ("name", "op_type"))
    yield _metadata(_HOST_OPS, ops["tid"], style)


def _scope_layer(bars: pl.DataFrame, style: JsonStyle) -> Iterator[Block]:
    if bars.is_empty():
        return
    yield Events(bars, _event(pl.col("name"), _SCOPES, pl.col("depth"), '""', {}), ("name",))
    yield _metadata(_SCOPES, bars["depth"], style)


def _metadata(pid: int, tids: pl.Series, style: JsonStyle) -> list[str]:
    descriptions: list[tuple[str, int, dict[str, object]]] = [
        ("process_name", 0, {"name": _NAMES[pid]}),
        ("process_sort_index", 0, {"sort_index": _SORT[pid]}),
    ]
    if pid != _SCOPES:
        descriptions.append(("process_labels", 0, {"labels": "CPU"}))
    for tid in tids.unique().sort().to_list():
        descriptions.append(("thread_name", tid, {"name": f"Thread {tid}"}))
        descriptions.append(("thread_sort_index", tid, {"sort_index": tid}))
    separators = (style.comma, style.colon)
    return [
        json.dumps({"ph": "M", "name": name, "pid": pid, "tid": tid, "args": args}, separators=separators)
        for name, tid, args in descriptions
    ]


def _toolkit(profile: Profile, style: JsonStyle, groups: Sequence[RecordGroup]) -> Iterator[Block]:
    """Yield what msprof_*.json has; work that a launch is known for says so."""
    timeline, launches = timeline_of(profile), mindspore_launches(profile)
    linked = evolve(
        timeline,
        tasks=_with_launches(timeline.tasks.compact(), launches.filter(~pl.col("is_communication"))),
        communication_ops=_with_launches(timeline.communication_ops, launches.filter("is_communication")),
        communication_layer=_HCCL,
    )
    writer = toolkit_writer(profile.platform)
    yield from timeline_blocks(linked, style)
    marked = evolve(profile, group_tables={**profile.group_tables, "marks": _called_marks(profile)})
    for _, events in iter_layers(in_order(groups, LAYER_ORDER), marked, style, writer):
        yield from events


def _with_launches(work: pl.DataFrame, launches: pl.DataFrame) -> pl.DataFrame:
    """Return *work* with the name of the launch of each, ``mindspore_op``, null where none is known."""
    named = launches.select(*_KEY, pl.col("launch").alias("mindspore_op")).unique(_KEY, keep="last")
    return work.join(named, on=_KEY, how="left", maintain_order="left")


def _arrows(rows: pl.DataFrame, name: str, category: str, identity: Value) -> Events:
    """Return arrows from (pid, tid, start_ns) to (pid_to, tid_to, start_ns_to)."""

    def end(phase: str, place: str = "") -> dict[str, Value]:
        return {
            "name": constant(name),
            "bp": '"e"',
            "ph": constant(phase),
            "ts": ('"', us_text(pl.col(f"start_ns{place}")), '"'),
            "pid": pl.col(f"pid{place}"),
            "tid": pl.col(f"tid{place}"),
            "id": identity,
            "cat": constant(category),
        }

    return Events(rows, end("s"), followed_by=(pl.lit(True), end("f", "_to")))


def _self_arrows(events: pl.DataFrame) -> Events:
    """Return the arrows of flows that begin once and end once."""
    flows = events.filter(pl.col("flow_id").is_not_null() & (pl.col("start_ns") < pl.col("end_ns")))
    flows = flows.select("flow_id", "is_flow", pl.lit(_MINDSPORE).alias("pid"), "tid", "start_ns")
    begins, ends = (
        flows.filter(side).unique("flow_id", keep="none", maintain_order=True).drop("is_flow")
        for side in (pl.col("is_flow"), ~pl.col("is_flow"))
    )
    pairs = begins.join(ends, on="flow_id", suffix="_to", maintain_order="left")
    return _arrows(pairs, "mindspore_to_self", "async_mindspore", ('"', pl.col("flow_id").cast(pl.String), '"'))


def _called_marks(profile: Profile) -> pl.DataFrame:
    """Return the user's marks with the call that set each, the first of a call: ``mindspore_op``, ``call_ns``."""
    events = profile.frame("framework_events").filter(pl.col("name").str.contains(_MARK_CALLS, literal=True))
    calls = events.select(
        "tid",
        "start_ns",
        pl.col("start_ns").alias("call_ns"),
        pl.col("end_ns").alias("call_end_ns"),
        pl.col("name").alias("mindspore_op"),
    )
    marks = (
        profile.frame("marks")
        .with_row_index("row")
        .sort("start_ns", maintain_order=True)
        .join_asof(calls.sort("start_ns"), on="start_ns", by="tid", strategy="backward", check_sortedness=False)
        .sort("row")
    )
    within = (pl.col("start_ns") <= pl.col("call_end_ns")).fill_null(False)
    first = pl.int_range(pl.len()).over("tid", "call_ns", within) == 0
    return marks.with_columns(
        pl.when(within & first).then(pl.col(name)).alias(name) for name in ("call_ns", "mindspore_op")
    ).drop("row", "call_end_ns")


def _mark_arrows(profile: Profile) -> Events:
    """Return the arrows from calls that set a user mark to the mark."""
    application = layers.layer_pid(profile.pid, layers.Layer(profile.pid_name, layers.APPLICATION_INDEX, "CPU"))
    rows = (
        _called_marks(profile)
        .filter(pl.col("call_ns").is_not_null())
        .select(
            pl.lit(_MINDSPORE).alias("pid"),
            "tid",
            pl.col("call_ns").alias("start_ns"),
            pl.lit(application).alias("pid_to"),
            pl.col("tid").alias("tid_to"),
            pl.col("start_ns").alias("start_ns_to"),
        )
    )
    return _arrows(rows, "mindspore_to_mstx", "MsTx", ('"', us_text(pl.col("start_ns_to")), '"'))


def _kernel_arrows(profile: Profile, launches: pl.DataFrame) -> Events:
    """Return the arrows from launches to their work; an arrow is known by when the work began."""
    threads = operation_threads(profile.communication_ops, profile.frame("communication_tasks"))
    collective = pl.col("is_communication")
    rows = launches.join(threads, on=_KEY, how="left", maintain_order="left").select(
        pl.lit(_MINDSPORE).alias("pid"),
        pl.col("launch_tid").alias("tid"),
        pl.col("launch_start_ns").alias("start_ns"),
        pl.when(collective)
        .then(layers.layer_pids(profile.pid, layers.COMMUNICATION))
        .otherwise(layers.layer_pids(profile.pid, layers.ASCEND_HARDWARE))
        .alias("pid_to"),
        pl.when(collective).then("tid").otherwise("stream_id").alias("tid_to"),
        pl.col("start_ns").alias("start_ns_to"),
    )
    return _arrows(rows, "mindspore_to_npu", "async_npu", ('"', us_text(pl.col("start_ns_to")), '"'))
