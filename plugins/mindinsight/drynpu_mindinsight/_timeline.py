"""ascend_timeline_display and ascend_timeline_summary (mindinsight_dashboard.md 7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import orjson
import polars as pl
from attrs import frozen

from drynpu.analysis import OVERLAP_KINDS, overlap, step_phases
from drynpu_mindinsight._device import NS_PER_MS, Device, json_bytes

_STEPS_TID, _SCOPES_TID = 100000, 100001
_OVERLAP_TIDS = dict(zip(OVERLAP_KINDS, (7999, 8001, 8000, 8002), strict=True))
_OVERLAP_NAMES = dict(
    zip(
        OVERLAP_KINDS,
        ("Merged Computation Op", "Merged Communication Op", "Pure Communication Op", "Free Time"),
        strict=True,
    )
)


@frozen
class _Process:
    """A process of the timeline."""

    pid: int
    label: str
    sort_index: int


_AICPU = _Process(9000, "AICPU OP", 10)
_COMMUNICATION = _Process(10000, "Communication Op", 20)
_OVERLAP = _Process(12000, "Op Overlap Analyse", 40)


def timeline_files(device: Device) -> Mapping[str, bytes]:
    """Return the events of the device and their totals; nothing where nothing ran."""
    kernels = _kernels(device)
    scopes = _scopes(kernels)
    parts = [
        _events(kernels.filter(~pl.col("is_aicpu")), device, pid=device.device_id),
        _events(kernels.filter("is_aicpu"), device, pid=_AICPU.pid),
        _events(_collectives(device), device, pid=_COMMUNICATION.pid),
        _events(_overlaps(device), device, pid=_OVERLAP.pid),
        _events(_steps(device), device, pid=device.device_id),
        _events(scopes, device, pid=device.device_id, further=("scope_level",)),
    ]
    lines = [line for part in parts for line in part]
    if not lines:
        return {}
    metadata = [orjson.dumps(event).decode() for event in _metadata(device, kernels)]
    summary = {
        "total_time": float(kernels["duration_ns"].sum()) / NS_PER_MS,
        "num_of_streams": kernels["tid"].n_unique(),
        "num_of_ops": kernels["name"].n_unique(),
        "op_exe_times": kernels.height,
        "max_scope_name_num": scopes["scope_level"].n_unique(),
    }
    return {
        f"ascend_timeline_display_{device.rank}.json": ("[" + ",".join([*lines, *metadata]) + "]").encode(),
        f"ascend_timeline_summary_{device.rank}.json": json_bytes(summary),
    }


def _kernels(device: Device) -> pl.DataFrame:
    columns = ("device_id", "name", "task_type", "stream_id", "start_ns", "duration_ns")
    return device.rows(device.profile.compact("kernels", *columns)).select(
        pl.col("name").cast(pl.String),
        pl.col("stream_id").alias("tid"),
        "start_ns",
        "duration_ns",
        (pl.col("task_type").cast(pl.String) == "AI_CPU").alias("is_aicpu"),
    )


def _collectives(device: Device) -> pl.DataFrame:
    """Return the collectives; without the streams of their tasks they share one thread."""
    keys = ["device_id", "connection_id"]
    streams = device.profile.frame("communication_tasks").filter("is_master").select(*keys, "stream_id").unique(keys)
    collectives = device.rows(device.profile.communication_ops).join(
        streams, on=keys, how="left", maintain_order="left"
    )
    return collectives.with_columns(pl.col("stream_id").fill_null(0).alias("tid"))


def _overlaps(device: Device) -> pl.DataFrame:
    tids = pl.col("kind").replace_strict(_OVERLAP_TIDS, return_dtype=pl.Int64)
    names = pl.col("kind").replace_strict(_OVERLAP_NAMES, return_dtype=pl.String)
    return device.rows(overlap(device.profile)).with_columns(
        names.alias("name"), tids.alias("tid"), (pl.col("end_ns") - pl.col("start_ns")).alias("duration_ns")
    )


def _steps(device: Device) -> pl.DataFrame:
    phases = device.rows(step_phases(device.profile)).sort("start_ns")
    return phases.with_columns(
        pl.int_range(1, pl.len() + 1).cast(pl.String).alias("name"),
        pl.lit(_STEPS_TID).alias("tid"),
        (pl.col("end_ns") - pl.col("start_ns")).alias("duration_ns"),
    )


def _scopes(kernels: pl.DataFrame) -> pl.DataFrame:
    """Return the scopes in the names of kernels, level by level; operators that follow each other in one are one."""
    levels = []
    paths = kernels.with_columns(pl.col("name").str.split("/").alias("path")).sort("start_ns")
    depth = paths["path"].list.len().max()
    for level in range(depth - 1 if isinstance(depth, int) else 0):
        # What lies outside the level parts two runs of the same scope.
        deep = pl.col("path").list.len() > level + 1
        scope = pl.col("path").list.head(level + 1).list.join("/")
        whole = paths.with_columns(pl.when(deep).then(scope).rle_id().alias("run"))
        ends = (pl.col("start_ns") + pl.col("duration_ns")).max()
        rows = (
            whole.filter(deep)
            .group_by("run", maintain_order=True)
            .agg(
                pl.col("path").first().list.get(level).alias("name"),
                pl.col("start_ns").min(),
                (ends - pl.col("start_ns").min()).alias("duration_ns"),
            )
        )
        levels.append(rows.select("name", "start_ns", "duration_ns", pl.lit(level).cast(pl.Int64).alias("scope_level")))
    schema = {"name": pl.String, "start_ns": pl.Int64, "duration_ns": pl.Int64, "scope_level": pl.Int64}
    return pl.concat([pl.DataFrame(schema=schema), *levels]).with_columns(pl.lit(_SCOPES_TID).alias("tid"))


def _events(rows: pl.DataFrame, device: Device, *, pid: int, further: tuple[str, ...] = ()) -> list[str]:
    """Return one JSON text per row; times are us since the zero of the device."""
    event = pl.struct(
        "name",
        pl.lit("X").alias("ph"),
        pl.lit(pid).alias("pid"),
        pl.col("tid"),
        ((pl.col("start_ns") - device.zero_ns) / 1000).alias("ts"),
        (pl.col("duration_ns") / 1000).alias("dur"),
        *further,
    )
    return rows.select(event.struct.json_encode()).to_series().to_list()


def _metadata(device: Device, kernels: pl.DataFrame) -> Iterator[dict[str, object]]:
    aicore = _Process(device.device_id, f"AICORE OP (device {device.device_id})", 0)
    for process in (aicore, _AICPU, _COMMUNICATION, _OVERLAP):
        yield _meta("process_labels", process.pid, 0, labels=process.label)
        yield _meta("process_sort_index", process.pid, 0, sort_index=process.sort_index)
    for stream in sorted(kernels.filter(~pl.col("is_aicpu"))["tid"].unique()):
        yield _meta("thread_name", aicore.pid, stream, name=f"Stream #{stream}")
    for tid, name, order in ((_STEPS_TID, "Steps", -4), (_SCOPES_TID, "Scope Name", -3)):
        yield _meta("thread_name", aicore.pid, tid, name=name)
        yield _meta("thread_sort_index", aicore.pid, tid, sort_index=order)
    for kind, tid in _OVERLAP_TIDS.items():
        yield _meta("thread_name", _OVERLAP.pid, tid, name=_OVERLAP_NAMES[kind])


def _meta(event: str, pid: int, tid: int, **args: object) -> dict[str, object]:
    return {"name": event, "ph": "M", "pid": pid, "tid": tid, "args": args}
