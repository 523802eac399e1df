"""Single nodes, run by the evaluator and planned by their rule: operator types, and work counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from drynpu.kernels import Placement, TaskType, TensorDesc, build_rule_book, node_signature
from drynpu_acl.kernels import RULES, node_plans
from drynpu_acl.runtime import parse_model

CUBE, VECTOR, CPU = TaskType.AI_CORE, TaskType.AI_VECTOR_CORE, TaskType.AI_CPU
TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float16): TensorProto.FLOAT16}
TYPES |= {np.dtype(np.int64): TensorProto.INT64, np.dtype(np.float64): TensorProto.DOUBLE}
TYPES |= {np.dtype(bool): TensorProto.BOOL, np.dtype(np.int32): TensorProto.INT32}


def planned(op_type, arrays, *, constants=(), outputs=1, made=TensorProto.FLOAT, **attributes):
    """Return the kernels of one node whose inputs are *arrays*; the numbers in *constants* are weights."""
    names = [f"i{n}" for n in range(len(arrays))]
    results = [f"o{n}" for n in range(outputs)]
    node = helper.make_node(op_type, names, results, "node", **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info(name, TYPES[array.dtype], array.shape)
            for number, (name, array) in enumerate(zip(names, arrays, strict=True))
            if number not in constants
        ],
        [helper.make_tensor_value_info(name, made, None) for name in results],
        [numpy_helper.from_array(arrays[number], names[number]) for number in constants],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    file = parse_model(model.SerializeToString(), "m")
    run = file.run(
        {name: array for n, (name, array) in enumerate(zip(names, arrays, strict=True)) if n not in constants}
    )
    plan = node_plans(build_rule_book(RULES).plan)
    compiled = file.compile(run, split=True)
    return [kernel for operation in compiled.operations for kernel in plan(operation.signature).kernels]


def ones(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


def test_products_count_multiply_and_add():
    (small,) = planned("MatMul", [ones(64, 32), ones(32, 16)], constants=(1,))
    assert (small.op_type, small.task_type, small.cube_flops, small.cube_tiles) == (
        "MatMulV2",
        CUBE,
        2 * 64 * 32 * 16,
        1,
    )
    assert (small.bytes_read, small.bytes_written) == (4 * (64 * 32 + 32 * 16), 4 * 64 * 16)
    assert not small.hf32
    (turned,) = planned("Gemm", [ones(32, 64), ones(16, 32), ones(16)], constants=(1, 2), transA=1, transB=1)
    assert (turned.op_type, turned.cube_flops, len(turned.inputs)) == ("MatMulV2", 2 * 64 * 32 * 16, 3)
    (batched,) = planned("MatMul", [ones(2, 3, 64, 32), ones(3, 32, 16)])
    assert (batched.op_type, batched.cube_flops, batched.cube_tiles) == ("BatchMatMulV2", 6 * 2 * 64 * 32 * 16, 6)
    (vector,) = planned("MatMul", [ones(32), ones(32)])
    assert vector.cube_flops == 2 * 32
    (spelt,) = planned("Einsum", [ones(2, 8, 4), ones(2, 4, 6)], equation="bij,bjk->bik")
    assert (spelt.op_type, spelt.cube_flops) == ("BatchMatMulV2", 2 * 2 * 8 * 4 * 6)


def test_large_products_are_the_third_version_and_doubles_go_to_the_cpu():
    plan = build_rule_book(RULES).plan
    large = [TensorDesc((1024, 1024), "FLOAT16")] * 2
    (kernel,) = plan(node_signature("MatMul", large, large[:1], {}, node="n")).kernels
    assert (kernel.op_type, kernel.cube_tiles) == ("MatMulV3", 8 * 4)
    (kernel,) = planned("MatMul", [ones(4, 4, dtype=np.float64)] * 2, made=TensorProto.DOUBLE)
    assert kernel.task_type is CPU


@pytest.mark.parametrize(
    ("x", "weight", "attributes", "op_type", "flops"),
    [
        ((1, 4, 8, 8), (6, 4, 3, 3), {}, "Conv2D", 2 * 36 * 6 * 4 * 9),
        ((2, 4, 8, 8), (4, 1, 3, 3), {"group": 4}, "DepthwiseConv2D", 2 * 2 * 36 * 4 * 9),
        ((1, 4, 8, 8), (6, 2, 1, 1), {"group": 2}, "Conv2D", 2 * 64 * 6 * 2),
        ((1, 4, 10), (6, 4, 3), {}, "Conv2D", 2 * 8 * 6 * 4 * 3),
        ((1, 2, 4, 4, 4), (3, 2, 2, 2, 2), {}, "Conv3D", 2 * 27 * 3 * 2 * 8),
    ],
)
def test_convolutions(x, weight, attributes, op_type, flops):
    kernels = planned("Conv", [ones(*x), ones(*weight)], constants=(1,), **attributes)
    (conv,) = [kernel for kernel in kernels if kernel.op_type != "TransData"]
    assert (conv.op_type, conv.task_type, conv.cube_flops, conv.hf32) == (op_type, CUBE, flops, True)
    assert len(kernels) == (3 if len(x) == 4 else 1), "images are blocked before and plain behind"


def test_a_transposed_convolution_walks_over_its_input():
    kernels = planned("ConvTranspose", [ones(1, 4, 5, 5), ones(4, 6, 3, 3)], constants=(1,))
    assert (kernels[1].op_type, kernels[1].cube_flops) == ("Conv2DTransposeD", 2 * 25 * 4 * 6 * 9)
    assert kernels[1].outputs[0].shape == (1, 1, 7, 7, 8)


@pytest.mark.parametrize(
    ("op_type", "attributes", "expected", "operations"),
    [
        ("MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}, "MaxPool", 16 * 4 * 4),
        ("AveragePool", {"kernel_shape": [2, 2], "strides": [2, 2]}, "AvgPoolV2", 16 * 4 * 4),
        ("GlobalAveragePool", {}, "ReduceMeanD", 4 * 64),
        ("GlobalMaxPool", {}, "ReduceMaxD", 4 * 64),
    ],
)
def test_pooling(op_type, attributes, expected, operations):
    before, kernel, after = planned(op_type, [ones(1, 4, 8, 8)], **attributes)
    assert (before.op_type, kernel.op_type, after.op_type) == ("TransData", expected, "TransData")
    assert (kernel.task_type, kernel.vector_ops) == (VECTOR, operations)
    assert kernel.inputs[0].format == kernel.outputs[0].format == "NC1HWC0"


@pytest.mark.parametrize(
    ("op_type", "arrays", "attributes", "expected", "operations", "moved"),
    [
        ("Relu", [ones(6, 4)], {}, "Relu", 24, (96, 96)),
        ("Sigmoid", [ones(6, 4)], {}, "Sigmoid", 96, (96, 96)),
        ("Add", [ones(6, 4), ones(4)], {}, "Add", 24, (96 + 16, 96)),
        ("Div", [ones(6, 4), ones(6, 4)], {}, "RealDiv", 24, (192, 96)),
        ("Sum", [ones(4), ones(4), ones(4)], {}, "AddN", 8, (48, 16)),
        ("Softmax", [ones(6, 4)], {"axis": -1}, "SoftmaxV2", 120, (96, 96)),
        ("ReduceMean", [ones(6, 4)], {"axes": [1]}, "ReduceMeanD", 24, (96, 24)),
        ("LayerNormalization", [ones(6, 4), ones(4), ones(4)], {"axis": -1}, "LayerNorm", 192, (128, 96)),
        ("Transpose", [ones(6, 4)], {"perm": [1, 0]}, "TransposeD", 0, (96, 96)),
        ("Concat", [ones(6, 4), ones(2, 4)], {"axis": 0}, "ConcatD", 0, (128, 128)),
        ("DepthToSpace", [ones(1, 4, 2, 2)], {"blocksize": 2}, "DepthToSpace", 0, (64, 64)),
    ],
)
def test_vector_work(op_type, arrays, attributes, expected, operations, moved):
    (kernel,) = planned(op_type, arrays, **attributes)
    assert (kernel.name, kernel.op_type, kernel.task_type) == ("node", expected, VECTOR)
    assert kernel.vector_ops == operations
    assert (kernel.bytes_read, kernel.bytes_written) == moved


def test_gathers_and_slices_read_what_they_return():
    table, index = ones(100, 8), np.array([1, 2, 3], np.int64)
    (gather,) = planned("Gather", [table, index], axis=0)
    assert (gather.op_type, gather.bytes_read, gather.bytes_written) == ("GatherV2D", 3 * 8 * 4 + 3 * 8, 3 * 8 * 4)
    places = [np.array([value], np.int64) for value in (0, 2, 0)]
    (cut,) = planned("Slice", [table, *places], constants=(1, 2, 3))
    assert (cut.op_type, cut.bytes_read, cut.bytes_written) == ("StridedSliceD", 2 * 8 * 4, 2 * 8 * 4)


def test_a_split_into_equal_and_unequal_parts():
    (equal,) = planned("Split", [ones(6, 4)], outputs=2, axis=0)
    assert (equal.op_type, len(equal.outputs)) == ("SplitD", 2)
    sizes = np.array([1, 5], np.int64)
    (unequal,) = planned("Split", [ones(6, 4), sizes], constants=(1,), outputs=2, axis=0)
    assert (unequal.op_type, len(unequal.inputs)) == ("SplitVD", 1)


@pytest.mark.parametrize(
    ("op_type", "arrays", "attributes"),
    [
        ("Reshape", [ones(6, 4), np.array([4, 6], np.int64)], {}),
        ("Flatten", [ones(6, 4)], {}),
        ("Identity", [ones(6, 4)], {}),
        ("Transpose", [ones(6, 1, 4)], {"perm": [1, 0, 2]}),
        ("Cast", [ones(6, 4)], {"to": TensorProto.FLOAT}),
        ("ReduceSum", [ones(6, 1), np.array([1], np.int64)], {}),
    ],
)
def test_what_moves_nothing_launches_nothing(op_type, arrays, attributes):
    assert planned(op_type, arrays, constants=range(1, len(arrays)), **attributes) == []


def test_types_change_by_a_kernel():
    (kernel,) = planned("Cast", [ones(6, 4)], made=TensorProto.FLOAT16, to=TensorProto.FLOAT16)
    assert (kernel.op_type, kernel.outputs[0].dtype, kernel.bytes_written) == ("Cast", "FLOAT16", 48)


def test_what_has_results_of_unknown_size_runs_on_the_ai_cpu():
    (kernel,) = planned("NonZero", [ones(4)], made=TensorProto.INT64)
    assert (kernel.op_type, kernel.task_type) == ("NonZero", CPU)


def test_kernels_of_a_node_are_launched_by_the_graph():
    plan = node_plans(build_rule_book(RULES).plan)
    tensor = TensorDesc((4,), "FLOAT")
    for op_type in ("Relu", "NoSuchOperator"):
        found = plan(node_signature(op_type, [tensor], [tensor], {}, node="n"))
        assert (found.in_graph, found.synchronizes, found.api) == (True, False, "")
        assert len(found.kernels) == 1
    assert plan(node_signature("Relu", [tensor], [tensor], {}, node="n", placement=Placement.HOST)).kernels == ()
