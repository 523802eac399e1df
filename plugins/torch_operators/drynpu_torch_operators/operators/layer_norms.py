"""Layer norms of sums, and group norms with SiLU."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import vector
from drynpu_torch_operators.operators._numbers import wide
from drynpu_torch_operators.operators._operator import Gradient, NpuOperator

SCHEMAS = """
npu_deep_norm(Tensor x, Tensor gx, Tensor beta, Tensor gamma, float alpha=0.3, float epsilon=1e-06) ->
    (Tensor, Tensor, Tensor)
npu_deep_norm_backward(Tensor dy, Tensor x, Tensor gx, Tensor gamma, Tensor mean, Tensor rstd, float alpha=0.3) ->
    (Tensor, Tensor, Tensor, Tensor)
npu_add_layer_norm(Tensor x1, Tensor x2, Tensor gamma, Tensor beta, float epsilon=1e-05,
    bool additional_output=False) -> (Tensor, Tensor, Tensor, Tensor)
npu_add_layer_norm_backward(Tensor? dy_opt, Tensor x1, Tensor x2, Tensor rstd, Tensor mean, Tensor gamma,
    Tensor? dsum_opt) -> (Tensor, Tensor, Tensor, Tensor)
npu_group_norm_silu(Tensor input, Tensor? weight, Tensor? bias, int group, float eps=1e-5) ->
    (Tensor, Tensor, Tensor)
npu_group_norm_swish(Tensor input, int num_groups, Tensor weight, Tensor bias, float? eps=1e-5,
    float? swish_scale=1.0) -> (Tensor, Tensor, Tensor)
npu_group_norm_swish_grad(Tensor grad, Tensor input, int num_groups, Tensor weight, Tensor bias, Tensor mean,
    Tensor rstd, bool[3] grad_input_mask, float? swish_scale=1.0) -> (Tensor, Tensor, Tensor)
npu_layer_norm_eval(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None,
    float eps=1e-05) -> Tensor
"""

_LAYER, _GROUP, _BACKWARD = 8, 12, 12
"""Element operations: the layer norm's as in drynpu.kernels.ops.norm; ours the rest."""


