"""A recording carried through simulation, raw records and tables: what the exporters see in real life."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests import by_hand
from tests.by_hand import BEGIN_NS, PID, call_table, setup

from drynpu.kernels import (
    Allocations,
    KernelPlan,
    KernelSpec,
    Operators,
    Placement,
    Signature,
    TaskType,
    TensorDesc,
    copy_plan,
)
from drynpu.options import Level, ProfilingRequest, Switches
from drynpu.platforms import load_chip
from drynpu.products import load_profile
from drynpu.recorder import write_recording
from drynpu.simulate import Destination, Recording
from drynpu.tables import Profile

STEPS = 3

MATRIX = TensorDesc((256, 512), "FLOAT16")
WEIGHT = TensorDesc((512, 128), "FLOAT16")
RESULT = TensorDesc((256, 128), "FLOAT16")

NAMES = ("aten::mm", "aten::add", "aten::copy_", "MmBackward0", 'user: "odd\\name"\u00e9')
SIGNATURES = (
    Signature("aten::mm", (MATRIX, WEIGHT)),
    Signature("aten::add", (RESULT, RESULT, None)),
    Signature("aten::copy_", (RESULT, RESULT), placement=Placement.TO_DEVICE),
)
TEXTS = (
    ("c10::Half;c10::Half", "256,512;512,128"),
    ("c10::Half;c10::Half;Scalar", "256,128;256,128;"),
    ("c10::Half;c10::Half", "256,128;256,128"),
)


def plan(signature: Signature) -> KernelPlan:
    """Map the three operators of the recording to one kernel each."""
    if signature.placement is Placement.TO_DEVICE:
        return copy_plan(signature)
    cube = signature.name == "aten::mm"
    spec = KernelSpec(
        name="aclnnMm_MatMulV3_MatMulV3" if cube else "aclnnAdd_AddAiCore_Add",
        op_type="MatMulV3" if cube else "Add",
        task_type=TaskType.AI_CORE if cube else TaskType.AI_VECTOR_CORE,
        inputs=signature.tensors(),
        outputs=(RESULT,),
        cube_flops=2 * 256 * 512 * 128 if cube else 0,
        vector_ops=0 if cube else 256 * 128,
        bytes_read=sum(tensor.size_bytes for tensor in signature.tensors()),
        bytes_written=RESULT.size_bytes,
        cube_tiles=8,
    )
    return KernelPlan(api="aclnnMm" if cube else "aclnnAdd", kernels=(spec,))


def operators() -> Operators:
    """Three steps of: copy, mm, add, an annotation; then the backward node of mm on a thread of its own."""
    rows: list[tuple[int, int, int, int, int, int, int, int]] = []
    for step in range(STEPS):
        at = BEGIN_NS + 1_000_000 + step * 2_000_000
        rows.append((len(NAMES) + step, at, at + 1_900_000, PID, 0, -1, 7, -1))
        rows.append((2, at + 100_000, at + 150_000, PID, 0, -1, 0, 2))
        rows.append((4, at + 190_000, at + 700_000, PID, 0, -1, 7, -1))
        rows.append((0, at + 200_000, at + 400_077, PID, 0, step, 0, 0))
        rows.append((1, at + 500_000, at + 600_000, PID, 0, -1, 0, 1))
        rows.append((3, at + 800_000, at + 1_200_000, PID + 5, PID, step, 1, -1))
        rows.append((0, at + 850_000, at + 1_150_000, PID + 5, PID, -1, 0, 0))
    table = np.array(rows, np.int64).T
    name, start, end, thread, fwd, sequence, scope, signature = table
    return call_table(
        (*NAMES, *(f"ProfilerStep#{step}" for step in range(STEPS))),
        name,
        start,
        end,
        SIGNATURES,
        signature=signature,
        texts=TEXTS,
        thread=thread,
        fwd_thread=fwd,
        sequence=sequence,
        scope=scope,
    )


def allocations() -> Allocations:
    """One tensor that is released, one that is not."""
    return by_hand.allocations([(1_250_000, 4096, 65536), (1_550_000, 1 << 20, 2048), (1_650_000, 4096, -65536)])


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., Profile]:
    """Return a function that records on a chip at a level, writes the raw records and loads them."""

    def make(level: Level = Level.L1, chip: str = "Ascend910B2", name: str = "run") -> Profile:
        directory = tmp_path / f"{name}_ascend_pt"
        directory.mkdir()
        description = load_chip(chip)
        write_recording(
            Recording(
                operators=operators(),
                allocations=allocations(),
                begin_ns=BEGIN_NS,
                end_ns=BEGIN_NS + 10_000_000,
            ),
            Destination(directory=directory, framework="torch", pid=PID, device_id=0),
            setup(
                plan,
                ProfilingRequest(level=level, switches=Switches(record_shapes=True, profile_memory=True)),
                chip=description,
            ),
        )
        return load_profile(directory)

    return make
