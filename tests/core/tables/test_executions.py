"""A loaded graph is launched once and runs again and again."""

from __future__ import annotations

import contextlib
import csv
import sqlite3
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from drynpu.layouts.schedulers import TS_TRACK_FLIP
from drynpu.platforms import find_platform
from drynpu.products import export_msprof, export_msprof_db, load_profile
from drynpu.tables import NO_MODEL
from drynpu.tables._executions import find_executions
from drynpu.tables.device import pair_tasks
from drynpu.tables.launches import Launches, launch_key
from drynpu.tables.stored import Stored
from drynpu.tables.task_events import TaskEvents

from .conftest import LAUNCHER, T0, Recording

STREAM, MODEL = 7, 3
NODES = (("conv", "Conv2D", 21), ("relu", "Relu", 22), ("mean", "ReduceMeanD", 23))
EXECUTIONS_US = (200, 300, 450)


def loaded(executions_us: tuple[float, ...] = EXECUTIONS_US) -> Recording:
    """Three kernels, launched while the graph is loaded; each execution is one call and runs them all."""
    scene = Recording()
    scene.call("ModelLoad", 10, 100, item=MODEL)
    for number, (op, op_type, task) in enumerate(NODES):
        at = 20 + 20 * number
        scene.call("launch", at, at + 15, item=op)
        scene.call("KernelLaunchWithHandleV2", at + 5, at + 12)
        scene.track(at + 8, "KERNEL_AICORE", STREAM, task, kernel=op)
        scene.basic(at + 2, op, op_type, 0, 8 + number)
        scene.tensors(at + 3, op, [(0, (number + 1, 16), 1, 2), (1, (16,), 1, 2)])
    for begin in executions_us:
        scene.call("ModelExecute", begin - 5, begin - 1, item=MODEL)
        for number, (_, _, task) in enumerate(NODES):
            start, end = begin + 20 * number, begin + 20 * number + 10 + number
            scene.ran(STREAM, task, start, end)
            scene.counted(STREAM, task, (start, end), 1800 * (10 + number), [900, 0, 0, 0, 0, 0, int(begin), 1])
    return scene


def test_every_execution_has_the_one_description(tmp_path: Path) -> None:
    profile = load_profile(loaded().write_prof(tmp_path))
    kernels = profile.kernels.select("name", "op_type", "task_id", "block_num", "model_id", "op_state")
    once = [(op, kind, task, 8 + row, MODEL, "static") for row, (op, kind, task) in enumerate(NODES)]
    assert kernels.rows() == once * 3
    assert profile.kernels["input_shapes"].to_list() == ["1,16", "2,16", "3,16"] * 3
    starts = [T0 + 1000 * (begin + 20 * row) for begin in EXECUTIONS_US for row in range(3)]
    assert profile.kernels["start_ns"].to_list() == starts
    # One launch of each: its connection, and the batch in which it was launched.
    assert profile.kernels["connection_id"].n_unique() == 3
    assert profile.tasks["batch_id"].to_list() == [0] * 9
    assert profile.tasks["model_id"].to_list() == [MODEL] * 9


def test_texts_and_database_agree_on_the_executions(tmp_path: Path) -> None:
    profile = load_profile(loaded().write_prof(tmp_path))
    export_msprof(profile)
    (summary,) = profile.path.glob("mindstudio_profiler_output/op_summary_*.csv")
    with summary.open(encoding="utf-8", newline="") as stream:
        rows = [
            (row["Op Name"], int(row["Model ID"]), float(row["Task Start Time(us)"])) for row in csv.DictReader(stream)
        ]
    export_msprof_db(profile)
    (path,) = profile.path.glob("msprof_*.db")
    with contextlib.closing(sqlite3.connect(path)) as database:
        stored = database.execute(
            "SELECT value, modelId, startNs FROM TASK JOIN COMPUTE_TASK_INFO USING (globalTaskId) "
            "JOIN STRING_IDS ON STRING_IDS.id = COMPUTE_TASK_INFO.name ORDER BY startNs"
        ).fetchall()
    assert rows == [(name, model, start_ns / 1000) for name, model, start_ns in stored]
    assert [row[0] for row in rows] == [op for op, _, _ in NODES] * 3


