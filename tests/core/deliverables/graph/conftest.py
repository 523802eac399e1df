"""A hand-made recording of a compiled graph: three iterations, forward and backward operators, two all-reduces each."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from tests import by_hand
from tests.by_hand import BEGIN_NS, PID, call_table, setup

from drynpu.kernels import Allocations, KernelPlan, KernelSpec, Operators, Signature, TaskType, TensorDesc
from drynpu.options import Clock, Filters, Level, ProfilingRequest, Switches
from drynpu.products import export_msprof, load_profile
from drynpu.recorder import write_recording
from drynpu.simulate import (
    Collective,
    DatasetEvent,
    Destination,
    FusionOp,
    GraphRun,
    Iteration,
    Recording,
    StaticMemory,
)
from drynpu.tables import Profile

ITERATIONS = 3
STEP_NS = 4_000_000
MODEL_ID, GRAPH_ID = 7, 3
NOW = datetime(2026, 1, 31, 23, 59, 58)

MATRIX = TensorDesc((256, 256), "FLOAT16")
NAMES = ("Conv2D", "Conv2DGrad", "ApplyAdam", "Where", "fp32_vars/first", "Backward", "Outside")
FORWARD, GRADIENT, UPDATE, WHERE, FIRST, BACKWARD, OUTSIDE = range(len(NAMES))
SIGNATURES = tuple(Signature(name, (MATRIX,)) for name in NAMES)


def plan(signature: Signature) -> KernelPlan:
    """Map every operator to one kernel; ``Where`` runs on the AI CPU, ``Backward`` launches nothing itself."""
    if signature.name == "Backward":
        return KernelPlan(claims=False)
    aicpu = signature.name == "Where"
    spec = KernelSpec(
        name=f"{signature.name}_kernel",
        op_type=signature.name,
        task_type=TaskType.AI_CPU if aicpu else TaskType.AI_VECTOR_CORE,
        inputs=(MATRIX,),
        outputs=(MATRIX,),
        vector_ops=MATRIX.elements,
        bytes_read=MATRIX.size_bytes,
        bytes_written=2 * MATRIX.size_bytes,
    )
    return KernelPlan(api=f"aclnn{signature.name}", kernels=(spec,))


def operators() -> Operators:
    """
    One operator before the first iteration, then per iteration: first forward operator, forward, AI CPU, a gradient
    inside a backward node, an update.
    """
    rows = [(OUTSIDE, BEGIN_NS + 200_000, 50_000, 0)]
    for number in range(ITERATIONS):
        at = BEGIN_NS + 1_000_000 + number * STEP_NS
        rows += [
            (FIRST, at + 100_000, 50_000, 0),
            (FORWARD, at + 300_000, 50_000, 0),
            (WHERE, at + 500_000, 50_000, 0),
            (BACKWARD, at + 1_000_000, 400_000, 1),
            (GRADIENT, at + 1_100_000, 50_000, 0),
            (UPDATE, at + 2_000_000, 50_000, 0),
        ]
    name, start, length, scope = np.array(rows, np.int64).T
    return call_table(
        NAMES,
        name,
        start,
        start + length,
        SIGNATURES,
        texts=(("c10::Half", "256,256"),) * len(SIGNATURES),
        scope=scope,
    )


def allocations() -> Allocations:
    """In the first iteration: a tensor that is released, one that is not; and a release of what came before."""
    at = BEGIN_NS + 1_000_000
    rows = [(110_000, 4096, 65_536), (310_000, 8192, 2_048), (320_000, 1 << 20, -4_096), (2_010_000, 4096, -65_536)]
    return by_hand.allocations(rows, begin_ns=at)


def graph(**changes: Any) -> GraphRun:
    """Return the graph of the recording."""
    iterations = tuple(
        Iteration(
            index=number + 1,
            start_ns=BEGIN_NS + 1_000_000 + number * STEP_NS,
            end_ns=BEGIN_NS + 1_000_000 + (number + 1) * STEP_NS - 1_000_000,
        )
        for number in range(ITERATIONS)
    )
    values: dict[str, Any] = {
        "model_id": MODEL_ID,
        "model_name": "ge_default_7",
        "graph_id": GRAPH_ID,
        "iterations": iterations,
        "fusions": (
            FusionOp(
                name="Conv2D_BN_Relu",
                original_ops=("Conv2D", "BatchNorm", "Relu"),
                input_bytes=2048,
                output_bytes=1024,
                weight_bytes=512,
                workspace_bytes=100,
            ),
            FusionOp(name="Long", original_ops=tuple(f"op{number}" for number in range(10))),
        ),
        "static_memory": (
            StaticMemory(op_name="Conv2D", size_bytes=4096, first_node=0, last_node=2),
            StaticMemory(op_name="Relu", size_bytes=1536, first_node=2, last_node=None),
            StaticMemory(op_name="Softmax", size_bytes=1024, first_node=3, last_node=4),
        ),
    }
    return GraphRun(**(values | changes))


def collectives() -> tuple[Collective, ...]:
    """Two all-reduces in every iteration, and an all-gather that the graph engine does not mark."""
    made = []
    for number in range(ITERATIONS):
        at = BEGIN_NS + 1_000_000 + number * STEP_NS
        for kind, start in (("allReduce", 1_200_000), ("allGather", 1_300_000), ("allReduce", 1_800_000)):
            made.append(
                Collective(
                    kind=kind,
                    start_ns=at + start,
                    thread=PID,
                    group="hccl_world_group",
                    ranks=(0, 1),
                    rank=0,
                    size_bytes=4096,
                    dtype="FP16",
                    count=2048,
                )
            )
    return tuple(made)


def dataset() -> tuple[DatasetEvent, ...]:
    """One get-next that says how long it took, in the second iteration, and an event without length."""
    at = BEGIN_NS + 1_000_000 + STEP_NS
    return (
        DatasetEvent(time_ns=at + 50_000, action="Last queue dequeue", source="iterator_default", buffered=131),
        DatasetEvent(
            time_ns=at + 400_000, action="Dequeue", source="iterator_default", buffered=130, duration_ns=20_000
        ),
    )


Record = Callable[..., Profile]


@pytest.fixture
def graph_run() -> Callable[..., GraphRun]:
    """Return a function that makes the graph of the recording, with changes."""
    return graph


@pytest.fixture
def graph_plan() -> Callable[[Signature], KernelPlan]:
    """Return what the operators of the recording launch as nodes of a graph; the one outside of it is none."""

    def planned(signature: Signature) -> KernelPlan:
        found = plan(signature)
        return evolve(found, in_graph=True) if found.kernels and signature.name != NAMES[OUTSIDE] else found

    return planned


@pytest.fixture
def graph_operators() -> Callable[[], Operators]:
    """Return a function that makes the operators of the recording."""
    return operators


@pytest.fixture
def all_reduces() -> tuple[Collective, ...]:
    """The collectives: two all-reduces per iteration, with an all-gather between them."""
    return collectives()


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Return a function that records, writes and loads; keyword arguments replace parts of recording and request."""

    def make(
        *,
        chip: str = "Ascend910B2",
        graphs: tuple[GraphRun, ...] | None = None,
        level: Level = Level.L1,
        filters: Filters | None = None,
        name: str = "run",
        recording: dict[str, Any] | None = None,
        clock: Clock = Clock.PROJECTED,
        framework: str = "torch",
        plans: Callable[[Signature], KernelPlan] = plan,
        **switches: bool,
    ) -> Profile:
        directory = tmp_path / f"{name}_ascend_pt"
        directory.mkdir()
        asked = {"training_trace": True, "task_memory": True, "aicpu": True} | switches
        parts: dict[str, Any] = {
            "operators": operators(),
            "allocations": allocations(),
            "begin_ns": BEGIN_NS,
            "end_ns": BEGIN_NS + 20_000_000,
            "graphs": (graph(),) if graphs is None else graphs,
            "dataset": dataset(),
        } | (recording or {})
        write_recording(
            Recording(**parts),
            Destination(directory=directory, framework=framework, pid=PID, device_id=0),
            setup(
                plans,
                ProfilingRequest(
                    level=level, switches=Switches(**asked), filters=Filters() if filters is None else filters
                ),
                chip=chip,
                clock=clock,
            ),
        )
        return load_profile(directory)

    return make


@pytest.fixture
def exported(record: Record) -> Callable[..., dict[str, Path]]:
    """Return a function that records and exports: files of the toolkit by name without time."""

    def make(**arguments: Any) -> dict[str, Path]:
        paths = export_msprof(record(**arguments), now=NOW)
        return {path.name.replace("_20260131235958", ""): path for path in paths}

    return make
