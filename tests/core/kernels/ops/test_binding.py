"""How a framework's spelling of an operator is read, and what the table of names says."""

from __future__ import annotations

import re

import pytest

from drynpu.kernels import Binding, KernelPlan, NodeCall, OperatorCall, Signature, TensorDesc, bind, node_signature, ops

A, B = TensorDesc((2, 3), "FLOAT"), TensorDesc((3, 5), "FLOAT")


def test_a_spelling_names_api_kernel_and_arguments() -> None:
    found = Binding.from_text("aclnnMm:MatMulCommon/MatMulV2(a! b turn_a=transpose_a)")
    assert (found.api, found.function, found.kernel) == ("aclnnMm", "MatMulCommon", "MatMulV2")
    assert found.arguments == ("a", "b", "turn_a")
    assert (dict(found.names), found.required) == ({"turn_a": "transpose_a"}, ("a",))
    assert Binding.from_text("(a)").arguments == ("a",)


def test_an_argument_may_say_where_it_is() -> None:
    arguments = Binding.from_text("f(a b@3 c=name d!@6=other)").arguments
    assert [arguments.index(name) for name in "abcd"] == [0, 3, 4, 6]
    binding = Binding.from_text("f(x@1 y@4)")
    call = OperatorCall(Signature("f", (A, B, A, A, A), (None, None, None, None, 7)), binding)
    assert (call.tensor("x"), call.whole("y", 0)) == (B, 7)


@pytest.mark.parametrize(("text", "word"), [("f(a b@0)", "b@0"), ("f(a . b)", "."), ("f(a=)", "a="), ("f(a@x)", "a@x")])
def test_an_argument_that_cannot_be_read_is_refused_by_name(text: str, word: str) -> None:
    with pytest.raises(ValueError, match=f"argument '{re.escape(word)}' of the operator"):
        Binding.from_text(text)


@pytest.mark.parametrize("text", ["", "MatMul", "a:b:c(x)", "f(x", "f(x) y"])
def test_what_is_no_spelling_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="not a spelling of an operator"):
        Binding.from_text(text)


def test_arguments_are_found_by_position_and_by_the_framework_s_name() -> None:
    binding = Binding.from_text("f(a b turn=transpose_x)")
    by_position = OperatorCall(Signature("f", (A, B, None), (None, None, True)), binding)
    assert (by_position.tensor("a"), by_position.tensor("b")) == (A, B)
    assert (by_position.flag("turn"), by_position.tensor("turn"), by_position.tensor("other")) == (True, None, None)
    by_name = NodeCall(
        node_signature("f", [A, B], [], {"transpose_x": True, "k": 3, "s": [1, 2], "w": "SAME"}), binding
    )
    assert by_name.flag("turn")
    assert (by_name.whole("k", 0), by_name.integers("s"), by_name.text("w")) == (3, (1, 2), "SAME")
    assert (by_name.known_flag("absent"), by_name.integers("k"), by_name.number("k", 0.5)) == (None, (3,), 3)


def test_a_call_without_a_required_tensor_has_no_plan() -> None:
    def operator(call: OperatorCall) -> KernelPlan | None:
        return call.plan()

    assert bind(operator, "f(a b!)")(Signature("f", (A, None))) is None
    assert bind(operator, "f(a! b)")(Signature("f", (A, None))) == KernelPlan()


@pytest.mark.parametrize("framework", ["torch", "tf", "mindspore", "onnx"])
def test_every_framework_multiplies_matrices_by_the_same_kernel(framework: str) -> None:
    rules = ops.rules_of(framework, NodeCall if framework in {"tf", "onnx"} else OperatorCall)
    name = "aten::bmm" if framework == "torch" else "MatMul"
    out = [TensorDesc((2, 5), "FLOAT")]
    plan = rules[name](
        node_signature(name, [A, B], out, {}) if framework in {"tf", "onnx"} else Signature(name, (A, B))
    )
    assert plan is not None
    (kernel,) = plan.kernels
    assert (kernel.op_type, kernel.cube_flops) == ("MatMulV2", 2 * 2 * 3 * 5)
    assert (kernel.bytes_read, kernel.bytes_written) == (4 * (6 + 15), 4 * 10)


def test_a_framework_without_a_table_has_no_rules() -> None:
    assert ops.rules_of("jax") == {}
