"""Recordings written to disk and read back by the tables room: what comes back is what was simulated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import polars as pl
import pytest
from attrs import evolve

from drynpu import OutputError, __version__
from drynpu.analysis import link_operators
from drynpu.chips import load_chip
from drynpu.device import Clock, Mark
from drynpu.kernels import MODEL_VERSION, Operators, Placement, TaskType
from drynpu.options import Activity, Level, MetricGroup, ProfilingRequest, Switches
from drynpu.raw import ProfReader
from drynpu.session import HostMark, Outcome
from drynpu.tables import Profile, intervals, load_profile

Write = Callable[..., Outcome]
NAMES = ("add", "two", "single", "mm", "attention", "reduce", "many", "bernoulli", "unique", "unknown", "item", "index")


def mixture(tools: Any) -> Operators:
    """Every kind of operator once, copies both ways, a step around it, and a second thread."""
    row = tools.Row
    rows = [row("#ProfilerStep#7", 0, 2_000_000), row("#ProfilerStep#8", 2_000_100, 2_100_000)]
    rows += [row(name, 1000 + 100_000 * i, 60_000 + 100_000 * i, sequence=i) for i, name in enumerate(NAMES)]
    rows += [row("copy", 1_300_000, 1_350_000, placement=Placement.TO_DEVICE)]
    rows += [row("copy", 1_400_000, 1_450_000, placement=Placement.TO_HOST)]
    rows += [row("view", 1_500_000, 1_500_300), row("view", 1_500_100, 1_500_200)]
    rows += [row("mm", 1_290_000, 1_420_000, tools.pid + 3), row("composite", 1_300_000, 1_310_000, tools.pid + 3)]
    return tools.operators(rows)


def read(outcome: Outcome) -> Profile:
    profile = load_profile(outcome.directory)
    assert profile.notes == ()
    return profile


def test_kernels_come_back_as_simulated(tools: Any, write: Write) -> None:
    table = mixture(tools)
    outcome = write(table, streams=((tools.begin_ns + 500_000, tools.pid, 9),))
    s = tools.simulate(table, streams=((tools.begin_ns + 500_000, tools.pid, 9),))
    tasks = read(outcome).tasks.sort("start_ns", "stream_id")
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
    kernels = {row["op_type"]: row for row in read(write(mixture(tools))).kernels.iter_rows(named=True)}
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
        "DSARandomUniform": "DSA",
        "Unique": "AI_CPU",
        "Unknown": "AI_VECTOR_CORE",
        "Item": "AI_VECTOR_CORE",
        "Index": "AI_VECTOR_CORE",
    }
    assert {kind for kind, row in kernels.items() if row["hf32"]} == {"MatMulV2"}
    assert all(row["block_num"] > 0 for row in kernels.values() if row["task_type"].startswith(("AI_C", "AI_V", "MIX")))
    assert kernels["Flash"]["mix_block_num"] == 2 * kernels["Flash"]["block_num"]


def test_copies_come_back(tools: Any, write: Write) -> None:
    copies = read(write(mixture(tools))).tasks.filter(pl.col("copy_bytes").is_not_null())
    assert copies.select("kernel_type", "kernel_name", "copy_bytes", "copy_kind").rows() == [
        ("MEMCPY_ASYNC", "", 256 * 512 * 2, 1),
        ("MEMCPY_ASYNC", "", 256 * 512 * 2, 2),
    ]


def inside(inner: pl.DataFrame, outer: pl.DataFrame) -> np.ndarray[Any, Any]:
    """For every inner row, the outer row on the same thread that is open at both of its ends, -1 if none."""
    columns = [outer[name].to_numpy() for name in ("start_ns", "end_ns", "tid")]
    at = [
        intervals.innermost(*columns, inner[edge].to_numpy(), inner["tid"].to_numpy())
        for edge in ("start_ns", "end_ns")
    ]
    return np.where(at[0] == at[1], at[0], -1)


def test_calls_nest(tools: Any, write: Write) -> None:
    profile = read(write(mixture(tools)))
    api = profile.api
    launching = tools.pid + 4
    acl, node, runtime = (api.filter(pl.col("level") == level) for level in ("acl", "node", "runtime"))
    launches = acl.filter(pl.col("tid") == launching)
    assert (inside(runtime, launches) >= 0).all()
    assert (inside(node, launches) >= 0).all()
    of_kernels = runtime.filter(pl.col("name") == "KernelLaunchWithHandle")
    assert sorted(inside(of_kernels, node).tolist()) == list(range(node.height))
    assert set(runtime["name"]) == {"KernelLaunchWithHandle", "MemcpyAsync"}
    assert set(node["name"]) == {"launch"}
    assert set(node["tid"]) == set(runtime["tid"]) == {launching}
    linked = profile.kernels.join(api, on="connection_id")
    assert linked["item"].to_list() == linked["name"].to_list()
    assert (profile.kernels["node_start_ns"] < profile.kernels["start_ns"]).all()


def test_every_call_has_the_name_the_vendor_gives_it(tools: Any, write: Write) -> None:
    profile = read(write(mixture(tools), request=ProfilingRequest(level=Level.L2)))
    assert profile.api.filter(pl.col("name") == "").is_empty()
    acl = profile.api.filter(pl.col("level") == "acl").group_by("name").len().rows()
    plain = {name: count for name, count in acl if not name.endswith("GetWorkspaceSize")}
    aclnn = {name for name in plain if name.startswith("aclnn")}
    assert plain["aclopCompileAndExecute"] == 1
    assert plain["aclrtMemcpyAsync"] == 2
    assert plain["aclnnUnknown"] == 1
    assert plain["aclrtSynchronizeStreamWithTimeout"] == 2, "item, and the copy to the host"
    assert {name.removesuffix("GetWorkspaceSize") for name, _ in acl if name.endswith("GetWorkspaceSize")} == aclnn
    runtime = profile.api.filter(pl.col("level") == "runtime")
    assert runtime.filter(pl.col("name") == "StreamSynchronize").height == 2
    queue = set(profile.queue["name"])
    assert {"Conv2D", "acl_memcpy_host_to_device", "acl_memcpy_device_to_host", "aclnnAdd"} <= queue
    assert "" not in queue


def test_the_task_queue(tools: Any, write: Write) -> None:
    table = mixture(tools)
    profile = read(write(table))
    put, taken = (profile.queue.filter(pl.col("side") == side) for side in ("enqueue", "dequeue"))
    assert put["correlation_id"].sort().to_list() == list(range(1, put.height + 1))
    both = put.join(taken, on="correlation_id", suffix="_taken")
    assert both.height == put.height == taken.height == len(NAMES) + 3
    assert (both["end_ns"] <= both["start_ns_taken"]).all()
    assert both["name"].to_list() == both["name_taken"].to_list()
    assert set(taken["tid"]) == {tools.pid + 4}
    assert set(put["tid"]) == {tools.pid, tools.pid + 3}
    ordered = taken.sort("start_ns")
    assert (ordered["end_ns"][:-1] <= ordered["start_ns"][1:]).all()
    ops = profile.host_ops.filter(pl.col("scope") == 0)
    columns = [ops[name].to_numpy() for name in ("start_ns", "end_ns", "tid")]
    hung = ops[intervals.innermost(*columns, put["start_ns"].to_numpy(), put["tid"].to_numpy())]["name"].to_list()
    assert sorted(hung) == sorted([*NAMES, "copy", "copy", "mm"])
    launches = profile.api.filter((pl.col("level") == "acl") & (pl.col("tid") == tools.pid + 4))
    assert sorted(inside(launches, taken).tolist()) == list(range(taken.height))


def test_every_kernel_hangs_on_the_operator_that_launched_it(tools: Any, write: Write) -> None:
    profile = read(write(mixture(tools)))
    links = link_operators(profile).kernel_op
    assert links.height == 18
    names = profile.host_ops["name"]
    by_kernel = profile.kernels.join(links, on=["stream_id", "task_id"])
    launched = {(kind, names[op]) for kind, op in by_kernel.select("op_type", "op_id").rows()}
    pairs = {"Add": "add", "Cast": "two", "Two": "two", "TransData": "single", "Conv2D": "single", "MatMulV2": "mm"}
    pairs |= {"Flash": "attention", "Reduce": "reduce", "Many": "many", "DSARandomUniform": "bernoulli"}
    pairs |= {"Unique": "unique", "Unknown": "unknown", "Item": "item", "Index": "index"}
    assert launched == set(pairs.items())


def test_operators_come_back_without_those_that_computed_a_kernel(tools: Any, write: Write) -> None:
    table = mixture(tools)
    s = tools.simulate(table)
    ops = read(write(table)).host_ops
    kept = np.flatnonzero(~s.lowered.computing)
    assert len(kept) == len(table) - 1, "what the second thread's mm called is how the CPU computes it"
    assert ops["name"].to_list() == [table.names[table.name[row]] for row in kept]
    assert ops["start_ns"].to_list() == s.op_start_ns[kept].tolist()
    assert ops["end_ns"].to_list() == s.op_end_ns[kept].tolist()
    assert ops["sequence"].to_list() == table.sequence[kept].tolist()
    assert ops.filter(pl.col("name") == "add").select("input_dtypes", "input_shapes").row(0) == (
        "c10::Half;float",
        "256,512;3",
    )
    assert set(ops["pid"]) == {tools.pid}


def test_on_the_wall_clock_operators_come_back_as_measured(tools: Any, write: Write) -> None:
    table = mixture(tools)
    ops = read(write(table, clock=Clock.WALL)).host_ops
    assert ops["start_ns"].to_list() == table.start_ns.tolist()
    assert ops["end_ns"].to_list() == table.end_ns.tolist()


def test_shapes_and_stacks_only_when_asked_for(tools: Any, write: Write) -> None:
    row = tools.Row
    table = tools.operators([row("add", 0, 9, stack="a.py(1): f;b.py(2): g"), row("add", 10, 19)])
    with_shapes = read(write(table, "with")).host_ops
    without = read(write(table, "without", request=ProfilingRequest())).host_ops
    assert with_shapes["call_stack"].to_list() == ["a.py(1): f;b.py(2): g", ""]
    assert with_shapes["input_shapes"].to_list() == ["256,512;3"] * 2
    assert without["input_shapes"].to_list() == ["", ""]


def test_memory_comes_back(tools: Any, write: Write) -> None:
    table = mixture(tools)
    memory = tools.allocations([(2000, 64, 10_000), (1_301_000, 128, 5 << 20), (1_800_000, 64, -10_000)])
    request = ProfilingRequest(switches=Switches(profile_memory=True))
    outcome = write(table, request=request, allocations=memory, live_before_bytes=1000, device_id=3)
    profile = read(outcome)
    s = tools.simulate(table, memory, live_before_bytes=1000)
    rows = profile.allocations
    assert rows["action"].to_list() == [0, 0, 2, 1]
    size = [s.memory.size_bytes[i] for i in (0, 1, 2, 2)]
    assert rows["size_bytes"].to_list() == size
    assert size[0] > 0 > size[2]
    assert rows["total_allocated_bytes"].to_list() == [s.memory.allocated_bytes[i] for i in (0, 1, 2, 2)]
    assert rows["time_ns"].to_list() == [s.warp(s.memory.time_ns)[i] for i in (0, 1, 2, 2)]
    assert set(rows["device_id"]) == {3}
    assert set(rows["device_type"]) == {20}
    assert profile.device_ids == (3,)
    assert set(profile.tasks["device_id"]) == {3}


def test_memory_is_sampled_on_the_grid_within_the_recording(tools: Any, write: Write) -> None:
    row = tools.Row
    table = tools.operators([row("view", 30_000_007, 30_000_100), row("view", 90_000_000, 90_000_100)])
    memory = tools.allocations([(30_000_050, 64, 30 << 20), (90_000_050, 128, 30 << 20)])
    request = ProfilingRequest(switches=Switches(profile_memory=True))
    begin = tools.begin_ns + 3
    common = {"request": request, "begin_ns": begin, "end_ns": tools.begin_ns + 130_000_001}
    outcome = write(table, allocations=memory, live_before_bytes=50 << 20, **common)
    for rows, column in ((read(outcome).npu_mem, "hbm_bytes"), (read(outcome).npu_module_mem, "reserved_bytes")):
        assert (np.diff(rows["time_ns"].to_numpy()) == 20_000_000).all()
        assert rows["time_ns"][0] == tools.begin_ns + 20, "the first tick of the recording"
        assert rows["time_ns"][-1] <= outcome.end_ns
        assert (rows[column] / 2**20).to_list() == [60, 60, 100, 100, 100, 120, 120]
    quiet = read(write(tools.operators([]), "quiet", live_before_bytes=1, **common))
    assert (quiet.npu_mem["hbm_bytes"] / 2**20).to_list() == [20] * 7
    assert read(write(table, "unasked")).npu_mem.is_empty()


def test_steps_are_marked(tools: Any, write: Write) -> None:
    table = mixture(tools)
    s = tools.simulate(table)
    marks = read(write(table)).step_marks
    assert marks.select("index_id", "tag_id").rows() == [(7, 60000), (7, 60001), (8, 60000), (8, 60001)]
    assert set(marks["model_id"]) == {4294967295}
    rows = [i for i, name in enumerate(table.name) if table.names[name].startswith("ProfilerStep#")]
    bounds = np.stack([s.op_start_ns[rows], s.op_end_ns[rows]], 1).ravel()
    late = marks["time_ns"].to_numpy() - bounds
    assert ((late >= 0) & (late < 20)).all()


def test_the_frequency_is_recorded(tools: Any, write: Write) -> None:
    assert read(write(mixture(tools))).frequencies.rows() == [(0, tools.begin_ns, 1800)]


@pytest.mark.parametrize("level", list(Level))
def test_levels(tools: Any, write: Write, level: Level) -> None:
    outcome = write(mixture(tools), request=ProfilingRequest(level=level))
    profile = read(outcome)
    assert profile.level == ("off" if level is Level.NONE else f"level{level.name[1]}")
    assert profile.host_ops.height > 0, "the framework's side does not depend on the level"
    assert profile.queue.height > 0
    if level is Level.NONE:
        assert outcome.prof_path is not None
        assert [path.name for path in outcome.prof_path.rglob("data/*")] == []
        assert profile.tasks.is_empty()
        return
    assert profile.kernels.height == 16
    described = level > Level.L0
    assert set(profile.kernels["op_type"] != "") == {described}
    assert set(profile.kernels["input_shapes"] != "") == {described}
    assert (profile.aic_metrics, bool(profile.pmu_columns)) == (("PipeUtilization", True) if described else ("", False))
    synchronisations = profile.api.filter(pl.col("name") == "StreamSynchronize")
    assert synchronisations.is_empty() == (level < Level.L2)


def test_counters_of_every_kind_of_kernel(tools: Any, write: Write) -> None:
    table = mixture(tools)
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
    profile = read(write(table))
    assert profile.kernels.select("op_type", "aic_total_cycles", "aiv_total_cycles").rows() == expected
    assert dict(profile.kernels.group_by("task_type").len().rows())["MIX_AIV"] == 1
    mix = profile.kernels.filter(pl.col("op_type") == "Flash").row(0, named=True)
    assert min(mix["aic_total_cycles"], mix["aiv_total_cycles"]) > 0, "both halves of a mixed kernel are counted"
    assert mix["aiv_total_cycles"] == pytest.approx(mix["aiv_time(us)"] * 1800 * mix["mix_block_num"], rel=1e-3)
    assert mix["aic_total_cycles"] == pytest.approx(mix["aicore_time(us)"] * 1800 * mix["block_num"], rel=1e-3)


@pytest.mark.parametrize("name", ["Ascend910A", "Ascend310P3", "Ascend310", "Ascend950PR"])
def test_other_chips(tools: Any, write: Write, name: str) -> None:
    chip = load_chip(name)
    outcome = write(mixture(tools), chip=chip)
    profile = read(outcome)
    assert (outcome.chip, profile.platform_version) == (name, chip.platform_version)
    assert profile.kernels.height == 16
    if chip.split:
        assert "aic_mac_ratio" in profile.pmu_columns
        return
    assert set(profile.kernels["task_type"]) <= {"AI_CORE", "AI_VECTOR_CORE", "AI_CPU", "DSA"}
    assert "mac_ratio" in profile.pmu_columns
    assert not any(column.startswith(("aic_", "aiv_")) for column in profile.pmu_columns)
    busy = profile.kernels.filter(pl.col("op_type").is_in(["MatMulV2", "Flash", "Add", "Reduce"]))
    assert (busy["aicore_time(us)"] > 0).all()
    assert (busy["aicore_time(us)"] <= busy["duration_ns"] / 1000).all()


def device_files(outcome: Outcome) -> dict[str, bytes]:
    assert outcome.prof_path is not None
    return {path.name: path.read_bytes() for path in outcome.prof_path.glob("device_*/data/*")}


def test_a_seed_makes_the_device_reproducible_bit_for_bit(tools: Any, write: Write) -> None:
    table = mixture(tools)
    first, again, other = (device_files(write(table, f"run{i}", seed=seed)) for i, seed in enumerate((5, 5, 6)))
    assert {"stars_soc.data.0.slice_0", "ffts_profile.data.0.slice_0"} <= set(first)
    assert first == again
    assert first["stars_soc.data.0.slice_0"] != other["stars_soc.data.0.slice_0"]
    assert first["ffts_profile.data.0.slice_0"] != other["ffts_profile.data.0.slice_0"]


def test_no_operators(tools: Any, write: Write) -> None:
    outcome = write(tools.operators([]), end_ns=tools.begin_ns + 1_000_000)
    profile = read(outcome)
    assert (outcome.kernels, dict(outcome.unmapped), outcome.end_ns) == (0, {}, tools.begin_ns + 1_000_000)
    for frame in (profile.host_ops, profile.queue, profile.tasks, profile.kernels, profile.api, profile.step_marks):
        assert frame.is_empty()
    assert (profile.begin_ns, profile.end_ns // 1000) == (tools.begin_ns, outcome.end_ns // 1000)


def test_more_tasks_on_a_stream_than_ids(tools: Any, write: Write) -> None:
    one = tools.operators([tools.Row("add", 0, 10)])
    count = 65536 + 5000
    columns = {name: np.repeat(getattr(one, name), count) for name in ("name", "thread", "fwd_thread", "sequence")}
    columns |= {name: np.repeat(getattr(one, name), count) for name in ("scope", "signature", "stack")}
    start = tools.begin_ns + np.arange(count) * 20
    table = evolve(one, start_ns=start, end_ns=start + 10, **columns)
    request = ProfilingRequest(level=Level.L0)
    tasks = read(write(table, request=request)).tasks
    s = tools.simulate(table)
    assert tasks.height == count
    assert tasks["start_ns"].to_list() == (tools.begin_ns + 20 * s.schedule.kernel_start_ticks).tolist()
    assert tasks["batch_id"].to_list() == [0] * 65536 + [1] * 5000
    assert tasks["task_id"].to_list() == [*range(65536), *range(5000)]
    assert (tasks["connection_id"] >= 0).all()
    assert tasks["connection_id"].is_unique().all()


def test_the_launching_thread_is_nobody_elses(tools: Any, write: Write) -> None:
    row = tools.Row
    table = tools.operators([row("add", 0, 10)])
    mark = HostMark(tools.begin_ns + 50, tools.pid + 1, Mark.WAIT_DEVICE)
    memory = tools.allocations([(5, 1, 100)], thread=tools.pid + 5)
    profile = read(write(table, marks=(mark,), allocations=memory, streams=((tools.begin_ns, tools.pid + 8, 3),)))
    launching = set(profile.queue.filter(pl.col("side") == "dequeue")["tid"])
    assert launching == {tools.pid + 9}
    waits = profile.api.filter(pl.col("name") == "aclrtSynchronizeDeviceWithTimeout")
    assert waits["tid"].to_list() == [tools.pid + 1]
    assert waits["end_ns"][0] >= (profile.tasks["start_ns"] + profile.tasks["duration_ns"]).max()


@pytest.mark.parametrize(("mark", "call"), [(Mark.WAIT_STREAM, "Stream"), (Mark.SYNCHRONIZE_EVENT, "Event")])
def test_synchronising_calls_are_shown(tools: Any, write: Write, mark: Mark, call: str) -> None:
    table = tools.operators([tools.Row("add", 0, 10)])
    marks = (
        HostMark(tools.begin_ns + 50, tools.pid, Mark.RECORD_EVENT, event=1),
        HostMark(tools.begin_ns + 60, tools.pid, mark, event=1),
    )
    for number, clock in enumerate(Clock):
        api = read(write(table, f"run{number}", marks=marks, clock=clock)).api
        assert api.filter(pl.col("name") == f"aclrtSynchronize{call}WithTimeout").height == 1


def test_only_one_side(tools: Any, write: Write) -> None:
    table = mixture(tools)
    host = write(table, "host", device_data=False)
    assert host.prof_path is None
    assert [path.name for path in host.directory.iterdir()] == ["FRAMEWORK"]
    assert load_profile(host.directory).tasks.is_empty()
    device = write(table, "device", host_data=False)
    assert list(device.directory.iterdir()) == [device.prof_path]
    profile = load_profile(device.prof_path)
    assert profile.kernels.height == 16
    assert profile.host_ops.is_empty()


def test_a_device_counter_that_started_later(tools: Any, write: Write) -> None:
    """Kernels lie after the instant the device's counter belongs to, whenever that was."""
    table = mixture(tools)
    late = evolve(tools.anchors, device_counter_ns=tools.anchors.monotonic_raw_ns + 300_000, device_cntvct=77)
    profile = read(write(table, anchors=late))
    expected = tools.simulate(table, base_ns=tools.begin_ns + 300_000)
    start = tools.begin_ns + 300_000 + 20 * expected.schedule.kernel_start_ticks
    assert profile.tasks["start_ns"].sort().to_list() == sorted(start.tolist())
    assert (profile.kernels["node_start_ns"] < profile.kernels["start_ns"]).all()


