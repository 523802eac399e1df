"""Recordings with collectives, carried through simulation, records and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.by_hand import BEGIN_NS, PID, call_table, setup

from drynpu.kernels import KernelPlan, KernelSpec, Operators, Signature, TaskType, TensorDesc
from drynpu.options import Level, ProfilingRequest, Switches
from drynpu.products import load_profile
from drynpu.recorder import write_recording
from drynpu.simulate import Collective, Destination, HostCall, Recording, Rendezvous
from drynpu.tables import Profile

STEP_NS = 2_000_000
TENSOR = TensorDesc((1 << 20,), "FLOAT")


def at(step: int, us: float) -> int:
    """Measured host time inside a step."""
    return BEGIN_NS + 1_000_000 + step * STEP_NS + round(us * 1000)


def plan(signature: Signature) -> KernelPlan:
    """One vector kernel of a few microseconds per operator."""
    spec = KernelSpec(
        name="aclnnAdd_AddAiCore_Add",
        op_type="Add",
        task_type=TaskType.AI_VECTOR_CORE,
        inputs=signature.tensors(),
        outputs=(TENSOR,),
        vector_ops=TENSOR.elements,
        bytes_read=TENSOR.size_bytes,
        bytes_written=TENSOR.size_bytes,
    )
    return KernelPlan(api="aclnnAdd", kernels=(spec,))


def operators(steps: int, adds: Sequence[float]) -> Operators:
    """Return *steps* steps with an addition at each of the given microseconds."""
    names = ("aten::add", "c10d::allreduce_", *(f"ProfilerStep#{step}" for step in range(steps)))
    rows = []
    for step in range(steps):
        rows.append((2 + step, at(step, 0), at(step, 1900), -1))
        rows.extend((0, at(step, us), at(step, us + 20), 0) for us in adds)
    rows.sort(key=lambda row: (row[1], -row[2]))
    name, start, end, signature = np.array(rows, np.int64).reshape(-1, 4).T
    return call_table(
        names,
        name,
        start,
        end,
        (Signature("aten::add", (TENSOR, TENSOR)),),
        signature=signature,
        texts=(("float;float", "1048576;1048576"),),
    )


def collective(
    kind: str, start_ns: int, ranks: Sequence[int], rank: int, size: int = 1 << 20, **more: object
) -> Collective:
    """Return a collective of FLOAT16 in the group ``tp`` unless told otherwise."""
    values = {"thread": PID, "group": "tp", "dtype": "FLOAT16", "count": size // 2, **more}
    return Collective(kind=kind, start_ns=start_ns, ranks=tuple(ranks), rank=rank, size_bytes=size, **values)  # type: ignore[arg-type]


@pytest.fixture
def kit(record: Callable[..., Profile]) -> SimpleNamespace:
    """Return what tests of this folder build recordings with: ``at``, ``collective``, ``record`` and ``pid``."""
    return SimpleNamespace(at=at, collective=collective, record=record, pid=PID)


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., Profile]:
    """Return a function that records collectives between the additions of some steps and loads the profile."""

    def make(
        collectives: Sequence[Collective],
        *,
        steps: int = 1,
        adds: Sequence[float] = (100, 700),
        rank: int = 0,
        chip: str = "Ascend910B2",
        level: Level = Level.L1,
        host_calls: tuple[HostCall, ...] = (),
        name: str | None = None,
        rendezvous: Rendezvous | None = None,
    ) -> Profile:
        directory = tmp_path / (name or f"host_{100 + rank}_{20260101000000000 + rank}_ascend_pt")
        directory.mkdir(parents=True)
        write_recording(
            Recording(
                operators=operators(steps, adds),
                begin_ns=BEGIN_NS,
                end_ns=at(steps, 0),
                collectives=tuple(collectives),
                host_calls=host_calls,
                rendezvous=rendezvous,
            ),
            Destination(directory=directory, framework="torch", pid=PID, device_id=rank % 8, rank_id=rank),
            setup(plan, ProfilingRequest(level=level, switches=Switches(record_shapes=True)), chip=chip),
        )
        (directory / f"profiler_info_{rank}.json").write_text("{}")
        return load_profile(directory)

    return make
