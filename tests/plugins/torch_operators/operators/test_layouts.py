"""Transposing and casts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]


@pytest.mark.parametrize("first", [True, False])
def test_confusion_transpose(check: Check, first: bool) -> None:
    x = torch.arange(24.0).reshape(2, 3, 4) if first else torch.arange(24.0).reshape(6, 4)
    shape = (4, 6) if first else (2, 3, 4)
    expected = x.permute(2, 0, 1).reshape(shape) if first else x.reshape(shape).permute(2, 0, 1)
    (kernel,) = check("npu_confusion_transpose", (x, (2, 0, 1), shape, first), expected)
    assert kernel.op_type == "ConfusionTransposeD"
    inputs = (x.double().requires_grad_(),)
    assert torch.autograd.gradcheck(lambda x: npu.npu_confusion_transpose(x, (2, 0, 1), shape, first), inputs)
    with pytest.raises(RuntimeError, match=r"input invalid, shape has size \d but perm\[0\] is, 9"):
        npu.npu_confusion_transpose(x, (9, 0, 1), shape, first)


def test_other_moves(check: Check) -> None:
    x = torch.randn(2, 3, 4)
    (kernel,) = check("npu_transpose", (x, (1, 2, 0)), x.permute(1, 2, 0))
    assert kernel.op_type == "Transpose"
    check("npu_broadcast", (x[:, :1], (2, 5, 4)), x[:, :1].repeat(1, 5, 1))
    ones = npu.npu_one_hot(torch.tensor([2, 0]), 3, 1, 5, -1)
    assert ones.tolist() == [[-1.0, -1.0, 5.0], [5.0, -1.0, -1.0]]
    assert npu.one_(x) is x
    assert torch.equal(x, torch.ones(2, 3, 4))


def test_casts(check: Check) -> None:
    x = torch.randn(3, 4)
    check("npu_dtype_cast", (x, torch.float16), x.half().double())
    check("npu_dtype_cast", (x, 283), x.bfloat16().double())
    y = torch.randn(2, requires_grad=True)
    npu.npu_dtype_cast(y, torch.bfloat16).sum().backward()
    assert y.grad is not None
    with pytest.raises(RuntimeError, match="does not cast to or from the type number 296"):
        npu.npu_dtype_cast(x, 296)


def test_a_cast_to_a_private_format_copies(check: Check) -> None:
    x = torch.randn(4, 5)
    (kernel,) = check("_npu_format_cast", (x, 29), x.double())
    assert kernel.op_type == "TransData"
    assert torch.autograd.gradcheck(lambda x: npu._npu_format_cast(x, 29), (x.double().requires_grad_(),))


def test_ranges_are_filled(check: Check) -> None:
    x, value = torch.randn(2, 3, 7), torch.tensor([9.0, -9.0])
    start, end = torch.tensor([[1, 2], [4, 6]]), torch.tensor([[3, 5], [5, 7]])
    expected = x.double()
    for number in range(2):
        for batch in range(2):
            expected[batch, :, start[number, batch] : end[number, batch]] = value[number].double()
    (kernel,) = check("npu_masked_fill_range", (x, start, end, value), expected)
    assert kernel.op_type == "MaskedFillRange"
    rows = x.double()
    rows[1:2] = 9
    check("npu_masked_fill_range", (x, torch.tensor([[1]]), torch.tensor([[2]]), value[:1], 0), rows)
