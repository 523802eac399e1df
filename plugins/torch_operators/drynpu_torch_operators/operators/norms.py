"""RMS norm with its fused and quantised forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import vector
from drynpu_torch_operators.operators._numbers import quantised_by_row, saturated, torch_dtype, wide
from drynpu_torch_operators.operators._operator import Gradient, NpuOperator

SCHEMAS = """
npu_rms_norm(Tensor self, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor)
npu_rms_norm_backward(Tensor dy, Tensor self, Tensor gamma, Tensor rstd) -> (Tensor, Tensor)
npu_gemma_rms_norm(Tensor self, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor)
npu_add_rms_norm(Tensor x1, Tensor x2, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor, Tensor)
npu_add_rms_norm_v2(Tensor(a!) x1, Tensor(b!) x2, Tensor gamma, float epsilon=1e-06) -> Tensor
npu_add_rms_norm_v2_functional(Tensor x1, Tensor x2, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor, Tensor)
npu_add_rms_norm_cast(Tensor x1, Tensor x2, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor, Tensor, Tensor)
npu_add_rms_norm_quant(Tensor x1, Tensor x2, Tensor gamma, Tensor scales1, Tensor? zero_points1, Tensor? beta=None,
    Tensor? scales2=None, Tensor? zero_points2=None, *, int axis=-1, float epsilon=1e-06, bool div_mode=True,
    int? dst_type=None) -> (Tensor, Tensor, Tensor)
npu_add_rms_norm_dynamic_quant(Tensor x1, Tensor x2, Tensor gamma, *, Tensor? smooth_scale1=None,
    Tensor? smooth_scale2=None, Tensor? beta=None, float epsilon=1e-6, bool[2]? output_mask=None,
    int? y_dtype=None) -> (Tensor, Tensor, Tensor, Tensor, Tensor)
npu_rms_norm_quant(Tensor x, Tensor gamma, Tensor beta, Tensor scale, Tensor offset, float epsilon=1e-06, *,
    int? dst_dtype=None) -> Tensor
"""

_RMS, _QUANTISED, _BACKWARD = 5, 8, 12
"""Element operations: the norm's as in drynpu.kernels.ops.norm; ours the rest, 3 of them for rounding to INT8."""