def test_the_collectors_parameters(tools: Any, write: Write) -> None:
    outcome = write(mixture(tools), device_id=2, rank_id=6)
    assert outcome.prof_path is not None
    reader = ProfReader(outcome.prof_path)
    needed = "ai_core_profiling ai_core_profiling_mode ai_core_metrics ai_core_profiling_events aiv_profiling "
    needed += "aiv_profiling_mode aiv_metrics aiv_profiling_events llc_profiling prof_level aicore_sampling_interval "
    needed += "hccsInterval msprofBinPid instrProfilingFreq npuEvents qosEvents job_id host_sys_pid result_dir devices"
    for device in (None, 2):
        sample = reader.sample(device)
        assert set(needed.split()) <= set(sample)
        assert sample["devices"] == ("64" if device is None else "2")
        assert sample["ai_core_metrics"] == "PipeUtilizationExct"
        assert sample["ai_core_profiling_events"] == "0x416,0x417,0x9,0x302,0xc,0x303,0x54,0x55"
        assert sample["aiv_profiling_events"] == "0x8,0xa,0x9,0xb,0xc,0xd,0x54,0x55"
        assert sample["host_sys_pid"] == tools.pid
        assert sample["result_dir"] == str(outcome.prof_path)
    info = orjson.loads((outcome.prof_path / "device_2" / "info.json.2").read_bytes())
    assert (info["rank_id"], info["pid"], info["CPU"][0]["Frequency"]) == (6, str(tools.pid), "")
    assert info["DeviceInfo"][0]["aic_frequency"] == "1800"


