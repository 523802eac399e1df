"""What operators of a profile launched, compared with what rules give for the same calls."""

from __future__ import annotations

import numpy as np
from tests.core.analysis.conftest import host_op, make_profile

from drynpu.kernels import KernelPlan, KernelSpec, Signature, TaskType
from drynpu.tables import Profile
from drynpu_calibration._called_kernels import _outermost, compare_launches

RULES = {
    "aten::linear": (),
    "aten::addmm": ("MatMulV2", "Add"),
    "aten::relu": ("Relu",),
    "aten::mul": ("Mul",),
    "aten::extra": ("Extra", "Extra"),
}
"""Types of the kernels that each operator launches here."""


def read(name: str, dtypes: str, shapes: str) -> Signature:
    return Signature(name, (), (dtypes, shapes))


def plan(signature: Signature) -> KernelPlan:
    vector = TaskType.AI_VECTOR_CORE
    kernels = [KernelSpec(name=kind, op_type=kind, task_type=vector) for kind in RULES.get(signature.name, ())]
    return KernelPlan(api=f"aclnn {signature.name}", kernels=tuple(kernels)) if kernels else KernelPlan(claims=False)


def profile(shapes: str = "2,3") -> Profile:
    """
    A step with two linear layers, of which the second launched one kernel less, and what agrees.

    The linear layer contains the product that launches; the range around both is no operator.
    """
    given = {"input_shapes": shapes, "input_dtypes": "float"}
    ops = [
        host_op("ProfilerStep#1", 0, 900),
        host_op("my own range", 5, 800),
        host_op("aten::linear", 10, 100, **given),
        host_op("aten::addmm", 20, 90, **given),
        host_op("aten::linear", 110, 200, **given),
        host_op("aten::addmm", 120, 190, **given),
        host_op("aten::relu", 210, 250, **given),
        host_op("aten::mul", 260, 300, **given),
        host_op("aten::extra", 310, 350, **given),
        host_op("aten::unknown", 400, 450, **given),
    ]
    launches = [(25, "MatMulV2"), (30, "Add"), (125, "MatMulV2"), (215, "Relu"), (265, "Mul"), (405, "Odd")]
    kernels = [
        {"connection_id": number, "start_ns": 1000 + number, "stream_id": 2, "task_id": number, "op_type": kind}
        for number, (_, kind) in enumerate(launches)
    ]
    calls = [
        {"connection_id": number, "level": "node", "start_ns": start, "end_ns": start + 1, "tid": 1}
        for number, (start, _) in enumerate(launches)
    ]
    return make_profile(host_ops=ops, kernels=kernels, api=calls)


def test_operators_are_compared_by_the_types_of_their_kernels() -> None:
    found = compare_launches(profile(), read, plan)
    assert found is not None
    rows = {(row["operator"], *row["genuine"], "|", *row["predicted"]): row["calls"] for row in found.table.to_dicts()}
    assert rows == {
        ("aten::linear", "MatMulV2", "|", "Add", "MatMulV2"): 1,
        ("aten::extra", "|", "Extra", "Extra"): 1,
        ("aten::unknown", "Odd", "|"): 1,
    }
    # Two layers, relu, mul, the two others; of six kernels one is not launched here, three here are not there.
    assert (found.operators, found.equal, found.kernels) == (6, 3, 6)
    assert (found.missing, found.added) == (1, 3)


def test_the_outermost_operator_of_the_framework_counts() -> None:
    names = ["range", "aten::a", "aten::b", "inner range", "aten::c", "range", "plain"]
    depth, parent = [0, 1, 2, 3, 4, 0, 1], [-1, 0, 1, 2, 3, -1, 5]
    assert _outermost(names, np.array(depth), np.array(parent)).tolist() == [-1, 1, 1, 1, 1, -1, -1]
    first = _outermost(["aten::a", "aten::b"], np.array([0, 1]), np.array([-1, 0]))
    assert first.tolist() == [0, 0]


def test_without_shapes_or_kernels_there_is_nothing_to_compare() -> None:
    assert compare_launches(profile(shapes=""), read, plan) is None
    assert compare_launches(make_profile(host_ops=[host_op("aten::add", 1, 2, input_shapes="2")]), read, plan) is None
