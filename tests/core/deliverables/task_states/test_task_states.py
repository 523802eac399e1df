"""task_time of the 310: its rows by the queries of the vendor's parser, worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from drynpu.deliverables.load_context import LoadContext
from drynpu.deliverables.task_states.files import csv_files
from drynpu.deliverables.task_states.tables import SCHEMAS, load
from drynpu.layouts.schedulers import TS_TRACK_STATE, TsState, TsTaskType
from drynpu.platforms import find_platform
from drynpu.tables import Profile
from drynpu.writers.number_text import Writer

WAITING, RUNNING, COMPLETE, PENDING = TsState
CORE, NOTIFY, STRANGE = TsTaskType.AI_CORE, TsTaskType.NOTIFY_WAIT, 99
STATES = (
    # A kernel that runs twice, and waits and is held up before the first time.
    (CORE, WAITING, 2, 5, 1_000),
    (CORE, PENDING, 2, 5, 1_500),
    (CORE, RUNNING, 2, 5, 3_000),
    (CORE, COMPLETE, 2, 5, 8_000),
    (CORE, RUNNING, 2, 5, 10_000),
    (CORE, COMPLETE, 2, 5, 13_000),
    # One that never is said to run, one of a type that nobody knows, and one that does not end.
    (NOTIFY, PENDING, 3, 6, 20_000),
    (NOTIFY, COMPLETE, 3, 6, 22_000),
    (STRANGE, RUNNING, 2048 + 3, 7, 30_000),
    (STRANGE, COMPLETE, 2048 + 3, 7, 32_000),
    (CORE, RUNNING, 2, 8, 40_000),
)

COLUMNS = (
    *("Device_id", "Time(%)", "Time(us)", "Count", "Avg(us)", "Min(us)", "Max(us)", "Waiting(us)", "Running(us)"),
    *("Pending(us)", "Type", "API", "Task ID", "Op Name", "Stream ID"),
)


def context(platform: str) -> LoadContext:
    records = TS_TRACK_STATE.new(len(STATES))
    for name, column in zip(
        ("task_type", "state", "stream_id", "task_id", "tick"), zip(*STATES, strict=True), strict=True
    ):
        records[name] = column
    side = SimpleNamespace(device_id=1, clock=SimpleNamespace(tick_to_unix=lambda ticks: ticks.astype(np.int64)))

    def each_device(schemas: Any, read: Any) -> dict[str, pl.DataFrame]:
        return dict(read(side))

    reader = SimpleNamespace(read=lambda kind, device_id: records)
    return cast(
        "LoadContext", SimpleNamespace(platform=find_platform(platform), reader=reader, each_device=each_device)
    )


def test_rows_are_the_vendors() -> None:
    table = load(context("0"))["task_states"]
    assert table.schema == SCHEMAS["task_states"]
    tasks = pl.DataFrame({"device_id": [1], "task_id": [5], "stream_id": [2], "kernel_name": ["MatMul_kernel"]})
    profile = cast("Profile", SimpleNamespace(frame=lambda name: table, compact=lambda name, *columns: tasks))
    text = csv_files(profile, Writer.PYTHON)["task_time"].write_csv()
    assert text.splitlines() == [
        ",".join(COLUMNS),
        '1,80.0,8.0,2,4.0,3.0,5.0,2.0,8.0,6.5,kernel AI core task,"",5,MatMul_kernel,2',
        '1,20.0,2.0,1,2.0,2.0,2.0,0.0,2.0,0.0,unknown 99,"",7,N/A,3',
        '1,0.0,0.0,1,2.0,2.0,2.0,0.0,0.0,2.0,notify wait task,"",6,N/A,3',
    ]


@pytest.mark.parametrize("platform", ["1", "5", "15"])
def test_other_schedulers_report_no_states(platform: str) -> None:
    assert load(context(platform)) == {}