@pytest.mark.parametrize(
    ("chip", "metrics", "level", "on"),
    [
        ("910B2", MetricGroup.MEMORY, Level.L1, ("off", "off")),
        ("910B2", MetricGroup.NONE, Level.L1, ("off", "off")),
        ("910B2", MetricGroup.PIPE_UTILIZATION, Level.L0, ("off", "off")),
        ("910B2", MetricGroup.PIPE_UTILIZATION, Level.L1, ("on", "on")),
        ("910A", MetricGroup.PIPE_UTILIZATION, Level.L1, ("on", "off")),
    ],
)
def test_the_parameters_name_only_counters_that_were_taken(
    tools: Any, write: Write, chip: str, metrics: MetricGroup, level: Level, on: tuple[str, str]
) -> None:
    request = ProfilingRequest(level=level, aic_metrics=metrics)
    outcome = write(mixture(tools), chip=load_chip(chip), request=request)
    assert outcome.prof_path is not None
    sample = ProfReader(outcome.prof_path).sample(None)
    assert (sample["ai_core_profiling"], sample["aiv_profiling"]) == on
    for switch, prefix in zip(on, ("ai_core", "aiv"), strict=True):
        assert (sample[f"{prefix}_profiling_events"] == "") == (switch == "off")
        assert (sample[f"{prefix}_metrics"] == "") == (switch == "off")
    records = len(list(outcome.prof_path.glob("device_0/data/ffts_profile*")))
    assert (records > 0) == (on[0] == "on")


