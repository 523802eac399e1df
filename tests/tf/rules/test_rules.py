"""Kernel types, task types, operations and bytes of each family, on shapes small enough to count by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from drynpu.kernels import KernelPlan, RuleBook, TaskType, build_rule_book, node_signature
from drynpu_tf.rules import RULES, build_rules, is_call
from drynpu_tf.rules._placement import is_host, is_input_pipeline

Plan = Callable[..., KernelPlan]
V, C, CPU = TaskType.AI_VECTOR_CORE, TaskType.AI_CORE, TaskType.AI_CPU
H, I32, I64 = "float16", "int32", "int64"

# op, inputs, outputs, attributes | kernel types, element operations of all kernels, bytes read, bytes written.
VECTOR: list[tuple[str, list[Any], list[Any], dict[str, Any], list[str], int, int, int]] = [
    ("AddV2", [(4, 8), (8,)], [(4, 8)], {}, ["Add"], 32, 160, 128),
    ("Mul", [(4, 8), ()], [(4, 8)], {}, ["Mul"], 32, 132, 128),
    ("Tanh", [(4, 8)], [(4, 8)], {}, ["Tanh"], 256, 128, 128),
    ("Less", [(6,), (6,)], [((6,), "bool")], {}, ["Less"], 6, 48, 6),
    ("SelectV2", [((6,), "bool"), (6,), ()], [(6,)], {}, ["SelectV2"], 6, 34, 24),
    ("AddN", [(6,), (6,), (6,)], [(6,)], {"N": 3}, ["AddN"], 12, 72, 24),
    ("Cast", [(6,)], [((6,), H)], {}, ["Cast"], 6, 24, 12),
    ("Cast", [(6,)], [(6,)], {}, [], 0, 0, 0),
    ("ZerosLike", [(6,)], [(6,)], {}, ["ZerosLike"], 0, 0, 24),
    ("Fill", [((2,), I32), ()], [(3, 2)], {}, ["Fill"], 0, 0, 24),
    ("_UnaryOpsComposition", [(6,)], [(6,)], {"op_names": ["Square", "Sqrt"]}, ["Square"], 12, 24, 24),
    ("TanhGrad", [(6,), (6,)], [(6,)], {}, ["TanhGrad"], 18, 48, 24),
    ("BiasAdd", [(2, 3, 4), (4,)], [(2, 3, 4)], {}, ["Add"], 24, 112, 96),
    ("BiasAddGrad", [(2, 3, 4)], [(4,)], {}, ["BiasAddGrad"], 24, 96, 16),
    ("Softmax", [(4, 8)], [(4, 8)], {}, ["SoftmaxV2"], 160, 128, 128),
    (
        "SparseSoftmaxCrossEntropyWithLogits", [(4, 8), ((4,), I64)], [(4,), (4, 8)], {},
        ["SparseSoftmaxCrossEntropyWithLogits"], 256, 160, 144,
    ),
    ("Sum", [(4, 8), ((1,), I32)], [(4,)], {}, ["ReduceSumD"], 32, 128, 16),
    ("Mean", [(4, 1), ((1,), I32)], [(4,)], {}, [], 0, 0, 0),
    ("ArgMax", [(4, 8), ((), I32)], [((4,), I64)], {}, ["ArgMaxD"], 32, 128, 32),
    ("L2Loss", [(4, 8)], [()], {}, ["L2Loss"], 64, 128, 4),
    ("Transpose", [(4, 8), ((2,), I32)], [(8, 4)], {}, ["TransposeD"], 0, 128, 128),
    ("StridedSlice", [(100, 8), ((2,), I32)], [(4, 8)], {}, ["StridedSliceD"], 0, 128, 128),
    ("StridedSliceGrad", [((2,), I32)] * 4 + [(4, 8)], [(100, 8)], {}, ["StridedSliceGradD"], 0, 128, 3200),
    ("ConcatV2", [(4, 8), (2, 8), ((), I32)], [(6, 8)], {"N": 2}, ["ConcatD"], 0, 192, 192),
    ("Pack", [(8,), (8,)], [(2, 8)], {"N": 2}, ["Pack"], 0, 64, 64),
    ("Split", [((), I32), (4, 8)], [(4, 4), (4, 4)], {}, ["SplitD"], 0, 128, 128),
    ("Tile", [(1, 8), ((2,), I32)], [(4, 8)], {}, ["TileD"], 0, 32, 128),
    ("GatherV2", [(100, 8), ((3,), I32), ((), I32)], [(3, 8)], {}, ["GatherV2D"], 0, 108, 96),
    ("ResourceGather", [((), "resource"), ((3,), I32)], [(3, 8)], {}, ["GatherV2D"], 0, 108, 96),
    ("ResourceScatterAdd", [((), "resource"), ((3,), I32), (3, 8)], [], {}, ["ScatterAdd"], 24, 204, 96),
    ("UnsortedSegmentSum", [(3, 8), ((3,), I32), ((), I32)], [(5, 8)], {}, ["UnsortedSegmentSumD"], 24, 108, 160),
    ("OneHot", [((3,), I32)], [(3, 5)], {}, ["OneHotD"], 15, 20, 60),
    ("MaxPool", [(1, 4, 4, 2)], [(1, 2, 2, 2)], {"ksize": [1, 2, 2, 1]}, ["MaxPool"], 32, 128, 32),
    (
        "MaxPoolGrad", [(1, 4, 4, 2), (1, 2, 2, 2), (1, 2, 2, 2)], [(1, 4, 4, 2)], {"ksize": [1, 2, 2, 1]},
        ["MaxPoolGrad"], 32, 192, 128,
    ),
    (
        "AvgPoolGrad", [((4,), I32), (1, 2, 2, 2)], [(1, 4, 4, 2)], {"ksize": [1, 2, 2, 1]},
        ["AvgPoolGradD"], 32, 32, 128,
    ),
    (
        "FusedBatchNormV3", [(2, 3, 3, 4), (4,), (4,), (0,), (0,)], [(2, 3, 3, 4), (4,), (4,), (4,), (4,)],
        {"is_training": True}, ["BNTrainingReduce", "BNTrainingUpdate"], 432, 640, 384,
    ),
    (
        "FusedBatchNormV3", [(2, 3, 3, 4), (4,), (4,), (4,), (4,)], [(2, 3, 3, 4)], {"is_training": False},
        ["BNInfer"], 216, 352, 288,
    ),
    (
        "FusedBatchNormGradV3", [(2, 3, 3, 4), (2, 3, 3, 4), (4,), (4,), (4,), (4,)], [(2, 3, 3, 4), (4,), (4,)], {},
        ["BNTrainingUpdateGrad", "BNTrainingReduceGrad"], 720, 1264, 320,
    ),
    (
        "ResourceApplyGradientDescent", [((), "resource"), (), (6,)], [], {},
        ["ApplyGradientDescent"], 12, 52, 24,
    ),
    ("ApplyMomentum", [(6,), (6,), (), (6,), ()], [(6,)], {}, ["ApplyMomentumD"], 24, 80, 48),
    (
        "ResourceApplyKerasMomentum", [((), "resource"), ((), "resource"), (), (6,), ()], [], {},
        ["ApplyKerasMomentumD"], 24, 80, 48,
    ),
    (
        "ResourceApplyAdam", [((), "resource")] * 3 + [()] * 6 + [(6,)], [], {}, ["ApplyAdamD"], 72, 120, 72,
    ),
    (
        "SparseApplyAdagrad", [(50, 4), (50, 4), (), (2, 4), ((2,), I32)], [(50, 4)], {},
        ["SparseApplyAdagradD"], 40, 104, 64,
    ),
    ("AssignVariableOp", [((), "resource"), (6,)], [], {}, ["Assign"], 0, 24, 24),
    ("AssignSubVariableOp", [((), "resource"), (6,)], [], {}, ["AssignSub"], 6, 48, 24),
]  # fmt: skip


@pytest.mark.parametrize("case", VECTOR, ids=lambda case: case[0])
def test_vector_kernels(plan: Plan, case: tuple[Any, ...]) -> None:
    op, inputs, outputs, attrs, types, operations, read, written = case
    kernels = plan(op, inputs, outputs, **attrs).kernels
    assert [kernel.op_type for kernel in kernels] == types
    assert {kernel.task_type for kernel in kernels} <= {V}
    assert sum(kernel.vector_ops for kernel in kernels) == operations
    assert sum(kernel.bytes_read for kernel in kernels) == read
    assert sum(kernel.bytes_written for kernel in kernels) == written


# op, inputs, outputs, attributes | kernel type, operations of the cube unit.
CUBE: list[tuple[str, list[Any], list[Any], dict[str, Any], str, int]] = [
    ("MatMul", [(4, 8), (8, 3)], [(4, 3)], {}, "MatMulV2", 192),
    ("MatMul", [(8, 4), (3, 8)], [(4, 3)], {"transpose_a": True, "transpose_b": True}, "MatMulV2", 192),
    ("MatMul", [((1024, 1024), H), ((1024, 1024), H)], [((1024, 1024), H)], {}, "MatMulV3", 2 * 1024**3),
    ("_FusedMatMul", [(4, 8), (8, 3), (3,)], [(4, 3)], {"fused_ops": ["BiasAdd", "Relu"]}, "MatMulV2", 192),
    ("BatchMatMulV2", [(2, 5, 4, 8), (5, 8, 3)], [(2, 5, 4, 3)], {}, "BatchMatMulV2", 1920),
    ("BatchMatMulV2", [(5, 4, 8), (5, 3, 8)], [(5, 4, 3)], {"adj_y": True}, "BatchMatMulV2", 960),
    ("Einsum", [(2, 4, 8), (3, 8)], [(2, 4, 3)], {"equation": "bsh,vh->bsv"}, "BatchMatMulV2", 384),
    ("Einsum", [(2, 4, 8), (2, 5, 8)], [(2, 4, 5)], {"equation": "...ij,...kj->...ik"}, "BatchMatMulV2", 640),
    ("Conv2D", [(2, 6, 6, 3), (3, 3, 3, 5)], [(2, 4, 4, 5)], {}, "Conv2D", 2 * 32 * 135),
    ("Conv2D", [(2, 3, 6, 6), (3, 3, 3, 5)], [(2, 5, 4, 4)], {"data_format": "NCHW"}, "Conv2D", 2 * 32 * 135),
    (
        "Conv2DBackpropInput", [((4,), I32), (3, 3, 3, 5), (2, 4, 4, 5)], [(2, 6, 6, 3)], {},
        "Conv2DBackpropInputD", 2 * 32 * 135,
    ),
    (
        "Conv2DBackpropFilter", [(2, 6, 6, 3), ((4,), I32), (2, 4, 4, 5)], [(3, 3, 3, 5)], {},
        "Conv2DBackpropFilterD", 2 * 32 * 135,
    ),
    ("DepthwiseConv2dNative", [(2, 6, 6, 3), (3, 3, 3, 2)], [(2, 4, 4, 6)], {}, "DepthwiseConv2D", 2 * 32 * 54),
]  # fmt: skip


@pytest.mark.parametrize("case", CUBE, ids=lambda case: f"{case[0]}-{case[4]}")
def test_cube_kernels(plan: Plan, case: tuple[Any, ...]) -> None:
    op, inputs, outputs, attrs, op_type, flops = case
    (kernel,) = (k for k in plan(op, inputs, outputs, **attrs).kernels if k.task_type is C)
    assert (kernel.op_type, kernel.cube_flops) == (op_type, flops)
    assert kernel.cube_tiles > 0
    if "Conv" not in op:
        assert kernel.bytes_read == sum(t.size_bytes for t in kernel.inputs)
        assert kernel.bytes_written == np.prod(outputs[0] if len(outputs[0]) > 2 else kernel.outputs[0].shape) * (
            2 if kernel.outputs[0].dtype == "FLOAT16" else 4
        )


@pytest.mark.parametrize(
    ("padding", "space", "more"),
    [
        ("SAME", (4, 4), {}),
        ("VALID", (3, 3), {}),
        ("VALID", (2, 2), {"dilations": [1, 2, 2, 1]}),
        ("EXPLICIT", (3, 5), {"explicit_paddings": [0, 0, 1, 0, 2, 2, 0, 0]}),
    ],
)
def test_results_that_nobody_told(plan: Plan, padding: str, space: tuple[int, int], more: dict[str, Any]) -> None:
    """Sizes as TensorFlow defines them for a window of 3 and a stride of 2 over 7 rows and columns."""
    found = plan("Conv2D", [(2, 7, 7, 3), (3, 3, 3, 5)], [], strides=[1, 2, 2, 1], padding=padding, **more)
    (main,) = (k for k in found.kernels if k.task_type is C)
    assert main.outputs[0].shape == (2, 1, *space, 8)
    assert main.cube_flops == 2 * 2 * space[0] * space[1] * 135
    if padding != "EXPLICIT" and not more:
        window = {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": padding}
        (pool,) = plan("MaxPool", [(2, 7, 7, 3)], [], **window).kernels
        assert pool.outputs[0].shape == (2, *space, 3)
        (pool,) = plan(
            "AvgPool", [(2, 3, 7, 7)], [], data_format="NCHW", ksize=[1, 1, 3, 3], strides=[1, 1, 2, 2], padding=padding
        ).kernels
        assert pool.outputs[0].shape == (2, 3, *space)


def test_what_only_tensorflow_knows_is_not_made_up(plan: Plan) -> None:
    (kernel,) = plan("Sum", [(4, 8), ((1,), I32)], []).kernels
    assert (kernel.op_type, kernel.outputs, kernel.bytes_read, kernel.bytes_written) == ("ReduceSumD", (), 128, 0)
    assert plan("OneHot", [((3,), I32)], []).mapped is False


@pytest.mark.parametrize(
    ("op", "inputs", "ge", "read", "written"),
    [
        ("Transpose", [(4, 8), ((2,), I32)], "TransposeD", 128, 128),
        ("Split", [((), I32), (4, 8)], "SplitD", 128, 128),
        ("ConcatV2", [(4, 8), (2, 8), ((), I32)], "ConcatD", 192, 192),
        ("Pack", [(8,), (8,)], "Pack", 64, 64),
        ("StridedSlice", [(100, 8), ((2,), I32)], "StridedSliceD", 0, 0),
        ("StridedSliceGrad", [((2,), I32)] * 4 + [(4, 8)], "StridedSliceGradD", 128, 0),
        ("ResourceGather", [((), "resource"), ((3,), I32)], "GatherV2D", 12, 0),
        ("Tile", [(4, 8), ((2,), I32)], "TileD", 128, 0),
        ("Cast", [(4, 8)], "Cast", 128, 0),
    ],
)
def test_bytes_that_follow_without_a_result(
    plan: Plan, op: str, inputs: list[Any], ge: str, read: int, written: int
) -> None:
    """In bodies of loops a trace tells no results: what is moved whole is known, the rest is not counted."""
    (kernel,) = plan(op, inputs, []).kernels
    assert (kernel.op_type, kernel.outputs) == (ge, ())
    assert (kernel.bytes_read, kernel.bytes_written) == (read, written)


@pytest.mark.parametrize(
    ("a", "b", "rows", "columns"), [((4, 32), (8, 32), 4, 8), ((4, 8), (4, 32), 8, 32), ((5, 4), (3, 5), 4, 3)]
)
def test_products_whose_attributes_nobody_told(
    plan: Plan, a: tuple[int, int], b: tuple[int, int], rows: int, columns: int
) -> None:
    (kernel,) = plan("MatMul", [a, b], []).kernels
    assert kernel.outputs[0].shape == (rows, columns)
    assert kernel.cube_flops == 2 * rows * columns * (a[0] * a[1] // rows)
    assert plan("MatMul", [a, b], [], transpose_a=False, transpose_b=False).mapped is False


@pytest.mark.parametrize("op", ["AddN", "ZerosLike", "AddV2"])
def test_lists_of_tensors_are_work_of_the_ai_cpu(plan: Plan, op: str) -> None:
    (kernel,) = plan(op, [((), "variant"), ((), "variant")], [((), "variant")]).kernels
    assert (kernel.op_type, kernel.task_type, kernel.inputs) == (op, CPU, ())
    assert plan(op, [None, None], []).mapped is (op != "AddV2")


def test_what_is_fused_into_a_product_adds_vector_work(plan: Plan) -> None:
    (kernel,) = plan("_FusedMatMul", [(4, 8), (8, 3), (3,)], [(4, 3)], fused_ops=["BiasAdd", "Relu6"]).kernels
    assert kernel.vector_ops == 12 * (1 + 2)
    assert [t.shape for t in kernel.inputs] == [(4, 8), (8, 3), (3,)]


def test_a_convolution_on_its_own_changes_formats(plan: Plan) -> None:
    kernels = plan("Conv2D", [(2, 6, 6, 3), (3, 3, 3, 5)], [(2, 4, 4, 5)], node="c").kernels
    assert [k.name for k in kernels] == ["trans_TransData_0", "trans_TransData_1", "c", "trans_TransData_2"]
    main = kernels[2]
    assert main.hf32
    assert [(t.shape, t.format) for t in main.inputs] == [
        ((2, 1, 6, 6, 8), "NC1HWC0"),
        ((9, 1, 16, 8), "FRACTAL_Z"),
    ]
    assert [(t.shape, t.format) for t in main.outputs] == [((2, 1, 4, 4, 8), "NC1HWC0")]


def test_kernels_bear_the_names_of_their_nodes(plan: Plan) -> None:
    shapes = [(2, 3, 3, 4), (4,), (4,), (0,), (0,)], [(2, 3, 3, 4)]
    assert [k.name for k in plan("FusedBatchNormV3", *shapes, node="a/bn").kernels] == ["a/bn_Reduce", "a/bn_Update"]
    assert [k.name for k in plan("Relu", [(3,)], [(3,)], node="a/Relu").kernels] == ["a/Relu"]
    assert [k.name for k in plan("Relu", [(3,)], [(3,)]).kernels] == ["Relu"]


@pytest.mark.parametrize(
    ("op", "inputs", "outputs"),
    [
        ("RandomUniform", [((2,), I32)], [(3, 2)]),
        ("StackPushV2", [((), "resource"), (3, 2)], [(3, 2)]),
        ("SparseApplyMomentum", [(50, 4), (50, 4), (), (2, 4), ((2,), I32), ()], [(50, 4)]),
        ("StatelessRandomUniformV2", [((2,), I32), ((1,), "uint64"), ((2,), "uint64")], [(3, 2)]),
        ("TensorArrayWriteV3", [((), "resource"), ((), I32), (3, 2), ()], [()]),
        ("TensorListSetItem", [((), "variant"), ((), I32), (3, 2)], [((), "variant")]),
        ("Unique", [((6,), I32)], [((4,), I32), ((6,), I32)]),
        ("MatMul", [((4, 8), "float64"), ((8, 3), "float64")], [((4, 3), "float64")]),
        ("Add", [((4,), "complex64"), ((4,), "complex64")], [((4,), "complex64")]),
    ],
)
def test_the_ai_cpu_takes_what_no_core_computes(plan: Plan, op: str, inputs: list[Any], outputs: list[Any]) -> None:
    (kernel,) = plan(op, inputs, outputs).kernels
    assert kernel.task_type is CPU
    assert kernel.op_type == {"MatMul": "MatMulV2", "StackPushV2": "StackPush"}.get(op, op.removesuffix("V3"))
    assert all(t.dtype != "UNDEFINED" for t in (*kernel.inputs, *kernel.outputs))


SILENT = """
Const Placeholder VarHandleOp ReadVariableOp Identity NoOp Shape Reshape ExpandDims Squeeze While StatelessIf Switch
Merge Enter PartitionedCall _Arg _Retval IteratorGetNext BatchDatasetV2 TFRecordDatasetV2 ScalarSummary SaveV2 RestoreV2
ParseExampleV2 LookupTableFindV2 SomebodysOwnDatasetV3 __inference_train_function_12
"""


@pytest.mark.parametrize("op", SILENT.split())
def test_what_launches_nothing(plan: Plan, op: str) -> None:
    found = plan(op, [(3, 2)], [(3, 2)])
    assert found.mapped
    assert found.kernels == ()


def test_input_pipelines_and_the_host() -> None:
    assert all(map(is_input_pipeline, ["IteratorGetNext", "ParallelMapDatasetV2", "MyDataset", "OneShotIterator"]))
    assert not any(map(is_input_pipeline, ["MatMul", "ScalarSummary", "QueueDequeueV2"]))
    assert all(map(is_host, ["IteratorGetNext", "ScalarSummary", "SaveV2", "StringJoin", "LookupTableFindV2"]))
    assert not any(map(is_host, ["MatMul", "Const", "ReadVariableOp", "RandomUniform"]))
    assert is_call("__inference_step_7")
    assert not is_call("PartitionedCall")


@pytest.mark.parametrize("outputs", [[((6,), "string")], []])
def test_texts_are_joined_by_the_host(plan: Plan, outputs: list[Any]) -> None:
    found = plan("ConcatV2", [((4,), "string"), ((2,), "string"), ((), I32)], outputs)
    assert found.mapped
    assert found.kernels == ()


def test_an_empty_tensor_launches_nothing(plan: Plan) -> None:
    assert plan("Mul", [(0, 3), (3,)], [(0, 3)]).kernels == ()


def test_every_rule_has_an_answer_for_nothing_known(book: RuleBook) -> None:
    """A rule never fails: without tensors it either has no answer or launches what needs none."""
    for name, rule in RULES.items():
        found = rule(node_signature(name, [None, None], [], {}))
        assert found is None or all(k.bytes_read >= 0 for k in found.kernels), name
    assert build_rules().keys() == RULES.keys()
    assert book.plan(node_signature("NobodyKnowsThis", [], [], {})).mapped is False


@given(
    st.sampled_from(["AddV2", "Mul", "Maximum", "SquaredDifference", "Less"]),
    mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=5),
)
def test_broadcasting_is_numpys(op: str, shapes: Any) -> None:
    """What is made has numpy's shape, whether TensorFlow says it or not; operands are read once."""
    from drynpu_tf.rules import tensor_desc

    book = build_rule_book(RULES)
    operands = [tensor_desc(shape, "float32") for shape in shapes.input_shapes]
    out = tensor_desc(shapes.result_shape, "bool" if op == "Less" else "float32")
    told = book.plan(node_signature(op, operands, [out], {}))
    alone = book.plan(node_signature(op, operands, [], {}))
    for kernel in told.kernels + alone.kernels:
        assert kernel.outputs[0].shape == shapes.result_shape
        assert kernel.bytes_read == 4 * sum(t.elements for t in operands)
        assert kernel.bytes_written == out.size_bytes or kernel in alone.kernels
        assert kernel.vector_ops == out.elements * (2 if op == "SquaredDifference" else 1)
    assert len(told.kernels) == (1 if out.elements else 0)


