"""Operators of the vector unit: element operations and bytes, counted by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from drynpu.kernels import (
    KernelPlan,
    KernelSpec,
    NodeCall,
    OperatorCall,
    Signature,
    TaskType,
    TensorDesc,
    node_signature,
)
from drynpu.kernels.ops import kernel_types_of, rules_of
from drynpu.kernels.ops.elementwise import comparison, elementwise
from drynpu.kernels.ops.update import assign, assign_with


def f32(*shape: int) -> TensorDesc:
    return TensorDesc(shape, "FLOAT")


def i32(*shape: int) -> TensorDesc:
    return TensorDesc(shape, "INT32")


class TracedCall(NodeCall):
    """A node of which the results may be unknown."""

    outputs_optional = True


ONNX = rules_of("onnx", NodeCall)
TF = rules_of("tf", TracedCall)


def kernels(
    framework: str,
    name: str,
    inputs: Sequence[TensorDesc | None],
    outputs: Sequence[TensorDesc],
    attrs: dict[str, object] | None = None,
) -> tuple[KernelSpec, ...]:
    rules = {"onnx": ONNX, "tf": TF}[framework]
    plan = rules[name](node_signature(name, inputs, outputs, attrs or {}))
    assert plan is not None
    return plan.kernels


def work(spec: KernelSpec) -> tuple[str, int, int, int]:
    return spec.op_type, spec.vector_ops, spec.bytes_read, spec.bytes_written


@pytest.mark.parametrize(
    ("framework", "name", "inputs", "outputs", "expected"),
    [
        # 6 elements at 16 operations; 4 bytes each.
        ("onnx", "Gelu", [f32(2, 3)], [f32(2, 3)], ("Gelu", 96, 24, 24)),
        # A row of 3 is added to each of 2 rows: 24 + 12 bytes are read.
        ("tf", "AddV2", [f32(2, 3), f32(3)], [f32(2, 3)], ("Add", 6, 36, 24)),
        ("tf", "Less", [f32(5), f32(5)], [], ("Less", 5, 40, 5)),
        # Three tensors are two additions of 4 elements.
        ("tf", "AddN", [f32(4), f32(4), f32(4)], [f32(4)], ("AddN", 8, 48, 16)),
        ("onnx", "Sum", [f32(4), f32(4), f32(4)], [f32(4)], ("AddN", 8, 48, 16)),
        # A cast: 7 elements, 4 bytes in, 2 out.
        ("tf", "Cast", [f32(7)], [TensorDesc((7,), "FLOAT16")], ("Cast", 7, 28, 14)),
        # 24 elements are read once, 6 written.
        ("tf", "Sum", [f32(6, 4), i32(1)], [f32(6)], ("ReduceSumD", 24, 96, 24)),
        ("onnx", "TopK", [f32(3, 10), None], [f32(3, 2), TensorDesc((3, 2), "INT64")], ("TopKD", 240, 120, 72)),
        # Of a table of 100 rows the 5 that are returned are read, and the index.
        ("tf", "GatherV2", [f32(100, 8), i32(5), i32()], [f32(5, 8)], ("GatherV2D", 0, 180, 160)),
        ("onnx", "Slice", [f32(9, 9)], [f32(2, 9)], ("StridedSliceD", 0, 72, 72)),
        # Padding reads its source and writes its result.
        ("onnx", "Pad", [f32(2, 3), None], [f32(4, 5)], ("PadD", 0, 24, 80)),
        ("tf", "ConcatV2", [f32(2, 3), f32(2, 4), i32()], [f32(2, 7)], ("ConcatD", 0, 56, 56)),
        # What joins is written also where the result is not known.
        ("tf", "ConcatV2", [f32(2, 3), f32(2, 4), i32()], [], ("ConcatD", 0, 56, 56)),
        ("onnx", "Split", [f32(6, 5)], [f32(2, 5), f32(4, 5)], ("SplitVD", 0, 120, 120)),
        # Of 50 rows 3 are read (24 bytes each), added to and written; 12 bytes of index and the updates are read.
        ("tf", "ScatterAdd", [f32(50, 6), i32(3), f32(3, 6)], [], ("ScatterAdd", 18, 156, 72)),
        # A copy of 1200 bytes is made besides.
        ("tf", "TensorScatterAdd", [f32(50, 6), i32(3), f32(3, 6)], [], ("TensorScatterAdd", 18, 1356, 1272)),
        ("tf", "Fill", [i32(2), f32()], [f32(7, 9)], ("Fill", 0, 0, 252)),
        # Momentum: variable, slot, gradient and two numbers are read, variable and slot written; 4 operations each.
        (
            "tf",
            "ResourceApplyMomentum",
            [None, None, f32(), f32(5, 2), f32()],
            [],
            ("ApplyMomentumD", 40, 3 * 40 + 8, 80),
        ),
        # Rows: 2 of 7 numbers; the slot likewise; 8 bytes of index.
        (
            "tf",
            "ResourceSparseApplyAdagrad",
            [None, None, f32(), f32(2, 7), i32(2)],
            [],
            ("SparseApplyAdagradD", 70, 2 * 56 + 56 + 8, 112),
        ),
        ("tf", "AssignVariableOp", [None, f32(3, 3)], [], ("Assign", 0, 36, 36)),
        ("tf", "AssignAddVariableOp", [None, f32(3, 3)], [], ("AssignAdd", 9, 72, 36)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_operator_states_its_work(
    framework: str,
    name: str,
    inputs: Sequence[TensorDesc | None],
    outputs: Sequence[TensorDesc],
    expected: tuple[str, int, int, int],
) -> None:
    (spec,) = kernels(framework, name, inputs, outputs)
    assert work(spec) == expected


@pytest.mark.parametrize(
    ("name", "inputs", "outputs", "attrs"),
    [
        ("Cast", [f32(4)], [f32(4)], {}),
        ("ReduceSum", [f32(4, 1)], [f32(4)], {}),
        ("Expand", [f32(4)], [f32(4)], {}),
        ("Split", [f32(4)], [f32(4)], {}),
        ("Transpose", [f32(3, 1, 5)], [f32(1, 3, 5)], {"perm": (1, 0, 2)}),
    ],
)
def test_a_compiler_leaves_out_what_changes_nothing(
    name: str, inputs: Sequence[TensorDesc], outputs: Sequence[TensorDesc], attrs: dict[str, object]
) -> None:
    assert kernels("onnx", name, inputs, outputs, attrs) == ()


def test_a_transpose_that_moves_elements_is_a_kernel() -> None:
    (spec,) = kernels("onnx", "Transpose", [f32(3, 2, 5)], [f32(2, 3, 5)], {"perm": (1, 0, 2)})
    assert work(spec) == ("TransposeD", 0, 120, 120)


def test_launched_one_by_one_operators_that_change_nothing_are_kernels() -> None:
    class Launch(OperatorCall):
        """A call of which everything is known."""

        @property
        def outputs(self) -> tuple[TensorDesc, ...]:
            return (f32(4),)

    plan = rules_of("mindspore", Launch)["ReduceSum"](Signature("ReduceSum", (f32(4, 1),)))
    assert plan is not None
    assert [work(spec) for spec in plan.kernels] == [("ReduceSum", 4, 16, 16)]


def test_clearing_and_adding_up_are_two_kernels() -> None:
    class Launch(OperatorCall):
        """A call of which everything is known."""

        @property
        def outputs(self) -> tuple[TensorDesc, ...]:
            return (f32(9, 2),)

    plan = rules_of("mindspore", Launch)["UnsortedSegmentSum"](Signature("UnsortedSegmentSum", (f32(5, 2), i32(5))))
    assert plan is not None
    # 72 bytes are cleared; 40 bytes are read twice, with 20 of index, and 40 written.
    assert [work(spec) for spec in plan.kernels] == [("MemSet", 0, 0, 72), ("UnsortedSegmentSum", 10, 100, 40)]


def test_the_result_is_worked_out_where_it_is_not_known() -> None:
    (spec,) = kernels("tf", "SelectV2", [TensorDesc((4, 1), "BOOL"), f32(3), f32(4, 3)], [])
    assert spec.outputs == (f32(4, 3),)
    (spec,) = kernels("tf", "Cast", [f32(5)], [], {"DstT": "bfloat16"})
    assert spec.outputs == (TensorDesc((5,), "DT_BF16"),)
    assert TF["AddV2"](node_signature("AddV2", [f32(3)], [], {})) is None
    assert ONNX["Add"](node_signature("Add", [f32(3), f32(3)], [], {})) is None


def test_operators_that_the_engine_has_not_run_on_the_ai_cpu() -> None:
    (spec,) = kernels("onnx", "NonZero", [f32(8)], [TensorDesc((1, 3), "INT64")])
    assert spec.task_type is TaskType.AI_CPU
    inputs = [None, None, f32(), f32(2, 7), i32(2), f32()]
    (spec,) = kernels("tf", "ResourceSparseApplyMomentum", inputs, [])
    assert spec.task_type is TaskType.AI_CPU


def test_a_variable_keeps_its_type_when_a_value_of_another_is_assigned(ask: Callable[..., KernelPlan]) -> None:
    """What is read is the value; adding to it reads the variable as well."""
    half, value = TensorDesc((6,), "FLOAT16"), f32(6)
    (spec,) = ask(assign, "Assign(x value)", half, value).kernels
    assert (spec.outputs, spec.bytes_read, spec.bytes_written) == ((half,), 24, 12)
    (spec,) = ask(assign_with, "AssignAdd(x value)", half, value).kernels
    assert (spec.outputs, spec.bytes_read, spec.bytes_written) == ((half,), 36, 12)


def test_a_table_names_resource_variables_too() -> None:
    assert {"ScatterAdd", "ResourceScatterAdd"} <= TF.keys()
    assert kernel_types_of("tf", comparison)["IsNan"] == "IsNan"
    assert kernel_types_of("onnx", elementwise)["Clip"] == "ClipByValue"
