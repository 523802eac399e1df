"""Where work lands, what orders it, what makes the host wait, and what stays on the host."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

SCRIPT = """
import torch
import torch_npu
from torch.profiler import record_function
from torch.utils.data import DataLoader, TensorDataset
from torch_npu import profiler

# Long for the modelled device and nothing for the CPU: no page of the tensor is ever touched.
library = torch.library.Library("stream_tests", "DEF")
library.define("touch(Tensor(a!) x) -> Tensor(a!)")
library.impl("touch", lambda x: x, "CPU")
x = torch.empty(1 << 30, device="npu:0")


def work(times):
    for _ in range(times):
        torch.ops.stream_tests.touch(x)


weight = torch.nn.Parameter(torch.ones(32, 32, device="npu:0"))
optimizer = torch.optim.Adam([weight], lr=0.1)
(weight * 2).sum().backward()
optimizer.step()
on_host = torch.arange(6, dtype=torch.float32)
loader = DataLoader(TensorDataset(torch.arange(64.0).reshape(16, 4)), batch_size=4)
side, other, early = torch.npu.Stream(), torch.npu.Stream(), torch.npu.Stream()
torch.npu.set_stream(early)

prof = profiler.profile(
    on_trace_ready=profiler.tensorboard_trace_handler("out"),
    experimental_config=profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1),
    record_shapes=True,
    profile_memory=True,
)
prof.start()
with record_function("set before"):
    work(1)
torch.npu.set_stream(torch.npu.default_stream())
torch.npu.synchronize()

with record_function("default"):
    work(6)
with torch.npu.stream(side):
    with record_function("side"):
        work(6)
    event = side.record_event()
with record_function("after side"):
    work(1)

with torch.npu.stream(other):
    other.wait_event(event)
    with record_function("ordered"):
        work(6)
with record_function("synchronize"):
    torch.npu.synchronize()

with record_function("work"):
    work(6)
    y = weight.detach().sum()
with record_function("item"):
    y.item()
with record_function("work of a stream"), torch.npu.stream(side):
    work(6)
with record_function("stream synchronize"):
    side.synchronize()

with record_function("load"):
    for (batch,) in loader:
        pass
with record_function("host"):
    host_sum = on_host.tolist()
weight.grad = torch.ones(32, 32, device="npu:0")
with record_function("optimize"):
    optimizer.step()

with record_function("there"):
    there = on_host.to("npu:0")
with record_function("back"):
    there.cpu()
with record_function("again"):
    there.to("npu:0")
prof.stop()
"""


@pytest.fixture(scope="module")
def output(scripts: Any) -> Any:
    return scripts(SCRIPT).output("out")


@pytest.fixture(scope="module")
def part(output: Any, ns: Callable[[str], int]) -> Callable[[str], tuple[tuple[int, int], list[dict[str, Any]]]]:
    """Return a function from the name of a part of the script to its host range and its device tasks, ns."""
    starts = {e["id"]: ns(e["ts"]) for e in output.trace if e.get("cat") == "async_npu" and e["ph"] == "s"}
    ends = {e["id"]: (e["tid"], e["ts"]) for e in output.trace if e.get("cat") == "async_npu" and e["ph"] == "f"}
    tasks = {(e["tid"], e["ts"]): e for e in output.layer("Ascend Hardware")}

    def find(name: str) -> tuple[tuple[int, int], list[dict[str, Any]]]:
        (event,) = (e for e in output.operators() if e["name"] == name)
        first = ns(event["ts"])
        last = first + round(event["dur"] * 1000)
        found = [tasks[ends[identity]] for identity, start in starts.items() if first <= start <= last]
        for task in found:
            task["range"] = (ns(task["ts"]), ns(task["ts"]) + round(task["dur"] * 1000))
        return (first, last), sorted(found, key=lambda task: task["range"])

    return find


def test_work_lands_on_its_stream(part: Any) -> None:
    streams = {
        name: {task["tid"] for task in part(name)[1]}
        for name in ("set before", "default", "side", "after side", "ordered", "work of a stream")
    }
    assert all(len(found) == 1 for found in streams.values())
    assert len(set.union(*streams.values())) == 4
    assert streams["default"] == streams["after side"]
    assert streams["side"] == streams["work of a stream"]


def test_streams_run_beside_each_other(part: Any) -> None:
    default, side, (after,) = (part(name)[1] for name in ("default", "side", "after side"))
    assert len(default) == len(side) == 6
    assert default[0]["range"][0] < side[0]["range"][0] < default[-1]["range"][1]
    assert after["range"][0] >= default[-1]["range"][1]  # one stream is a queue


def test_an_event_orders_streams(part: Any) -> None:
    assert part("ordered")[1][0]["range"][0] >= part("side")[1][-1]["range"][1]


def test_calls_of_events_are_operators_on_the_host(output: Any, part: Any, ns: Any) -> None:
    calls = [event for event in output.operators() if event["name"].startswith("Event::")]
    assert [event["name"] for event in calls] == ["Event::record", "Event::wait"]
    assert ns(calls[0]["ts"]) <= part("after side")[0][0] <= ns(calls[1]["ts"]) <= part("ordered")[0][0]


def test_the_host_waits_where_the_script_does(part: Any) -> None:
    drained = max(part(name)[1][-1]["range"][1] for name in ("default", "side", "after side", "ordered"))
    begin, end = part("synchronize")[0]
    assert begin < drained <= end
    work = part("work")[1]
    assert len(work) == 7
    begin, end = part("item")[0]
    assert begin < work[-1]["range"][1] <= end
    begin, end = part("stream synchronize")[0]
    assert begin < part("work of a stream")[1][-1]["range"][1] <= end
    assert part("default")[0][1] < part("default")[1][-1]["range"][0]  # where it does not, it runs ahead


def test_loading_and_host_tensors_launch_nothing(part: Any) -> None:
    assert part("load")[1] == []
    assert part("host")[1] == []


def test_step_counters_of_an_optimizer_stay_on_the_host(output: Any, part: Any) -> None:
    tasks = part("optimize")[1]
    assert tasks
    starts = {task["ts"] + "\t" for task in tasks}
    rows = [row for row in output.rows("kernel_details.csv") if row["Start Time(us)"] in starts]
    assert len(rows) == len(tasks)
    assert all("32,32" in row["Input Shapes"] for row in rows)
    assert {row["Output Shapes"].strip('"') for row in rows if row["Type"].startswith("Foreach")} <= {"1024"}
    assert all("32,32" in row["Output Shapes"] for row in rows if not row["Type"].startswith("Foreach"))
    adds = [e for e in output.operators() if e["name"] == "aten::add_" and e["args"]["Input Dims"].startswith(";")]
    assert adds  # the counter's own operator is recorded all the same


def test_copies(part: Any) -> None:
    for name, operation in (("there", "host to device"), ("back", "device to host")):
        (task,) = part(name)[1]
        assert task["name"] == "MEMCPY_ASYNC"
        assert task["args"]["operation"] == operation
        assert task["args"]["size(B)"] == 24
        assert task["args"]["bandwidth(GB/s)"] == pytest.approx(24 / (task["dur"] * 1000), rel=1e-6)
    begin, end = part("back")[0]
    assert begin < part("back")[1][0]["range"][1] <= end  # a copy to the host is waited for


def test_a_copy_to_where_it_is_already_does_nothing(part: Any) -> None:
    assert part("again")[1] == []


BESIDE_THREADS = """
import json, threading

