"""What the graph engine makes of a graph: constants, fused operators and their records, formats."""

from __future__ import annotations

from typing import Any

import pytest

from drynpu.kernels import KernelSpec, Placement, RuleBook, TaskType, node_signature
from drynpu_tf.rules import compile_graph, tensor_desc

I32 = "int32"
IMAGE, KERNEL = (2, 4, 4, 8), (1, 1, 8, 8)


def launched(graph: Any, book: RuleBook, *, split: bool = True) -> list[KernelSpec]:
    """Return the kernels of the compiled graph in the order of its nodes."""
    compiled = compile_graph(graph.nodes, split=split)
    return [k for node in graph.nodes for k in book.plan(compiled.signatures[node.name]).kernels]


def fusions(nodes: Any, *, split: bool = True) -> Any:
    """Return the operators that are made of several nodes."""
    return compile_graph(nodes, split=split).fusions


def conv_bias_relu(graph: Any) -> None:
    graph.add("x", "Placeholder", [], IMAGE)
    graph.add("w", "VarHandleOp", [], ((), "resource"))
    graph.add("read", "ReadVariableOp", ["w"], KERNEL)
    graph.add("b", "ReadVariableOp", ["w"], (8,))
    graph.add("conv", "Conv2D", ["x", "read"], IMAGE, data_format="NHWC")
    graph.add("bias", "BiasAdd", ["conv", "b"], IMAGE)
    graph.add("relu", "Relu", ["bias"], IMAGE)


def test_convolution_bias_and_relu_are_one_operator(graph: Any, book: RuleBook) -> None:
    conv_bias_relu(graph)
    kernels = [k for k in launched(graph, book) if k.op_type != "TransData"]
    (kernel,) = kernels
    assert (kernel.name, kernel.op_type, kernel.task_type) == ("convrelu", "Conv2D", TaskType.AI_CORE)
    assert kernel.vector_ops == 2 * 2 * 4 * 4 * 8
    assert [t.format for t in kernel.inputs] == ["NC1HWC0", "FRACTAL_Z", "ND"]
    (record,) = fusions(graph.nodes)
    assert (record.name, record.original_ops) == ("convrelu", ("conv", "bias", "relu"))
    image = 2 * 4 * 4 * 8 * 4
    assert (record.input_bytes, record.output_bytes, record.weight_bytes) == (image + 8 * 8 * 4 + 32, image, 0)


def test_a_bias_alone_leaves_the_name(graph: Any, book: RuleBook) -> None:
    graph.add("x", "Placeholder", [], (4, 8))
    graph.add("w", "Const", [], (8, 3))
    graph.add("b", "Const", [], (3,))
    graph.add("mm", "MatMul", ["x", "w"], (4, 3))
    graph.add("add", "AddV2", ["mm", "b"], (4, 3))
    (kernel,) = launched(graph, book)
    assert (kernel.name, kernel.cube_flops, kernel.vector_ops) == ("mm", 192, 12)
    (record,) = fusions(graph.nodes)
    assert (record.name, record.original_ops) == ("mm", ("mm", "add"))
    assert (record.input_bytes, record.output_bytes, record.weight_bytes) == (128, 48, 96 + 12)


@pytest.mark.parametrize(
    ("other", "fused"), [((3,), True), ((1, 3), False), ((4, 3), False), ((), False), ((1,), False)]
)
def test_what_is_a_bias_of_a_product(graph: Any, other: tuple[int, ...], *, fused: bool) -> None:
    graph.add("x", "Placeholder", [], (4, 8))
    graph.add("w", "ReadVariableOp", [], (8, 3))
    graph.add("b", "ReadVariableOp", [], other)
    graph.add("mm", "MatMul", ["x", "w"], (4, 3))
    graph.add("add", "AddV2", ["b", "mm"], (4, 3))
    assert bool(fusions(graph.nodes)) is fused


def test_what_somebody_else_takes_is_not_fused(graph: Any, book: RuleBook) -> None:
    conv_bias_relu(graph)
    graph.add("fetch", "_Retval", ["bias"])
    assert [(f.name, f.original_ops) for f in fusions(graph.nodes)] == [("conv", ("conv", "bias"))]
    assert [k.name for k in launched(graph, book) if k.op_type != "TransData"] == ["conv", "relu"]


