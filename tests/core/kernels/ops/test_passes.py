"""The graph engine's fusion passes, GELUs, formats and types with constants, for operators of no framework."""

from __future__ import annotations

import pytest

from drynpu.kernels import KernelPlan, Signature, TensorDesc, node_signature, plan_of
from drynpu.kernels._specs import vector_spec
from drynpu.kernels.ops import (
    FusedTypes,
    GraphOperator,
    ImageFormats,
    ImageTypes,
    fuse_gelus,
    fuse_graph,
    with_constants,
    without_constants,
)

IMAGE = TensorDesc((2, 16, 5, 7), "FLOAT16")
ROWS = TensorDesc((4, 8), "FLOAT16")
COLUMN = TensorDesc((8,), "FLOAT16")
TYPES = FusedTypes(
    convolutions=frozenset({"Conv", "Depthwise"}),
    summing=frozenset({"Conv"}),
    products=frozenset({"Product"}),
    biases=frozenset({"Bias"}),
    additions=frozenset({"Plus"}),
    after_convolution=frozenset({"Relu"}),
    after_product=frozenset({"Relu", "Tanh"}),
    input_gradients=frozenset({"ConvGrad"}),
    relu_gradients=frozenset({"ReluGrad"}),
    elementwise=frozenset({"Relu", "Tanh", "Plus", "ReluGrad"}),
    trains=lambda op: op.op_type == "Norm",
)


def chain(*types: str, tensor: TensorDesc = ROWS) -> list[GraphOperator]:
    """Return operators each of which takes what the one before makes, and a tensor of its own."""
    found, before = [], "x"
    for number, op_type in enumerate(types):
        other = COLUMN if op_type in {"Bias", "Plus"} and tensor is ROWS else tensor
        signature = node_signature(op_type, [tensor, other], [tensor], {}, node=f"net/{number}")
        found.append(GraphOperator(((before, 0), (f"own{number}", 0)), ((str(number), 0),), signature, (number,)))
        before = str(number)
    return found


@pytest.mark.parametrize(
    ("types", "split", "left"),
    [
        (("Product", "Bias", "Relu"), True, ["Product", "Relu"]),
        (("Product", "Plus", "Relu"), False, ["Product"]),
        (("Product", "Relu", "Bias"), True, ["Product", "Relu", "Bias"]),
        (("Conv", "Bias", "Relu"), True, ["Conv"]),
        (("Conv", "Tanh"), False, ["Conv", "Tanh"]),
        (("Norm", "Relu"), True, ["Norm", "Relu"]),
        (("Norm", "Relu"), False, ["Norm"]),
        (("ConvGrad", "ReluGrad"), False, ["ConvGrad"]),
        (("Tanh",) * 7, False, ["Tanh", "Tanh"]),
        (("Tanh",) * 6, False, ["Tanh"]),
        (("Tanh",) * 6, True, ["Tanh"] * 6),
    ],
)
def test_pairs_are_joined(types: tuple[str, ...], split: bool, left: list[str]) -> None:
    assert [op.op_type for op in fuse_graph(chain(*types), TYPES, split=split)] == left


def test_results_stay() -> None:
    kept = fuse_graph(chain("Product", "Bias"), TYPES, split=True, results=[("0", 0)])
    assert [op.op_type for op in kept] == ["Product", "Bias"]


@pytest.mark.parametrize(("first", "moved"), [("Conv", True), ("Depthwise", False)])
def test_the_sums_of_a_norm_go_into_the_convolution(first: str, moved: bool) -> None:
    conv, norm = fuse_graph(chain(first, "Norm", tensor=IMAGE), TYPES, split=True)
    assert (conv.call.fused == ("BNTrainingReduce",), norm.call.flag("_reduced")) == (moved, moved)
    assert (conv.members == (0, 1)) == moved


def test_gelus_get_the_type_of_the_framework() -> None:
    def add(name: str, op_type: str, *inputs: str) -> GraphOperator:
        signature = node_signature(op_type, [ROWS] * len(inputs), [ROWS], {}, node=f"net/{name}")
        return GraphOperator(tuple((text, 0) for text in inputs), ((name, 0),), signature, (int(name),))

    graph = [
        add("0", "Pow", "x", "c"),
        add("1", "Mul", "0", "c"),
        add("2", "Add", "x", "1"),
        add("3", "Mul", "2", "c"),
        add("4", "Tanh", "3"),
        add("5", "Add", "4", "c"),
        add("6", "Mul", "5", "c"),
        add("7", "Mul", "x", "6"),
        add("8", "Use", "7"),
    ]
    gelu, user = fuse_gelus(graph, {"c"}, kind="Whole")
    assert (gelu.op_type, gelu.call.node, gelu.inputs, gelu.members) == (
        "Whole",
        "net/0/Gelu",
        (("x", 0),),
        tuple(range(8)),
    )
    assert user.op_type == "Use"
    assert len(fuse_gelus(graph, set())) == 9


def test_tables_of_types_say_where_formats_change() -> None:
    types = ImageTypes(
        images={"Conv": ((0,), True)},
        followers=frozenset({"Relu", "Bias"}),
        biases=frozenset({"Bias"}),
        shape_readers=frozenset({"Shape"}),
        channels_first=lambda _: True,
    )
    conv, relu, use = chain("Conv", "Relu", "Use", tensor=IMAGE)
    ImageFormats(types=types).write([conv, relu, use])
    # The image that comes in, and what the activation takes beside it.
    assert [len(op.call.attrs.get("_before", ())) for op in (conv, relu, use)] == [1, 1, 0]
    assert [len(op.call.attrs.get("_after", ())) for op in (conv, relu, use)] == [0, 1, 0]
    blocked = relu.call.output()
    assert blocked is not None
    assert (blocked.format, blocked.shape) == ("NC1HWC0", (2, 1, 5, 7, 16))


def test_types_end_in_d_where_constants_are_compiled_in() -> None:
    def plan(op_type: str) -> KernelPlan:
        return plan_of(vector_spec(op_type, op_type, [ROWS], [ROWS]), vector_spec("net/x", op_type, [ROWS], [ROWS]))

    signature = Signature("Sum", (ROWS,))
    closed = with_constants(lambda _: plan("ReduceSum"))(signature).kernels
    assert [(kernel.op_type, kernel.name) for kernel in closed] == [
        ("ReduceSumD", "ReduceSumD"),
        ("ReduceSumD", "net/x"),
    ]
    opened = without_constants(lambda _: plan("TopKD"))(signature).kernels
    assert [kernel.op_type for kernel in opened] == ["TopKV2", "TopKV2"]
    assert with_constants(lambda _: plan("Add"))(signature) == plan("Add")
