"""Recordings made by hand: on every chip one with everything that a recording can hold. All its numbers differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from drynpu.device import DispatchKind, LaunchMode
from drynpu.device.collectives import KINDS
from drynpu.kernels import (
    Allocations,
    Call,
    Copy,
    KernelPlan,
    KernelSpec,
    Operators,
    Placement,
    Signature,
    TaskType,
    TensorDesc,
    copy_plan,
    unmapped_plan,
)
from drynpu.simulate import (
    AclCalls,
    Collective,
    DatasetEvent,
    FusionOp,
    GraphPoints,
    GraphRun,
    HostCall,
    HostSamples,
    Iteration,
    Mark,
    MarkKind,
    PythonFrames,
    Recording,
    StaticMemory,
)

BEGIN_NS = 1_736_408_883_000_000_000
PID, BACKWARD, OTHER = 4321, 4327, 4333
STEP_NS, STEPS = 4_000_000, 3

HALF = TensorDesc((192, 640), "FLOAT16")
WEIGHT = TensorDesc((640, 384), "FLOAT16")
PRODUCT = TensorDesc((192, 384), "FLOAT16")
SINGLE = TensorDesc((96, 80, 33), "FLOAT")
IMAGE = TensorDesc((2, 4, 28, 28, 16), "FLOAT16", "NC1HWC0")
INDEX = TensorDesc((77,), "INT64")


def kernel(name: str, task: TaskType, inputs: Sequence[TensorDesc], output: TensorDesc, **work: Any) -> KernelSpec:
    """Return a kernel whose traffic follows from its tensors."""
    usual = {
        "vector_ops": 3 * output.elements,
        "bytes_read": sum(each.size_bytes for each in inputs),
        "bytes_written": output.size_bytes,
    }
    return KernelSpec(
        name=f"aclnn{name}_{name}",
        op_type=name,
        task_type=task,
        inputs=tuple(inputs),
        outputs=(output,),
        **usual | work,
    )


PRODUCT_FLOPS = 2 * 192 * 640 * 384
KERNELS = {
    "MatMulV2": kernel(
        "MatMulV2", TaskType.AI_CORE, (HALF, WEIGHT), PRODUCT, cube_flops=PRODUCT_FLOPS, vector_ops=0, cube_tiles=6
    ),
    "MatMulV3": kernel(
        "MatMulV3", TaskType.AI_CORE, (SINGLE, SINGLE), SINGLE, cube_flops=10**9, cube_tiles=41, hf32=True
    ),
    "Add": kernel("Add", TaskType.AI_VECTOR_CORE, (HALF, HALF), HALF, vector_ops=HALF.elements),
    "SoftmaxV2": kernel("SoftmaxV2", TaskType.AI_VECTOR_CORE, (SINGLE,), SINGLE, vector_ops=9 * SINGLE.elements),
    "GatherV2": kernel("GatherV2", TaskType.AI_VECTOR_CORE, (SINGLE, INDEX), HALF, bytes_read=300_001),
    "FlashAttentionScore": kernel(
        "FlashAttentionScore", TaskType.MIX_AIC, (HALF, HALF, HALF), HALF, cube_flops=7 * 10**8, cube_tiles=24
    ),
    "GroupNorm": kernel("GroupNorm", TaskType.MIX_AIV, (IMAGE,), IMAGE, cube_flops=3 * 10**6, cube_tiles=3),
    "Unique": kernel("Unique", TaskType.AI_CPU, (INDEX,), INDEX),
    "DSARandomUniform": kernel("DSARandomUniform", TaskType.DSA, (INDEX,), SINGLE),
    "Conv2D": kernel("Conv2D", TaskType.AI_CORE, (IMAGE, WEIGHT), IMAGE, cube_flops=5 * 10**8, cube_tiles=13),
    "TransData": kernel("TransData", TaskType.AI_VECTOR_CORE, (IMAGE,), IMAGE, vector_ops=0),
    "Many": kernel("Many", TaskType.AI_VECTOR_CORE, (HALF, INDEX, SINGLE, IMAGE, WEIGHT, PRODUCT, HALF), SINGLE),
}


def _one(name: str, **more: Any) -> KernelPlan:
    return KernelPlan(api=f"aclnn{name}", kernels=(KERNELS[name],), **more)


PLANS = {
    **{name: _one(name) for name in KERNELS if name not in ("TransData", "Conv2D")},
    "convolution": KernelPlan(kernels=tuple(KERNELS[name] for name in ("TransData", "Conv2D", "TransData"))),
    "item": _one("Add", synchronizes=True),
    "index": _one("GatherV2", claims=False),
    "view": KernelPlan(),
    "empty": KernelPlan(allocates=True),
    "composite": KernelPlan(claims=False),
    "node": KernelPlan(kernels=(KERNELS["Add"], KERNELS["MatMulV2"]), in_graph=True),
    "fetch": KernelPlan(
        kernels=(kernel("MEMCPY_ASYNC", TaskType.MEMCPY, (SINGLE,), SINGLE, copy=Copy.HOST_TO_DEVICE),), in_graph=True
    ),
}


def plan(signature: Signature) -> KernelPlan:
    """Return what an operator launches; one without a plan gets the kernel of unknown operators."""
    if signature.placement is Placement.HOST:
        return KernelPlan()
    if signature.placement in {Placement.TO_DEVICE, Placement.TO_HOST}:
        return copy_plan(signature)
    return PLANS.get(signature.name) or unmapped_plan(signature)


def _calls(chip_number: int) -> Iterator[Call]:
    """Yield operators of three steps on two threads: calls in calls, copies both ways, a pause, nodes of a graph."""
    names = ("Many", "GatherV2", "SoftmaxV2", "MatMulV3", "FlashAttentionScore", "GroupNorm", "Unique", "unheard_of")
    names += ("DSARandomUniform", "convolution", "index", "empty")
    for step in range(STEPS):
        at = BEGIN_NS + 700_000 + step * STEP_NS
        yield Call(f"ProfilerStep#{step + 5}", at - 90_000, at + STEP_NS - 100_000 - 7 * step, PID)
        yield Call(Signature("copy", (HALF,), placement=Placement.TO_DEVICE), at, at + 31_000, PID)
        yield Call("forward", at + 40_000, at + 1_500_000, PID)
        for place, name in enumerate(names):
            start = at + 50_000 + 107_003 * place + 1_009 * chip_number
            yield Call("composite" if place % 5 == 4 else f"part {place}", start - 3_000, start + 84_000, PID)
            yield Call(Signature(name, (HALF, SINGLE)), start, start + 60_000 + 511 * place, PID)
            if place % 3 == 1:
                yield Call(Signature("Add", (HALF, HALF)), start + 5_000, start + 20_000, PID)
        for place, name in enumerate(("MatMulV2", "view", "Add", "SoftmaxV2")):
            start = at + 1_430_000 + 90_001 * place
            yield Call(f"{name}Backward", start - 8_000, start + 77_000, BACKWARD, 1)
            yield Call(Signature(name, (HALF, WEIGHT)), start, start + 41_000, BACKWARD)
        for place in range(2 + step):
            start = at + 2_100_000 + 60_000 * place
            yield Call(Signature("node", (HALF,)), start, start + 20_000, OTHER)
        yield Call(Signature("fetch", (SINGLE,)), at + 2_050_000, at + 2_060_000, OTHER)
        yield Call(Signature("host", (HALF,), placement=Placement.HOST), at + 2_350_000, at + 2_420_000, PID)
        yield Call(Signature("item", (HALF,)), at + 3_100_000, at + 3_130_000, PID)
        yield Call(Signature("copy", (SINGLE,), placement=Placement.TO_HOST), at + 3_200_000, at + 3_260_000, PID)


def operators(chip_number: int) -> Operators:
    """Return the table of the operators; some have a sequence number, some a stack."""
    table = Operators.from_calls(_calls(chip_number))
    count = len(table)
    backward = table.thread == BACKWARD
    return table.select(
        np.arange(count),
        sequence=np.where(np.arange(count) % 4 == 1, np.arange(count) // 3, -1),
        fwd_thread=np.where(backward, PID, 0),
        reported=np.arange(count) % 17 != 16,
    )


def _host_calls() -> Iterator[HostCall]:
    for step in range(STEPS):
        at = BEGIN_NS + 700_000 + step * STEP_NS
        yield HostCall(at + 1_380_000, PID, DispatchKind.RECORD_EVENT, stream=2, event=3 + step)
        yield HostCall(at + 1_390_000, PID, DispatchKind.WAIT_EVENT, stream=5, event=3 + step)
        yield HostCall(at + 2_440_000, PID, DispatchKind.SYNCHRONIZE_EVENT, stream=2, event=3 + step)
        yield HostCall(at + 2_500_000, PID, DispatchKind.WAIT_STREAM, stream=5)
        yield HostCall(at + 2_600_000, PID, DispatchKind.PAUSE, until_ns=at + 2_700_000)
        yield HostCall(at + 3_400_000, PID, DispatchKind.WAIT_DEVICE)


def _collectives(chip_number: int) -> Iterator[Collective]:
    """Yield a third of the kinds in each step: in one server, across servers, with and without waiting for others."""
    groups = (("tensor", (0, 1, 2, 3)), ("data", (1, 9, 17)), ("pipeline", (1, 8)), ("all", tuple(range(16))))
    for number, kind in enumerate(KINDS):
        name, ranks = groups[(number + chip_number) % len(groups)]
        start = BEGIN_NS + 700_000 + (number % STEPS) * STEP_NS + 2_720_000 + 60_000 * (number // STEPS)
        size = (1 << (12 + (5 * number + chip_number) % 13)) * len(ranks)
        peer = ranks[-1] if kind in ("send", "receive", "batchSendRecv", "reduce") else None
        yield Collective(
            kind=kind,
            start_ns=start,
            end_ns=start + 9_000 if number % 3 == 0 else None,
            thread=PID,
            group=name,
            ranks=ranks,
            rank=1,
            peer=0 if peer == 1 else peer,
            size_bytes=size,
            dtype=("FLOAT", "DT_BF16", "INT8")[number % 3],
            count=size // (4, 2, 1)[number % 3],
            wait_ns=7_000 * (number % 4),
            blocking=number % 5 != 2,
            event=100 + number if number % 5 == 2 else None,
            stream=5 if number % 6 == 4 else None,
            mark="comm {stream_id}" if number % 4 == 0 else "",
        )


def _marks() -> Iterator[Mark]:
    kinds = tuple(MarkKind)
    for number in range(9):
        kind = kinds[number % len(kinds)]
        start = BEGIN_NS + 900_000 + 1_210_000 * number
        point = kind in (MarkKind.POINT, MarkKind.EXTENDED_POINT)
        yield Mark(
            kind=kind,
            message=f"mark {number} " + "long " * (60 * (number == 7)),
            start_ns=start,
            end_ns=start if point else start + 333_000 + number,
            thread=PID if number % 3 else BACKWARD,
            end_thread=OTHER if number % 4 == 2 else None,
            domain="default" if number % 2 else "extra",
            category=number,
            payload=10 * number,
            stream=(None, 2, 5)[number % 3],
            extended=kind is MarkKind.EXTENDED_POINT or number % 4 == 2,
        )


def _graphs() -> Iterator[GraphRun]:
    for number, points in enumerate(
        (GraphPoints(forward=("Add",), backward=("MatMulV2",)), None, GraphPoints(marked=False))
    ):
        begin = BEGIN_NS + 2_740_000
        yield GraphRun(
            model_id=3 + number,
            model_name=f"model {number}",
            graph_id=number,
            iterations=tuple(
                Iteration(
                    index=step + 1,
                    start_ns=begin + step * STEP_NS + 110_000 * number,
                    end_ns=begin + step * STEP_NS + 100_000 * (number + 1),
                )
                for step in range(STEPS)
            ),
            points=points,
            fusions=(
                FusionOp(
                    name="AddMatMul",
                    original_ops=("Add", "MatMulV2"),
                    input_bytes=11 + number,
                    output_bytes=22,
                    weight_bytes=33,
                    workspace_bytes=44,
                ),
            ),
            static_memory=(
                StaticMemory(op_name="Add", size_bytes=4096, first_node=1, last_node=3),
                StaticMemory(op_name="MatMulV2", size_bytes=8192 + number, first_node=2, last_node=None),
            ),
        )


def _memory() -> Allocations:
    sizes = (65_536, 2_048, 30_000_000, 512, 1_300_000)
    rows = []
    for step in range(STEPS):
        at = BEGIN_NS + 760_000 + step * STEP_NS
        for place, size in enumerate(sizes):
            rows.append((at + 120_000 * place, PID, 4096 * (1 << (4 * place)) + 512 * step, size + step * 512))
            if place != step:
                rows.append(
                    (at + 1_300_000 + 90_000 * place, PID, 4096 * (1 << (4 * place)) + 512 * step, -size - step * 512)
                )
    return Allocations.from_rows([*rows, (BEGIN_NS + 800_000, OTHER, 1 << 44, -7_168)])


def _stat(tid: int, user: int, system: int, core: int) -> str:
    fields = ["S", "1", *["0"] * 50]
    fields[11], fields[12], fields[13], fields[36] = str(user), str(system), "2", str(core)
    return f"{tid} (two words) {' '.join(fields)}\n"


def _host_samples() -> HostSamples:
    """Return four samples of everything that is sampled on the host, as the collector writes them."""
    times = [BEGIN_NS + 20_000_000 * number for number in range(4)]

    def packet(number: int, body: str) -> str:
        return f"TimeStamp:{times[number]}\nIndex:{number}\nDataLen:{len(body)}\n{body}\n"

    def cpu(number: int) -> str:
        times = (30 + 7 * number, 10 + number, 20 + 3 * number, 100 + 9 * number, 5 + number, 1, 2 * number, 0, 0, 0)
        return "".join(f"cpu{core} {' '.join(map(str, times))}\n" for core in ("", "0", "1"))

    memory = "MemTotal: 9000 kB\nMemFree: {free} kB\nBuffers: 5 kB\nCached: 6 kB\nShmem: 7 kB\nCommitLimit: 8 kB\n"
    memory += "Committed_AS: 9 kB\nHugePages_Total: 3\nHugePages_Free: 2\n"
    network = " {name}: {received} 0 0 0 0 0 0 0 {sent} 0 0 0 0 0 0 0\n"
    return HostSamples(
        texts={
            "host_cpu": "".join(
                f"time {at}\n{100 + n * 0.5:.2f} 7.00\n{_stat(11, n * 10, n * 5, 0)}{_stat(12, n * 20, 3, n % 2)}"
                for n, at in enumerate(times)
            ),
            "host_mem": "".join(f"{at} 9 {1000 * n + 7} 3 0 0 0 0\n" for n, at in enumerate(times)),
            "host_network": "".join(
                f"time {at}\nInter-|   Receive | Transmit\n"
                + network.format(name="lo", received=999 * n, sent=999 * n)
                + network.format(name="eth0", received=2000 * n * n, sent=500 * n)
                + network.format(name="eth1", received=70 * n, sent=0)
                for n, at in enumerate(times)
            ),
            "host_sys_cpu": "".join(packet(n, cpu(n)) for n in range(4)),
            "host_sys_mem": "".join(packet(n, memory.format(free=100 + 50 * n)) for n in range(4)),
        },
        processes={
            "host_process_cpu": {
                77: "".join(packet(n, f"{_stat(77, 10 + n, 4, 0)}ProcessName:seven\n{cpu(n)}") for n in range(3)),
                88: packet(0, f"{_stat(88, 80, 4, 0)}ProcessName:eight\n{cpu(0)}"),
            },
            "host_process_mem": {77: packet(0, "40 30 20 0 0 0 0\nProcessName:seven\n")},
        },
        disk=tuple((at, 20480 * n * n, 4096 * n, 1 + n) for n, at in enumerate(times)),
        samples=4,
        cost_ns=70_001,
    )


def _python_frames() -> PythonFrames:
    names = ("train.py(7): step", "nn.Module######Linear", "<built-in method mm>")
    rows = []
    for depth in (0, 1, 2):
        first, last = BEGIN_NS + 710_000 + 9_000 * depth, BEGIN_NS + 2_000_000 - 8_000 * depth
        rows += [(depth, first + step * STEP_NS, last + step * STEP_NS) for step in range(STEPS)]
    rows.sort(key=lambda row: (row[1], -row[2]))
    name, start, end = np.array(rows, np.int64).T
    return PythonFrames(names=names, name=name, start_ns=start, end_ns=end, thread=np.full(len(rows), PID))


def recording(chip_number: int) -> Recording:
    """Return the recording for a chip."""
    number = chip_number
    return Recording(
        operators=operators(number),
        allocations=_memory(),
        begin_ns=BEGIN_NS,
        end_ns=BEGIN_NS + 1_500_000 + STEPS * STEP_NS,
        host_calls=tuple(sorted(_host_calls(), key=lambda call: call.time_ns)),
        streams=tuple(
            switch
            for step in range(STEPS)
            for switch in (
                (BEGIN_NS + 1_200_000 + step * STEP_NS, PID, 5),
                (BEGIN_NS + 1_660_000 + step * STEP_NS, PID, 2),
                (BEGIN_NS + 2_240_000 + step * STEP_NS, BACKWARD, 5 if step == 1 else 2),
            )
        ),
        live_before_bytes=3 << 20,
        graphs=tuple(_graphs()),
        collectives=tuple(_collectives(number)),
        marks=tuple(_marks()),
        dataset=tuple(
            DatasetEvent(
                time_ns=BEGIN_NS + 690_000 + step * STEP_NS + 40_000 * place,
                action=action,
                source=f"queue {place}",
                buffered=None if place == 2 else 8 - step - place,
                duration_ns=20_000 * place,
            )
            for step in range(STEPS)
            for place, action in enumerate(("Dequeue", "Enqueue", "Get"))
        ),
        host_samples=_host_samples(),
        python_frames=_python_frames(),
        garbage_ns=((BEGIN_NS + 2_960_000, BEGIN_NS + 2_990_000), (BEGIN_NS + 6_000_000, BEGIN_NS + 6_000_500)),
        processor_waits=np.array([[BEGIN_NS + 1_320_000, 44_000], [BEGIN_NS + 5_100_000, 310_000]], np.int64),
        launch_mode=tuple(LaunchMode)[number % len(LaunchMode)],
        calls=AclCalls.from_rows(
            [
                ("aclmdlExecute", BEGIN_NS + 3_350_000, BEGIN_NS + 3_420_000, PID),
                ("aclrtMemcpy", BEGIN_NS + 3_430_000, BEGIN_NS + 3_444_000, PID),
                ("aclrtSynchronizeStream", BEGIN_NS + 7_430_000, BEGIN_NS + 7_444_000, OTHER),
            ]
        )
        if number % 3 == 1
        else None,
    )
