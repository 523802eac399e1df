"""Transposing, and casts to types by number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._hifloat8 import hifloat8_codes, hifloat8_numbers
from drynpu_torch_operators.operators._launch import vector
from drynpu_torch_operators.operators._lowbits import HIFLOAT8
from drynpu_torch_operators.operators._numbers import torch_dtype
from drynpu_torch_operators.operators._operator import Gradient, NpuOperator

SCHEMAS = """
npu_transpose(Tensor self, int[] perm, bool require_contiguous=True) -> Tensor
npu_confusion_transpose(Tensor self, int[] perm, int[] shape, bool transpose_first) -> Tensor
npu_confusion_transpose_backward(Tensor grad, int[] perm, SymInt[] shape, bool transpose_first) -> Tensor
npu_dtype_cast(Tensor self, int dtype, int? input_dtype=None) -> Tensor
one_(Tensor(a!) self) -> Tensor(a!)
npu_one_hot(Tensor self, int num_classes=-1, int depth=1, Scalar on_value=1, Scalar off_value=0) -> Tensor
npu_broadcast(Tensor self, int[] size) -> Tensor
npu_masked_fill_range(Tensor self, Tensor start, Tensor end, Tensor value, int axis=-1) -> Tensor
_npu_format_cast(Tensor self, int acl_format) -> Tensor
"""

_CARRIED = (285, 293, 296, 297)
"""Types that are not torch's: int4, float8_e8m0fnu and two of 4 bits."""


def _transpose(self: Tensor, perm: Sequence[int]) -> Tensor:
    return self.permute(tuple(perm)).clone(memory_format=torch.contiguous_format)


def _confusion(self: Tensor, perm: Sequence[int], shape: Sequence[int], transpose_first: bool) -> Tensor:
    size, form = self.dim() if transpose_first else len(shape), "npu_confusion_transpose forward/backward input invalid"
    for place, axis in enumerate(perm):
        errors.require(axis < size, f"{form}, shape has size {size} but perm[{place}] is, {axis}")
    if transpose_first:
        return self.permute(tuple(perm)).reshape(tuple(shape)).clone(memory_format=torch.contiguous_format)
    return self.reshape(tuple(shape)).permute(tuple(perm)).clone(memory_format=torch.contiguous_format)


def _confusion_backward(grad: Tensor, perm: Sequence[int], shape: Sequence[int], transpose_first: bool) -> Tensor:
    """Return the gradient of a tensor of *shape*."""
    back = [list(perm).index(axis) for axis in range(len(perm))]
    if transpose_first:
        moved = [shape[axis] for axis in perm]
        return grad.reshape(moved).permute(back).clone(memory_format=torch.contiguous_format)
    return grad.permute(back).reshape(tuple(shape)).clone(memory_format=torch.contiguous_format)


def _confusion_gradient(call: Call, grad: Tensor) -> Mapping[str, Tensor | None]:
    rest = (call["perm"], call["self"].shape, call["transpose_first"])
    return {"self": torch.ops.npu.npu_confusion_transpose_backward(grad, *rest)}


def _dtype_cast(self: Tensor, dtype: int, input_dtype: int | None) -> Tensor:
    text = f"drynpu does not cast to or from the type number {dtype}; use npu_dynamic_mx_quant or npu_anti_quant"
    errors.require(dtype not in _CARRIED and input_dtype not in _CARRIED, text, errors.NOT_SUPPORTED)
    numbers = hifloat8_numbers(self) if input_dtype == HIFLOAT8 else self
    return hifloat8_codes(numbers) if dtype == HIFLOAT8 else numbers.to(torch_dtype(dtype, self.dtype), copy=True)


def _cast_gradient(call: Call, grad: Tensor) -> Mapping[str, Tensor | None]:
    return {"self": grad.to(call["self"].dtype)}


def _one(self: Tensor) -> Tensor:
    return self.fill_(1)


def _one_hot(self: Tensor, num_classes: int, depth: int, on_value: float, off_value: float) -> Tensor:
    classes = torch.arange(depth if num_classes == -1 else num_classes, device=self.device)
    return torch.where(self.unsqueeze(-1) == classes, float(on_value), float(off_value))


def _broadcast(self: Tensor, size: Sequence[int]) -> Tensor:
    return self.expand(tuple(size)).clone(memory_format=torch.contiguous_format)


def _masked_fill_range(self: Tensor, start: Tensor, end: Tensor, value: Tensor, axis: int) -> Tensor:
    """
    Return *self* with values in ranges of *axis*; begins and ends are [ranges, batch], one value for each range.

    The batch is the first axis where that is not the filled one.
    """
    axis %= self.dim()
    out = self.clone(memory_format=torch.contiguous_format)
    places = torch.arange(self.shape[axis], device=self.device)
    for number in range(start.shape[0]):
        inside = (places >= start[number, :, None]) & (places < end[number, :, None])
        shape = [1] * self.dim()
        shape[axis] = self.shape[axis]
        if axis and self.dim() != 1:
            shape[0] = inside.shape[0]
            inside = inside.reshape(shape)
        else:
            inside = inside.any(0).reshape(shape)
        out = torch.where(inside, value[number].to(self.dtype), out)
    return out


def _format_cast(self: Tensor) -> Tensor:
    """Return the same values in memory of their own; drynpu_torch.device keeps the number of the format."""
    return self.clone()


def _format_gradient(call: Call, grad: Tensor) -> Mapping[str, Tensor | None]:
    del call
    return {"self": grad}


OPERATORS: Mapping[str, NpuOperator] = {
    "npu_transpose": NpuOperator(compute=_transpose, kernels=vector("Transpose", "aclnnPermute", cost=0)),
    "npu_confusion_transpose": NpuOperator(
        compute=_confusion,
        kernels=vector("ConfusionTransposeD", cost=0),
        gradient=Gradient(compute=_confusion_gradient, keeps=("self",)),
    ),
    "npu_confusion_transpose_backward": NpuOperator(
        compute=_confusion_backward, kernels=vector("ConfusionTransposeD", cost=0)
    ),
    "npu_dtype_cast": NpuOperator(
        compute=_dtype_cast,
        kernels=vector("Cast", "aclnnCast"),
        gradient=Gradient(compute=_cast_gradient, keeps=("self",)),
    ),
    "one_": NpuOperator(compute=_one, kernels=vector("OnesLike", "aclnnInplaceOne", cost=0, written=("self",))),
    "npu_one_hot": NpuOperator(compute=_one_hot, kernels=vector("OneHot", "aclnnOneHot"), dtypes="int32, int64"),
    "npu_masked_fill_range": NpuOperator(
        compute=_masked_fill_range,
        kernels=vector("MaskedFillRange", cost=3),
        dtypes="float32, float16, int32, int8",
    ),
    "_npu_format_cast": NpuOperator(
        compute=_format_cast,
        kernels=vector("TransData", "aclnnNpuFormatCast", cost=0),
        gradient=Gradient(compute=_format_gradient, keeps=()),
    ),
    "npu_broadcast": NpuOperator(compute=_broadcast, kernels=vector("BroadcastTo", "aclnnExpand", cost=0)),
}
