"""Activations, gated ones, and softmax with a mask."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from drynpu.kernels.ops.gelu import FAST_FACTOR
from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import vector
from drynpu_torch_operators.operators._numbers import wide
from drynpu_torch_operators.operators._operator import Gradient, NpuOperator

SCHEMAS = """
npu_swiglu(Tensor self, int dim=-1) -> Tensor
npu_swiglu_backward(Tensor grad_output, Tensor self, int dim=-1) -> Tensor
npu_clipped_swiglu(Tensor x, *, Tensor? group_index=None, int dim=-1, float alpha=1.702, float limit=7.0,
    float bias=1.0, bool interleaved=True) -> Tensor
npu_geglu(Tensor self, int dim=-1, int approximate=1, bool activate_left=False) -> (Tensor, Tensor)
npu_geglu_grad(Tensor grad_output, Tensor self, Tensor gelu, int dim=-1, int approximate=1,
    bool activate_left=False) -> Tensor
npu_fast_gelu(Tensor self) -> Tensor
npu_fast_gelu_backward(Tensor grad, Tensor self) -> Tensor
fast_gelu(Tensor self) -> Tensor
npu_gelu(Tensor self, *, str approximate='none') -> Tensor
npu_gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor
npu_gelu_mul(Tensor input, *, str approximate='none') -> Tensor
npu_silu(Tensor self) -> Tensor
npu_silu_(Tensor(a!) self) -> Tensor(a!)
npu_silu_backward(Tensor grad_output, Tensor x0, Tensor x1) -> Tensor
npu_mish(Tensor self) -> Tensor
npu_mish_backward(Tensor grad, Tensor input) -> Tensor
npu_scaled_masked_softmax(Tensor x, Tensor mask, Scalar scale=1, bool fixed_triu_mask=False) -> Tensor
npu_scaled_masked_softmax_backward(Tensor y_grad, Tensor y, Tensor mask, Scalar scale, bool fixed_triu_mask) -> Tensor
"""

"""Factor of the fast GELU."""
_MASKED = -10000.0
"""What a masked score becomes; a row without any other gives equal shares."""
_TANH, _ERF = ("tanh", "none")
# Element operations of kernels that drynpu.kernels has no count for: ours.
_SWIGLU, _SWIGLU_GRADIENT, _GEGLU, _GEGLU_GRADIENT, _SOFTMAX, _SOFTMAX_GRADIENT = 6, 12, 10, 20, 7, 6


def _halves(name: str, x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Return both halves of an axis in the type in which vector units compute."""
    errors.require(1 <= x.dim() <= 8, "dim num out of range [1, 8]")
    size = x.shape[dim]
    text = f"x shape: {list(x.shape)}. Dim [{dim}] of x should be divisible by 2, but get [{size}]"
    if size % 2:
        errors.reject(name, text)
    first, second = wide(x).chunk(2, dim)
    return first, second


def _swiglu(self: Tensor, dim: int) -> Tensor:
    first, second = _halves("aclnnSwiGlu", self, dim)
    return (first * first.sigmoid() * second).to(self.dtype)


def _swiglu_backward(grad_output: Tensor, self: Tensor, dim: int) -> Tensor:
    first, second = _halves("aclnnSwiGluGrad", self, dim)
    grad, gate = wide(grad_output), first.sigmoid()
    dfirst = grad * second * gate * (1 + first * (1 - gate))
    return torch.cat((dfirst, grad * first * gate), dim).to(self.dtype)


