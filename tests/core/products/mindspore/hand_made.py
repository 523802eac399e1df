"""A recording of MindSpore written down by hand, and the run directory that it leaves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve
from tests.by_hand import ANCHORS, BEGIN_NS, PID, setup

from drynpu.kernels import (
    Allocations,
    Call,
    KernelPlan,
    KernelSpec,
    Operators,
    Placement,
    Signature,
    TaskType,
    TensorDesc,
    copy_plan,
)
from drynpu.layouts import framework_mindspore as mindspore_facts
from drynpu.layouts.framework_mindspore import MS_ABSENT, MS_EVENTS, MS_MODULES
from drynpu.options import Activity, Level, ProfilingRequest, Switches
from drynpu.recorder import write_recording
from drynpu.simulate import Collective, Destination, FrameworkEvents, Mark, MarkKind, Recording

STEP_NS = 2_000_000
DENSE, GRAD = "Default/network-Net/fc-Dense/", "Gradients/Default/network-Net/fc-Dense/gradMatMul/"
MATRIX = TensorDesc((256, 512), "FLOAT16")
RESULT = TensorDesc((256, 256), "FLOAT16")
ALL = (0, 1)

NAMES = {
    "MatMul": f"{DENSE}MatMul-op0",
    "BiasAdd": f"{DENSE}BiasAdd-op1",
    "ReLU": "Default/network-Net/relu-ReLU/ReLU-op2",
    "MatMulGrad": f"{GRAD}MatMul-op3",
    "Add": "Add",
    "GetNext": "Default/GetNext-op9",
}


def plan(signature: Signature) -> KernelPlan:
    """One kernel per operator; GetNext stays on the host, and Cast is a copy."""
    if signature.placement is Placement.TO_DEVICE:
        return copy_plan(signature)
    if signature.placement is Placement.HOST:
        return KernelPlan(api="", kernels=())
    cube = signature.name.startswith("MatMul")
    spec = KernelSpec(
        name=f"aclnn{signature.name}_{signature.name}",
        op_type="MatMulV2" if cube else signature.name,
        task_type=TaskType.AI_CORE if cube else TaskType.AI_VECTOR_CORE,
        inputs=signature.tensors(),
        outputs=(RESULT,),
        cube_flops=2 * 256 * 512 * 256 if cube else 0,
        cube_tiles=4 if cube else 0,
        vector_ops=0 if cube else RESULT.elements,
        bytes_read=sum(tensor.size_bytes for tensor in signature.tensors()),
        bytes_written=RESULT.size_bytes,
    )
    return KernelPlan(api=f"aclnn{signature.name}", kernels=(spec,))


def operators(steps: int) -> Operators:
    """Return the operators of *steps* steps (without steps: of one run), named as the graph executor names them."""
    calls = []
    for step in range(max(steps, 1)):
        at = BEGIN_NS + 1_000_000 + step * STEP_NS
        if steps:
            calls.append(Call(f"ProfilerStep#{step + 3}", at, at + 1_900_000, PID))
        calls.append(Call(Signature("GetNext", (MATRIX,), placement=Placement.HOST), at + 20_000, at + 60_000, PID))
        calls.append(Call(Signature("Cast", (MATRIX,), placement=Placement.TO_DEVICE), at + 80_000, at + 95_000, PID))
        for place, name in enumerate(("MatMul", "BiasAdd", "ReLU", "MatMulGrad", "Add")):
            start = at + 100_000 + place * 120_000
            calls.append(Call(Signature(name, (MATRIX, RESULT)), start, start + 50_123, PID))
    table = Operators.from_calls(calls)
    return evolve(table, names=tuple(NAMES.get(name, name) for name in table.names))


def collectives(steps: int, rank: int) -> tuple[Collective, ...]:
    """Return one allReduce and one message from rank 0 to rank 1 per step."""
    found = []
    for step in range(max(steps, 1)):
        at = BEGIN_NS + 1_000_000 + step * STEP_NS
        common: dict[str, Any] = {
            "thread": PID,
            "ranks": ALL,
            "rank": rank,
            "dtype": "FLOAT",
            "count": 1 << 18,
            "size_bytes": 1 << 20,
            "group": "hccl_world_group",
        }
        found.append(Collective(kind="allReduce", start_ns=at + 800_000, wait_ns=5_000, **common))
        kind = "receive" if rank else "send"
        found.append(Collective(kind=kind, start_ns=at + 1_000_000, peer=1 - rank, **common))
    return tuple(found)


def allocations() -> Allocations:
    """One block that is released, one that is not, one whose allocation was before."""
    rows = [
        (BEGIN_NS + 1_105_000, PID, 4096, 65_536),
        (BEGIN_NS + 1_230_000, PID, 1 << 20, 2_048),
        (BEGIN_NS + 1_240_000, PID, 1 << 22, -512),
        (BEGIN_NS + 1_590_000, PID, 4096, -65_536),
        (BEGIN_NS + 1_600_000, PID, 4096, 1_024),
    ]
    return Allocations.from_rows(rows)


def parameters(**changed: object) -> dict[str, object]:
    """Return the parameters as profiler_info shows them."""
    standard: dict[str, object] = {
        "is_set_schedule": True,
        "output_path": "./data",
        "profiler_level": "Level1",
        "activities": ["CPU", "NPU"],
        "aic_metrics": "PipeUtilization",
        "profile_memory": True,
        "data_process": True,
        "record_shapes": True,
        "data_simplification": False,
        "export_type": ["text"],
        "mstx": True,
    }
    return standard | changed


def own_events() -> FrameworkEvents:
    """
    What the framework recorded of itself: a flow between two threads, calls of Python, a data pipeline.

    Three lengths of the pipeline's have averages that end in a 5 behind the second digit, in us.
    """
    pipeline = ("Dataset", "BatchOp(ID:1)", "WorkerProcess")
    rows: list[tuple[int, int, int, int, str, str, dict[int, str]]] = [
        (PID, 3, 100_000, 1_000, "Default", "Default", {13: "flow", 14: "flow"}),
        (PID + 9, 3, 110_000, 40_000, "PynativeFramework", "PyNativeBackendTask", {13: "pyboost", 14: "pyboost"}),
        (PID, MS_ABSENT, 90_000, 60_000, "", "", {13: "train.py(7):step"}),
        (PID, MS_ABSENT, 95_000, 20_000, "", "", {13: "<built-in function len>"}),
        *(
            (
                PID + 8,
                MS_ABSENT,
                200_000 + number * 100_000,
                length_ns,
                *pipeline[:2],
                {13: "WorkerProcess"} | ({17: info} if info else {}),
            )
            for number, (length_ns, info) in enumerate(
                [(76_815, ""), (25, "TensorRowFlags:Data"), (20_005, "a:1;b:2"), (20_010, "a:1;b:2"), (0, "")]
            )
        ),
    ]
    records = np.zeros(len(rows), mindspore_facts.MS_OP_RANGE)
    texts = []
    for record, (thread, flow, start_ns, length_ns, module, event, text) in zip(records, rows, strict=True):
        graph = module == pipeline[0]
        record["tid"], record["flow_id"], record["level"] = thread, flow, -1
        record["start"], record["end"] = BEGIN_NS + start_ns, BEGIN_NS + start_ns + length_ns
        record["is_graph_data"], record["is_stack"] = graph, not module
        if module and not graph:
            record["module"], record["event"] = MS_MODULES.index(module), MS_EVENTS.index(event)
        texts.append({14: "", 15: module if graph else "", 16: event if graph else "", **text})
    return FrameworkEvents(records=records, text_index=np.arange(len(rows)), texts=tuple(texts))


def record(
    folder: Path,
    *,
    level: Level = Level.L1,
    steps: int = 3,
    rank: int = 0,
    communication: bool = True,
    name: str = "host_4321_20260101000000000_ascend_ms",
    chip: str = "Ascend910B2",
    jit_level: str = "O0",
    told: Mapping[str, object] | None = None,
    events: FrameworkEvents | None = None,
    totals: Any = None,
) -> Path:
    """Record, and leave the raw data and profiler_info_<rank>.json of one run directory; return it."""
    directory = folder / name
    directory.mkdir(parents=True)
    described = parameters(**(told or {}))
    activities = described["activities"]
    assert isinstance(activities, list)
    marks = (
        Mark(
            kind=MarkKind.EXTENDED_POINT,
            message="here",
            start_ns=BEGIN_NS + 1_110_000,
            end_ns=BEGIN_NS + 1_110_000,
            thread=PID,
            extended=True,
        ),
    )
    write_recording(
        Recording(
            operators=operators(steps),
            allocations=allocations() if totals is None else Allocations.empty(),
            memory_totals=totals,
            begin_ns=BEGIN_NS,
            end_ns=BEGIN_NS + 2_000_000 + max(steps, 1) * STEP_NS,
            collectives=collectives(steps, rank) if communication else (),
            marks=marks,
            framework_events=events,
        ),
        Destination(
            directory=directory,
            framework="mindspore",
            pid=PID,
            device_id=rank,
            rank_id=rank,
            host_data="CPU" in activities,
            device_data="NPU" in activities,
        ),
        setup(
            plan,
            ProfilingRequest(
                level=level,
                activities=(Activity.HOST, Activity.DEVICE),
                switches=Switches(
                    record_shapes=bool(described["record_shapes"]),
                    profile_memory=bool(described["profile_memory"]),
                    tx=True,
                ),
            ),
            chip=chip,
            anchors=evolve(ANCHORS, host_hz=1_000_000_000),
        ),
    )
    info = {
        "profiler_parameters": described,
        "ms_profiler_info": {"rank_id": str(rank), "device_id": str(rank)},
        "cann_profiler_info": {},
        "analysis_cost_time": {},
        "ms_version": "2.7.2",
        "cann_version": "not known",
        "jit_level": jit_level,
    }
    (directory / f"profiler_info_{rank}.json").write_text(json.dumps(info, indent=4))
    return directory


PIPELINE = {
    "sampling_interval": 10,
    "op_info": [
        {"op_id": 0, "op_type": "DataQueueOp", "num_workers": 1, "metrics": None, "children": [1]},
        {
            "op_id": 1,
            "op_type": "BatchOp",
            "num_workers": 4,
            "metrics": {"output_queue": {"size": [0, 3, 8, 0, 5], "length": 8}},
            "children": [2],
        },
        {"op_id": 2, "op_type": "RepeatOp", "num_workers": 0, "metrics": None, "children": [3]},
        {
            "op_id": 3,
            "op_type": "MapOp",
            "num_workers": 8,
            "metrics": {"output_queue": {"size": [0, 0, 1, 0, 0], "length": 16}},
            "children": [4],
        },
        {
            "op_id": 4,
            "op_type": "GeneratorOp",
            "num_workers": 1,
            "metrics": {"output_queue": {"size": [1, 0, 0, 2, 0], "length": 16}},
        },
    ],
}


def write_pipeline(directory: Path, rank: int = 0, *, queue: bool = True) -> None:
    """Write the files of a data pipeline into FRAMEWORK."""
    folder = directory / "FRAMEWORK"
    (folder / f"pipeline_profiling_{rank}.json").write_text(json.dumps(PIPELINE))
    use = [(0, 1.0), (1, 30.5), (2, 0.2), (3, 640.0), (4, 88.25)]
    cpu = {
        "cpu_processor_num": 8,
        "sampling_interval": 100,
        "device_info": {"user_utilization": [40, 60], "idle_utilization": [50, 30], "context_switch_count": [7, 9]},
        "process_info": {"user_utilization": [20, 30], "sys_utilization": [1, 3]},
        "op_info": [
            {"op_id": op, "metrics": {"sys_utilization": [pct, pct], "user_utilization": [pct, pct + 1]}}
            for op, pct in use
        ],
    }
    (folder / f"minddata_cpu_utilization_{rank}.json").write_text(json.dumps(cpu))
    lines = []
    for batch in range(1, 5):
        lines += [f"0 {part} {batch} {batch * 7 + part} {1000 * batch}" for part in range(3)]
        lines.append(f"1 0 {batch} {batch % 3} {1000 * batch + 13}")
    name = "device_queue_profiling" if queue else "dataset_iterator_profiling"
    (folder / f"{name}_{rank}.txt").write_text("\n".join(lines) + "\n")