def test_ids_that_a_flip_began_again_are_of_other_tasks(tmp_path: Path) -> None:
    scene = loaded()
    scene._add("ts_track_flip", tick=scene.tick(400), stream_id=STREAM, flip_number=1)
    profile = load_profile(scene.write_prof(tmp_path))
    assert profile.kernels["name"].to_list() == [op for op, _, _ in NODES] * 2
    assert profile.tasks["batch_id"].to_list() == [0] * 6 + [1] * 3
    assert profile.tasks["connection_id"].to_list()[6:] == [-1] * 3


def test_a_task_launched_twice_has_no_third_execution(tmp_path: Path) -> None:
    scene = Recording()
    for at, op in ((10, "first"), (40, "second")):
        scene.call("launch", at, at + 15, item=op)
        scene.call("KernelLaunchWithHandleV2", at + 5, at + 12)
        scene.track(at + 8, "KERNEL_AICORE", STREAM, 5)
        scene.basic(at + 2, op, "Add", 2, 1)
    for start in (100, 130, 160):
        scene.ran(STREAM, 5, start, start + 7)
    assert load_profile(scene.write_prof(tmp_path)).kernels["name"].to_list() == ["first", "second"]


def test_a_collective_of_a_loaded_graph_is_one_for_each_execution(tmp_path: Path) -> None:
    scene = Recording()
    scene.call("ModelLoad", 10, 100, item=MODEL)
    for at, op, task in ((20, "hcomAllReduce", 31), (60, "hcomAllGather", 33)):
        scene.call("launch", at, at + 30, item=op)
        scene.call("AllReduce", at + 2, at + 28)
        scene._add(
            "hccl_op_info", thread_id=LAUNCHER, timestamp=scene.raw(at + 3), data_type=4, count=99,
            group_name=scene.text("world_group_777"), alg_type=scene.text("MESH"),
        )  # fmt: skip
        for part in range(2):
            scene.call("KernelLaunchWithHandleV2", at + 5 + 10 * part, at + 9 + 10 * part)
            scene.track(at + 7 + 10 * part, "KERNEL_AICORE", STREAM, task + part, kernel="memcpy")
    for begin in (200, 300):
        for number in range(4):
            scene.ran(STREAM, 31 + number, begin + 10 * number, begin + 10 * number + 4)
    found = load_profile(scene.write_prof(tmp_path)).communication_ops
    assert found["name"].to_list() == [
        "hcomAllReduce_777_0_1", "hcomAllGather_777_1_1", "hcomAllReduce_777_0_2", "hcomAllGather_777_1_2",
    ]  # fmt: skip
    assert found["start_ns"].to_list() == [T0 + 1000 * us for us in (200, 220, 300, 320)]
    assert found["duration_ns"].to_list() == [14_000] * 4


@pytest.mark.parametrize(
    ("platform", "model", "expected"),
    [
        ("5", NO_MODEL, [0, 0]),
        ("5", MODEL, [0, 0]),
        ("1", NO_MODEL, [0, 0]),
        ("0", NO_MODEL, [0, -1]),
        ("0", MODEL, [0, 0]),
    ],
)
def test_where_ids_are_not_unique_a_model_has_to_tell(platform: str, model: int, expected: list[int]) -> None:
    rows = [(STREAM, 5, tick, tick % 10 == 9) for tick in (100, 109, 200, 209)]
    stream, task, tick, is_end = (np.array(column) for column in zip(*rows, strict=True))
    tasks = pair_tasks(
        TaskEvents(stream=stream.astype("u4"), task=task.astype("u4"), tick=tick, is_end=is_end, sqe=np.zeros(4, "i2"))
    )
    key = launch_key(np.zeros(2, np.int64), tasks.stream_id, tasks.task_id)
    table = Stored.from_columns(
        pl.Schema({"host_batch": pl.Int64, "model_id": pl.Int64}),
        {"host_batch": np.zeros(1, np.int64), "model_id": np.array([model])},
    )
    launched = Launches(key[:1], np.zeros(1, np.int64), table)
    found = find_executions(launched, tasks, key, find_platform(platform), lambda: TS_TRACK_FLIP.new(0))
    assert found.launch.tolist() == expected