def _clipped_swiglu(
    x: Tensor, group_index: Tensor | None, dim: int, alpha: float, limit: float, bias: float, interleaved: bool
) -> Tensor:
    axis = dim % x.dim()
    rows = wide(x).reshape(math.prod(x.shape[:axis]), -1)
    gate, linear = (rows[:, ::2], rows[:, 1::2]) if interleaved else rows.chunk(2, -1)
    gate, linear = gate.clamp(max=limit), linear.clamp(-limit, limit)
    y = gate * (alpha * gate).sigmoid() * (linear + bias)
    if group_index is not None:
        y = torch.where(torch.arange(len(y), device=x.device).unsqueeze(1) < group_index.sum(), y, 0)
    return y.reshape(*x.shape[:axis], x.shape[axis] // 2, *x.shape[axis + 1 :]).to(x.dtype)


def _gelu_of(x: Tensor, approximate: str) -> Tensor:
    return torch.nn.functional.gelu(x, approximate=approximate)


def _gelu_slope(x: Tensor, approximate: str) -> Tensor:
    slope: Tensor = torch.ops.aten.gelu_backward(torch.ones_like(x), x, approximate=approximate)
    return slope


def _geglu(self: Tensor, dim: int, approximate: int, activate_left: bool) -> tuple[Tensor, Tensor]:
    first, second = _halves("aclnnGeGluV3", self, dim)
    activated, other = (first, second) if activate_left else (second, first)
    gelu = _gelu_of(activated, _TANH if approximate else _ERF)
    return (gelu * other).to(self.dtype), gelu.to(self.dtype)


def _geglu_grad(
    grad_output: Tensor, self: Tensor, gelu: Tensor, dim: int, approximate: int, activate_left: bool
) -> Tensor:
    first, second = _halves("aclnnGeGluV3Backward", self, dim)
    activated, other = (first, second) if activate_left else (second, first)
    grad = wide(grad_output)
    dactivated = grad * other * _gelu_slope(activated, _TANH if approximate else _ERF)
    parts = (dactivated, grad * wide(gelu))
    return torch.cat(parts if activate_left else parts[::-1], dim).to(self.dtype)


def _fast_gelu(self: Tensor) -> Tensor:
    x = wide(self)
    return (x * (FAST_FACTOR * x).sigmoid()).to(self.dtype)


def _fast_gelu_backward(grad: Tensor, self: Tensor) -> Tensor:
    x = wide(self)
    gate = (FAST_FACTOR * x).sigmoid()
    return (wide(grad) * gate * (1 + FAST_FACTOR * x * (1 - gate))).to(self.dtype)


def _gelu(self: Tensor, approximate: str) -> Tensor:
    return _gelu_of(wide(self), approximate).to(self.dtype)


def _gelu_backward(grad_output: Tensor, self: Tensor, approximate: str) -> Tensor:
    return (wide(grad_output) * _gelu_slope(wide(self), approximate)).to(self.dtype)


def _gelu_mul(input_: Tensor, approximate: str) -> Tensor:
    first, second = _halves("aclnnGeluMul", input_, -1)
    return (_gelu_of(first, approximate) * second).to(input_.dtype)


def _silu(self: Tensor) -> Tensor:
    x = wide(self)
    return (x * x.sigmoid()).to(self.dtype)


def _silu_in_place(self: Tensor) -> Tensor:
    return self.copy_(_silu(self))


def _silu_backward(grad_output: Tensor, x0: Tensor) -> Tensor:
    x = wide(x0)
    gate = x.sigmoid()
    return (wide(grad_output) * gate * (1 + x * (1 - gate))).to(x0.dtype)


def _mish(self: Tensor) -> Tensor:
    x = wide(self)
    return (x * torch.nn.functional.softplus(x).tanh()).to(self.dtype)


def _mish_backward(grad: Tensor, input_: Tensor) -> Tensor:
    x = wide(input_)
    inner = torch.nn.functional.softplus(x).tanh()
    return (wide(grad) * (inner + x * (1 - inner.square()) * x.sigmoid())).to(input_.dtype)


def _dropped(mask: Tensor, like: Tensor, *, triangle: bool) -> Tensor:
    """Return which scores are masked: as in *mask*, or with *triangle* all above the diagonal."""
    if triangle:
        return torch.ones(like.shape[-2:], dtype=torch.bool, device=like.device).triu(1)
    return mask.bool()


def _scaled_masked_softmax(x: Tensor, mask: Tensor, scale: float, fixed_triu_mask: bool) -> Tensor:
    scores = (wide(x) * scale).masked_fill(_dropped(mask, x, triangle=fixed_triu_mask), _MASKED)
    return scores.softmax(-1).to(x.dtype)


def _scaled_masked_softmax_backward(
    y_grad: Tensor, y: Tensor, mask: Tensor, scale: float, fixed_triu_mask: bool
) -> Tensor:
    grad, shares = wide(y_grad), wide(y)
    dx = scale * shares * (grad - (grad * shares).sum(-1, keepdim=True))
    return dx.masked_fill(_dropped(mask, y, triangle=fixed_triu_mask), 0).to(y.dtype)


def _gradient(operator: str, *arguments: str, kept: str = "self") -> Gradient:
    """Return the gradient of one tensor that *operator* makes from the incoming one, the tensor and *arguments*."""

    def compute(call: Call, grad: Tensor, *others: Tensor) -> Mapping[str, Tensor | None]:
        del others
        return {kept: getattr(torch.ops.npu, operator)(grad, call[kept], *(call[name] for name in arguments))}

    return Gradient(compute=compute, keeps=(kept,))


def _gelu_gradient(call: Call, grad: Tensor) -> Mapping[str, Tensor | None]:
    return {"self": torch.ops.npu.npu_gelu_backward(grad, call["self"], approximate=call["approximate"])}


def _geglu_gradient(call: Call, grad: Tensor, *others: Tensor) -> Mapping[str, Tensor | None]:
    del others
    rest = (call[name] for name in ("dim", "approximate", "activate_left"))
    return {"self": torch.ops.npu.npu_geglu_grad(grad, call["self"], call.results[1], *rest)}


def _silu_gradient(call: Call, grad: Tensor) -> Mapping[str, Tensor | None]:
    return {"self": torch.ops.npu.npu_silu_backward(grad, call["self"], call.results[0])}


def _softmax_gradient(call: Call, grad: Tensor) -> Mapping[str, Tensor | None]:
    rest = (call[name] for name in ("mask", "scale", "fixed_triu_mask"))
    return {"x": torch.ops.npu.npu_scaled_masked_softmax_backward(grad, call.results[0], *rest)}


def _plain(compute: Callable[..., Tensor], kernel: str, cost: float | None = None) -> NpuOperator:
    return NpuOperator(compute=compute, kernels=vector(kernel, cost=cost))


_FAST_GELU = NpuOperator(compute=_fast_gelu, kernels=vector("FastGelu"), gradient=_gradient("npu_fast_gelu_backward"))

OPERATORS: Mapping[str, NpuOperator] = {
    "npu_swiglu": NpuOperator(
        compute=_swiglu, kernels=vector("SwiGlu", cost=_SWIGLU), gradient=_gradient("npu_swiglu_backward", "dim")
    ),
    "npu_swiglu_backward": _plain(_swiglu_backward, "SwiGluGrad", _SWIGLU_GRADIENT),
    "npu_clipped_swiglu": _plain(_clipped_swiglu, "ClippedSwiglu", _SWIGLU + 3),
    "npu_geglu": NpuOperator(
        compute=_geglu,
        kernels=vector("GeGluV2", "aclnnGeGluV3", cost=_GEGLU),
        gradient=Gradient(compute=_geglu_gradient, keeps=("self", 1)),
    ),
    "npu_geglu_grad": NpuOperator(
        compute=_geglu_grad, kernels=vector("GeGluGradV2", "aclnnGeGluV3Backward", cost=_GEGLU_GRADIENT)
    ),
    "npu_fast_gelu": _FAST_GELU,
    "fast_gelu": _FAST_GELU,
    "npu_fast_gelu_backward": _plain(_fast_gelu_backward, "FastGeluGrad"),
    "npu_gelu": NpuOperator(
        compute=_gelu,
        kernels=vector("GeluV2", "aclnnGeluV2"),
        gradient=Gradient(compute=_gelu_gradient, keeps=("self",)),
    ),
    "npu_gelu_backward": NpuOperator(
        compute=_gelu_backward, kernels=vector("GeluGradV2", "aclnnGeluBackwardV2", cost=_GEGLU_GRADIENT)
    ),
    "npu_gelu_mul": _plain(_gelu_mul, "GeluMul", _GEGLU),
    "npu_silu": NpuOperator(
        compute=_silu,
        kernels=vector("Swish", "aclnnSilu"),
        gradient=Gradient(compute=_silu_gradient, keeps=("self", 0)),
    ),
    "npu_silu_": NpuOperator(compute=_silu_in_place, kernels=vector("Swish", "aclnnSilu")),
    "npu_silu_backward": NpuOperator(compute=_silu_backward, kernels=vector("SwishGrad", "aclnnSiluBackward")),
    "npu_mish": NpuOperator(
        compute=_mish, kernels=vector("Mish", "aclnnMish"), gradient=_gradient("npu_mish_backward")
    ),
    "npu_mish_backward": NpuOperator(compute=_mish_backward, kernels=vector("MishGrad", "aclnnMishBackward")),
    "npu_scaled_masked_softmax": NpuOperator(
        compute=_scaled_masked_softmax,
        kernels=vector("ScaledMaskedSoftmax", cost=_SOFTMAX),
        gradient=Gradient(compute=_softmax_gradient, keeps=("mask", 0)),
    ),
    "npu_scaled_masked_softmax_backward": _plain(
        _scaled_masked_softmax_backward, "ScaledMaskedSoftmaxGrad", _SOFTMAX_GRADIENT
    ),
}
