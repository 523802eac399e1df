"""Parts of an operator of the vendor's become one operator, whatever TensorFlow's optimizer made of their names."""

from __future__ import annotations

from typing import Any

import pytest

from drynpu.kernels import RuleBook
from drynpu_tf.rules import PART, RESULTS, Part, compile_graph, result_text

SHAPE = (4, 6)
PREFIXES = ["", "call/"]


def mark(kind: str, scope: str, *inputs: str, results: str = "") -> dict[str, str]:
    """Return the attributes of a part."""
    part = {PART: Part(kind, scope, inputs).text}
    return {**part, RESULTS: results} if results else part


def kernels(graph: Any, book: RuleBook) -> dict[str, Any]:
    """Return the kernels of a graph by name."""
    compiled = compile_graph(graph.nodes)
    found = [k for node in graph.nodes for k in book.plan(compiled.signatures[node.name]).kernels]
    return {kernel.name: kernel for kernel in found}


def test_a_part_is_its_text() -> None:
    part = Part("Gelu", "layer/Gelu/", ("x:0", "layer/y:3"))
    assert Part.read(part.text) == part
    assert part.prefix("call_1/layer/Gelu/mul") == "call_1/"
    assert part.prefix("mul") == ""
    assert result_text([(0, 1), (2, 0)]) == "0:1 2:0"


@pytest.mark.parametrize("prefix", PREFIXES)
def test_inputs_and_results_stand_in_the_vendors_order(graph: Any, book: RuleBook, prefix: str) -> None:
    whole = mark("PReluGrad", "g/", "dy:0", "x:0", "weight:0")
    graph.add(f"{prefix}weight", "Placeholder", [], (6,))
    graph.add(f"{prefix}x", "Placeholder", [], SHAPE)
    graph.add(f"{prefix}dy", "Placeholder", [], SHAPE)
    graph.add(f"{prefix}g/low", "Mul", [f"{prefix}weight", f"{prefix}x"], SHAPE, **whole)
    graph.add(f"{prefix}g/sum", "Sum", [f"{prefix}g/low"], (6,), **whole, **{RESULTS: "0:1"})
    graph.add(f"{prefix}g/dx", "Mul", [f"{prefix}g/low", f"{prefix}dy"], SHAPE, **whole, **{RESULTS: "0:0"})
    graph.add("first", "_Retval", [f"{prefix}g/dx"])
    graph.add("second", "_Retval", [f"{prefix}g/sum"])
    kernel = kernels(graph, book)[f"{prefix}g"]
    assert kernel.op_type == "PReluGrad"
    assert [t.shape for t in kernel.inputs] == [SHAPE, SHAPE, (6,)]
    assert [t.shape for t in kernel.outputs] == [SHAPE, (6,)]


def test_an_argument_of_a_function_stands_where_no_name_is_found(graph: Any, book: RuleBook) -> None:
    whole = mark("PRelu", "p/", "argument:0", "weight:0", results="0:0")
    graph.add("before", "Placeholder", [], SHAPE)
    graph.add("call/weight", "Placeholder", [], (6,))
    graph.add("call/p/mul", "Mul", ["call/weight", "before"], SHAPE, **whole)
    graph.add("first", "_Retval", ["call/p/mul"])
    assert [t.shape for t in kernels(graph, book)["call/p"].inputs] == [SHAPE, (6,)]


def test_a_gradient_finds_what_another_copy_of_the_function_made(graph: Any, book: RuleBook) -> None:
    whole = mark("DropOutDoMask", "d/", "slope:0", "mask/Less:0", results="0:0")
    graph.add("forward/mask/Less", "Placeholder", [], (SHAPE, "bool"))
    graph.add("slope", "Placeholder", [], SHAPE)
    graph.add("zero", "Placeholder", [], SHAPE)
    graph.add("back/d/where", "SelectV2", ["forward/mask/Less", "slope", "zero"], SHAPE, **whole)
    graph.add("first", "_Retval", ["back/d/where"])
    (kernel,) = kernels(graph, book).values()
    assert [t.shape for t in kernel.inputs] == [SHAPE, (16,)]  # 24 bits in groups of 128, in bytes


def test_what_the_optimizer_writes_into_the_scope_belongs_to_it(graph: Any, book: RuleBook) -> None:
    whole = mark("Gelu", "g/", "x:0", results="0:0")
    graph.add("x", "Placeholder", [], SHAPE)
    graph.add("g/ArithmeticOptimizer/ReplaceMulWithSquare_mul", "Square", ["x"], SHAPE)
    graph.add("g/mul", "Mul", ["g/ArithmeticOptimizer/ReplaceMulWithSquare_mul", "x"], SHAPE, **whole)
    graph.add("first", "_Retval", ["g/mul"])
    graph.add("g_1/mul", "Mul", ["x", "x"], SHAPE)
    graph.add("second", "_Retval", ["g_1/mul"])
    assert set(kernels(graph, book)) == {"g", "g_1/mul"}


def test_the_result_is_what_others_take_where_the_last_part_was_moved(graph: Any, book: RuleBook) -> None:
    whole = mark("Gelu", "g/", "x:0")
    graph.add("x", "Placeholder", [], SHAPE)
    graph.add("g/pow", "Square", ["x"], SHAPE, **whole)
    graph.add("g/half", "Mul", ["g/pow", "x"], SHAPE, **whole)
    graph.add("next", "Neg", ["g/half"], SHAPE)
    graph.add("first", "_Retval", ["next"])
    found = kernels(graph, book)
    assert set(found) == {"g", "next"}
    assert [t.shape for t in found["g"].outputs] == [SHAPE]


def test_parts_are_no_fusion(graph: Any) -> None:
    whole = mark("Gelu", "g/", "x:0", results="0:0")
    graph.add("x", "Placeholder", [], SHAPE)
    graph.add("g/pow", "Square", ["x"], SHAPE, **mark("Gelu", "g/", "x:0"))
    graph.add("g/half", "Mul", ["g/pow", "x"], SHAPE, **whole)
    graph.add("first", "_Retval", ["g/half"])
    assert not compile_graph(graph.nodes).fusions
