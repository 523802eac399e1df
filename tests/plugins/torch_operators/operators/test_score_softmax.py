"""Softmax of scores in their memory against the definition, and its gradient against autograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu


def test_softmax_and_gradient_take_the_memory_of_the_scores(kernels: Callable[..., Any]) -> None:
    scores, values, grad = torch.randn(2, 3, 5), torch.randn(2, 5, 4), torch.randn(2, 3, 4)
    leaf = scores.double().requires_grad_()
    weights = leaf.exp() / leaf.exp().sum(-1, keepdim=True)
    (weights @ values.double()).backward(grad.double())
    (kernel,) = kernels(lambda: npu.npu_attn_softmax_(scores))
    assert kernel.op_type == "SoftmaxV2"
    torch.testing.assert_close(scores.double(), weights.detach(), rtol=1e-5, atol=1e-6)
    first, second = kernels(lambda: npu.npu_attn_softmax_backward_(scores, grad, values))
    assert (first.op_type, first.cube_flops, second.op_type) == ("BatchMatMulV2", 2 * 2 * 3 * 4 * 5, "SoftmaxGrad")
    torch.testing.assert_close(scores.double(), leaf.grad, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("masked", [True, False])
def test_bias_of_positions(check: Callable[..., Any], masked: bool) -> None:
    x, bias = torch.randn(2, 4, 3, 5, 5), torch.randn(1, 1, 3, 5, 5)
    mask = torch.randn(1, 4, 1, 5, 5) if masked else None
    scores = 0.5 * x.double() + bias.double() + (mask.double() if mask is not None else 0)
    expected = scores.exp() / scores.exp().sum(-1, keepdim=True)
    (kernel,) = check("npu_masked_softmax_with_rel_pos_bias", (x, mask, bias, 0.5), expected)
    assert kernel.op_type == "MaskedSoftmaxWithRelPosBias"
