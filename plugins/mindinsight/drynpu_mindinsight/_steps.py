"""step_trace_raw and step_trace_point_info (mindinsight_dashboard.md 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from drynpu import say
from drynpu.analysis import step_phases
from drynpu_mindinsight._device import AVERAGE, Device, csv_bytes, json_bytes

_POINTS = ("start_point", "end_point", "total", "fp_point")


def step_files(device: Device) -> Mapping[str, bytes]:
    """
    Return the step trace and the operators at its points; nothing where nothing marks the steps.

    Steps are numbered from 1, because MindInsight uses the number of a step as the number of its line. Where no step
    has backward propagation, the columns are for inference; if only some steps lack it, their tail is 0.
    """
    phases = device.rows(step_phases(device.profile)).sort("start_ns")
    if phases.is_empty():
        return {}
    training = phases["backward_ns"].is_not_null().any()
    points = _points(device, phases, training=training)
    reduces = _reduces(device, phases)
    table = pl.concat([points, reduces], how="horizontal")
    rows = [(number, *row) for number, row in enumerate(table.iter_rows(), 1)]
    means = table.select(pl.all().mean().round().cast(pl.Int64)).row(0)
    return {
        f"step_trace_raw_{device.rank}_detail_time.csv": csv_bytes(
            ("step_num", *table.columns), [*rows, (AVERAGE, *means)]
        ),
        f"step_trace_point_info_{device.rank}.json": json_bytes(_point_info(device, phases)),
    }


def _points(device: Device, phases: pl.DataFrame, *, training: bool) -> pl.DataFrame:
    """Return points and durations of the steps in counts."""
    start, end, forward = (device.counts(pl.col(name)) for name in ("start_ns", "end_ns", "forward_ns"))
    if not training:
        return phases.select(
            start.alias("start_point"),
            end.alias("end_point"),
            (end - start).alias("total"),
            forward.alias("fp_point"),
            (forward - start).alias("iteration_interval"),
            (end - forward).alias("fp"),
        )
    backward = device.counts(pl.coalesce("backward_ns", "end_ns"))
    without = phases["backward_ns"].null_count()
    if without:
        say(f"{without} of {phases.height} steps have no backward propagation; MindInsight shows them without a tail")
    return phases.select(
        start.alias("start_point"),
        end.alias("end_point"),
        (end - start).alias("total"),
        forward.alias("fp_point"),
        backward.alias("bp_point"),
        (forward - start).alias("iteration_interval"),
        (backward - forward).alias("fp_and_bp"),
        (end - backward).alias("tail"),
    )


def _reduces(device: Device, phases: pl.DataFrame) -> pl.DataFrame:
    """Return start, end and duration of every collective, by its stream and its place in the step; 0 where none is."""
    placed = _placed(device, phases)
    columns: dict[str, list[int]] = {}
    for (stream, place), rows in placed.group_by("stream_id", "place", maintain_order=True):
        name = f"stream_{stream}_{place}"
        by_step = {row["step"]: row for row in rows.iter_rows(named=True)}
        for column, key in ((f"{name}_start_point", "start"), (f"{name}_end_point", "end"), (name, "duration")):
            columns[column] = [by_step[step][key] if step in by_step else 0 for step in range(phases.height)]
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Int64))


def _placed(device: Device, phases: pl.DataFrame) -> pl.DataFrame:
    """Return the collectives that start within a step, with the stream of their main plane."""
    keys = ["device_id", "connection_id"]
    streams = device.profile.frame("communication_tasks").filter("is_master").select(*keys, "stream_id")
    steps = phases.select(pl.col("start_ns").alias("begin_ns"), pl.col("end_ns").alias("until_ns")).with_row_index(
        "step"
    )
    start, end = device.counts(pl.col("start_ns")), device.counts(pl.col("start_ns") + pl.col("duration_ns"))
    return (
        device.rows(device.profile.communication_ops)
        .join(streams.unique(keys, keep="first", maintain_order=True), on=keys, how="inner")
        .sort("start_ns")
        .join_asof(steps, left_on="start_ns", right_on="begin_ns", check_sortedness=False)
        .filter(pl.col("start_ns") <= pl.col("until_ns"))
        .with_columns(pl.int_range(pl.len()).over("step", "stream_id").alias("place"))
        .select("step", "stream_id", "place", start.alias("start"), end.alias("end"), (end - start).alias("duration"))
        .sort("stream_id", "place")
    )


def _point_info(device: Device, phases: pl.DataFrame) -> Sequence[Mapping[str, str]] | Mapping[str, str]:
    """Return the operators at begin and end of propagation: for each step, once if they are the same in all."""
    kernels = device.rows(
        device.profile.compact("kernels", "device_id", "name", "start_ns", "duration_ns")
    ).with_columns(pl.col("name").cast(pl.String))
    first = kernels.unique("start_ns", keep="first", maintain_order=True).select(
        "start_ns", pl.col("name").alias("fp_start")
    )
    ended = kernels.select(
        (pl.col("start_ns") + pl.col("duration_ns")).alias("last_ns"), pl.col("name").alias("bp_end")
    )
    # Key points of graphs lie beside the operators that they mark: the next that starts, the last that ended.
    marked = (
        phases.sort("forward_ns")
        .join_asof(first.sort("start_ns"), left_on="forward_ns", right_on="start_ns", strategy="forward")
        .sort("backward_ns")
    )
    known = marked.filter(pl.col("backward_ns").is_not_null()).join_asof(
        ended.sort("last_ns"), left_on="backward_ns", right_on="last_ns", strategy="backward"
    )
    both = marked.join(known.select("step", "bp_end"), on="step", how="left").sort("start_ns")
    rows = [
        {key: row[key] for key in ("fp_start", "bp_end") if row[key] is not None}
        for row in both.select("fp_start", "bp_end").iter_rows(named=True)
    ]
    return rows[0] if all(row == rows[0] for row in rows) else rows
