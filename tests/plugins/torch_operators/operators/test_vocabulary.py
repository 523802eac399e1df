"""Cross entropy over a vocabulary that ranks share, against PyTorch's over the whole vocabulary in FP64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]
ROWS, INNER, CLASSES, RANKS = 11, 16, 24, 2


def parts() -> tuple[torch.Tensor, list[torch.Tensor], torch.Tensor]:
    """Return the input, the weight of each of two ranks, and the classes of all rows."""
    torch.manual_seed(6)
    x, weight = torch.randn(ROWS, INNER).half(), torch.randn(CLASSES, INNER).half()
    return x, list(weight.chunk(RANKS)), torch.randint(0, CLASSES, (ROWS,))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_ranks_together_have_the_loss_and_the_gradients_of_the_whole_vocabulary(dtype: torch.dtype) -> None:
    x, weights, target = parts()
    share = CLASSES // RANKS
    found = [
        npu.npu_fused_linear_online_max_sum(x, weight, target.to(dtype), rank * share, (rank + 1) * share - 1, True)
        for rank, weight in enumerate(weights)
    ]
    largest = torch.stack([each[0] for each in found]).amax(0)
    # What ranks communicate: exponentials and logits relative to the largest logit of all.
    total = sum(each[1] * (each[0] - largest).exp() for each in found)
    here = [(target // share) == rank for rank in range(RANKS)]
    wanted = sum((each[2] + each[0] - largest) * flag for each, flag in zip(found, here, strict=True))
    exact = [t.double().requires_grad_() for t in (x, torch.cat(weights))]
    losses = torch.nn.functional.cross_entropy(exact[0] @ exact[1].T, target, reduction="none")
    gradient = torch.rand(ROWS)
    of_x, of_weight = torch.autograd.grad(losses, exact, gradient.double())
    of_parts = []
    for rank, (weight, each) in enumerate(zip(weights, found, strict=True)):
        loss, shares = npu.npu_fused_cross_entropy_loss_with_max_sum(
            largest, total, wanted, vocab_parallel_logits=each[5]
        )
        torch.testing.assert_close(loss.double(), losses.detach(), rtol=2e-3, atol=2e-3)
        assert each[4].dtype == dtype
        saving = {"logits_max": largest, "sum_exp_logits": total}
        for given in ({"softmax": shares}, saving):
            one = npu.npu_fused_linear_cross_entropy_loss_with_max_sum_backward(
                gradient, x, weight, each[3], each[4], **given
            )
            torch.testing.assert_close(one[1].double(), of_weight.chunk(RANKS)[rank], rtol=4e-3, atol=4e-3)
        of_parts.append(one[0].double())
    torch.testing.assert_close(torch.stack(of_parts).sum(0), of_x, rtol=4e-3, atol=1e-2)


def test_kernels_and_shapes(check: Check) -> None:
    x, (weight, _), target = parts()
    logits = x.double() @ weight.double().T
    largest = logits.amax(1)
    elsewhere = target > CLASSES // RANKS - 1
    flags = [*elsewhere.tolist(), *[True] * 5]
    packed = [sum(flag << (7 - i) for i, flag in enumerate(flags[k : k + 8])) for k in (0, 8)]
    place = target.masked_fill(elsewhere, 0)
    below = logits - largest.unsqueeze(1)
    wanted = below.gather(1, place.unsqueeze(1)).squeeze(1).masked_fill(elsewhere, 0)
    expected = (largest, below.exp().sum(1), wanted, torch.tensor(packed, dtype=torch.uint8), place, logits)
    end = CLASSES // RANKS - 1
    (kernel,) = check("npu_fused_linear_online_max_sum", (x, weight, target, 0, end, True), expected)
    assert kernel.op_type == "FusedLinearOnlineMaxSum"
    assert kernel.cube_flops == 2 * ROWS * INNER * CLASSES // RANKS
    assert npu.npu_fused_linear_online_max_sum(x, weight, target, 0, end)[5] is None


def test_misuse() -> None:
    with pytest.raises(RuntimeError, match="drynpu does not compute the argument label_smoothing"):
        npu.npu_fused_cross_entropy_loss_with_max_sum(*torch.rand(3, 4), label_smoothing=0.1)
    x, (weight, _), target = parts()
    mask = torch.zeros(2, dtype=torch.uint8)
    with pytest.raises(RuntimeError, match="logits_max and sum_exp_logits should be given where softmax is None"):
        npu.npu_fused_linear_cross_entropy_loss_with_max_sum_backward(
            torch.rand(ROWS), x, weight, mask, target.clamp(max=3)
        )
