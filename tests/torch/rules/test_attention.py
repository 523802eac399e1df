"""Scaled dot product attention as op-plugin's ScaledDotProductAttentionKernelNpuOpApi.cpp launches it."""

from __future__ import annotations

import pytest

from drynpu.kernels import KernelPlan, Signature, TensorDesc
from drynpu_torch.rules import RULES

OPERATOR = "aten::scaled_dot_product_attention"
QUERY, KEY = TensorDesc((2, 4, 6, 8), "DT_BF16", "NCHW"), TensorDesc((2, 4, 10, 8), "DT_BF16", "NCHW")


def _plan(
    query: TensorDesc = QUERY, key: TensorDesc = KEY, mask: TensorDesc | None = None, *, causal: bool = False
) -> KernelPlan:
    plan = RULES[OPERATOR](Signature(OPERATOR, (query, key, key, mask), (None, None, None, None, 0.0, causal)))
    assert plan is not None
    return plan


def _rows(plan: KernelPlan) -> list[tuple[str, list[tuple[int, ...]]]]:
    return [(kernel.op_type, [t.shape for t in kernel.inputs]) for kernel in plan.kernels]


def test_a_causal_call_makes_its_mask() -> None:
    pattern = (2048, 2048)
    rows = _rows(_plan(causal=True))
    assert rows == [
        ("OnesLike", [pattern]),
        ("Triu", [pattern]),
        ("FlashAttentionScore", [QUERY.shape, KEY.shape, KEY.shape, pattern]),
    ]
    assert _rows(_plan())[0][0] == "FlashAttentionScore"
    assert _plan(causal=True).kernels[-1].cube_flops == 4 * 2 * 4 * sum(range(1, 7)) * 8


def test_a_mask_of_flags_is_negated() -> None:
    mask = TensorDesc((6, 10), "BOOL")
    plan = _plan(mask=mask)
    assert _rows(plan) == [
        ("LogicalNot", [(6, 10)]),
        ("FlashAttentionScore", [QUERY.shape, KEY.shape, KEY.shape, (6, 10)]),
    ]
    assert plan.kernels[1].inputs[3].dtype == "BOOL"


def test_a_mask_of_numbers_is_added_step_by_step() -> None:
    mask = TensorDesc((6, 10), "DT_BF16")
    plan = _plan(mask=mask)
    scores = (2, 4, 6, 10)
    assert _rows(plan) == [
        ("Mul", [QUERY.shape, ()]),
        ("Mul", [(2, 4, 8, 10), ()]),
        ("BatchMatMulV2", [QUERY.shape, (2, 4, 8, 10)]),
        ("Add", [scores, (6, 10)]),
        ("SoftmaxV2", [scores]),
        ("BatchMatMulV2", [scores, KEY.shape]),
    ]
    assert sum(kernel.cube_flops for kernel in plan.kernels) == 4 * 2 * 4 * 6 * 10 * 8


@pytest.mark.parametrize(("width", "fused"), [(8, True), (30, False)])
def test_odd_widths_in_fp32_are_computed_step_by_step(width: int, fused: bool) -> None:
    x = TensorDesc((2, 4, 6, width), "FLOAT", "NCHW")
    kinds = [kind for kind, _ in _rows(_plan(x, x))]
    assert (kinds == ["FlashAttentionScore"]) is fused
    assert ("SoftmaxV2" in kinds) is not fused
    half = TensorDesc((2, 4, 6, width), "FLOAT16", "NCHW")
    assert [kind for kind, _ in _rows(_plan(half, half))] == ["FlashAttentionScore"]


def test_other_ranks_show_what_pytorch_calls_inside() -> None:
    x = TensorDesc((4, 6, 8), "FLOAT", "NCHW")
    plan = _plan(x, x)
    assert (plan.kernels, plan.claims) == ((), False)


@pytest.mark.parametrize("causal", [True, False])
def test_the_gradient_lists_the_mask(causal: bool) -> None:
    name = "aten::_scaled_dot_product_flash_attention_for_cpu_backward"
    statistics, mask = TensorDesc((2, 4, 6), "FLOAT"), None if causal else TensorDesc((6, 10), "FLOAT")
    inputs = (QUERY, QUERY, KEY, KEY, QUERY, statistics, None, None, mask)
    plan = RULES[name](Signature(name, inputs, (*(None,) * 6, 0.0, causal, None)))
    assert plan is not None
    (kernel,) = plan.kernels
    shown = kernel.inputs[4]
    assert (shown.shape, shown.dtype) == ((2048, 2048) if causal else (6, 10), "BOOL")
    assert len(kernel.inputs) == 8
