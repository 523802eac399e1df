"""Attention with its projections, and scores with an added mask, against PyTorch's formulas in FP64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]
HEADS, WIDTH, TGT, SRC, BATCH = 16, 16, 32, 16, 2
HIDDEN = HEADS * WIDTH


def _inputs(dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    torch.manual_seed(3)
    rows = [torch.randn(BATCH * length, HIDDEN) for length in (TGT, SRC, SRC)]
    weights = [torch.randn(HIDDEN, HIDDEN) / HIDDEN**0.5 for _ in range(4)]
    mask = torch.randn(BATCH, 1, TGT, SRC)
    biases = [torch.randn(HIDDEN) for _ in range(4)]
    return [t.to(dtype) for t in (*rows, *weights[:3], mask, weights[3], *biases)]


def _formula(inputs: list[torch.Tensor]) -> torch.Tensor:
    query, key, value, wq, wk, wv, mask, wo, bq, bk, bv, bo = (t.double() for t in inputs)
    layers = [
        (x @ w.T + b).reshape(BATCH, -1, HEADS, WIDTH).transpose(1, 2)
        for x, w, b in ((query, wq, bq), (key, wk, bk), (value, wv, bv))
    ]
    scores = layers[0] @ layers[1].transpose(-1, -2) / WIDTH**0.5 + mask
    context = (scores.softmax(-1) @ layers[2]).transpose(1, 2).reshape(-1, HIDDEN)
    return context @ wo.T + bo


def test_a_layer_of_attention(check: Check) -> None:
    inputs = _inputs()
    scores, layer = (BATCH, HEADS, TGT, SRC), (BATCH, HEADS, SRC, WIDTH)
    expected = (
        _formula(inputs),
        (torch.uint8, (BATCH * HEADS * TGT * SRC // 8,)),
        (torch.float32, (BATCH, HEADS, TGT, WIDTH)),
        (torch.float32, layer),
        (torch.float32, layer),
        (torch.float32, scores),
        (torch.float32, scores),
        (torch.float32, (BATCH * TGT, HIDDEN)),
    )
    sizes = (None, HEADS, WIDTH, SRC, TGT, 0.0, True)
    (kernel,) = check("npu_multi_head_attention", (*inputs, *sizes), expected)
    products = (TGT + 2 * SRC + TGT) * HIDDEN**2 * BATCH + 2 * BATCH * HEADS * TGT * SRC * WIDTH
    assert (kernel.op_type, kernel.cube_flops) == ("MultiHeadAttention", 2 * products)
    with pytest.raises(RuntimeError, match="should align to 16"):
        npu.npu_multi_head_attention(*inputs, None, HEADS, 8, SRC, TGT, 0.0, True)


def test_gradients_of_a_layer_of_attention() -> None:
    inputs = _inputs()
    leaves = [t.clone().requires_grad_(i != 6) for i, t in enumerate(inputs)]
    out = npu.npu_multi_head_attention(*leaves, None, HEADS, WIDTH, SRC, TGT, 0.0, True)[0]
    grad = torch.randn_like(out)
    out.backward(grad)
    truths = [t.double().requires_grad_(i != 6) for i, t in enumerate(inputs)]
    _formula(truths).backward(grad.double())
    for position, (leaf, truth) in enumerate(zip(leaves, truths, strict=True)):
        if position != 6:
            largest = truth.grad.abs().max().clamp(min=1.0)  # a bias of keys shifts all scores alike: 0
            assert (leaf.grad - truth.grad).abs().max() < 2e-5 * largest, position


def test_dropped_shares_are_those_of_the_mask() -> None:
    inputs = _inputs()
    torch.manual_seed(0)
    found = npu.npu_multi_head_attention(*inputs, None, HEADS, WIDTH, SRC, TGT, 0.25, True)
    bits = found[1].unsqueeze(-1).bitwise_right_shift(torch.arange(8, dtype=torch.uint8)) & 1
    kept = bits.reshape(found[5].shape).bool()
    assert torch.equal(found[6] != 0, kept)
    assert torch.allclose(found[6][kept], found[5][kept] / 0.75)
    again = npu.npu_multi_head_attention(*inputs, found[1], HEADS, WIDTH, SRC, TGT, 0.25, True)
    assert torch.equal(found[0], again[0])


def test_scores_with_an_added_mask(check: Check) -> None:
    torch.manual_seed(1)
    layers = [torch.randn(2, 3, 8, 4) for _ in range(3)]
    mask = torch.randn(2, 1, 8, 8)
    shares = (layers[0].double() @ layers[1].double().transpose(-1, -2) * 0.5 + mask).softmax(-1)
    rows = (shares @ layers[2].double()).transpose(1, 2).reshape(16, 12)
    expected = (rows, shares, torch.ones(2 * 3 * 8 * 8))
    kernels = check("npu_fused_attention_score_fwd", (*layers, mask, 0.5, 1.0), expected)
    assert [kernel.op_type for kernel in kernels] == ["DropOutGenMaskV3", "AttentionScore"]
    found = npu.npu_fused_attention_score(*layers, mask, 0.5, 1.0)
    assert torch.allclose(found.double(), rows, atol=1e-5)
    leaves = tuple(layer.double().requires_grad_() for layer in layers)
    assert torch.autograd.gradcheck(lambda *args: npu.npu_fused_attention_score(*args, mask.double(), 0.5, 1.0), leaves)
    grad = torch.randn(16, 12)
    ones = torch.ones(2 * 3 * 8 * 8, dtype=torch.uint8)
    args = (grad, shares.float(), *layers, ones, 0.5, 1.0)
    by_heads, by_rows = npu.npu_fused_attention_score_backward(*args), npu.npu_fused_attention_score_grad(*args)
    for heads, row in zip(by_heads, by_rows, strict=True):
        assert torch.equal(heads.transpose(1, 2).reshape(16, 12), row)