@given(
    mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=4),
    st.tuples(*[st.integers(1, 9)] * 3),
    st.booleans(),
    st.booleans(),
)
def test_batched_products_broadcast_their_batches(
    shapes: Any,
    sizes: tuple[int, int, int],
    adj_x: bool,
    adj_y: bool,
) -> None:
    from drynpu_tf.rules import tensor_desc

    rows, inner, columns = sizes
    a = (*shapes.input_shapes[0], *((inner, rows) if adj_x else (rows, inner)))
    b = (*shapes.input_shapes[1], *((columns, inner) if adj_y else (inner, columns)))
    operands = [tensor_desc(shape, "float16") for shape in (a, b)]
    book = build_rule_book(RULES)
    plan = book.plan(node_signature("BatchMatMulV2", operands, [], {"adj_x": adj_x, "adj_y": adj_y}))
    batch = shapes.result_shape
    for kernel in plan.kernels:
        assert kernel.outputs[0].shape == (*batch, rows, columns)
        assert kernel.cube_flops == 2 * int(np.prod(batch, dtype=int)) * rows * inner * columns


def test_every_operator_on_datasets_stays_on_the_host() -> None:
    """Each of TensorFlow's operators that takes or gives a dataset or an iterator, in the installed release."""
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    known = op_def_pb2.OpList()
    known.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    names = {
        op.name
        for op in known.op
        if any(word in arg.name for arg in (*op.input_arg, *op.output_arg) for word in ("dataset", "iterator"))
    }
    assert {"GetOptions", "DatasetToGraphV2", "IteratorGetNext"} <= names
    assert {name for name in names if not is_host(name)} == set()
