"""Convolution whose weights meet points at shifted places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from drynpu.kernels import TaskType
from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._bilinear import bilinear
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import Launch, product
from drynpu_torch_operators.operators._numbers import wide, wide_dtype
from drynpu_torch_operators.operators._operator import FLOATS, Gradient, NpuOperator
from drynpu_torch_operators.operators._vjp import pulled_back

SCHEMAS = """
npu_deformable_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor? bias, int[2] kernel_size, int[] stride,
    int[] padding, int[4] dilation=[1,1,1,1], int groups=1, int deformable_groups=1, bool modulated=True) ->
    (Tensor, Tensor)
npu_deformable_conv2dbk(Tensor input, Tensor grad_output, Tensor offset_out, Tensor weight, Tensor offset,
    int[2] kernel_size, int[] stride, int[] padding, int[4] dilation=[1,1,1,1], int groups=1,
    int deformable_groups=1, bool modulated=True) -> (Tensor, Tensor, Tensor, Tensor)
"""


def _steps(count: int, like: Tensor) -> Tensor:
    return torch.arange(count, dtype=like.dtype, device=like.device)


def _gathered(x: Tensor, offset: Tensor, call: Call) -> Tensor:
    """Return [batch, channels, rows * kernel, columns * kernel]: what each weight of each output place meets."""
    batch, channels, _, _ = x.shape
    groups, (high, wide_) = call["deformable_groups"], call["kernel_size"]
    rows, columns = offset.shape[-2:]
    shifts = offset.reshape(batch, 3, groups, high, wide_, rows, columns)
    (down, right), (spread_y, spread_x) = call["stride"][2:], call["dilation"][2:]
    y = _steps(rows, x)[:, None] * down - call["padding"][0] + shifts[:, 1]
    y = y + (_steps(high, x) * spread_y)[:, None, None, None]
    x_ = _steps(columns, x) * right - call["padding"][2] + shifts[:, 0]
    x_ = x_ + (_steps(wide_, x) * spread_x)[:, None, None]
    parts = x.reshape(batch * groups, channels // groups, *x.shape[-2:])
    places = zip(parts, y.flatten(0, 1), x_.flatten(0, 1), shifts[:, 2].flatten(0, 1), strict=True)
    samples = torch.stack([bilinear(part, down_, right_) * mask for part, down_, right_, mask in places])
    return (
        samples.reshape(batch, channels, high, wide_, rows, columns).permute(0, 1, 4, 2, 5, 3).flatten(4).flatten(2, 3)
    )


def _deformable(call: Call) -> tuple[Tensor, Tensor]:
    """Return the convolution, and what it was computed from; both in FP32."""
    for name in ("input", "offset"):
        dims = call[name].dim()
        errors.require(dims >= 4, f"{name} has to be more than 4D, but got Tensor of dimension {dims}")
    errors.require(call["modulated"], "drynpu computes modulated deformable convolutions only", errors.NOT_SUPPORTED)
    gathered = _gathered(wide(call["input"]), wide(call["offset"]), call)
    weight, bias = wide(call["weight"]), wide(call["bias"])
    stride = list(call["kernel_size"])
    return torch.nn.functional.conv2d(gathered, weight, bias, stride, groups=call["groups"]), gathered


def _deformable_shapes(call: Call) -> tuple[Tensor, Tensor]:
    x, (high, width) = call["input"], call["kernel_size"]
    rows, columns = call["offset"].shape[-2:]
    out = (x.shape[0], call["weight"].shape[0], rows, columns)
    gathered = (*x.shape[:2], rows * high, columns * width)
    return x.new_empty(out, dtype=wide_dtype(x)), x.new_empty(gathered, dtype=wide_dtype(x))


def _deformable_backward(call: Call) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients of input, weight, offset and bias."""
    x, offset, grad = wide(call["input"]), wide(call["offset"]), wide(call["grad_output"])
    stride = list(call["kernel_size"])

    def forward(gathered: Tensor, weight: Tensor) -> Tensor:
        return torch.nn.functional.conv2d(gathered, weight, None, stride, groups=call["groups"])

    dgathered, dweight = pulled_back(forward, (wide(call["offset_out"]), wide(call["weight"])), grad)
    dinput, doffset = pulled_back(lambda one, two: _gathered(one, two, call), (x, offset), dgathered)
    return dinput, dweight, doffset, grad.sum((0, 2, 3))


def _deformable_backward_shapes(call: Call) -> tuple[Tensor, ...]:
    gradients = [torch.empty_like(call[name], dtype=wide_dtype(call[name])) for name in ("input", "weight", "offset")]
    return (*gradients, gradients[0].new_empty(call["weight"].shape[0]))


def _deformable_gradient(call: Call, grad: Tensor, *others: Tensor) -> Mapping[str, Tensor | None]:
    del others
    tensors = (call["input"], grad, call.results[1], call["weight"], call["offset"])
    names = ("kernel_size", "stride", "padding", "dilation", "groups", "deformable_groups", "modulated")
    gradients = torch.ops.npu.npu_deformable_conv2dbk(*tensors, *(call[name] for name in names))
    return dict(zip(("input", "weight", "offset", "bias"), gradients, strict=True))


def _convolved(call: Call, grad: Tensor, gathered: Tensor, count: int) -> Iterable[Launch]:
    inner = call["weight"][0].numel()
    sides = [(grad[:, 0].numel(), inner, grad.shape[1])] * count
    yield product("Conv2D", [gathered, call["weight"]], [grad], sides, task=TaskType.AI_CORE)


def _deformable_kernels(call: Call) -> Iterable[Launch]:
    out, gathered = call.outputs
    yield Launch(kernel="DeformableOffsets", inputs=call.tensors("input", "offset"), outputs=[gathered], cost=12)
    yield from _convolved(call, out, gathered, 1)


def _deformable_backward_kernels(call: Call) -> Iterable[Launch]:
    dinput, _, doffset, _ = call.outputs
    gathered = call["offset_out"]
    inner, grad = call["weight"][0].numel(), call["grad_output"]
    sides = [(grad[:, 0].numel(), inner, grad.shape[1])]
    inputs = [grad, call["weight"], gathered]
    for kernel in ("Conv2DBackpropInput", "Conv2DBackpropFilter"):
        yield product(kernel, inputs, [gathered], sides, task=TaskType.AI_CORE)
    read = [gathered, *call.tensors("input", "offset")]
    yield Launch(kernel="DeformableOffsetsGrad", inputs=read, outputs=[dinput, doffset], cost=24)


OPERATORS: Mapping[str, NpuOperator] = {
    "npu_deformable_conv2d": NpuOperator(
        compute=_deformable,
        shapes=_deformable_shapes,
        kernels=_deformable_kernels,
        gradient=Gradient(compute=_deformable_gradient, keeps=("input", "weight", "offset", 1)),
        dtypes=FLOATS,
    ),
    "npu_deformable_conv2dbk": NpuOperator(
        compute=_deformable_backward,
        shapes=_deformable_backward_shapes,
        kernels=_deformable_backward_kernels,
        dtypes=FLOATS,
    ),
}
