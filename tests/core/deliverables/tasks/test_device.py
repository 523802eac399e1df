"""The device side read back: tasks, counters, step marks, memory samples, other chips."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from attrs import evolve

from drynpu.kernels import TaskType
from drynpu.options import Level, ProfilingRequest, Switches
from drynpu.platforms import load_chip
from drynpu.recorder import Outcome

Write = Callable[..., Outcome]


def test_kernels_come_back_as_simulated(tools: Any, write: Write) -> None:
    table = tools.mixture()
    outcome = write(table, streams=((tools.begin_ns + 500_000, tools.pid, 9),))
    s = tools.simulate(table, streams=((tools.begin_ns + 500_000, tools.pid, 9),))
    tasks = tools.read(outcome).tasks.sort("start_ns", "stream_id")
    kernels = [s.lowered.kernels[k] for k in s.lowered.launch_kernel]
    expected = sorted(
        (tools.begin_ns + 20 * start, 20 * length, stream, kernel.name if kernel.copy is None else "")
        for start, length, stream, kernel in zip(
            s.schedule.kernel_start_ticks.tolist(), s.kernel_ticks.tolist(), s.stream.tolist(), kernels, strict=True
        )
    )
    found = tasks.select("start_ns", "duration_ns", "stream_id", "kernel_name").rows()
    assert sorted(found) == expected
    assert outcome.kernels == len(expected) == 18
    assert set(tasks["stream_id"]) == {2, 9}
    for _, rows in tasks.group_by("stream_id"):
        assert rows["task_id"].to_list() == list(range(rows.height))


def test_operator_information_comes_back(tools: Any, write: Write) -> None:
    kernels = {row["op_type"]: row for row in tools.read(write(tools.mixture())).kernels.iter_rows(named=True)}
    many = kernels["Many"]
    assert many["input_shapes"] == "256,512;3;256,512;3;;256,512"
    assert many["input_dtypes"] == "FLOAT16;FLOAT;FLOAT16;FLOAT;INT64;FLOAT16"
    assert many["input_formats"] == "ND;ND;ND;ND;ND;ND"
    assert (many["output_shapes"], many["output_dtypes"]) == ("3;256,512", "FLOAT;FLOAT16")
    assert {kind: row["task_type"] for kind, row in kernels.items()} == {
        "Add": "AI_VECTOR_CORE",
        "Cast": "AI_VECTOR_CORE",
        "Two": "AI_VECTOR_CORE",
        "TransData": "AI_VECTOR_CORE",
        "Conv2D": "AI_CORE",
        "MatMulV2": "AI_CORE",
        "Flash": "MIX_AIC",
        "Reduce": "MIX_AIV",
        "Many": "AI_VECTOR_CORE",
        "DSARandomUniform": "DSA_SQE",
        "Unique": "AI_CPU",
        "Unknown": "AI_VECTOR_CORE",
        "Item": "AI_VECTOR_CORE",
        "Index": "AI_VECTOR_CORE",
    }
    assert {kind for kind, row in kernels.items() if row["hf32"]} == {"MatMulV2"}
    assert all(row["block_num"] > 0 for row in kernels.values() if row["task_type"].startswith(("AI_C", "AI_V", "MIX")))
    assert kernels["Flash"]["mix_block_num"] == 2 * kernels["Flash"]["block_num"]


def test_copies_come_back(tools: Any, write: Write) -> None:
    copies = tools.read(write(tools.mixture())).tasks.filter(pl.col("copy_bytes").is_not_null())
    assert copies.select("kernel_type", "kernel_name", "copy_bytes", "copy_kind", "copy_engine").rows() == [
        ("MEMCPY_ASYNC", "", 256 * 512 * 2, 1, "PCIE_DMA_SQE"),
        ("MEMCPY_ASYNC", "", 256 * 512 * 2, 2, "PCIE_DMA_SQE"),
    ]


def test_counters_of_every_kind_of_kernel(tools: Any, write: Write) -> None:
    table = tools.mixture()
    s = tools.simulate(table)
    costs = s.costs.take(s.lowered.launch_kernel, s.factor)
    kernels = [s.lowered.kernels[k] for k in s.lowered.launch_kernel]
    counted = [kernel.task_type not in (TaskType.DSA, TaskType.AI_CPU) for kernel in kernels]
    expected = [
        (kernel.op_type, cube if ai_core else None, vector if ai_core else None)
        for kernel, ai_core, cube, vector in zip(
            kernels, counted, costs.aic_cycles.tolist(), costs.aiv_cycles.tolist(), strict=True
        )
        if kernel.copy is None
    ]
    profile = tools.read(write(table))
    assert profile.kernels.select("op_type", "aic_total_cycles", "aiv_total_cycles").rows() == expected
    assert dict(profile.kernels.group_by("task_type").len().rows())["MIX_AIV"] == 1
    mix = profile.kernels.filter(pl.col("op_type") == "Flash").row(0, named=True)
    assert min(mix["aic_total_cycles"], mix["aiv_total_cycles"]) > 0, "both halves of a mixed kernel are counted"
    assert mix["aiv_total_cycles"] == pytest.approx(mix["aiv_time(us)"] * 1800 * mix["mix_block_num"], rel=1e-3)
    assert mix["aic_total_cycles"] == pytest.approx(mix["aicore_time(us)"] * 1800 * mix["block_num"], rel=1e-3)


@pytest.mark.parametrize("name", ["Ascend910A", "Ascend310P3", "Ascend310", "Ascend950PR"])
def test_other_chips(tools: Any, write: Write, name: str) -> None:
    chip = load_chip(name)
    outcome = write(tools.mixture(), chip=chip)
    profile = tools.read(outcome)
    assert (outcome.chip, profile.platform_version) == (name, chip.platform_version)
    assert profile.kernels.height == 16
    if chip.split:
        assert "aic_mac_ratio" in profile.pmu_columns
        return
    assert set(profile.kernels["task_type"]) <= {"AI_CORE", "AI_VECTOR_CORE", "AI_CPU", "DSA_SQE"}
    assert "mac_ratio" in profile.pmu_columns
    assert not any(column.startswith(("aic_", "aiv_")) for column in profile.pmu_columns)
    busy = profile.kernels.filter(pl.col("op_type").is_in(["MatMulV2", "Flash", "Add", "Reduce"]))
    assert (busy["aicore_time(us)"] > 0).all()
    assert (busy["aicore_time(us)"] <= busy["duration_ns"] / 1000).all()


def test_steps_are_marked(tools: Any, write: Write) -> None:
    table = tools.mixture()
    s = tools.simulate(table)
    marks = tools.read(write(table, framework="mindspore")).frame("step_marks")
    assert marks.select("index_id", "tag_id").rows() == [(7, 60000), (7, 60001), (8, 60000), (8, 60001)]
    assert set(marks["model_id"]) == {4294967295}
    rows = [i for i, name in enumerate(table.name) if table.names[name].startswith("ProfilerStep#")]
    bounds = np.stack([s.op_start_ns[rows], s.op_end_ns[rows]], 1).ravel()
    late = marks["time_ns"].to_numpy() - bounds
    assert ((late >= 0) & (late < 20)).all()


def test_pytorch_marks_no_steps_on_the_device(tools: Any, write: Write) -> None:
    """Ascend/pytorch loads aclprofGetStepTimestamp and never calls it (torch_npu/csrc/core/npu/interface)."""
    profile = tools.read(write(tools.mixture(), framework="torch"))
    assert profile.frame("step_marks").is_empty()
    assert profile.frame("iterations").is_empty()


def test_the_frequency_is_recorded(tools: Any, write: Write) -> None:
    assert tools.read(write(tools.mixture())).frame("frequencies").rows() == [(0, tools.begin_ns, 1800)]


def test_memory_is_sampled_on_the_grid_within_the_recording(tools: Any, write: Write) -> None:
    row = tools.Row
    table = tools.operators([row("view", 30_000_007, 30_000_100), row("view", 90_000_000, 90_000_100)])
    memory = tools.allocations([(30_000_050, 64, 30 << 20), (90_000_050, 128, 30 << 20)])
    request = ProfilingRequest(switches=Switches(profile_memory=True))
    begin = tools.begin_ns + 3
    common = {"request": request, "begin_ns": begin, "end_ns": tools.begin_ns + 130_000_001}
    outcome = write(table, allocations=memory, live_before_bytes=50 << 20, **common)
    for rows, column in (
        (tools.read(outcome).frame("npu_mem"), "hbm_bytes"),
        (tools.read(outcome).frame("npu_module_mem"), "reserved_bytes"),
    ):
        assert (np.diff(rows["time_ns"].to_numpy()) == 20_000_000).all()
        assert rows["time_ns"][0] == tools.begin_ns + 1000, "the first whole microsecond of the recording"
        assert rows["time_ns"][-1] <= outcome.end_ns
        assert (rows[column] / 2**20).to_list() == [60, 60, 100, 100, 100, 120, 120]
    quiet = tools.read(write(tools.operators([]), "quiet", live_before_bytes=1, **common))
    assert (quiet.frame("npu_mem")["hbm_bytes"] / 2**20).to_list() == [20] * 7
    assert tools.read(write(table, "unasked")).frame("npu_mem").is_empty()


def device_files(outcome: Outcome) -> dict[str, bytes]:
    assert outcome.prof_path is not None
    return {path.name: path.read_bytes() for path in outcome.prof_path.glob("device_*/data/*")}


def test_a_seed_makes_the_device_reproducible_bit_for_bit(tools: Any, write: Write) -> None:
    table = tools.mixture()
    first, again, other = (device_files(write(table, f"run{i}", seed=seed)) for i, seed in enumerate((5, 5, 6)))
    assert {"stars_soc.data.0.slice_0", "ffts_profile.data.0.slice_0"} <= set(first)
    assert first == again
    assert first["stars_soc.data.0.slice_0"] != other["stars_soc.data.0.slice_0"]
    assert first["ffts_profile.data.0.slice_0"] != other["ffts_profile.data.0.slice_0"]


def test_more_tasks_on_a_stream_than_ids(tools: Any, write: Write) -> None:
    one = tools.operators([tools.Row("add", 0, 10)])
    count = 65536 + 5000
    start = tools.begin_ns + np.arange(count) * 20
    table = one.select(np.zeros(count, np.int64), start_ns=start, end_ns=start + 10)
    request = ProfilingRequest(level=Level.L0)
    tasks = tools.read(write(table, request=request)).tasks
    s = tools.simulate(table)
    assert tasks.height == count
    assert tasks["start_ns"].to_list() == (tools.begin_ns + 20 * s.schedule.kernel_start_ticks).tolist()
    # The flip takes the 0 with which the ids begin again.
    assert tasks["batch_id"].to_list() == [0] * 65536 + [1] * 5000
    assert tasks["task_id"].to_list() == [*range(65536), *range(1, 5001)]
    assert (tasks["connection_id"] >= 0).all()
    assert tasks["connection_id"].is_unique().all()


def test_a_device_counter_that_started_later(tools: Any, write: Write) -> None:
    """Kernels lie after the instant the device's counter belongs to, whenever that was."""
    table = tools.mixture()
    late = evolve(tools.anchors, device_counter_ns=tools.anchors.monotonic_raw_ns + 300_000, device_cntvct=77)
    profile = tools.read(write(table, anchors=late))
    expected = tools.simulate(table, base_ns=tools.begin_ns + 300_000)
    start = tools.begin_ns + 300_000 + 20 * expected.schedule.kernel_start_ticks
    assert profile.tasks["start_ns"].sort().to_list() == sorted(start.tolist())
    assert (profile.kernels["node_start_ns"] < profile.kernels["start_ns"]).all()
