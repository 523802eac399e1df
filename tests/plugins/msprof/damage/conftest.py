"""One PROF directory with as many kinds of files as a recording can leave, in a result directory, to be damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.by_hand import BEGIN_NS, PID, allocations, setup

from drynpu.kernels import Copy, KernelPlan, KernelSpec, Signature, TaskType, TensorDesc
from drynpu.options import (
    Clock,
    GraphApi,
    HostSystem,
    HostUsage,
    Level,
    MetricGroup,
    ProfilingRequest,
    Sampling,
    Switches,
)
from drynpu.platforms import load_chip
from drynpu.recorder import write_recording
from drynpu.simulate import (
    Collective,
    DatasetEvent,
    Destination,
    GraphRun,
    HostSamples,
    Iteration,
    Mark,
    MarkKind,
    Recording,
)

STEP_NS = 1_000_000
TENSOR = TensorDesc((256, 256), "FLOAT16")
KINDS = {
    "Add": TaskType.AI_VECTOR_CORE,
    "MatMul": TaskType.AI_CORE,
    "Where": TaskType.AI_CPU,
    "Copy": TaskType.MEMCPY,
}


def plan(signature: Signature) -> KernelPlan:
    kind = KINDS[signature.name]
    spec = KernelSpec(
        name=f"{signature.name}_kernel",
        op_type=signature.name,
        task_type=kind,
        inputs=(TENSOR,),
        outputs=(TENSOR,),
        vector_ops=TENSOR.elements,
        cube_flops=TENSOR.elements * 256 if kind is TaskType.AI_CORE else 0,
        bytes_read=TENSOR.size_bytes,
        bytes_written=TENSOR.size_bytes,
        copy=Copy.HOST_TO_DEVICE if kind is TaskType.MEMCPY else None,
    )
    return KernelPlan(api=f"aclnn{signature.name}", kernels=(spec,))


def _packet(number: int, body: str) -> str:
    return f"TimeStamp:{BEGIN_NS + number * STEP_NS}\nIndex:{number}\nDataLen:{len(body)}\n{body}\n"


def _samples() -> HostSamples:
    stat = f"11 (py) S 1 {'0 ' * 7}10 5 0 0 {'0 ' * 22}1 {'0 ' * 13}\n"
    cpu = "cpu 30 10 20 100 5 1 2 0 0 0\n"
    memory = "MemTotal: 1000 kB\nMemFree: 100 kB\nBuffers: 5 kB\nCached: 6 kB\nShmem: 7 kB\nCommitLimit: 8 kB\n"
    memory += "Committed_AS: 9 kB\nHugePages_Total: 3\nHugePages_Free: 2\n"
    times = [BEGIN_NS + number * STEP_NS for number in range(3)]
    return HostSamples(
        texts={
            "host_cpu": "".join(f"time {time}\n{100 + n}.00 7.00\n{stat}" for n, time in enumerate(times)),
            "host_mem": "".join(f"{time} 9 {1000 * n} 3 0 0 0 0\n" for n, time in enumerate(times)),
            "host_network": "".join(f"time {time}\n eth0: {n * 2000} {'0 ' * 15}\n" for n, time in enumerate(times)),
            "host_sys_cpu": "".join(_packet(n, f"{cpu}cpu0 30 10 20 100 5 1 2 0 0 0\n") for n in range(2)),
            "host_sys_mem": "".join(_packet(n, memory) for n in range(2)),
        },
        processes={
            "host_process_cpu": {77: _packet(0, f"{stat}ProcessName:seven\n{cpu}")},
            "host_process_mem": {77: _packet(0, "40 30 20 0 0 0 0\nProcessName:seven\n")},
        },
        disk=tuple((time, 20480 * n, 4096, n) for n, time in enumerate(times)),
        samples=3,
    )


def _recording(tools: Any, count: int) -> Recording:
    start = BEGIN_NS + STEP_NS
    iterations = tuple(
        Iteration(index=n + 1, start_ns=start + n * 4 * STEP_NS, end_ns=start + (n * 4 + 3) * STEP_NS + 500_000)
        for n in range(count // 4)
    )
    return Recording(
        operators=tools.calls_in_turn(list(KINDS) * (count // len(KINDS)), TENSOR),
        allocations=allocations([(10_000, 4096, 1_000_000), (STEP_NS, 4096, -1_000_000)], begin_ns=start),
        begin_ns=BEGIN_NS,
        end_ns=BEGIN_NS + (count + 4) * STEP_NS,
        graphs=(GraphRun(model_id=7, model_name="ge_default_7", graph_id=3, iterations=iterations),),
        collectives=(
            Collective(
                kind="allReduce",
                start_ns=start + 200_000,
                thread=PID,
                group="world",
                ranks=(0, 1),
                rank=0,
                size_bytes=1 << 20,
                dtype="FP16",
                count=1 << 19,
            ),
        ),
        marks=(
            Mark(kind=MarkKind.POINT, message="here", start_ns=start, end_ns=start, thread=PID, stream=2),
            Mark(kind=MarkKind.PUSH_POP, message="range", start_ns=start, end_ns=start + STEP_NS, thread=PID),
        ),
        dataset=(DatasetEvent(time_ns=start, action="Dequeue", source="get_next", buffered=3, duration_ns=100_000),),
        host_samples=_samples(),
    )


@pytest.fixture(scope="session")
def intact(tmp_path_factory: pytest.TempPathFactory, tools: Any) -> Path:
    """Return a result directory that nobody writes into."""
    directory = tmp_path_factory.mktemp("intact") / "host_1_20250109080000000_ascend_pt"
    directory.mkdir()
    chip = load_chip("Ascend910B2")
    write_recording(
        _recording(tools, 8),
        Destination(directory=directory, framework="torch", pid=PID),
        setup(
            plan,
            ProfilingRequest(
                level=Level.L1,
                aic_metrics=MetricGroup.PIPE_UTILIZATION,
                switches=Switches(
                    record_shapes=True,
                    profile_memory=True,
                    l2_cache=True,
                    tx=True,
                    aicpu=True,
                    communication=True,
                    training_trace=True,
                    runtime_api=True,
                    graph_api=GraphApi.L1,
                    task_memory=True,
                ),
                sampling=Sampling(
                    hardware_memory_hz=100,
                    io_hz=100,
                    interconnection_hz=50,
                    host_systems=(HostSystem.CPU, HostSystem.MEMORY, HostSystem.DISK, HostSystem.NETWORK),
                    host_usage=(HostUsage.CPU, HostUsage.MEMORY),
                ),
            ),
            chip=chip,
            clock=Clock.WALL,
        ),
    )
    return directory
