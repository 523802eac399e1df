"""Softmax of attention's scores: in their memory, with the gradient there, too, and with a bias of positions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import Launch, product, vector
from drynpu_torch_operators.operators._numbers import wide
from drynpu_torch_operators.operators._operator import NpuOperator

SCHEMAS = """
npu_attn_softmax_(Tensor(a!) self) -> Tensor(a!)
npu_attn_softmax_backward_(Tensor(a!) self, Tensor grad_output, Tensor values) -> Tensor(a!)
npu_masked_softmax_with_rel_pos_bias(Tensor x, Tensor? atten_mask, Tensor relative_pos_bias, float scale_value=1.0,
    int inner_precision_mode=0) -> Tensor
"""

_BACKWARD, _BIASED = 4, 11
"""Element operations: product, sum, difference, product; a softmax behind a product and two sums."""


def _softmax(self: Tensor) -> Tensor:
    return self.copy_(torch.softmax(wide(self), -1))


def _itself(self: Tensor) -> Tensor:
    return self


def _softmax_backward(self: Tensor, grad_output: Tensor, values: Tensor) -> Tensor:
    """Write the gradient of the scores over their softmax; *grad_output* belongs to the weighted sums of *values*."""
    weights = wide(self)
    grad = wide(grad_output) @ wide(values).transpose(-1, -2)
    return self.copy_(weights * (grad - (weights * grad).sum(-1, keepdim=True)))


def _backward_kernels(call: Call) -> Iterable[Launch]:
    scores: Tensor = call["self"]
    grad = torch.empty_like(scores, device="meta")
    batch = scores.numel() // (scores.shape[-2] * scores.shape[-1])
    sides = [(scores.shape[-2], call["grad_output"].shape[-1], scores.shape[-1])] * batch
    yield product("BatchMatMulV2", [call["grad_output"], call["values"]], [grad], sides, api="aclnnMatmul")
    yield Launch(
        kernel="SoftmaxGrad", inputs=[grad, scores], outputs=[scores], api="aclnnSoftmaxBackward", cost=_BACKWARD
    )


def _biased(x: Tensor, atten_mask: Tensor | None, relative_pos_bias: Tensor, scale_value: float) -> Tensor:
    scores = wide(x) * scale_value + wide(relative_pos_bias)
    return torch.softmax(scores if atten_mask is None else scores + wide(atten_mask), -1).to(x.dtype)


OPERATORS: Mapping[str, NpuOperator] = {
    "npu_attn_softmax_": NpuOperator(
        compute=_softmax, shapes=_itself, kernels=vector("SoftmaxV2", "aclnnSoftmax", written=("self",))
    ),
    "npu_attn_softmax_backward_": NpuOperator(compute=_softmax_backward, shapes=_itself, kernels=_backward_kernels),
    "npu_masked_softmax_with_rel_pos_bias": NpuOperator(
        compute=_biased, kernels=vector("MaskedSoftmaxWithRelPosBias", cost=_BIASED)
    ),
}
