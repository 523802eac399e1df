"""Fusion and formats of compiled graphs, on graphs of a few operators."""

from __future__ import annotations

import pytest
from attrs import define

from drynpu.kernels import NodeCall, TensorDesc, node_signature
from drynpu.kernels.ops import FormatPass, Fusion, GraphOperator, Place, fuse, takers_of

IMAGE, BLOCKED = TensorDesc((2, 3, 5, 7), "FLOAT"), TensorDesc((2, 1, 5, 7, 8), "FLOAT", "NC1HWC0")
PLAIN = TensorDesc((2, 3, 5, 7), "FLOAT", "NCHW")


def operator(number: int, op_type: str, *inputs: str, out: str = "") -> GraphOperator:
    """One operator on images; its output is called as the operator unless it is said."""
    signature = node_signature(op_type, [IMAGE] * len(inputs), [IMAGE], {}, node=f"net/{op_type}")
    return GraphOperator(tuple((name, 0) for name in inputs), ((out or op_type, 0),), signature, (number,))


def behind(first: str, second: str):
    return lambda one, other: (one.op_type, other.op_type) == (first, second)


def test_a_signature_is_described_anew_with_notes_and_with_other_tensors_where_there_are_any() -> None:
    whole = node_signature("Conv", [IMAGE, BLOCKED], [IMAGE], {"stride": (2, 3)}, node="net/Conv")
    conv = GraphOperator((("x", 0), ("w", 0)), (("Conv", 0),), whole, (0,))
    noted = NodeCall(conv.describe({"_tail": "net/Relu"}))
    assert (noted.tensors(), noted.outputs, noted.node) == ([IMAGE, BLOCKED], (IMAGE,), "net/Conv")
    assert (noted.integers("stride"), noted.text("_tail")) == ((2, 3), "net/Relu")
    changed = NodeCall(conv.describe({"stride": (1,)}, inputs=[BLOCKED, None], outputs=[BLOCKED, IMAGE]))
    assert (changed.tensors(), changed.outputs, changed.integers("stride")) == ([BLOCKED], (BLOCKED, IMAGE), (1,))
    emptied = NodeCall(conv.describe({}, inputs=[], outputs=[]))
    assert (emptied.tensors(), emptied.outputs) == ([], ())


def test_takers_count_every_input() -> None:
    add = operator(0, "Add", "x", "x")
    assert takers_of([add]) == {("x", 0): [add, add]}


def test_an_operator_takes_in_the_one_behind_it() -> None:
    graph = [operator(0, "Conv", "x", "w"), operator(1, "Mul", "y", "y"), operator(2, "Relu", "Conv")]
    mul, conv = fuse(graph, [Fusion(behind("Conv", "Relu"))])
    assert (mul.op_type, conv.op_type, conv.name, conv.members) == ("Mul", "Conv", "Relu", (0, 2))
    assert (conv.call.node, conv.call.text("_tail"), conv.call.fused) == ("net/Conv", "net/Relu", ("Relu",))
    assert conv.inputs == (("x", 0), ("w", 0))


def test_a_bias_joins_the_inputs_and_leaves_the_name() -> None:
    graph = [operator(0, "MatMul", "a", "b"), operator(1, "Add", "bias", "MatMul")]
    (product,) = fuse(graph, [Fusion(behind("MatMul", "Add"), renames=False)])
    assert (product.inputs, product.call.text("_tail")) == ((("a", 0), ("b", 0), ("bias", 0)), "")
    assert len(product.call.tensors()) == 3


@pytest.mark.parametrize(("inputs", "joined"), [(("x", "w"), 3), (("x", "w", "b"), 3)])
def test_a_folded_norm_leaves_a_bias_and_no_trace(inputs: tuple[str, ...], joined: int) -> None:
    graph = [operator(0, "Conv", *inputs), operator(1, "Norm", "Conv", "scale", "shift")]
    (conv,) = fuse(graph, [Fusion(behind("Conv", "Norm"), folds=True)])
    assert (len(conv.inputs), conv.call.fused, conv.members) == (joined, (), (0, 1))
    assert conv.inputs[2] == (("shift", 0) if len(inputs) == 2 else ("b", 0))


@pytest.mark.parametrize("results", [frozenset({("Conv", 0)}), frozenset()])
def test_what_somebody_else_takes_is_not_fused(results: frozenset[Place]) -> None:
    graph = [operator(0, "Conv", "x", "w"), operator(1, "Relu", "Conv")]
    graph += [] if results else [operator(2, "Mean", "Conv")]
    assert fuse(graph, [Fusion(behind("Conv", "Relu"))], results) == graph


def test_a_chain_grows_by_one_pair_per_pass() -> None:
    graph = [operator(n, "Abs", f"t{n - 1}", out=f"t{n}") for n in range(5)]
    fusion = Fusion(behind("Abs", "Abs"))
    assert [len(op.members) for op in fuse(graph, [fusion])] == [2, 2, 1]
    (whole,) = fuse(graph, [Fusion(behind("Abs", "Abs"), times=4)])
    assert whole.call.fused == ("Abs",) * 4


@define
class Formats(FormatPass):
    """Convolutions work on images, Relu returns what it is given; ``w`` is a constant."""

    def images(self, operator: GraphOperator) -> tuple[int, ...]:
        return (0,) if operator.op_type == "Conv" else ()

    def makes_image(self, operator: GraphOperator) -> bool:
        return True

    def follows(self, operator: GraphOperator) -> tuple[int, ...]:
        return (0,) if operator.op_type == "Relu" else ()

    def is_constant(self, place: Place) -> bool:
        return place[0] == "w"

    def channels_first(self, operator: GraphOperator) -> bool:
        return True

    def reads_shape(self, operator: GraphOperator) -> bool:
        return operator.op_type == "Shape"


def test_formats_change_where_a_plain_tensor_meets_a_blocked_one() -> None:
    graph = [
        operator(0, "Conv", "x", "w", out="a"),
        operator(1, "Conv", "x", "w", out="b"),
        operator(2, "Relu", "a"),
        operator(3, "Mean", "Relu"),
        operator(4, "Shape", "b"),
    ]
    first, second, relu, *others = (Formats().lay_out(graph).get(id(op)) for op in graph)
    assert first.before == ((0, PLAIN, BLOCKED),), "x is changed once, for both"
    assert (first.after, second.before, second.after) == ((), (), ())
    assert (relu.before, relu.after) == ((), ((1, BLOCKED, PLAIN),))
    assert others == [None, None]


def test_results_of_a_graph_are_plain() -> None:
    conv = operator(0, "Conv", "w", "w")
    changes = Formats(results=[("Conv", 0)]).lay_out([conv])[id(conv)]
    assert (changes.before, changes.after) == ((), ((0, BLOCKED, PLAIN),))
