"""Cross entropy against PyTorch's in FP64, in both directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"reduction": "sum", "label_smoothing": 0.2},
    {"reduction": "none", "ignore_index": 2},
    {"ignore_index": 2, "label_smoothing": 0.1},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_loss_of_classes(check: Check, options: dict[str, Any], weighted: bool, dtype: torch.dtype) -> None:
    torch.manual_seed(3)
    x, target = torch.randn(5, 7).to(dtype), torch.tensor([0, 6, 2, 3, 2])
    weight = torch.rand(7) + 0.5 if weighted else None
    exact = None if weight is None else weight.double()
    loss = torch.nn.functional.cross_entropy(x.double(), target, exact, **options).reshape(-1)
    zeros = (dtype, (5 if options.get("reduction") == "none" else 1,)), (dtype, (5,))
    (kernel,) = check(
        "npu_cross_entropy_loss", (x, target, weight), (loss, x.double().log_softmax(1), *zeros), **options
    )
    assert kernel.op_type == "CrossEntropyLoss"


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_of_classes(kernels: Check, options: dict[str, Any], weighted: bool) -> None:
    torch.manual_seed(4)
    x, target = torch.randn(5, 7, dtype=torch.double, requires_grad=True), torch.tensor([0, 6, 2, 3, 2])
    weight = torch.rand(7, dtype=torch.double) if weighted else None
    wanted = torch.nn.functional.cross_entropy(x, target, weight, **options)
    loss = npu.npu_cross_entropy_loss(x, target, weight, **options)[0]
    grad = torch.rand(loss.shape, dtype=torch.double)
    expected = torch.autograd.grad(wanted, x, grad.reshape(wanted.shape))[0]
    found: list[torch.Tensor] = []
    launched = kernels(lambda: found.extend(torch.autograd.grad(loss, x, grad)))
    torch.testing.assert_close(found[0], expected)
    assert [k.op_type for k in launched] == ["CrossEntropyLossGrad"]


def test_misuse() -> None:
    x, target = torch.randn(5, 7), torch.zeros(5, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="reduction should be mean, sum or none, but got all"):
        npu.npu_cross_entropy_loss(x, target, reduction="all")
    with pytest.raises(RuntimeError, match="drynpu does not compute the z loss"):
        npu.npu_cross_entropy_loss(x, target, return_zloss=True)


def test_loss_of_shares(check: Check) -> None:
    torch.manual_seed(5)
    x, labels = torch.randn(4, 6, dtype=torch.double, requires_grad=True), torch.rand(4, 6, dtype=torch.double)
    expected = torch.stack([-(labels[i] * x[i].log_softmax(0)).sum() for i in range(4)])
    (kernel,) = check("npu_softmax_cross_entropy_with_logits", (x.detach(), labels), expected)
    assert kernel.op_type == "SoftmaxCrossEntropyWithLogits"
    assert torch.autograd.gradcheck(lambda t: npu.npu_softmax_cross_entropy_with_logits(t, labels), (x,))
