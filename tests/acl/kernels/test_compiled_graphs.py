"""What the compiler makes of graphs: fusion, formats, constants, and the kernels of the whole."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from drynpu.kernels import build_rule_book
from drynpu_acl.kernels import RULES, fusions, node_plans, planned_memory
from drynpu_acl.runtime import parse_model


def kernels_of(model, feeds, *, split=True):
    file = parse_model(model.SerializeToString(), "m")
    compiled = file.compile(file.run(feeds), split=split)
    plan = node_plans(build_rule_book(RULES).plan)
    return compiled, [kernel for operation in compiled.operations for kernel in plan(operation.signature).kernels]


def model_of(nodes, inputs, outputs, weights=()):
    initializers = [numpy_helper.from_array(value, name) for name, value in dict(weights).items()]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def net(models):
    return models.conv_net()


IMAGE = {"image": np.ones((1, 3, 16, 16), np.float32)}


def test_the_kernels_of_a_convolutional_net(net):
    compiled, kernels = kernels_of(net, IMAGE)
    assert [(k.name, k.op_type) for k in kernels] == [
        ("trans_TransData_0", "TransData"),
        ("conv1relu1", "Conv2D"),
        ("pool1", "MaxPool"),
        ("conv2", "Conv2D"),
        ("shortcut", "Add"),
        ("sigmoid", "Sigmoid"),
        ("gap", "ReduceMeanD"),
        ("trans_TransData_1", "TransData"),
        ("fc", "MatMulV2"),
    ]
    assert [operation.names for operation in compiled.fused] == [("conv1", "bn1", "relu1"), ("fc", "fc_bias")]


def test_work_counted_by_hand(net):
    _, kernels = kernels_of(net, IMAGE)
    conv, product = kernels[1], kernels[-1]
    assert conv.cube_flops == 2 * (16 * 16) * 8 * (3 * 3 * 3)
    assert [(t.format, t.shape) for t in conv.inputs] == [
        ("NC1HWC0", (1, 1, 16, 16, 8)),
        ("FRACTAL_Z", (9, 1, 16, 8)),
        ("ND", (8,)),  # what the folded batch norm adds
    ]
    assert conv.hf32
    assert product.cube_flops == 2 * 8 * 10
    assert product.bytes_read == 4 * (8 + 8 * 10 + 10)
    assert product.bytes_written == 40


def test_what_is_made_lives_until_it_is_last_read(net):
    compiled, _ = kernels_of(net, IMAGE)
    found = planned_memory(operation.signature for operation in compiled.operations)
    assert [(of.op_name, of.size_bytes, of.first_node, of.last_node) for of in found] == [
        ("conv1relu1", 4 * 8 * 16 * 16, 0, 1),
        ("pool1", 4 * 8 * 8 * 8, 1, 3),  # which the shortcut reads as well
        ("conv2", 4 * 8 * 8 * 8, 2, 3),
        ("shortcut", 4 * 8 * 8 * 8, 3, 4),
        ("sigmoid", 4 * 8 * 8 * 8, 4, 5),
        ("gap", 4 * 8, 5, 6),  # through the change of shape behind it
        ("fc", 4 * 10, 6, None),
    ]


def test_what_was_fused_is_listed_with_its_sizes(net):
    compiled, _ = kernels_of(net, IMAGE)
    first, second = fusions(operation.signature for operation in compiled.operations)
    assert (first.name, first.original_ops) == ("conv1relu1", ("conv1", "bn1", "relu1"))
    assert (first.input_bytes, first.output_bytes) == (4 * 3 * 256, 4 * 8 * 256)
    assert first.weight_bytes == 4 * (8 * 3 * 9 + 8)
    assert (second.name, second.original_ops, second.input_bytes) == ("fc", ("fc", "fc_bias"), 4 * 8)
    assert (second.weight_bytes, second.output_bytes, second.workspace_bytes) == (4 * (8 * 10 + 10), 40, 0)


@pytest.mark.parametrize("split", [True, False])
def test_every_node_is_in_one_operator_or_launches_nothing(models, split):
    for model, feeds in [(models.conv_net(), IMAGE), (models.mlp(), {"x": np.ones((4, 16), np.float32)})]:
        compiled, _ = kernels_of(model, feeds, split=split)
        members = [number for operation in compiled.operations for number in operation.members]
        free = {number for number, node in enumerate(model.graph.node) if node.op_type == "Flatten"}
        assert sorted([*members, *free]) == list(range(len(model.graph.node)))


def test_unified_chips_fuse_activations_into_products(models):
    x = {"x": np.ones((4, 16), np.float32)}
    _, split = kernels_of(models.mlp(), x)
    _, unified = kernels_of(models.mlp(), x, split=False)
    assert [k.op_type for k in split] == ["MatMulV2", "Relu", "MatMulV2", "SoftmaxV2"]
    assert [k.name for k in unified] == ["fc1relu1", "fc2", "softmax"]


def test_what_somebody_else_takes_is_not_fused():
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "conv", kernel_shape=[1, 1]),
        helper.make_node("Relu", ["c"], ["r"], "relu"),
        helper.make_node("Add", ["c", "r"], ["y"], "add"),
    ]
    weight = np.ones((4, 4, 1, 1), np.float32)
    shape = [1, 4, 2, 2]
    compiled, _ = kernels_of(
        model_of(nodes, {"x": shape}, {"y": shape}, {"w": weight}), {"x": np.ones(shape, np.float32)}
    )
    assert compiled.fused == ()


def test_a_result_of_the_graph_is_not_fused_away():
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "conv", kernel_shape=[1, 1]),
        helper.make_node("Relu", ["c"], ["r"], "relu"),
    ]
    shape = [1, 4, 2, 2]
    model = model_of(nodes, {"x": shape}, {"c": shape, "r": shape}, {"w": np.ones((4, 4, 1, 1), np.float32)})
    _, kernels = kernels_of(model, {"x": np.ones(shape, np.float32)})
    assert [k.op_type for k in kernels] == ["TransData", "Conv2D", "TransData", "Relu", "TransData"]


def test_what_follows_of_shapes_and_weights_launches_nothing():
    nodes = [
        helper.make_node("Shape", ["x"], ["s"], "shape"),
        helper.make_node("Gather", ["s", "first"], ["rows"], "gather", axis=0),
        helper.make_node("Unsqueeze", ["rows", "axis"], ["rows1"], "unsqueeze"),
        helper.make_node("Concat", ["rows1", "rest"], ["target"], "concat", axis=0),
        helper.make_node("Reshape", ["x", "target"], ["flat"], "reshape"),
        helper.make_node("Mul", ["w", "two"], ["w2"], "scale"),
        helper.make_node("MatMul", ["flat", "w2"], ["y"], "product"),
    ]
    weights = {
        "first": np.array(0, np.int64),
        "axis": np.array([0], np.int64),
        "rest": np.array([6], np.int64),
        "w": np.ones((6, 5), np.float32),
        "two": np.array(2, np.float32),
    }
    model = model_of(nodes, {"x": [4, 2, 3]}, {"y": [4, 5]}, weights)
    _, kernels = kernels_of(model, {"x": np.ones((4, 2, 3), np.float32)})
    assert [(k.name, k.op_type) for k in kernels] == [("product", "MatMulV2")]


def test_a_transformer_block():
    rows, width, heads = 8, 16, 2
    nodes = [
        helper.make_node("LayerNormalization", ["x", "g", "b"], ["n"], "ln", axis=-1),
        helper.make_node("MatMul", ["n", "wq"], ["q0"], "q"),
        helper.make_node("Reshape", ["q0", "split"], ["q1"], "heads"),
        helper.make_node("Transpose", ["q1"], ["q2"], "turn", perm=[0, 2, 1, 3]),
        helper.make_node("Transpose", ["q2"], ["k2"], "turn_k", perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["q2", "k2"], ["scores"], "scores"),
        helper.make_node("Softmax", ["scores"], ["p"], "softmax", axis=-1),
        helper.make_node("MatMul", ["p", "q2"], ["o"], "attend"),
        helper.make_node("Transpose", ["o"], ["o1"], "back", perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["o1", "join"], ["o2"], "join"),
        helper.make_node("Add", ["o2", "x"], ["r"], "residual"),
        helper.make_node("Erf", ["r"], ["y"], "erf"),
    ]
    weights = {
        "g": np.ones(width, np.float32),
        "b": np.zeros(width, np.float32),
        "wq": np.ones((width, width), np.float32),
        "split": np.array([1, rows, heads, -1], np.int64),
        "join": np.array([1, rows, width], np.int64),
    }
    model = model_of(nodes, {"x": [1, rows, width]}, {"y": [1, rows, width]}, weights)
    _, kernels = kernels_of(model, {"x": np.ones((1, rows, width), np.float32)})
    assert [k.op_type for k in kernels] == [
        *("LayerNorm", "BatchMatMulV2", "TransposeD", "TransposeD", "BatchMatMulV2", "SoftmaxV2", "BatchMatMulV2"),
        *("TransposeD", "Add", "Erf"),
    ]
    scores = kernels[4]
    assert scores.cube_flops == 2 * heads * rows * rows * (width // heads)
    assert scores.cube_tiles == heads


def test_an_operator_without_a_rule_says_so():
    nodes = [helper.make_node("Det", ["x"], ["y"], "det")]
    model = model_of(nodes, {"x": [2, 3, 3]}, {"y": [2]})
    _, (kernel,) = kernels_of(model, {"x": np.ones((2, 3, 3), np.float32)})
    assert (kernel.name, kernel.op_type, kernel.mapped) == ("det_Unmapped", "Det", False)
    assert kernel.outputs[0].shape == (2,)


def test_every_onnx_operator_of_inference_has_a_rule_or_none_is_pretended():
    """The table of rules has operators of ONNX only, so that a misspelt one cannot lie dead in it."""
    known = {schema.name for schema in onnx.defs.get_all_schemas()}
    later = {"RMSNormalization"}  # from opset 23 on, which older packages do not know
    added = {"Aipp"}  # by the model compiler
    assert set(RULES) <= known | later | added
    assert len(RULES) > 120


STEPS = {
    "conv": lambda last, made, n: helper.make_node("Conv", [last, "k"], [made], f"n{n}", kernel_shape=[1, 1]),
    "relu": lambda last, made, n: helper.make_node("Relu", [last], [made], f"n{n}"),
    "twice": lambda last, made, n: helper.make_node("Add", [last, last], [made], f"n{n}"),
    "with_first": lambda last, made, n: helper.make_node("Add", [last, "t0"], [made], f"n{n}"),
    "turn": lambda last, made, n: helper.make_node("Transpose", [last], [made], f"n{n}", perm=[0, 1, 3, 2]),
    "pool": lambda last, made, n: helper.make_node("MaxPool", [last], [made], f"n{n}", kernel_shape=[1, 1]),
    "norm": lambda last, made, n: helper.make_node("BatchNormalization", [last, *"abcd"], [made], f"n{n}"),
}


@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=9), st.booleans())
@settings(max_examples=60)
def test_any_chain_reads_each_tensor_in_the_format_it_was_made_in(steps, split):
    """Walks over the kernels: an image is read blocked only where something has blocked it, and plain likewise."""
    nodes = [STEPS[step](f"t{n}", f"t{n + 1}", n) for n, step in enumerate(steps)]
    shape = [1, 4, 2, 2]
    weights = {"k": np.ones((4, 4, 1, 1), np.float32), **{name: np.ones(4, np.float32) for name in "abcd"}}
    model = model_of(nodes, {"t0": shape}, {f"t{len(steps)}": shape}, weights)
    compiled, kernels = kernels_of(model, {"t0": np.ones(shape, np.float32)}, split=split)

    members = [number for operation in compiled.operations for number in operation.members]
    assert sorted(members) == list(range(len(steps)))
    assert sum(k.op_type == "Conv2D" for k in kernels) == steps.count("conv")
    names = [k.name for k in kernels]
    assert len(set(names)) == len(names)

    available = {False}  # formats (blocked or not) in which the chain's newest tensor can be had
    first = {False}
    for kernel in kernels:
        read = [t.format == "NC1HWC0" for t in kernel.inputs if len(t.shape) >= 4 and t.format != "FRACTAL_Z"]
        if kernel.op_type != "TransData":
            assert set(read) <= available | first
            available = {kernel.outputs[0].format == "NC1HWC0"}
        else:
            available.add(not read[0])
            first |= {not read[0]}
    assert False in available, "the result is plain"