def _normalised(x: Tensor, gamma: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    """Return x / rms(x) over the trailing dims that *gamma* has, and 1 / rms(x)."""
    axes = tuple(range(-gamma.dim(), 0))
    rstd = x.square().mean(axes, keepdim=True).add(epsilon).rsqrt()
    return x * rstd, rstd


def _check_suffix(api: str, x: Tensor, gamma: Tensor) -> None:
    if not gamma.dim() or x.shape[-gamma.dim() :] != gamma.shape:
        shapes = f"x {list(x.shape)}, gamma {list(gamma.shape)}"
        errors.reject(api, f"the shape of gamma should be the last dims of the shape of x, but got {shapes}.")


def _rms_norm(self: Tensor, gamma: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    _check_suffix("aclnnRmsNorm", self, gamma)
    y, rstd = _normalised(wide(self), gamma, epsilon)
    return (y * wide(gamma)).to(self.dtype), rstd


def _rms_norm_backward(dy: Tensor, self: Tensor, gamma: Tensor, rstd: Tensor) -> tuple[Tensor, Tensor]:
    grad, x, rstd = wide(dy), wide(self), wide(rstd)
    axes, lead = tuple(range(-gamma.dim(), 0)), tuple(range(self.dim() - gamma.dim()))
    weighted = grad * wide(gamma)
    dx = rstd * (weighted - x * rstd.square() * (weighted * x).mean(axes, keepdim=True))
    dgamma = grad * x * rstd
    return dx.to(self.dtype), dgamma.sum(lead) if lead else dgamma


def _rms_norm_gradient(call: Call, dy: Tensor, *others: Tensor) -> Mapping[str, Tensor | None]:
    del others
    dx, dgamma = torch.ops.npu.npu_rms_norm_backward(dy, call["self"], call["gamma"], call.results[1])
    return {"self": dx, "gamma": dgamma.to(call["gamma"].dtype)}


def _gemma_rms_norm(self: Tensor, gamma: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    _check_suffix("aclnnGemmaRmsNorm", self, gamma)
    y, rstd = _normalised(wide(self), gamma, epsilon)
    return (y * (1 + wide(gamma))).to(self.dtype), rstd


def _sum_and_norm(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return the norm of the sum before it is rounded, 1 / rms, and the sum in the type of *x1*."""
    _check_suffix("aclnnAddRmsNorm", x1, gamma)
    total = wide(x1) + wide(x2)
    y, rstd = _normalised(total, gamma, epsilon)
    return y * wide(gamma), rstd, total.to(x1.dtype)


def _add_rms_norm(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    y, rstd, total = _sum_and_norm(x1, x2, gamma, epsilon)
    return y.to(x1.dtype), rstd, total


def _add_rms_norm_v2(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float) -> Tensor:
    y, rstd, total = _sum_and_norm(x1, x2, gamma, epsilon)
    x1.copy_(y)
    x2.copy_(total)
    return rstd


def _add_rms_norm_v2_functional(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    y, rstd, total = _sum_and_norm(x1, x2, gamma, epsilon)
    return rstd, y.to(x1.dtype), total


def _add_rms_norm_cast(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float) -> tuple[Tensor, ...]:
    y, rstd, total = _sum_and_norm(x1, x2, gamma, epsilon)
    return y.float(), y.to(x1.dtype), rstd, total


def _scaled(y: Tensor, scale: Tensor, offset: Tensor | None, dtype: int | None, *, divide: bool) -> Tensor:
    """Return *y* quantised with a given scale, INT8 unless *dtype* says another type."""
    scaled = y / wide(scale) if divide else y * wide(scale)
    shifted = scaled if offset is None else scaled + wide(offset)
    return saturated(shifted, torch_dtype(dtype, torch.int8))


def _add_rms_norm_quant(
    x1: Tensor,
    x2: Tensor,
    gamma: Tensor,
    scales1: Tensor,
    zero_points1: Tensor | None,
    beta: Tensor | None,
    scales2: Tensor | None,
    zero_points2: Tensor | None,
    axis: int,
    epsilon: float,
    div_mode: bool,
    dst_type: int | None,
) -> tuple[Tensor, Tensor, Tensor]:
    errors.require(axis == -1, f"axis should be -1, but got {axis}.")
    y, _, total = _sum_and_norm(x1, x2, gamma, epsilon)
    y = y if beta is None else y + wide(beta)
    first = _scaled(y, scales1, zero_points1, dst_type, divide=div_mode)
    if scales2 is None:  # without a second scale the vendor leaves the second result unwritten
        return first, torch.zeros_like(first), total
    return first, _scaled(y, scales2, zero_points2, dst_type, divide=div_mode), total


def _add_rms_norm_dynamic_quant(
    x1: Tensor,
    x2: Tensor,
    gamma: Tensor,
    smooth_scale1: Tensor | None,
    smooth_scale2: Tensor | None,
    beta: Tensor | None,
    epsilon: float,
    output_mask: Sequence[bool] | None,
    y_dtype: int | None,
) -> tuple[Tensor, ...]:
    y, _, total = _sum_and_norm(x1, x2, gamma, epsilon)
    y = y if beta is None else y + wide(beta)
    wanted = output_mask or (True, smooth_scale1 is not None and smooth_scale2 is not None)
    message = "When the output_mask is not empty, at least one of y1 and y2 must be output. "
    errors.require(any(wanted), message, errors.NOT_SUPPORTED)
    dtype = torch_dtype(y_dtype, torch.int8)
    quantised = []
    for smooth, shown in zip((smooth_scale1, smooth_scale2), wanted, strict=True):
        scaled = y if smooth is None else y * wide(smooth)
        # What is not wanted has one element in the vendor's shapes.
        none = (x1.new_zeros(1, dtype=dtype), x1.new_zeros(1, dtype=torch.float32))
        quantised.append(quantised_by_row(scaled, dtype) if shown else none)
    (y1, scale1), (y2, scale2) = quantised
    return y1, y2, total, scale1, scale2


def _rms_norm_quant(
    x: Tensor, gamma: Tensor, beta: Tensor, scale: Tensor, offset: Tensor, epsilon: float, dst_dtype: int | None
) -> Tensor:
    _check_suffix("aclnnRmsNormQuant", x, gamma)
    y, _ = _normalised(wide(x), gamma, epsilon)
    return _scaled(y * wide(gamma) + wide(beta), scale, offset, dst_dtype, divide=False)


OPERATORS: Mapping[str, NpuOperator] = {
    "npu_rms_norm": NpuOperator(
        compute=_rms_norm,
        kernels=vector("RmsNorm", cost=_RMS),
        gradient=Gradient(compute=_rms_norm_gradient, keeps=("self", "gamma", 1)),
    ),
    "npu_rms_norm_backward": NpuOperator(
        compute=_rms_norm_backward, kernels=vector("RmsNormGrad", cost=_BACKWARD, mixed=True)
    ),
    "npu_gemma_rms_norm": NpuOperator(compute=_gemma_rms_norm, kernels=vector("GemmaRmsNorm", cost=_RMS + 1)),
    "npu_add_rms_norm": NpuOperator(compute=_add_rms_norm, kernels=vector("AddRmsNorm", cost=_RMS + 1)),
    "npu_add_rms_norm_v2": NpuOperator(
        compute=_add_rms_norm_v2, kernels=vector("InplaceAddRmsNorm", cost=_RMS + 1, written=("x1", "x2"))
    ),
    "npu_add_rms_norm_v2_functional": NpuOperator(
        compute=_add_rms_norm_v2_functional, kernels=vector("InplaceAddRmsNorm", cost=_RMS + 1)
    ),
    "npu_add_rms_norm_cast": NpuOperator(compute=_add_rms_norm_cast, kernels=vector("AddRmsNormCast", cost=_RMS + 2)),
    "npu_add_rms_norm_quant": NpuOperator(
        compute=_add_rms_norm_quant, kernels=vector("AddRmsNormQuant", cost=_RMS + _QUANTISED)
    ),
    "npu_add_rms_norm_dynamic_quant": NpuOperator(
        compute=_add_rms_norm_dynamic_quant, kernels=vector("AddRmsNormDynamicQuant", cost=_RMS + _QUANTISED)
    ),
    "npu_rms_norm_quant": NpuOperator(compute=_rms_norm_quant, kernels=vector("RmsNormQuant", cost=_RMS + _QUANTISED)),
}
