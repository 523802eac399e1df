"""Work, types and shapes by hand; names; the way from Kineto to a signature."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from drynpu.kernels import DTYPES, KernelPlan, Placement, Signature, TaskType, TensorDesc
from drynpu_torch.rules import FALLBACKS, NO_KERNEL, RULES, build_rules, ge_dtype, is_transparent, signature_from_kineto


def tensor(*shape: int, dtype: str = "FLOAT") -> TensorDesc:
    return TensorDesc(shape, dtype)


def plan(name: str, *inputs: object, attributes: tuple[object, ...] = ()) -> KernelPlan:
    found = RULES[name](Signature(name, inputs, attributes))
    assert found is not None
    return found


@pytest.mark.parametrize("causal", [False, True])
def test_attention_by_hand(causal: bool) -> None:
    q, kv = tensor(2, 3, 6, 8), tensor(2, 3, 10, 8)
    pairs = 2 * 3 * (sum(range(1, 7)) if causal else 6 * 10)
    name = "aten::_scaled_dot_product_flash_attention_for_cpu"
    (forward,) = plan(name, q, kv, kv, attributes=(None, None, None, 0.0, causal)).kernels
    assert forward.cube_flops == 4 * pairs * 8
    assert forward.vector_ops == 4 * pairs
    assert forward.outputs[-1].shape == q.shape
    rest = (None,) * 6
    (backward,) = plan(f"{name}_backward", q, q, kv, kv, q, attributes=(*rest, 0.0, causal)).kernels
    assert backward.cube_flops == 10 * pairs * 8
    assert [t.shape for t in backward.outputs] == [q.shape, kv.shape, kv.shape]
    assert forward.task_type is backward.task_type is TaskType.MIX_AIC


def test_attention_with_dropout_draws_bits() -> None:
    x = tensor(1, 2, 128, 8)
    drawn, _ = plan(
        "aten::_scaled_dot_product_flash_attention_for_cpu", x, x, x, attributes=(None, None, None, 0.1, False)
    ).kernels
    assert (drawn.op_type, drawn.task_type) == ("DSAGenBitMask", TaskType.DSA)
    assert drawn.bytes_written == 2 * 128 * 128 // 8


def test_gathers_read_what_they_output() -> None:
    table, index = tensor(151936, 1024, dtype="DT_BF16"), tensor(1, 4096, dtype="INT64")
    (kernel,) = plan("aten::embedding", table, index).kernels
    assert kernel.bytes_written == 4096 * 1024 * 2
    assert kernel.bytes_read == kernel.bytes_written + 4096 * 8


@pytest.mark.parametrize(
    "key",
    [
        ((4,),),
        (None, (4, 1)),
        (None, (4, 1), (3,)),
        ((3,), None, (4, 1)),
        ((), (2,)),
        (None, None, (1,), (5,)),
        (None, (2, 3), None, ()),
    ],
)
def test_the_result_of_an_index_is_that_of_pytorch(key: tuple[tuple[int, ...] | None, ...]) -> None:
    x = torch.zeros(5, 6, 7, 8, dtype=torch.int64)
    where = [None if dims is None else torch.zeros(dims, dtype=torch.int64) for dims in key]
    recorded = tuple(None if dims is None else ("long int", dims) for dims in key)
    attributes = (None, recorded)
    (kernel,) = plan("aten::index", tensor(*x.shape, dtype="INT64"), None, attributes=attributes).kernels
    result = torch.ops.aten.index(x, where)
    assert [t.shape for t in kernel.outputs] == [tuple(result.shape)]
    assert kernel.bytes_written == 8 * result.numel()
    places = [dims for dims in key if dims is not None]
    assert [t.shape for t in kernel.inputs] == [x.shape, (4,), (1,), *places], "a genuine Index lists them so"
    assert kernel.bytes_read == kernel.bytes_written + 8 * sum(math.prod(dims) for dims in places)


@pytest.mark.parametrize("recorded", [None, (("bool", (5, 6)),), (("long int", (4,)), ("long int", (3,)))])
def test_what_an_index_selects_is_unknown_without_plain_indices(recorded: object) -> None:
    (kernel,) = plan("aten::index", tensor(5, 6), None, attributes=(None, recorded)).kernels
    assert kernel.outputs == ()
    assert kernel.bytes_read == kernel.bytes_written == 5 * 6 * 4


def test_fills_read_nothing() -> None:
    (kernel,) = plan("aten::zero_", tensor(1024)).kernels
    assert (kernel.bytes_read, kernel.bytes_written) == (0, 4096)
    assert kernel.inputs == kernel.outputs


def test_in_place_reads_and_writes() -> None:
    x = tensor(10, 10)
    (kernel,) = plan("aten::add_", x, x, None, attributes=(None, None, 1)).kernels
    assert (kernel.bytes_read, kernel.bytes_written) == (800, 400)
    (scaled,) = plan("aten::add_", x, x, None, attributes=(None, None, -0.1)).kernels
    assert scaled.op_type == "Axpy"


def test_mixed_types() -> None:
    floats, whole = tensor(4), tensor(4, dtype="INT64")
    cast, add = plan("aten::add", floats, whole, None, attributes=(None, None, 1)).kernels
    assert (cast.inputs[0].dtype, cast.outputs[0].dtype) == ("INT64", "FLOAT")
    assert [t.dtype for t in (*add.inputs, *add.outputs)] == ["FLOAT"] * 3
    (mixed,) = plan("aten::add", floats, tensor(4, dtype="DT_BF16"), None, attributes=(None, None, 1)).kernels
    assert [t.dtype for t in mixed.inputs] == ["FLOAT", "DT_BF16"]
    (half,) = plan("aten::mul", tensor(4, dtype="DT_BF16"), tensor(dtype="DOUBLE")).kernels
    assert [t.dtype for t in (*half.inputs, *half.outputs)] == ["DT_BF16"] * 3


def test_double_goes_to_the_ai_cpu() -> None:
    (kernel,) = plan("aten::reciprocal", tensor(dtype="DOUBLE")).kernels
    assert (kernel.task_type, kernel.name) == (TaskType.AI_CPU, "aclnnReciprocal_ReciprocalAiCpu_Reciprocal")


def test_dropout_outside_training_is_nothing() -> None:
    off = plan("aten::dropout", tensor(4), attributes=(None, 0.5, False))
    assert (off.kernels, off.claims) == ((), False)


def test_a_rule_without_answer() -> None:
    assert RULES["aten::mm"](Signature("aten::mm", (tensor(2, 3), tensor(4, 5)))) is None
    assert RULES["aten::add"](Signature("aten::add", (tensor(2, 3), tensor(4)))) is None


@pytest.mark.parametrize("name", sorted(RULES))
def test_every_rule_survives_an_empty_call(name: str) -> None:
    found = RULES[name](Signature(name, ()))
    assert found is None or found.kernels == ()


shapes = st.lists(st.integers(0, 5), max_size=4).map(tuple)
operands = st.builds(TensorDesc, shapes, st.sampled_from(sorted(DTYPES)))
arguments = st.one_of(operands, st.lists(operands, max_size=3).map(tuple), st.none())
values = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 5), st.floats(-2, 2), st.lists(st.integers(-2, 4), max_size=4).map(tuple)
)


@settings(max_examples=600, deadline=None, derandomize=True)
@given(st.sampled_from(sorted(RULES)), st.lists(st.tuples(arguments, values), max_size=11))
def test_no_call_breaks_a_rule(name: str, given_arguments: list[tuple[object, object]]) -> None:
    """Whatever the record says, a rule answers or declines; what it states is never negative."""
    signature = Signature(name, tuple(a for a, _ in given_arguments), tuple(v for _, v in given_arguments))
    found = RULES[name](signature)
    for kernel in found.kernels if found is not None else ():
        assert min(kernel.cube_flops, kernel.vector_ops, kernel.bytes_read, kernel.bytes_written) >= 0


def test_views_claim_and_composites_do_not() -> None:
    assert plan("aten::view", tensor(4)).claims
    assert not plan("aten::to", tensor(4)).claims
    assert RULES.keys() >= NO_KERNEL
    composites = "linear conv2d matmul layer_norm batch_norm cross_entropy_loss embedding_backward lstm gru mm_"
    assert not {f"aten::{name}" for name in composites.split()} & RULES.keys()


def test_tables_are_fresh() -> None:
    first = build_rules()
    first.clear()
    assert build_rules().keys() == RULES.keys()


@pytest.mark.parametrize(
    "name",
    [
        "autograd::engine::evaluate_function: AddmmBackward0",
        "AddmmBackward0",
        "ScaledDotProductFlashAttentionForCpuBackward0",
        "torch::autograd::AccumulateGrad",
        "Optimizer.step#AdamW.step",
        "Optimizer.zero_grad#SGD.zero_grad",
        "ProfilerStep#3",
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
    ],
)
def test_wrappers_are_transparent(name: str) -> None:
    assert is_transparent(name)
    fallback, *_ = FALLBACKS
    found = fallback(Signature(name, (tensor(4),)))
    assert found is not None
    assert (found.kernels, found.claims, found.mapped) == ((), False, True)


@pytest.mark.parametrize("name", ["aten::add", "aten::_softmax_backward_data", "my::opBackward0", "custom", "Backward"])
def test_operators_are_not_transparent(name: str) -> None:
    assert not is_transparent(name)
    assert FALLBACKS[0](Signature(name, (tensor(4),))) is None


@pytest.mark.parametrize(
    ("cpp", "name"),
    [
        ("float", "FLOAT"),
        ("double", "DOUBLE"),
        ("long int", "INT64"),
        ("int", "INT32"),
        ("short int", "INT16"),
        ("signed char", "INT8"),
        ("unsigned char", "UINT8"),
        ("bool", "BOOL"),
        ("c10::Half", "FLOAT16"),
        ("c10::BFloat16", "DT_BF16"),
        ("c10::complex<float>", "COMPLEX64"),
        ("c10::complex<double>", "COMPLEX128"),
        ("c10::Float8_e5m2", None),
        ("Scalar", None),
        ("", None),
    ],
)
def test_dtype_names(cpp: str, name: str | None) -> None:
    assert ge_dtype(cpp) == name
    assert name is None or name in DTYPES


def test_signature_tells_tensors_from_values() -> None:
    signature = signature_from_kineto(
        "aten::x",
        [[2, 3, 4], [], [], [[2], []], [], [], [5]],
        ["c10::BFloat16", "double", "Scalar", "TensorList", "ScalarList", "", "c10::Float8_e5m2"],
        [None, None, 0.5, None, [1, [2, 3]], None, None],
        Placement.HOST,
    )
    assert signature.inputs == (
        TensorDesc((2, 3, 4), "DT_BF16", "NCL"),
        TensorDesc((), "DOUBLE"),
        None,
        (TensorDesc((2,), "DT_BF16"), TensorDesc((), "DT_BF16")),
        None,
        None,
        TensorDesc((5,), "UNDEFINED"),
    )
    assert signature.attributes == (None, None, 0.5, None, (1, (2, 3)), None, None)
    assert signature.placement is Placement.HOST
    assert hash(signature) == hash(signature)


def test_lists_alone_are_float() -> None:
    signature = signature_from_kineto("aten::_foreach_sqrt", [[[4], [5]]], ["TensorList"], [None])
    assert signature.inputs == ((TensorDesc((4,), "FLOAT"), TensorDesc((5,), "FLOAT")),)
