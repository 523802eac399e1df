"""Cross entropy of classes, of one-hot labels, and over a vocabulary that several ranks share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import vector
from drynpu_torch_operators.operators._numbers import wide
from drynpu_torch_operators.operators._operator import Gradient, NpuOperator

SCHEMAS = """
npu_cross_entropy_loss(Tensor input, Tensor target, Tensor? weight=None, str reduction='mean',
    int ignore_index=-100, float label_smoothing=0.0, float lse_square_scale_for_zloss=0.0,
    bool return_zloss=False) -> (Tensor, Tensor, Tensor, Tensor)
npu_cross_entropy_loss_backward(Tensor grad_loss, Tensor log_prob, Tensor target, Tensor? weight=None,
    Tensor? grad_zloss=None, Tensor? lse_for_zloss=None, str reduction='mean', int ignore_index=-100,
    float label_smoothing=0.0, float lse_square_scale_for_zloss=0.0) -> Tensor
npu_softmax_cross_entropy_with_logits(Tensor self, Tensor labels) -> Tensor
npu_softmax_cross_entropy_with_logits_backward(Tensor grad, Tensor self, Tensor labels) -> Tensor
"""

_MEAN, _SUM, _NONE = "mean", "sum", "none"


def _check(call: Call) -> None:
    kind = call["reduction"]
    errors.require(kind in (_MEAN, _SUM, _NONE), f"reduction should be mean, sum or none, but got {kind}")
    text = "drynpu does not compute the z loss (lse_square_scale_for_zloss, return_zloss); add it with torch.logsumexp"
    plain = call["lse_square_scale_for_zloss"] == 0 and not call.arguments.get("return_zloss", False)
    errors.require(plain, text, errors.NOT_SUPPORTED)


def _weights(call: Call, like: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the weight of each class, the weight of each row's class, and 1 for rows that count."""
    wanted = call["target"].long()
    classes = wide(like).new_ones(like.shape[1]) if call["weight"] is None else wide(call["weight"])
    counts = (wanted != call["ignore_index"]).to(classes.dtype)
    return classes, classes[wanted.clamp(0, like.shape[1] - 1)] * counts, counts


def _loss(call: Call) -> tuple[Tensor, ...]:
    _check(call)
    x, smoothing = call["input"], call["label_smoothing"]
    log_prob = wide(x).log_softmax(1)
    classes, chosen, counts = _weights(call, x)
    place = call["target"].long().clamp(0, x.shape[1] - 1).unsqueeze(1)
    plain = -log_prob.gather(1, place).squeeze(1) * chosen
    smooth = -(log_prob * classes).sum(1) * counts
    losses = (1 - smoothing) * plain + smoothing / x.shape[1] * smooth
    if call["reduction"] != _NONE:
        total = losses.sum()
        losses = (total / chosen.sum() if call["reduction"] == _MEAN else total).reshape(1)
    return losses.to(x.dtype), log_prob.to(x.dtype), torch.zeros_like(losses, dtype=x.dtype), x.new_zeros(x.shape[0])


def _loss_shapes(call: Call) -> tuple[Tensor, ...]:
    _check(call)
    x = call["input"]
    loss = x.new_empty(x.shape[0] if call["reduction"] == _NONE else 1)
    return loss, torch.empty_like(x), torch.empty_like(loss), x.new_empty(x.shape[0])


def _loss_backward(call: Call) -> Tensor:
    log_prob: Tensor = call["log_prob"]
    smoothing: float = call["label_smoothing"]
    classes, chosen, counts = _weights(call, log_prob)
    shares, count = wide(log_prob).exp(), log_prob.shape[1]
    onehot = torch.zeros_like(shares).scatter_(1, call["target"].long().clamp(0, count - 1).unsqueeze(1), 1.0)
    plain = (shares - onehot) * chosen.unsqueeze(1)
    smooth = (shares * classes.sum() - classes) * counts.unsqueeze(1)
    grads: Tensor = (1 - smoothing) * plain + smoothing / count * smooth
    grad = wide(call["grad_loss"]).reshape(-1, 1)
    grads = grads * (grad / chosen.sum() if call["reduction"] == _MEAN else grad)
    return grads.to(log_prob.dtype)


def _loss_gradient(call: Call, grad: Tensor, *others: Any) -> Mapping[str, Tensor | None]:
    del others
    names = ("reduction", "ignore_index", "label_smoothing", "lse_square_scale_for_zloss")
    options = {name: call[name] for name in names}
    log_prob = call.results[1]
    gradient = torch.ops.npu.npu_cross_entropy_loss_backward(grad, log_prob, call["target"], call["weight"], **options)
    return {"input": gradient}


def _one_hot(self: Tensor, labels: Tensor) -> Tensor:
    return -(wide(labels) * wide(self).log_softmax(1)).sum(1).to(self.dtype)


def _one_hot_backward(grad: Tensor, self: Tensor, labels: Tensor) -> Tensor:
    wanted = wide(labels)
    slope = wide(self).softmax(1) * wanted.sum(1, keepdim=True) - wanted
    return (slope * wide(grad).unsqueeze(1)).to(self.dtype)


def _one_hot_gradient(call: Call, grad: Tensor) -> Mapping[str, Tensor | None]:
    x, labels = call["self"], call["labels"]
    return {"self": torch.ops.npu.npu_softmax_cross_entropy_with_logits_backward(grad, x, labels)}


_SOFTMAX = 8
"""Element operations of a softmax with its logarithm, as in activations, and a product. Our count."""

OPERATORS: Mapping[str, NpuOperator] = {
    "npu_cross_entropy_loss": NpuOperator(
        compute=_loss,
        shapes=_loss_shapes,
        kernels=vector("CrossEntropyLoss", cost=_SOFTMAX),
        gradient=Gradient(compute=_loss_gradient, keeps=("target", "weight", 1)),
    ),
    "npu_cross_entropy_loss_backward": NpuOperator(
        compute=_loss_backward,
        shapes=lambda log_prob: torch.empty_like(log_prob),
        kernels=vector("CrossEntropyLossGrad", cost=_SOFTMAX),
        left_out=("grad_zloss", "lse_for_zloss"),
    ),
    "npu_softmax_cross_entropy_with_logits": NpuOperator(
        compute=_one_hot,
        kernels=vector("SoftmaxCrossEntropyWithLogits", cost=_SOFTMAX),
        gradient=Gradient(compute=_one_hot_gradient, keeps=("self", "labels")),
    ),
    "npu_softmax_cross_entropy_with_logits_backward": NpuOperator(
        compute=_one_hot_backward, kernels=vector("SoftmaxCrossEntropyWithLogits", cost=_SOFTMAX)
    ),
}
