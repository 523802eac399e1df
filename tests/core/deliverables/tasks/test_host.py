"""The host side read back: calls, the task queue, operators, memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from drynpu.analysis import link_operators
from drynpu.device import DispatchKind
from drynpu.options import Clock, ProfilingRequest, Switches
from drynpu.recorder import Outcome
from drynpu.simulate import HostCall
from drynpu.tables import intervals

Write = Callable[..., Outcome]


def test_calls_nest(tools: Any, write: Write) -> None:
    profile = tools.read(write(tools.mixture()))
    api = profile.api
    launching = tools.pid + 4
    acl, node, runtime = (api.filter(pl.col("level") == level) for level in ("acl", "node", "runtime"))
    launches = acl.filter(pl.col("tid") == launching)
    assert (tools.inside(runtime, launches) >= 0).all()
    assert (tools.inside(node, launches) >= 0).all()
    of_kernels = runtime.filter(pl.col("name") == "KernelLaunchWithHandle")
    assert sorted(tools.inside(of_kernels, node).tolist()) == list(range(node.height))
    assert set(runtime["name"]) == {"KernelLaunchWithHandle", "MemcpyAsync"}
    assert set(node["name"]) == {"launch"}
    assert set(node["tid"]) == set(runtime["tid"]) == {launching}
    linked = profile.kernels.join(api, on="connection_id")
    assert linked["item"].to_list() == linked["name"].to_list()
    assert (profile.kernels["node_start_ns"] < profile.kernels["start_ns"]).all()


def test_every_call_has_the_name_the_vendor_gives_it(tools: Any, write: Write) -> None:
    profile = tools.read(write(tools.mixture(), request=ProfilingRequest(switches=Switches(runtime_api=True))))
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


def test_nodes_of_a_graph_have_no_call_of_their_own(tools: Any, write: Write) -> None:
    table = tools.operators([tools.Row("node", 0, 10), tools.Row("node", 20, 30), tools.Row("add", 40, 50)])
    profile = tools.read(write(table))
    acl, node = (profile.api.filter(pl.col("level") == level) for level in ("acl", "node"))
    assert set(acl["name"]) == {"aclnnAddGetWorkspaceSize", "aclnnAdd"}
    assert node.height == 5
    assert profile.kernels.height == 5


@pytest.mark.parametrize(
    ("kind", "call"), [(DispatchKind.WAIT_STREAM, "Stream"), (DispatchKind.SYNCHRONIZE_EVENT, "Event")]
)
def test_synchronising_calls_are_shown(tools: Any, write: Write, kind: DispatchKind, call: str) -> None:
    table = tools.operators([tools.Row("add", 0, 10)])
    host_calls = (
        HostCall(tools.begin_ns + 50, tools.pid, DispatchKind.RECORD_EVENT, event=1),
        HostCall(tools.begin_ns + 60, tools.pid, kind, event=1),
    )
    for number, clock in enumerate(Clock):
        api = tools.read(write(table, f"run{number}", host_calls=host_calls, clock=clock)).api
        assert api.filter(pl.col("name") == f"aclrtSynchronize{call}WithTimeout").height == 1


def test_the_task_queue(tools: Any, write: Write) -> None:
    table = tools.mixture()
    profile = tools.read(write(table))
    put, taken = (profile.queue.filter(pl.col("side") == side) for side in ("enqueue", "dequeue"))
    assert put["correlation_id"].sort().to_list() == list(range(1, put.height + 1))
    both = put.join(taken, on="correlation_id", suffix="_taken")
    assert both.height == put.height == taken.height == len(tools.names) + 3
    assert (both["end_ns"] <= both["start_ns_taken"]).all()
    assert both["name"].to_list() == both["name_taken"].to_list()
    assert set(taken["tid"]) == {tools.pid + 4}
    assert set(put["tid"]) == {tools.pid, tools.pid + 3}
    ordered = taken.sort("start_ns")
    assert (ordered["end_ns"][:-1] <= ordered["start_ns"][1:]).all()
    ops = profile.host_ops.filter(pl.col("scope") == 0)
    columns = [ops[name].to_numpy() for name in ("start_ns", "end_ns", "tid")]
    hung = ops[intervals.innermost(*columns, put["start_ns"].to_numpy(), put["tid"].to_numpy())]["name"].to_list()
    assert sorted(hung) == sorted([*tools.names, "copy", "copy", "mm"])
    launches = profile.api.filter((pl.col("level") == "acl") & (pl.col("tid") == tools.pid + 4))
    assert sorted(tools.inside(launches, taken).tolist()) == list(range(taken.height))


def test_every_kernel_hangs_on_the_operator_that_launched_it(tools: Any, write: Write) -> None:
    profile = tools.read(write(tools.mixture()))
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
    table = tools.mixture()
    s = tools.simulate(table)
    ops = tools.read(write(table)).host_ops
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
    table = tools.mixture()
    ops = tools.read(write(table, clock=Clock.WALL)).host_ops
    assert ops["start_ns"].to_list() == table.start_ns.tolist()
    assert ops["end_ns"].to_list() == table.end_ns.tolist()


def test_shapes_and_stacks_only_when_asked_for(tools: Any, write: Write) -> None:
    row = tools.Row
    table = tools.operators([row("add", 0, 9, stack="a.py(1): f;b.py(2): g"), row("add", 10, 19)])
    with_shapes = tools.read(write(table, "with")).host_ops
    without = tools.read(write(table, "without", request=ProfilingRequest())).host_ops
    assert with_shapes["call_stack"].to_list() == ["a.py(1): f;b.py(2): g", ""]
    assert with_shapes["input_shapes"].to_list() == ["256,512;3"] * 2
    assert without["input_shapes"].to_list() == ["", ""]


def test_memory_comes_back(tools: Any, write: Write) -> None:
    table = tools.mixture()
    memory = tools.allocations([(2000, 64, 10_000), (1_301_000, 128, 5 << 20), (1_800_000, 64, -10_000)])
    request = ProfilingRequest(switches=Switches(profile_memory=True))
    outcome = write(table, request=request, allocations=memory, live_before_bytes=1000, device_id=3)
    profile = tools.read(outcome)
    s = tools.simulate(table, memory, live_before_bytes=1000)
    rows = profile.allocations
    assert rows["action"].to_list() == [0, 0, 2, 1]
    size = [s.memory.size_bytes[i] for i in (0, 1, 2, 2)]
    assert rows["size_bytes"].to_list() == size
    assert size[0] > 0 > size[2]
    assert rows["total_allocated_bytes"].to_list() == [s.memory.allocated_bytes[i] for i in (0, 1, 2, 2)]
    assert rows["time_ns"].to_list() == [s.time_map(s.memory.time_ns)[i] for i in (0, 1, 2, 2)]
    assert set(rows["device_id"]) == {3}
    assert set(rows["device_type"]) == {20}
    assert profile.device_ids == (3,)
    assert set(profile.tasks["device_id"]) == {3}


def test_the_launching_thread_is_nobody_elses(tools: Any, write: Write) -> None:
    row = tools.Row
    table = tools.operators([row("add", 0, 10)])
    mark = HostCall(tools.begin_ns + 50, tools.pid + 1, DispatchKind.WAIT_DEVICE)
    memory = tools.allocations([(5, 1, 100)], thread=tools.pid + 5)
    profile = tools.read(
        write(table, host_calls=(mark,), allocations=memory, streams=((tools.begin_ns, tools.pid + 8, 3),))
    )
    launching = set(profile.queue.filter(pl.col("side") == "dequeue")["tid"])
    assert launching == {tools.pid + 9}
    waits = profile.api.filter(pl.col("name") == "aclrtSynchronizeDeviceWithTimeout")
    assert waits["tid"].to_list() == [tools.pid + 1]
    assert waits["end_ns"][0] >= (profile.tasks["start_ns"] + profile.tasks["duration_ns"]).max()
