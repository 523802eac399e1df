"""
Cross entropy of a linear layer over a vocabulary that ranks share, in parts between which they communicate.

The first part gives the largest logit of each row, the sum of exponentials and the logit of the wanted class on this
rank; ranks join those; the second gives losses; the last the gradients of the layer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import Launch, product, vector
from drynpu_torch_operators.operators._numbers import wide
from drynpu_torch_operators.operators._operator import SIXTEEN_BITS, NpuOperator

SCHEMAS = """
npu_fused_linear_online_max_sum(Tensor input, Tensor weight, Tensor target, int vocab_start_index,
    int vocab_end_index, bool return_logits=False) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)
npu_fused_cross_entropy_loss_with_max_sum(Tensor logits_max, Tensor sum_exp_logits, Tensor predicted_logits, *,
    float? label_smoothing=0.0, Tensor? input=None, Tensor? weight=None,
    Tensor? vocab_parallel_logits=None) -> (Tensor, Tensor)
npu_fused_linear_cross_entropy_loss_with_max_sum_backward(Tensor grad, Tensor input, Tensor weight,
    Tensor target_mask, Tensor masked_target, float label_smoothing=0.0, Tensor? logits_max=None,
    Tensor? sum_exp_logits=None, Tensor? softmax=None) -> (Tensor, Tensor)
"""

_BITS = 8


def _max_sum(call: Call) -> tuple[Tensor | None, ...]:
    """Return largest logits, sums of exponentials, logits of classes, which are elsewhere, their places, all logits."""
    x, weight, label = call["input"], call["weight"], call["target"]
    logits = wide(x) @ wide(weight).T
    largest = logits.amax(1)
    below = logits - largest.unsqueeze(1)
    elsewhere = (label < call["vocab_start_index"]) | (label > call["vocab_end_index"])
    place = (label - call["vocab_start_index"]).masked_fill(elsewhere, 0)
    wanted = below.gather(1, place.long().unsqueeze(1)).squeeze(1).masked_fill(elsewhere, 0)
    kept = logits.to(x.dtype) if call["return_logits"] else None
    return largest, below.exp().sum(1), wanted, _pack(elsewhere), place, kept


def _max_sum_shapes(call: Call) -> tuple[Tensor | None, ...]:
    x, rows = call["input"], call["input"].shape[0]
    single = [x.new_empty(rows, dtype=torch.float32) for _ in range(3)]
    mask, place = x.new_empty(-(-rows // _BITS), dtype=torch.uint8), torch.empty_like(call["target"])
    return *single, mask, place, x.new_empty(rows, call["weight"].shape[0]) if call["return_logits"] else None


def _pack(flags: Tensor) -> Tensor:
    """Return eight flags a byte, the first one highest; flags behind the last one are set."""
    padded = torch.nn.functional.pad(flags.to(torch.int64), (0, -flags.numel() % _BITS), value=1).view(-1, _BITS)
    return (padded << torch.arange(_BITS - 1, -1, -1)).sum(1).to(torch.uint8)


def _unpack(packed: Tensor, count: int) -> Tensor:
    bits = (packed.to(torch.int64).unsqueeze(1) >> torch.arange(_BITS - 1, -1, -1)) & 1
    return bits.flatten()[:count]


def _max_sum_kernels(call: Call) -> Iterable[Launch]:
    rows, inner = call["input"].shape
    sides = [(rows, inner, call["weight"].shape[0])]
    yield product("FusedLinearOnlineMaxSum", call.inputs, call.outputs, sides)


def _losses(
    logits_max: Tensor, sum_exp_logits: Tensor, predicted_logits: Tensor, vocab_parallel_logits: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    losses = sum_exp_logits.log() - predicted_logits
    if vocab_parallel_logits is None:
        return losses, None
    powers = (wide(vocab_parallel_logits) - logits_max.unsqueeze(1)).exp()
    return losses, powers / sum_exp_logits.unsqueeze(1)


def _backward(call: Call) -> tuple[Tensor, Tensor]:
    x, weight, shares = call["input"], call["weight"], call["softmax"]
    if shares is None:
        text = "logits_max and sum_exp_logits should be given where softmax is None"
        errors.require(call["logits_max"] is not None and call["sum_exp_logits"] is not None, text)
        powers = (wide(x) @ wide(weight).T - call["logits_max"].unsqueeze(1)).exp()
        shares = powers / call["sum_exp_logits"].unsqueeze(1)
    here = 1 - _unpack(call["target_mask"], x.shape[0]).to(shares.dtype)
    one = torch.zeros_like(shares).scatter_(1, call["masked_target"].long().unsqueeze(1), here.unsqueeze(1))
    of_logits = (shares - one) * call["grad"].unsqueeze(1)
    return (of_logits @ wide(weight)).to(x.dtype), (of_logits.T @ wide(x)).to(weight.dtype)


def _backward_shapes(call: Call) -> tuple[Tensor, Tensor]:
    return torch.empty_like(call["input"]), torch.empty_like(call["weight"])


def _backward_kernels(call: Call) -> Iterable[Launch]:
    (rows, inner), classes = call["input"].shape, call["weight"].shape[0]
    sides = [(rows, classes, inner), (classes, rows, inner)]
    # Without the shares the logits are computed again.
    sides += [(rows, inner, classes)] if call["softmax"] is None else []
    yield product("FusedLinearCrossEntropyLossGrad", call.inputs, call.outputs, sides)


OPERATORS: Mapping[str, NpuOperator] = {
    "npu_fused_linear_online_max_sum": NpuOperator(
        compute=_max_sum, shapes=_max_sum_shapes, kernels=_max_sum_kernels, dtypes=SIXTEEN_BITS
    ),
    "npu_fused_cross_entropy_loss_with_max_sum": NpuOperator(
        compute=_losses,
        kernels=vector("FusedCrossEntropyLossWithMaxSum", cost=4),
        left_out=("label_smoothing", "input", "weight"),
    ),
    "npu_fused_linear_cross_entropy_loss_with_max_sum_backward": NpuOperator(
        compute=_backward,
        shapes=_backward_shapes,
        kernels=_backward_kernels,
        left_out=("label_smoothing",),
        dtypes=SIXTEEN_BITS,
    ),
}