import torch
import torch_npu
from torch_npu import profiler

threads = []


def other(size):
    threads.append(threading.get_native_id())
    with torch.npu.stream(torch.npu.Stream()):
        torch.ones(size, device="npu").expm1()


config = profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1)
with profiler.profile(
    schedule=profiler.schedule(wait=0, warmup=1, active=2, repeat=1),
    on_trace_ready=profiler.tensorboard_trace_handler("out"),
    experimental_config=config,
    record_shapes=True,
) as prof:
    for number in range(3):
        torch.ones(8, device="npu").exp()
        thread = threading.Thread(target=other, args=(3 + number,))
        thread.start()
        thread.join()
        torch.npu.synchronize()  # else a kernel may start after the host's step
        prof.step()
print("threads", json.dumps(threads))
"""


def test_kernels_of_other_threads_are_on_the_device_with_the_threads_that_queued_them(scripts: Any) -> None:
    run = scripts(BESIDE_THREADS)
    output, threads = run.output("out"), json.loads(run.stdout.split("threads ")[1].splitlines()[0])
    assert not {e["tid"] for e in output.operators()} & set(threads), "as beside the vendor's profiler: no operators"
    kernels = [row for row in output.rows("kernel_details.csv") if row["Type"] == "Expm1"]
    assert [row["Input Shapes"] for row in kernels] == ['"4"', '"5"']
    assert [row["Step Id"] for row in kernels] == ["1", "2"]
    queued = [e for e in output.trace if e["name"] == "Enqueue@aclnnExpm1"]
    assert [e["tid"] for e in queued] == threads[1:]
    calls = [e for e in output.trace if e["name"] == "AscendCL@aclnnExpm1GetWorkspaceSize"]
    assert [e["tid"] for e in calls] == threads[1:]
    launched = {e["tid"] for e in output.trace if e["name"] == "AscendCL@aclnnExpm1"}
    assert len(launched) == 1
    assert not launched & {*threads, run.pid}, "the queue has a thread of its own"
    arrows = [e for e in output.trace if e["name"] == "torch_to_npu" and e["ph"] == "s"]
    assert arrows
    assert {e["tid"] for e in arrows} == {run.pid}


IN_A_THREAD = """
import threading

import torch
import torch_npu
from torch_npu import profiler


def train():
    with profiler.profile(
        schedule=profiler.schedule(wait=0, warmup=1, active=2, repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler("out"),
    ) as prof:
        for _ in range(3):
            weight = torch.ones(8, 8, device="npu", requires_grad=True)
            weight.exp().sum().backward()
            prof.step()


thread = threading.Thread(target=train)
thread.start()
thread.join()
"""


def test_a_whole_recording_from_a_child_thread(scripts: Any, native: bool) -> None:
    run = scripts(IN_A_THREAD)
    output = run.output("out")
    threads = {e["tid"] for e in output.operators()}
    assert run.pid not in threads
    assert len(threads) == (2 if native else 1), "a device has a thread for the backward pass"
    names = [e["name"] for e in output.operators()]
    assert [n for n in names if n.startswith("ProfilerStep#")] == ["ProfilerStep#1", "ProfilerStep#2"]
    kernels = output.rows("kernel_details.csv")
    assert sum("Exp" in row["Name"] for row in kernels) == 2
    assert {row["Step Id"] for row in kernels} == {"1", "2"}