def test_chips_of_one_core_type_fuse_more(graph: Any, book: RuleBook) -> None:
    graph.add("x", "Placeholder", [], (4, 8))
    graph.add("w", "ReadVariableOp", [], (8, 3))
    graph.add("mm", "MatMul", ["x", "w"], (4, 3))
    graph.add("tanh", "Tanh", ["mm"], (4, 3))
    graph.add("square", "Square", ["tanh"], (4, 3))
    graph.add("neg", "Neg", ["square"], (4, 3))
    graph.add("sum", "Sum", ["neg"], (4,))
    assert fusions(graph.nodes) == ()
    assert [f.name for f in fusions(graph.nodes, split=False)] == ["mmtanh", "squareneg"]
    kernels = launched(graph, book, split=False)
    assert [(k.name, k.op_type) for k in kernels] == [
        ("mmtanh", "MatMulV2"),
        ("squareneg", "Square"),
        ("sum", "ReduceSumD"),
    ]
    assert [k.vector_ops for k in kernels] == [8 * 12, 2 * 12, 12]


def test_a_chain_has_six_members_at_most(graph: Any) -> None:
    last = graph.add("x", "Placeholder", [], (64,))
    for number in range(14):
        last = graph.add(f"n{number}_", "Neg", [last], (64,))
    sizes = [len(f.original_ops) for f in fusions(graph.nodes, split=False)]
    assert sum(sizes) == 14
    assert max(sizes) <= 6
    assert fusions(graph.nodes, split=True) == ()


def test_names_of_fused_operators_end_somewhere(graph: Any) -> None:
    last = graph.add("x", "Placeholder", [], (64,))
    for number in range(3):
        last = graph.add(str(number) * 300, "Neg", [last], (64,))
    (record,) = fusions(graph.nodes, split=False)
    assert len(record.original_ops) == 3
    assert record.name == "0" * 300 + "1" * 212


def batch_norm(graph: Any, dtype: str) -> None:
    image, channel = (IMAGE, dtype), (8,)
    graph.add("x", "Placeholder", [], image)
    graph.add("w", "ReadVariableOp", [], (KERNEL, dtype))
    graph.add("g", "ReadVariableOp", [], channel)
    graph.add("conv", "Conv2D", ["x", "w"], image)
    graph.add("bn", "FusedBatchNormV3", ["conv", "g", "g"], image, channel, channel, is_training=True)
    graph.add("relu", "Relu", ["bn"], image)
    graph.add("mean", "Mean", [("bn", 1)], ())


def test_batch_norm_behind_a_16_bit_convolution(graph: Any, book: RuleBook) -> None:
    batch_norm(graph, "float16")
    assert [f.name for f in fusions(graph.nodes)] == ["convbn_Reduce"]
    kernels = [k for k in launched(graph, book, split=False) if k.op_type != "TransData"]
    assert [(k.name, k.op_type) for k in kernels] == [
        ("convbn_Reduce", "Conv2D"),
        ("bn_Updaterelu", "BNTrainingUpdate"),
        ("mean", "ReduceMeanD"),
    ]
    assert kernels[0].inputs[0].shape == (2, 1, 4, 4, 16)


def test_batch_norm_behind_an_fp32_convolution(graph: Any, book: RuleBook) -> None:
    batch_norm(graph, "float32")
    assert fusions(graph.nodes) == ()
    kernels = [k.name for k in launched(graph, book) if k.op_type != "TransData"]
    assert kernels == ["conv", "bn_Reduce", "bn_Update", "relu", "mean"]
    assert [f.original_ops for f in fusions(graph.nodes, split=False)] == [("bn", "relu")]


