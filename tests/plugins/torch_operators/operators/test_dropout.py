"""Dropout: masks of bits, their use in both directions, and softmax that drops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from drynpu.kernels import TaskType

npu = torch.ops.npu
Check = Callable[..., Any]


def _bits(mask: torch.Tensor, count: int) -> torch.Tensor:
    """Return the bits of a mask, the lowest of a byte first."""
    return torch.tensor([(int(mask[place // 8]) >> (place % 8)) & 1 for place in range(count)]).bool()


def test_a_mask_is_drawn_and_used_again(kernels: Check) -> None:
    torch.manual_seed(1)
    x = torch.randn(7, 30, requires_grad=True)
    found: list[Any] = []
    launched = kernels(lambda: found.append(npu._npu_dropout(x, 0.25)))
    out, mask = found[0]
    assert mask.shape == (32,)  # 210 bits in blocks of 128
    kept = _bits(mask, 210).reshape(7, 30)
    assert 0.6 < kept.float().mean() < 0.9
    torch.testing.assert_close(out, torch.where(kept, x / 0.75, 0.0))
    assert [(k.op_type, k.task_type) for k in launched] == [
        ("DSAGenBitMask", TaskType.DSA),
        ("DropOutDoMask", TaskType.AI_VECTOR_CORE),
    ]
    backward = kernels(out.sum().backward)
    torch.testing.assert_close(x.grad, torch.where(kept, 1 / 0.75, 0.0))
    assert [k.op_type for k in backward] == ["DropOutDoMask"]


def test_a_given_mask(check: Check) -> None:
    x, mask = torch.randn(20, dtype=torch.double, requires_grad=True), torch.zeros(16, dtype=torch.uint8)
    mask[0], mask[2] = 0b00000101, 0b1000
    kept = torch.zeros(20, dtype=torch.bool)
    kept[[0, 2, 19]] = True
    check("npu_dropout_do_mask", (x.detach(), mask, 0.5), (torch.where(kept, 2 * x.detach(), 0.0), mask))
    check("npu_dropout_backward", (x.detach(), mask, 0.5), torch.where(kept, 2 * x.detach(), 0.0))
    assert torch.autograd.gradcheck(lambda t: npu.npu_dropout_do_mask(t, mask, 0.5)[0], (x,))


def test_a_mask_from_a_seed() -> None:
    x = torch.zeros(40, 10)
    first, same, other = (npu._npu_dropout_gen_mask(x, [40, 10], 0.3, seed, 5) for seed in (1, 1, 2))
    assert torch.equal(first, same)
    assert not torch.equal(first, other)
    assert _bits(npu._npu_dropout_gen_mask(x, [40, 10], 0.0, 1, 5), 400).all()
    assert not npu._npu_dropout_gen_mask(x, [40, 10], 1.0, 1, 5).any()
    with pytest.raises(RuntimeError, match="dropout probability has to be between 0 and 1, but got 1.5"):
        npu._npu_dropout_gen_mask(x, [40, 10], 1.5, 1, 5)


def test_softmax_that_drops(kernels: Check) -> None:
    torch.manual_seed(2)
    scores, shift = (torch.randn(s, dtype=torch.double, requires_grad=True) for s in ((2, 3, 5), (1, 3, 5)))
    found: list[Any] = []
    launched = kernels(lambda: found.append(npu.npu_dropout_with_add_softmax(scores, shift, 0.5, 0.4, -1)))
    mask, softmax, out = found[0]
    kept = _bits(mask, 30).reshape(2, 3, 5)
    expected = (0.5 * scores + shift).softmax(-1)
    torch.testing.assert_close(softmax, expected)
    dropped = torch.where(kept, expected / 0.6, 0.0)
    torch.testing.assert_close(out, dropped)
    assert [k.op_type for k in launched] == ["DSAGenBitMask", "AxpyWithSoftmaxAndDropOutDoMask"]
    grad = torch.randn(2, 3, 5, dtype=torch.double)
    wanted = torch.autograd.grad(dropped, (scores, shift), grad)
    for one, other in zip(torch.autograd.grad(out, (scores, shift), grad), wanted, strict=True):
        torch.testing.assert_close(one, other)