def test_an_outcome_says_what_is_simulated(tools: Any, write: Write) -> None:
    row = tools.Row
    table = tools.operators([row("unknown", 0, 10), row("other", 20, 30), row("unknown", 40, 50)])
    outcome = write(table, seed=11)
    told = outcome.describe()
    assert (told["version"], told["model"]) == (__version__, MODEL_VERSION)
    assert (told["chip"], told["clock"], told["seed"]) == ("Ascend910B2", "projected", 11)
    assert told["unmapped_operators"] == {"unknown": 2, "other": 1}
    assert "kernel times" in told["simulated"]
    assert "host times between operators" in told["measured"]
    assert "host times" in write(table, "wall", clock=Clock.WALL).describe()["measured"]
    assert orjson.loads(orjson.dumps(told)) == told


def test_the_directory_carries_vendor_names_and_modes(tools: Any, write: Write) -> None:
    request = ProfilingRequest(activities=(Activity.HOST, Activity.DEVICE), switches=Switches(profile_memory=True))
    memory = tools.allocations([(2000, 64, 10_000)])
    outcome = write(mixture(tools), request=request, allocations=memory, prof_number=41)
    assert outcome.prof_path is not None
    assert outcome.prof_path.name.startswith("PROF_000042_")
    files = {path.name for path in (outcome.directory / "FRAMEWORK").iterdir()}
    assert files == {"torch.op_range", "torch.op_mark", "torch.memory_usage"}
    for path in outcome.directory.rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o750 if path.is_dir() else 0o640), path
    assert not [path for path in outcome.directory.rglob("*") if path.name.startswith(".")]
    for path in (outcome.prof_path / "host" / "data").iterdir():
        assert path.name.endswith(".done") or Path(f"{path}.done").is_file()


def test_a_place_that_cannot_be_written_is_named(tools: Any, write: Write, tmp_path: Path) -> None:
    table = tools.operators([tools.Row("add", 0, 10)])
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(OutputError, match=r"cannot create the directory .*/file/FRAMEWORK: Not a directory"):
        write(table, directory=blocked)
    with pytest.raises(OutputError, match="/file"):
        write(table, "again", directory=blocked, host_data=False)