def test_formats_change_at_the_borders_only(graph: Any, book: RuleBook) -> None:
    graph.add("x", "Placeholder", [], IMAGE)
    graph.add("w", "ReadVariableOp", [], KERNEL)
    graph.add("c1", "Conv2D", ["x", "w"], IMAGE)
    graph.add("c2", "Conv2D", ["x", "w"], IMAGE)
    graph.add("sum", "AddV2", ["c1", "c2"], IMAGE)
    graph.add("pool", "MaxPool", ["sum"], (2, 2, 2, 8), ksize=[1, 2, 2, 1])
    graph.add("flat", "Reshape", ["pool"], (2, 32))
    kernels = launched(graph, book)
    assert [k.name for k in kernels] == ["trans_TransData_0", "c1", "c2", "sum", "pool", "trans_TransData_1"]
    first, last = kernels[0], kernels[-1]
    assert [(t.shape, t.format) for t in (*first.inputs, *first.outputs)] == [
        (IMAGE, "NHWC"),
        ((2, 1, 4, 4, 8), "NC1HWC0"),
    ]
    assert [(t.shape, t.format) for t in (*last.inputs, *last.outputs)] == [
        ((2, 1, 2, 2, 8), "NC1HWC0"),
        ((2, 2, 2, 8), "NHWC"),
    ]
    assert {t.format for k in kernels[1:-1] for t in k.outputs} == {"NC1HWC0"}


def test_operators_that_broadcast_images_take_plain_ones(graph: Any, book: RuleBook) -> None:
    graph.add("x", "Placeholder", [], IMAGE)
    graph.add("w", "ReadVariableOp", [], KERNEL)
    graph.add("scale", "Placeholder", [], (2, 1, 1, 8))
    graph.add("conv", "Conv2D", ["x", "w"], IMAGE)
    graph.add("mul", "Mul", ["conv", "scale"], IMAGE)
    kernels = launched(graph, book)
    assert [k.name for k in kernels] == ["trans_TransData_0", "conv", "trans_TransData_1", "mul"]
    assert {t.format for t in kernels[-1].inputs} == {"ND"}


def test_shapes_and_constants_are_worked_out_before(graph: Any, book: RuleBook) -> None:
    graph.add("x", "Placeholder", [], (4, 8))
    graph.add("shape", "Shape", ["x"], ((2,), I32))
    graph.add("one", "Const", [], ((1,), I32))
    graph.add("rows", "StridedSlice", ["shape", "one", "one", "one"], ((), I32))
    graph.add("count", "Cast", ["rows"], ())
    graph.add("half", "Const", [], ())
    graph.add("scale", "Mul", ["count", "half"], ())
    graph.add("out", "Mul", ["x", "scale"], (4, 8))
    graph.add("noise", "RandomUniform", ["shape"], (4, 8))
    graph.add("store", "AssignVariableOp", ["half", "scale"])
    assert [k.name for k in launched(graph, book)] == ["out", "noise", "store"]


def test_loops_are_not_constants(graph: Any, book: RuleBook) -> None:
    graph.add("zero", "Const", [], ((), I32))
    graph.add("enter", "Enter", ["zero"], ((), I32))
    graph.add("merge", "Merge", ["enter", "next"], ((), I32), ((), I32))
    graph.add("count", "AddV2", ["merge", "zero"], ((), I32))
    graph.add("next", "NextIteration", ["count"], ((), I32))
    assert [k.name for k in launched(graph, book)] == ["count"]


def test_nodes_that_pass_a_tensor_on_hide_nothing(graph: Any, book: RuleBook) -> None:
    graph.add("x", "Placeholder", [], IMAGE)
    graph.add("w", "ReadVariableOp", [], KERNEL)
    graph.add("b", "ReadVariableOp", [], (8,))
    graph.add("conv", "Conv2D", ["x", "w"], IMAGE)
    graph.add("same", "Identity", ["conv"], IMAGE)
    graph.add("bias", "BiasAdd", ["same", "b"], IMAGE)
    assert [f.original_ops for f in fusions(graph.nodes)] == [("conv", "bias")]
    assert sum(k.op_type == "Conv2D" for k in launched(graph, book)) == 1


def test_what_is_not_on_the_device_stays_as_it_is() -> None:
    from drynpu_tf.rules import GraphNode

    tensor = tensor_desc((3,), "float32")
    feed = node_signature("_Arg", [tensor], [tensor], {}, node="x", placement=Placement.TO_DEVICE)
    relu = node_signature("Relu", [tensor], [tensor], {}, node="relu")
    fetch = node_signature("_Retval", [tensor], [], {}, node="y", placement=Placement.TO_HOST)
    nodes = [GraphNode("x", (), feed), GraphNode("relu", (("x", 0),), relu), GraphNode("y", (("relu", 0),), fetch)]
    assert compile_graph(nodes).signatures == {"x": feed, "relu": relu, "y": fetch}
