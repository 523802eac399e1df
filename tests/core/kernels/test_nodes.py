"""Nodes of graphs: what a signature says, and the kernels that bear the node's name."""

from __future__ import annotations

import pytest

from drynpu.kernels import (
    NO_DATA,
    KernelPlan,
    NodeCall,
    OperatorCall,
    Rule,
    Signature,
    TaskType,
    TensorDesc,
    bind,
    framed,
    join_rules,
    launches_nothing,
    node_signature,
)

X = TensorDesc((4, 8), "FLOAT")
TEXT = TensorDesc((4,), NO_DATA)


def call(**attrs: object) -> NodeCall:
    return NodeCall(node_signature("MatMul", [X, None, TEXT], [X, None], attrs, node="net/fc"))


def test_a_call_tells_what_its_signature_was_made_of() -> None:
    found = call(flag=True, sizes=[1, 2], names=["a", "b"], way=b"NCHW", count=3, other=object)
    assert (found.node, found.outputs) == ("net/fc", (X,))
    assert (found.tensor(0), found.tensor(1), found.tensor(2)) == (X, None, None)
    assert found.tensors() == [X]
    assert (found.flag("flag"), found.flag("count"), found.flag("none")) == (True, False, False)
    assert (found.integers("sizes"), found.texts("names")) == ((1, 2), ("a", "b"))
    assert (found.text("way"), found.text("none", "NHWC")) == ("NCHW", "NHWC")
    assert (found.whole("count", 1), found.whole("flag", 1)) == (3, 1)
    assert hash(found.signature), "lists and the like are made hashable"


def test_of_another_signature_only_inputs_are_known() -> None:
    found = NodeCall(Signature("MatMul", (X,)))
    assert (found.node, found.outputs, found.attrs, found.output()) == ("", (), {}, None)
    assert found.tensor(0) == X


def test_kernels_bear_the_name_of_their_node_and_of_what_was_fused() -> None:
    fused = call(_tail="net/relu")
    assert fused.kernel("Add", [X, TEXT], [X]).name == "net/fcnet/relu"
    assert fused.kernel("Add", [X], [X], suffix="_1", tail=False).name == "net/fc_1"
    assert fused.kernel("Add", [X, TEXT], [X]).inputs == (X,)
    unnamed = NodeCall(node_signature("Add", [X], [X], {}))
    assert unnamed.kernel("AddV2", [X], [X]).name == "AddV2"


@pytest.mark.parametrize(("dtype", "task"), [("FLOAT", TaskType.AI_CORE), ("DOUBLE", TaskType.AI_CPU)])
def test_double_goes_to_the_ai_cpu(dtype: str, task: TaskType) -> None:
    x = TensorDesc((4, 8), dtype)
    assert call().cube_kernel("MatMulV2", [x], [x], flops=2, tiles=1, hf32=True).task_type is task


def test_changes_of_the_format_stand_around_a_node_s_kernels() -> None:
    def add(of: OperatorCall) -> KernelPlan:
        return of.plan(of.kernel("Add", [X], [X]))

    rule = framed(bind(add, "Add(x)", NodeCall))
    made = rule(node_signature("Add", [X], [X], {"_before": ((3, X, X),), "_after": ((4, X, X),)}, node="n"))
    assert made is not None
    assert [kernel.name for kernel in made.kernels] == ["trans_TransData_3", "n", "trans_TransData_4"]


def test_an_operator_has_one_rule() -> None:
    rules: dict[str, Rule] = {"Add": launches_nothing}
    assert join_rules([rules, {"Sub": launches_nothing}]).keys() == {"Add", "Sub"}
    with pytest.raises(ValueError, match="more than one rule for Add"):
        join_rules([rules, rules])
