from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu.kernels import (
    Copy,
    KernelPlan,
    KernelSpec,
    Placement,
    RuleBook,
    Signature,
    TaskType,
    TensorDesc,
    broadcast_shape,
    build_rule_book,
    unmapped_plan,
)

X = TensorDesc((4, 8), "FLOAT")
ROW = TensorDesc((8,), "FLOAT")


def plan_named(api: str) -> KernelPlan:
    return KernelPlan(api=api, kernels=(KernelSpec(name=api, op_type=api, task_type=TaskType.AI_VECTOR_CORE),))


def sig(name: str, *inputs: TensorDesc | tuple[TensorDesc, ...] | None, **more: object) -> Signature:
    return Signature(name, inputs, **more)  # type: ignore[arg-type]


def test_the_rule_of_the_exact_name_answers() -> None:
    book = RuleBook(
        {"aten::add": lambda s: plan_named("aclnnAdd"), "aten::add_": lambda s: plan_named("aclnnInplaceAdd")}
    )
    assert book.plan(sig("aten::add", X)).api == "aclnnAdd"
    assert book.plan(sig("aten::add_", X)).api == "aclnnInplaceAdd"


def test_fallbacks_are_asked_in_order_when_the_rule_passes() -> None:
    asked: list[str] = []

    def passing(s: Signature) -> None:
        asked.append(s.name)

    book = RuleBook(
        {"aten::foo": passing},
        fallbacks=(passing, lambda s: plan_named("second") if s.name == "aten::foo" else None),
    )
    assert book.plan(sig("aten::foo", X)).api == "second"
    assert asked == ["aten::foo", "aten::foo"]
    assert book.plan(sig("aten::bar", X)).mapped is False


def test_each_distinct_signature_is_asked_once() -> None:
    calls: list[Signature] = []

    def rule(s: Signature) -> KernelPlan:
        calls.append(s)
        return plan_named("a")

    book = RuleBook({"aten::add": rule})
    first = book.plan(sig("aten::add", X))
    assert book.plan(sig("aten::add", TensorDesc((4, 8), "FLOAT"))) is first
    book.plan(sig("aten::add", ROW))
    assert len(calls) == 2


def test_attributes_that_python_takes_for_equal_are_distinct() -> None:
    book = RuleBook({"aten::add": lambda s: plan_named(repr(s.attributes))})
    apis = {book.plan(sig("aten::add", X, attributes=(value,))).api for value in (1, 1.0, True)}
    assert len(apis) == 3


def test_attributes_that_cannot_be_hashed_are_fine() -> None:
    book = RuleBook({"aten::pad": lambda s: plan_named("p")})
    assert book.plan(sig("aten::pad", X, attributes=([1, 2],))) is book.plan(sig("aten::pad", X, attributes=([1, 2],)))


def test_host_operators_launch_nothing() -> None:
    book = RuleBook({"aten::add": lambda s: plan_named("a")})
    plan = book.plan(sig("aten::add", X, placement=Placement.HOST))
    assert (plan.kernels, plan.claims, plan.mapped) == ((), True, True)


def test_views_launch_nothing() -> None:
    plan = RuleBook({}, no_kernel={"aten::view"}).plan(sig("aten::view", X))
    assert (plan.kernels, plan.mapped) == ((), True)


def test_copy_to_the_device() -> None:
    plan = RuleBook({"aten::copy_": lambda s: plan_named("wrong")}).plan(
        sig("aten::copy_", TensorDesc((4, 8), "DT_BF16"), X, placement=Placement.TO_DEVICE)
    )
    (kernel,) = plan.kernels
    assert (plan.api, plan.synchronizes) == ("aclrtMemcpyAsync", False)
    assert (kernel.task_type, kernel.copy) == (TaskType.MEMCPY, Copy.HOST_TO_DEVICE)
    assert kernel.bytes_read == kernel.bytes_written == X.size_bytes  # the source's bytes


def test_copy_to_the_host_waits() -> None:
    plan = RuleBook({}).plan(sig("aten::_to_copy", X, placement=Placement.TO_HOST))
    assert plan.synchronizes
    assert plan.kernels[0].copy is Copy.DEVICE_TO_HOST
    assert plan.kernels[0].bytes_read == 128


def test_copy_without_a_tensor_still_goes_to_the_host() -> None:
    plan = RuleBook({}).plan(sig("aten::thing", None, placement=Placement.TO_HOST))
    assert plan.kernels[0].bytes_read == 0


def test_later_rule_sets_win() -> None:
    book = build_rule_book(
        {"a": lambda s: plan_named("1"), "b": lambda s: plan_named("2")}, {"a": lambda s: plan_named("3")}
    )
    assert [book.plan(sig(n)).api for n in "ab"] == ["3", "2"]


@pytest.mark.parametrize(
    ("name", "camel"),
    [
        ("aten::foo_bar", "FooBar"),
        ("aten::_foo_bar_", "FooBar"),
        ("aten::relu6", "Relu6"),
        ("torchvision::nms", "Nms"),
        ("my::deep::op_a.out", "OpAOut"),
        ("MyFunctionBackward", "MyFunctionBackward"),
        ("aten::_", "Unnamed"),
    ],
)
def test_names_of_the_unmapped_kernel(name: str, camel: str) -> None:
    plan = unmapped_plan(sig(name, X))
    (kernel,) = plan.kernels
    assert plan.api == f"aclnn{camel}"
    assert kernel.op_type == camel
    assert kernel.name.startswith(f"aclnn{camel}_")
    assert kernel.name.endswith("_Unmapped")


def test_unmapped_kernel_reads_everything_and_writes_the_broadcast() -> None:
    plan = RuleBook({}).plan(sig("aten::foo", X, None, (ROW, ROW), attributes=(None, 3, None)))
    (kernel,) = plan.kernels
    assert (plan.mapped, kernel.mapped, plan.claims) == (False, False, False)
    assert kernel.task_type is TaskType.AI_VECTOR_CORE
    assert kernel.inputs == (X, ROW, ROW)
    assert kernel.outputs == (X,)
    assert (kernel.bytes_read, kernel.bytes_written, kernel.vector_ops) == (128 + 32 + 32, 128, 32)


@pytest.mark.parametrize("inputs", [(), (None,), (X, TensorDesc((5,), "FLOAT"))])
def test_unmapped_kernel_is_silent_about_outputs_it_cannot_know(inputs: tuple[TensorDesc | None, ...]) -> None:
    (kernel,) = unmapped_plan(sig("aten::foo", *inputs)).kernels
    assert kernel.outputs == ()
    assert kernel.bytes_written == 0


@pytest.mark.parametrize(
    ("shapes", "joined"),
    [
        ([], ()),
        ([(3,), ()], (3,)),
        ([(2, 1), (1, 5)], (2, 5)),
        ([(4, 1, 3), (2, 1)], (4, 2, 3)),
        ([(0,), (1,)], (0,)),
        ([(2,), (3,)], None),
    ],
)
def test_broadcast(shapes: list[tuple[int, ...]], joined: tuple[int, ...] | None) -> None:
    assert broadcast_shape(shapes) == joined


@given(st.lists(st.lists(st.sampled_from([1, 3]), max_size=4).map(tuple), min_size=1, max_size=4))
def test_broadcast_agrees_with_numpy(shapes: list[tuple[int, ...]]) -> None:
    assert broadcast_shape(shapes) == np.broadcast_shapes(*shapes)
