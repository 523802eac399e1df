"""Recordings on disk for the commands that read them: three additions or three iterations of a graph."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.by_hand import BEGIN_NS, setup
from tests.core.cli.conftest import process
from tests.core.conftest import tools
from tests.core.deliverables.graph.conftest import all_reduces, graph_operators, record

from drynpu.cli import build_cli
from drynpu.kernels import KernelPlan, KernelSpec, Signature, TaskType, TensorDesc
from drynpu.options import Level, ProfilingRequest, Switches
from drynpu.plugins import build_manager
from drynpu.recorder import write_recording
from drynpu.simulate import Collective, Destination, GraphRun, Iteration, Mark, MarkKind, Recording

__all__ = ["all_reduces", "graph_operators", "process", "record", "tools"]

PID, MODEL_ID = 4321, 7
STEP_NS = 4_000_000
LENGTHS_NS = (2_000_000, 3_500_000, 2_500_000)
TENSOR = TensorDesc((256, 256), "FLOAT16")

Make = Callable[..., Path]
Run = Callable[..., Result]


def plan(signature: Signature) -> KernelPlan:
    spec = KernelSpec(
        name=f"{signature.name}_kernel",
        op_type=signature.name,
        task_type=TaskType.AI_VECTOR_CORE,
        inputs=(TENSOR,),
        outputs=(TENSOR,),
        vector_ops=TENSOR.elements,
        bytes_read=TENSOR.size_bytes,
        bytes_written=TENSOR.size_bytes,
    )
    return KernelPlan(api=f"aclnn{signature.name}", kernels=(spec,))


def graph() -> GraphRun:
    starts = [BEGIN_NS + 1_000_000 + number * STEP_NS for number in range(len(LENGTHS_NS))]
    iterations = tuple(
        Iteration(index=index, start_ns=start, end_ns=start + length)
        for index, (start, length) in enumerate(zip(starts, LENGTHS_NS, strict=True), start=1)
    )
    return GraphRun(model_id=MODEL_ID, model_name="ge_default_7", graph_id=3, iterations=iterations)


def collective() -> Collective:
    return Collective(
        kind="allReduce",
        start_ns=BEGIN_NS + 1_300_000,
        thread=PID,
        group="hccl_world_group",
        ranks=(0, 1),
        rank=0,
        size_bytes=1 << 20,
        dtype="FP16",
        count=1 << 19,
    )


def stream_mark() -> Mark:
    start_ns = BEGIN_NS + 1_500_000
    return Mark(
        kind=MarkKind.EXTENDED_POINT,
        message="seen by stream",
        start_ns=start_ns,
        end_ns=start_ns,
        thread=PID,
        stream=7,
        extended=True,
    )


@pytest.fixture
def make(tmp_path: Path, tools: Any) -> Make:
    """Return a function that records and returns the PROF directory."""

    def write(
        *,
        graphs: bool = False,
        collectives: bool = False,
        marks: bool = False,
        level: Level = Level.L1,
        chip: str = "Ascend910B2",
    ) -> Path:
        parent = tmp_path / "data"
        parent.mkdir(exist_ok=True)
        outcome = write_recording(
            Recording(
                operators=tools.calls_in_turn(["Add"] * len(LENGTHS_NS), TENSOR, first_ns=1_100_000, every_ns=STEP_NS),
                begin_ns=BEGIN_NS,
                end_ns=BEGIN_NS + 20_000_000,
                graphs=(graph(),) if graphs else (),
                collectives=(collective(),) if collectives else (),
                marks=(stream_mark(),) if marks else (),
            ),
            Destination(directory=parent, framework="torch", pid=PID, host_data=False),
            setup(plan, ProfilingRequest(level=level, switches=Switches(training_trace=graphs, tx=marks)), chip=chip),
        )
        assert outcome.prof_path is not None
        return outcome.prof_path

    return write


@pytest.fixture
def run() -> Run:
    """Return a function that runs ``drynpu`` in this process."""

    def invoke(*arguments: object) -> Result:
        group = build_cli(build_manager(names=["msprof"], record_problems=True))
        return CliRunner().invoke(group, [str(argument) for argument in arguments])

    return invoke