def _layer_normalised(x: Tensor, gamma: Tensor, epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    axes = tuple(range(-gamma.dim(), 0))
    mean = x.mean(axes, keepdim=True)
    centred = x - mean
    rstd = centred.square().mean(axes, keepdim=True).add(epsilon).rsqrt()
    return centred * rstd, mean, rstd


def _layer_gradient(
    grad: Tensor, x: Tensor, gamma: Tensor, mean: Tensor, rstd: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of x, gamma and beta of a layer norm, in the type in which it computes."""
    axes, lead = tuple(range(-gamma.dim(), 0)), tuple(range(x.dim() - gamma.dim()))
    unit, weighted = (x - wide(mean)) * wide(rstd), grad * wide(gamma)
    spread = weighted - weighted.mean(axes, keepdim=True) - unit * (weighted * unit).mean(axes, keepdim=True)
    dgamma = grad * unit
    return wide(rstd) * spread, dgamma.sum(lead) if lead else dgamma, grad.sum(lead) if lead else grad


def _deep_norm(
    x: Tensor, gx: Tensor, beta: Tensor, gamma: Tensor, alpha: float, epsilon: float
) -> tuple[Tensor, Tensor, Tensor]:
    unit, mean, rstd = _layer_normalised(alpha * wide(x) + wide(gx), gamma, epsilon)
    return mean, rstd, (unit * wide(gamma) + wide(beta)).to(x.dtype)


def _deep_norm_backward(
    dy: Tensor, x: Tensor, gx: Tensor, gamma: Tensor, mean: Tensor, rstd: Tensor, alpha: float
) -> tuple[Tensor, ...]:
    total = alpha * wide(x) + wide(gx)
    dx, dgamma, dbeta = _layer_gradient(wide(dy), total, gamma, mean, rstd)
    return (alpha * dx).to(x.dtype), dx.to(gx.dtype), dbeta, dgamma


def _deep_norm_gradient(call: Call, *grads: Tensor) -> Mapping[str, Tensor | None]:
    kept = [call[name] for name in ("x", "gx", "gamma")]
    gradients = torch.ops.npu.npu_deep_norm_backward(grads[2], *kept, *call.results[:2], call["alpha"])
    dx, dgx, dbeta, dgamma = gradients
    dtype = call["gamma"].dtype
    return {"x": dx, "gx": dgx, "beta": dbeta.to(dtype), "gamma": dgamma.to(dtype)}


def _add_layer_norm(x1: Tensor, x2: Tensor, gamma: Tensor, beta: Tensor, epsilon: float) -> tuple[Tensor, ...]:
    dtype = torch.promote_types(x1.dtype, x2.dtype)
    total = wide(x1) + wide(x2)
    unit, mean, rstd = _layer_normalised(total, gamma, epsilon)
    return (unit * wide(gamma) + wide(beta)).to(dtype), mean, rstd, total.to(dtype)


def _add_layer_norm_backward(
    dy_opt: Tensor | None,
    x1: Tensor,
    x2: Tensor,
    rstd: Tensor,
    mean: Tensor,
    gamma: Tensor,
    dsum_opt: Tensor | None,
) -> tuple[Tensor, ...]:
    total = wide(x1) + wide(x2)
    grad = torch.zeros_like(total) if dy_opt is None else wide(dy_opt)
    dx, dgamma, dbeta = _layer_gradient(grad, total, gamma, mean, rstd)
    dx = dx if dsum_opt is None else dx + wide(dsum_opt)
    return dx.to(x1.dtype), dx.to(x2.dtype), dgamma, dbeta


def _add_layer_norm_gradient(call: Call, *grads: Tensor) -> Mapping[str, Tensor | None]:
    (x1, x2, gamma), (_, mean, rstd, _) = (call[name] for name in ("x1", "x2", "gamma")), call.results
    gradients = torch.ops.npu.npu_add_layer_norm_backward(grads[0], x1, x2, rstd, mean, gamma, grads[3])
    dx1, dx2, dgamma, dbeta = gradients
    return {"x1": dx1, "x2": dx2, "gamma": dgamma.to(gamma.dtype), "beta": dbeta.to(gamma.dtype)}


def _group_normalised(x: Tensor, groups: int, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return x with every group of channels normalised, and means and deviations [samples, groups]."""
    rows = wide(x).reshape(x.shape[0], groups, -1)
    mean = rows.mean(-1)
    centred = rows - mean.unsqueeze(-1)
    rstd = centred.square().mean(-1).add(eps).rsqrt()
    return (centred * rstd.unsqueeze(-1)).reshape(x.shape), mean, rstd


def _per_channel(parameter: Tensor, x: Tensor) -> Tensor:
    return wide(parameter).reshape(1, -1, *[1] * (x.dim() - 2))


def _group_norm_silu(
    input_: Tensor, weight: Tensor | None, bias: Tensor | None, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    unit, mean, rstd = _group_normalised(input_, group, eps)
    unit = unit if weight is None else unit * _per_channel(weight, input_)
    unit = unit if bias is None else unit + _per_channel(bias, input_)
    return (unit * unit.sigmoid()).to(input_.dtype), mean.to(input_.dtype), rstd.to(input_.dtype)


def _group_norm_swish(
    input_: Tensor, num_groups: int, weight: Tensor, bias: Tensor, eps: float | None, swish_scale: float | None
) -> tuple[Tensor, Tensor, Tensor]:
    unit, mean, rstd = _group_normalised(input_, num_groups, 1e-5 if eps is None else eps)
    y = unit * _per_channel(weight, input_) + _per_channel(bias, input_)
    scale = 1.0 if swish_scale is None else swish_scale
    return (y * (scale * y).sigmoid()).to(input_.dtype), mean.to(input_.dtype), rstd.to(input_.dtype)


def _group_norm_swish_grad(
    grad: Tensor,
    input_: Tensor,
    num_groups: int,
    weight: Tensor,
    bias: Tensor,
    mean: Tensor,
    rstd: Tensor,
    swish_scale: float | None,
) -> tuple[Tensor, Tensor, Tensor]:
    scale, grouped = 1.0 if swish_scale is None else swish_scale, (*input_.shape[:1], num_groups, -1)
    rows, deviation = wide(input_).reshape(grouped), wide(rstd).unsqueeze(-1)
    unit = ((rows - wide(mean).unsqueeze(-1)) * deviation).reshape(input_.shape)
    y = unit * _per_channel(weight, input_) + _per_channel(bias, input_)
    gate = (scale * y).sigmoid()
    inner = wide(grad) * gate * (1 + scale * y * (1 - gate))
    weighted, grouped_unit = (inner * _per_channel(weight, input_)).reshape(grouped), unit.reshape(grouped)
    spread = (
        weighted - weighted.mean(-1, keepdim=True) - grouped_unit * (weighted * grouped_unit).mean(-1, keepdim=True)
    )
    others = (0, *range(2, input_.dim()))
    dweight, dbias = (inner * unit).sum(others), inner.sum(others)
    return (deviation * spread).reshape(input_.shape).to(input_.dtype), dweight.to(weight.dtype), dbias.to(bias.dtype)


def _group_norm_swish_gradient(call: Call, *grads: Tensor) -> Mapping[str, Tensor | None]:
    wanted = [name in call.needed for name in ("input", "weight", "bias")]
    dx, dweight, dbias = torch.ops.npu.npu_group_norm_swish_grad(
        *(grads[0], call["input"], call["num_groups"], call["weight"], call["bias"], *call.results[1:], wanted),
        call["swish_scale"],
    )
    return {"input": dx, "weight": dweight, "bias": dbias}


def _layer_norm_eval(
    input_: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    dims = math.prod(normalized_shape)
    unit, _, _ = _layer_normalised(wide(input_).reshape(-1, dims), input_.new_empty(dims), eps)
    unit = unit.reshape(input_.shape)
    unit = unit if weight is None else unit * wide(weight)
    return (unit if bias is None else unit + wide(bias)).to(input_.dtype)


OPERATORS: Mapping[str, NpuOperator] = {
    "npu_deep_norm": NpuOperator(
        compute=_deep_norm,
        kernels=vector("DeepNorm", cost=_LAYER + 2),
        gradient=Gradient(compute=_deep_norm_gradient, keeps=("x", "gx", "gamma", 0, 1), outputs=(2,)),
    ),
    "npu_deep_norm_backward": NpuOperator(
        compute=_deep_norm_backward, kernels=vector("DeepNormGrad", cost=_BACKWARD + 2)
    ),
    "npu_add_layer_norm": NpuOperator(
        compute=_add_layer_norm,
        kernels=vector("AddLayerNorm", cost=_LAYER + 1),
        gradient=Gradient(compute=_add_layer_norm_gradient, keeps=("x1", "x2", "gamma", 1, 2), outputs=(0, 3)),
    ),
    "npu_add_layer_norm_backward": NpuOperator(
        compute=_add_layer_norm_backward, kernels=vector("AddLayerNormGrad", cost=_BACKWARD + 2)
    ),
    "npu_group_norm_silu": NpuOperator(compute=_group_norm_silu, kernels=vector("GroupNormSilu", cost=_GROUP)),
    "npu_group_norm_swish": NpuOperator(
        compute=_group_norm_swish,
        kernels=vector("GroupNormSwish", cost=_GROUP),
        gradient=Gradient(compute=_group_norm_swish_gradient, keeps=("input", "weight", "bias", 1, 2)),
    ),
    "npu_group_norm_swish_grad": NpuOperator(
        compute=_group_norm_swish_grad, kernels=vector("GroupNormSwishGrad", cost=_GROUP + _BACKWARD)
    ),
    "npu_layer_norm_eval": NpuOperator(
        compute=_layer_norm_eval, kernels=vector("LayerNormV3", "aclnnLayerNorm", cost=_LAYER)
    ),
}
