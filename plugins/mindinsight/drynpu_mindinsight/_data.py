"""The data pipeline and its queues (mindinsight_dashboard.md 6.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from drynpu import say
from drynpu.products.mindspore import pipeline_raw_table
from drynpu_mindinsight._device import Device, csv_bytes

_NAMES = {True: "device_queue_profiling", False: "dataset_iterator_profiling"}
_FIELDS = ("record", "part", "batch", "value", "time_ms")


def data_files(device: Device) -> Mapping[str, bytes]:
    """Return pipeline, host queue and device queue, as far as they were recorded."""
    return dict(_files(device))


def _files(device: Device) -> Iterator[tuple[str, bytes]]:
    pipeline = pipeline_raw_table(device.profile)
    if pipeline.height:
        yield f"minddata_pipeline_raw_{device.rank}.csv", csv_bytes(pipeline.columns, pipeline.iter_rows())
    times = device.profile.frame("pipeline_times")
    for (is_queue,), rows in times.group_by("is_device_queue"):
        yield f"{_NAMES[bool(is_queue)]}_{device.rank}.txt", _lines(rows.select(_FIELDS))
    waits = device.rows(device.profile.frame("queue_waits"))
    known = waits.filter((pl.col("name") != "") & pl.col("queue_size").is_not_null())
    if known.height < waits.height:
        missing = waits.height - known.height
        say(f"{missing} waits of device {device.device_id} have no size of the queue; MindInsight lacks them")
    if known.height:
        yield f"minddata_aicpu_{device.rank}.txt", _lines(known.select("name", "start_us", "end_us", "queue_size"))


def _lines(rows: pl.DataFrame) -> bytes:
    text = rows.select(pl.concat_str(pl.all().cast(pl.String), separator=" ")).to_series()
    return "".join(f"{line}\n" for line in text).encode()
