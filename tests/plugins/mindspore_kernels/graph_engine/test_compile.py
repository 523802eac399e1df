"""What the graph engine makes of kernel graphs of a few nodes, and of their launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from attrs import evolve

from drynpu.kernels import Call, Operators, TensorDesc, build_rule_book
from drynpu.kernels.ops import for_unified_cores, with_constants, without_constants
from drynpu_mindspore.capture import GraphNode, KernelGraph, find_runs, node_signature
from drynpu_mindspore.capture._wiring import GraphParameter
from drynpu_mindspore.rules import RULES
from drynpu_mindspore_kernels.graph_engine import CompiledGraph, WholeGraphs, compile_graph

IMAGE, WEIGHT, CHANNEL, MATRIX = (2, 16, 8, 8), (16, 16, 3, 3), (16,), (32, 64)
NUMBER = "Tensor(shape=[], dtype=Float32, value=0.5)"
TRAINING = {"is_training": True}


class Graph:
    """A kernel graph written down node by node; names of parameters begin with ``%para``."""

    def __init__(self, dtype: str = "FLOAT") -> None:
        self.dtype = dtype
        self.parameters: list[GraphParameter] = []
        self.nodes: list[GraphNode] = []
        self._tensors: dict[str, tuple[TensorDesc, ...]] = {"": (), NUMBER: (TensorDesc((), dtype),)}

    def parameter(self, name: str, *shape: int) -> str:
        label, tensor = f"%para_{name}", TensorDesc(shape, self.dtype)
        self.parameters.append(GraphParameter(label, tensor, ""))
        self._tensors[label] = (tensor,)
        return label

    def add(
        self, primitive: str, operands: Sequence[str], *shapes: Any, arguments: Sequence[Any] = (), **attrs: Any
    ) -> str:
        label = f"%{len(self.nodes)}"
        outputs = tuple(TensorDesc(shape, self.dtype) for shape in shapes)
        inputs = [t for text in operands for t in (self._tensors[text] or (None,))]
        self.nodes.append(
            GraphNode(
                name=f"Default/net/{primitive}-op{len(self.nodes)}",
                primitive=primitive,
                inputs=(*inputs, *(None for _ in arguments)),
                outputs=outputs,
                attrs=tuple(sorted(attrs.items())),
                arguments=(*(None for _ in inputs), *arguments),
                label=label,
                operands=(*operands, *("" for _ in arguments)),
            )
        )
        self._tensors[label] = outputs
        return label

    def product(self, *, bias: bool = True, shape: tuple[int, int] = MATRIX) -> str:
        """Add a product of matrices, with a bias behind it."""
        rows, columns = shape
        number = len(self.nodes)
        a, b = self.parameter(f"a{number}", rows, 16), self.parameter(f"b{number}", columns, 16)
        out = self.add("MatMul", [a, b], shape, arguments=(False, True))
        return self.add("BiasAdd", [out, self.parameter(f"c{number}", columns)], shape, arguments=(0,)) if bias else out

    def convolution(self, x: str = "") -> str:
        number = len(self.nodes)
        x = x or self.parameter(f"x{number}", *IMAGE)
        return self.add("Conv2D", [x, self.parameter(f"w{number}", *WEIGHT)], IMAGE, kernel_size=(3, 3))

    def norm(self, x: str) -> str:
        """Add a batch norm of a training, and return its image."""
        statistics = [self.parameter(f"{name}{len(self.nodes)}", *CHANNEL) for name in ("g", "b", "m", "v")]
        whole = self.add("BatchNorm", [x, *statistics], IMAGE, *[CHANNEL] * 4, arguments=(True, 1e-5, 0.1, 0))
        self._tensors[f"%{len(self.nodes)}"] = ()
        item = self.add("TupleGetItem", [whole], IMAGE)
        node = self.nodes[-1]
        self.nodes[-1] = GraphNode(
            node.name, node.primitive, (None, None), node.outputs, (), (None, 0), item, (whole, "")
        )
        return item

    def compiled(self, *results: str, split: bool = True) -> CompiledGraph:
        return compile_graph(self.graph(*results), {}, split=split)

    def graph(self, *results: str) -> KernelGraph:
        return KernelGraph(tuple(self.parameters), tuple(self.nodes), results or (f"%{len(self.nodes) - 1}",))


@pytest.fixture
def graph() -> Graph:
    return Graph()


BOOK = build_rule_book(RULES)


def kernels(compiled: CompiledGraph) -> list[Any]:
    return [kernel for _, call in sorted(compiled.calls.items()) for kernel in BOOK.plan(call).kernels]


def types(compiled: CompiledGraph) -> list[str]:
    return [kernel.op_type for kernel in kernels(compiled)]


@pytest.mark.parametrize("split", [True, False])
def test_a_bias_goes_into_the_product_which_keeps_its_name(graph: Graph, split: bool) -> None:
    graph.product()
    compiled = graph.compiled(split=split)
    (kernel,) = kernels(compiled)
    assert (kernel.op_type, kernel.name) == ("MatMulV2", "Default/net/MatMul-op0")
    assert [tensor.shape for tensor in kernel.inputs] == [(32, 16), (64, 16), (64,)]
    assert kernel.cube_flops == 2 * 32 * 16 * 64
    (fusion,) = compiled.fusions
    assert (fusion.name, fusion.original_ops) == (kernel.name, ("Default/net/MatMul-op0", "Default/net/BiasAdd-op1"))
    assert (fusion.input_bytes, fusion.output_bytes) == (4 * (32 * 16 + 64 * 16 + 64), 4 * 32 * 64)


@pytest.mark.parametrize("activation", ["ReLU", "Tanh", "GeLU"])
def test_activations_go_into_products_on_unified_cores_alone(graph: Graph, activation: str) -> None:
    graph.add(activation, [graph.product()], MATRIX)
    names = {"ReLU": "Relu", "GeLU": "Gelu"}
    assert types(graph.compiled()) == ["MatMulV2", names.get(activation, activation)]
    (kernel,) = kernels(graph.compiled(split=False))
    assert (kernel.op_type, kernel.name) == ("MatMulV2", f"Default/net/MatMul-op0Default/net/{activation}-op2")


def test_what_is_returned_or_taken_twice_is_not_fused_away(graph: Graph) -> None:
    out = graph.product(bias=False)
    graph.add("ReLU", [out], MATRIX)
    assert types(graph.compiled(split=False)) == ["MatMulV2"]
    assert types(graph.compiled(out, "%1", split=False)) == ["MatMulV2", "Relu"]
    graph.add("ReduceSum", [out], (64,), arguments=((0,), False, False))
    assert types(graph.compiled("%1", "%2", split=False)) == ["MatMulV2", "Relu", "ReduceSum"]


@pytest.mark.parametrize("split", [True, False])
def test_relu_goes_into_a_convolution(graph: Graph, split: bool) -> None:
    biased = graph.add("BiasAdd", [graph.convolution(), graph.parameter("bias", *CHANNEL)], IMAGE, arguments=(0,))
    graph.add("ReLU", [biased], IMAGE)
    enter, conv, leave = kernels(graph.compiled(split=split))
    assert (enter.op_type, conv.op_type, leave.op_type) == ("TransData", "Conv2D", "TransData")
    assert (enter.name, leave.name) == ("trans_TransData_0", "trans_TransData_1")
    assert conv.name == "Default/net/Conv2D-op0Default/net/ReLU-op2"
    assert [tensor.format for tensor in conv.inputs] == ["NC1HWC0", "FRACTAL_Z", "ND"]
    assert conv.cube_flops == 2 * (2 * 16 * 8 * 8) * (16 * 3 * 3)


def test_formats_change_at_the_borders_only(graph: Graph) -> None:
    out = graph.add("ReLU", [graph.norm(graph.convolution())], IMAGE)
    out = graph.add("Add", [graph.convolution(out), out], IMAGE)
    graph.add("Reshape", [out], (2, 1024))
    found = kernels(graph.compiled())
    assert [kernel.op_type for kernel in found] == [
        *("TransData", "Conv2D", "BNTrainingReduce", "BNTrainingUpdate", "Relu", "Conv2D", "Add", "TransData")
    ]
    assert {tensor.format for kernel in found[1:-1] for tensor in kernel.inputs[:1]} == {"NC1HWC0"}
    assert [tensor.format for tensor in found[-1].outputs] == ["NCHW"]


def test_relu_behind_a_norm_goes_into_its_second_half_on_unified_cores(graph: Graph) -> None:
    graph.add("ReLU", [graph.norm(graph.convolution())], IMAGE)
    found = kernels(graph.compiled(split=False))
    names = [(kernel.op_type, kernel.name) for kernel in found if kernel.op_type.startswith("BN")]
    assert names == [
        ("BNTrainingReduce", "Default/net/BatchNorm-op1_Reduce"),
        ("BNTrainingUpdate", "Default/net/BatchNorm-op1_UpdateDefault/net/ReLU-op3"),
    ]


def test_a_convolution_of_16_bits_makes_the_sums_of_the_norm() -> None:
    graph = Graph("FLOAT16")
    graph.norm(graph.convolution())
    found = [kernel for kernel in kernels(graph.compiled()) if kernel.op_type != "TransData"]
    assert [kernel.op_type for kernel in found] == ["Conv2D", "BNTrainingUpdate"]
    assert found[0].name == "Default/net/Conv2D-op0Default/net/BatchNorm-op1_Reduce"


def pooled(graph: Graph) -> None:
    x, half = graph.parameter("x", *IMAGE), (2, 16, 4, 4)
    window: dict[str, Any] = {"kernel_size": (1, 1, 2, 2), "strides": (1, 1, 2, 2)}
    y = graph.add("MaxPool", [x], half, **window)
    graph.add("MaxPoolGrad", [x, y, graph.parameter("dy", *half)], IMAGE, **window)


def test_the_first_generation_keeps_the_places_of_maxima_whose_gradient_is_taken(graph: Graph) -> None:
    pooled(graph)
    pool, gradient = (k for k in kernels(graph.compiled(split=False)) if k.op_type != "TransData")
    assert (pool.op_type, gradient.op_type) == ("MaxPoolWithArgmax", "MaxPoolGradWithArgmax")
    # Four places of a window, and rows of 16 for the 16 results and one row more.
    assert (pool.outputs[1].shape, pool.outputs[1].dtype) == ((2, 1, 4, 2, 16), "UINT16")
    assert gradient.inputs[2] == pool.outputs[1]
    assert [t.shape for t in gradient.inputs[:2]] == [(2, 2, 8, 8, 8), (2, 2, 4, 4, 8)]


def test_later_chips_and_pooling_without_a_gradient_do_not(graph: Graph) -> None:
    pooled(graph)
    assert [name for name in types(graph.compiled()) if name != "TransData"] == ["MaxPool", "MaxPoolGrad"]
    alone = Graph()
    alone.add("MaxPool", [alone.parameter("x", *IMAGE)], (2, 16, 4, 4), kernel_size=(1, 1, 2, 2))
    assert "MaxPool" in types(alone.compiled(split=False))


def test_a_gelu_written_with_tanh_is_one_kernel(graph: Graph) -> None:
    x = graph.product()
    bent = graph.add("Mul", [graph.add("Pow", [x, NUMBER], MATRIX), NUMBER], MATRIX)
    inner = graph.add("Mul", [graph.add("Add", [x, bent], MATRIX), NUMBER], MATRIX)
    outer = graph.add("Add", [graph.add("Tanh", [inner], MATRIX), NUMBER], MATRIX)
    last = graph.add("Mul", [x, graph.add("Mul", [outer, NUMBER], MATRIX)], MATRIX)
    graph.add("MatMul", [last, graph.parameter("w", 8, 64)], (32, 8), arguments=(False, True))
    compiled = graph.compiled()
    assert types(compiled) == ["MatMulV2", "Gelu", "MatMulV2"]
    (gelu,) = (kernel for kernel in kernels(compiled) if kernel.op_type == "Gelu")
    assert gelu.name == "Default/net/Pow-op2/Gelu"
    assert len(compiled.fusions[1].original_ops) == 8


def test_unified_cores_join_chains_and_part_the_gradient_of_a_layer_norm(graph: Graph) -> None:
    x = graph.parameter("x", *MATRIX)
    first = graph.add("Mul", [x, x], MATRIX)
    graph.add("Sqrt", [graph.add("Add", [first, x], MATRIX)], MATRIX)
    (chain,) = kernels(graph.compiled(split=False))
    assert (chain.op_type, len(chain.inputs)) == ("Mul", 3)
    assert types(graph.compiled()) == ["Mul", "Add", "Sqrt"]
    norm = Graph()
    tensors = [
        norm.parameter(name, *shape)
        for name, shape in zip("xdvmg", [MATRIX, MATRIX, (32, 1), (32, 1), (64,)], strict=True)
    ]
    norm.add("LayerNormGrad", tensors, MATRIX, (64,), (64,))
    parts = kernels(norm.compiled(split=False))
    assert [part.op_type for part in parts] == ["LayerNormXBackpropV2", "LayerNormBetaGammaBackpropV2"]
    assert [t.shape for t in parts[1].outputs] == [(64,), (64,)]
    assert types(norm.compiled()) == ["LayerNormGradV3"]


def test_the_momentum_of_a_parameter_is_one_kernel(graph: Graph) -> None:
    state = [graph.parameter(name, *MATRIX) for name in ("w", "v")]
    rates = [graph.parameter(name) for name in ("lr", "m")]
    graph.add("ApplyMomentum", [*state, rates[0], graph.parameter("g", *MATRIX), rates[1]], MATRIX)
    (kernel,) = kernels(graph.compiled())
    assert (kernel.op_type, kernel.name) == ("ApplyMomentum", "Default/net/ApplyMomentum-op0")


def test_types_have_constants_compiled_in_where_the_library_has_such_kernels(graph: Graph) -> None:
    x = graph.parameter("x", *MATRIX)
    graph.add("ReduceSum", [x], (64,), arguments=((0,), False, False))
    (call,) = graph.compiled().calls.values()
    (compiled_in,) = with_constants(BOOK.plan)(call).kernels
    assert (compiled_in.op_type, compiled_in.name) == ("ReduceSumD", "Default/net/ReduceSum-op0")
    assert [kernel.op_type for kernel in without_constants(BOOK.plan)(call).kernels] == ["ReduceSum"]
    large = Graph()
    large.product(bias=False, shape=(8192, 8192))
    (call,) = large.compiled().calls.values()
    assert [kernel.op_type for kernel in BOOK.plan(call).kernels] == ["MatMulV3"]
    assert [kernel.op_type for kernel in for_unified_cores(BOOK.plan)(call).kernels] == ["MatMulV2"]


def launches(graph: Graph, *nodes: int, begin_ns: int = 0) -> list[tuple[str, Call]]:
    """Return launches of nodes one after the other, each under the name of its node."""
    starts = [begin_ns + 10 * turn for turn in range(len(nodes))]
    called = [(graph.nodes[number], start) for number, start in zip(nodes, starts, strict=True)]
    return [(node.name, Call(node_signature(node), start, start + 5, 1)) for node, start in called]


def table(rows: Sequence[tuple[str, Call]]) -> Operators:
    names = tuple(dict.fromkeys(name for name, _ in rows))
    number = np.array([names.index(name) for name, _ in rows], np.int32)
    return evolve(Operators.from_calls(call for _, call in rows), names=names, name=number)


def shown(operators: Operators) -> list[list[str]]:
    """Return the names of the kernels of each launch."""
    plans = [BOOK.plan(operators.signatures[call]) for call in operators.signature]
    return [[kernel.name for kernel in plan.kernels] for plan in plans]


def test_the_fused_kernel_stands_where_the_last_of_its_nodes_ran(graph: Graph) -> None:
    graph.product()
    graph.add("ReLU", [graph.product()], MATRIX)
    whole = WholeGraphs(split=True)
    # Nodes that do not depend on each other run in any order.
    rows = [*launches(graph, 0, 2, 1, 3, 4), *launches(graph, 2, 0, 3, 4, 1, begin_ns=100)]
    graphs, operators = [graph.graph("%1", "%4")], table(rows)
    sunk = whole.sink(graphs, find_runs(graphs, operators), operators)
    first, second, relu = "Default/net/MatMul-op0", "Default/net/MatMul-op2", "Default/net/ReLU-op4"
    assert shown(sunk.operators) == [[], [], [first], [second], [relu], [], [], [second], [relu], [first]]
    assert [fusion.name for fusion in sunk.fusions[0]] == [first, second]
    assert (sunk.notes, len(sunk.operators.texts)) == ((), len(sunk.operators.signatures))


def test_runs_that_lack_nodes_and_launches_of_no_graph_stay_as_they_are_and_are_counted(graph: Graph) -> None:
    graph.product()
    other = Graph()
    other.add("Exp", [other.parameter("x", *MATRIX)], MATRIX)
    rows = [*launches(graph, 0, 1), *launches(graph, 0, begin_ns=100), *launches(other, 0, begin_ns=200)]
    graphs, operators = [graph.graph()], table(rows)
    sunk = WholeGraphs(split=True).sink(graphs, find_runs(graphs, operators), operators)
    assert shown(sunk.operators) == [[], ["Default/net/MatMul-op0"], ["MatMulV2"], ["Exp"]]
    assert sunk.notes == (
        "at jit level O2 launches outside of saved graphs are shown kernel by kernel, as at O0: Exp (1), MatMul (1)",
    )
