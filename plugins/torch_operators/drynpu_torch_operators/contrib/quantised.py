"""Layers with quantised weights, for inference: their numbers come from a checkpoint."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import Parameter
from torch.nn.modules.utils import _pair

from drynpu_torch_operators.contrib._checks import require
from drynpu_torch_operators.operators import errors

_INTEGERS = (torch.int32, torch.int8)
_OUTPUTS = (torch.int8, torch.float16, torch.bfloat16)
_ALLOWED = {
    "scale": (torch.int64, torch.float32, torch.bfloat16),
    "offset": (torch.float32,),
    "bias": (torch.int32, torch.bfloat16, torch.float16, torch.float32),
    "pertoken_scale": (torch.float32,),
}
"""Types of the numbers of a quantised layer."""


def _frozen(*size: int, dtype: torch.dtype | None = None, device: Any = None) -> Parameter:
    return Parameter(torch.empty(size, dtype=dtype, device=device), requires_grad=False)


def _typed(condition: bool, text: str) -> None:
    require(condition, text, errors.TYPE)


class LinearQuant(nn.Module):
    """A product of INT8 numbers, or of INT32 words with eight 4-bit ones, that is scaled back."""

    scale: Tensor
    offset: Tensor | None
    pertoken_scale: Tensor | None
    bias: Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        bias: bool = True,
        offset: bool = False,
        pertoken_scale: bool = False,
        device: Any = None,
        dtype: Any = None,
        output_dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        del device, dtype
        self.in_features = in_features
        self.out_features = out_features
        self.output_dtype = output_dtype
        self.weight = _frozen(out_features, in_features)
        self.scale = _frozen(out_features)
        rows = torch.float32
        self.register_parameter("offset", _frozen(out_features, dtype=rows) if offset else None)
        self.register_parameter("pertoken_scale", _frozen(out_features, dtype=rows) if pertoken_scale else None)
        self.register_parameter("bias", _frozen(out_features, dtype=torch.int32) if bias else None)

    def forward(self, linear_quant_input: Tensor) -> Tensor:
        """Return [..., out_features] for an input [..., in_features]."""
        dtype, weight = linear_quant_input.dtype, self.weight.dtype
        text = "input and weight should be both torch.int32 or both torch.int8 datatype, "
        _typed(dtype == weight and dtype in _INTEGERS, f"{text}but now input is {dtype}, weight is {weight}.")
        scale = self.scale
        plain = scale.dtype == torch.float32 and self.output_dtype not in (torch.bfloat16, torch.int32)
        if self.pertoken_scale is None and plain:
            scale = torch.ops.npu.npu_trans_quant_param(scale, self.offset)
        return torch.ops.npu.npu_quant_matmul(  # type: ignore[no-any-return]
            linear_quant_input,
            self.weight.transpose(-2, -1),
            scale,
            offset=self.offset,
            pertoken_scale=self.pertoken_scale,
            bias=self.bias,
            output_dtype=self.output_dtype,
        )


class LinearA8W8Quant(LinearQuant):
    """``LinearQuant`` that checks the types of its numbers."""

    def __init__(self, in_features: int, out_features: int, **options: Any) -> None:
        super().__init__(in_features, out_features, **options)
        text = "torch_npu.contrib.module.LinearA8W8Quant is deprecated and will be removed in a future version. "
        warnings.warn(f"{text}Use torch_npu.contrib.module.LinearQuant instead.", FutureWarning, stacklevel=2)

    def forward(self, linear_quant_input: Tensor) -> Tensor:
        """Return [..., out_features] for an input [..., in_features]."""
        for name, allowed in _ALLOWED.items():
            tensor = getattr(self, name)
            if tensor is not None:
                text = f"{name} should be {_listed(allowed)} datatype, but now it is {tensor.dtype}."
                _typed(tensor.dtype in allowed, text)
        dtype = self.output_dtype
        text = f"output_dtype should be {_listed(_OUTPUTS)}, but now it is {dtype}."
        _typed(dtype is None or dtype in _OUTPUTS, text)
        return super().forward(linear_quant_input)


def _listed(types: tuple[torch.dtype, ...]) -> str:
    return " or ".join([", ".join(map(str, types[:-1])), str(types[-1])] if types[1:] else map(str, types))


class LinearWeightQuant(nn.Module):
    """A product with quantised weights that are turned back before it."""

    antiquant_scale: Tensor
    antiquant_offset: Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        antiquant_offset: bool = False,
        quant_scale: bool = False,
        quant_offset: bool = False,
        antiquant_group_size: int = 0,
        inner_precise: int = 0,
        weight_dtype: int | None = None,
    ) -> None:
        super().__init__()
        del dtype
        self.weight = _frozen(out_features, in_features, device=device)
        self.antiquant_scale = _frozen(out_features, device=device)
        parameters = {
            "antiquant_offset": antiquant_offset,
            "quant_scale": quant_scale,
            "quant_offset": quant_offset,
            "bias": bias,
        }
        for name, there in parameters.items():
            self.register_parameter(name, _frozen(out_features, device=device) if there else None)
        self.antiquant_group_size = antiquant_group_size
        self.inner_precise = inner_precise
        self.weight_dtype = weight_dtype

    def forward(self, x: Tensor) -> Tensor:
        """Return [..., out_features] for an input [..., in_features]."""
        scale, offset = (
            each.transpose(-1, -2) if each is not None and each.dim() == 2 else each
            for each in (self.antiquant_scale, self.antiquant_offset)
        )
        return torch.ops.npu.npu_weight_quant_batchmatmul(  # type: ignore[no-any-return]
            x,
            self.weight.transpose(-1, -2),
            scale,
            offset,
            self.quant_scale,
            self.quant_offset,
            self.bias,
            self.antiquant_group_size,
            self.inner_precise,
            weight_dtype=self.weight_dtype,
        )


class QuantConv2d(nn.Module):
    """A convolution of INT8 numbers that is scaled back."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        output_dtype: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        offset: bool = False,
        offset_x: int = 0,
        round_mode: str = "rint",
        input_dtype: int | None = None,
        weight_dtype: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        del device, dtype
        require(not offset, "offset must be False")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _pair(kernel_size)
        self.stride = _pair(stride)
        self.padding = _pair(padding)
        self.dilation = _pair(dilation)
        self.groups = groups
        self.offset_x = offset_x
        self.round_mode = round_mode
        self.input_dtype = input_dtype
        self.weight_dtype = weight_dtype
        self.output_dtype = output_dtype
        self.weight = _frozen(out_channels, in_channels // groups, *self.kernel_size)
        self.scale = _frozen(out_channels, dtype=torch.int64)
        self.register_parameter("bias", _frozen(out_channels) if bias else None)
        self.register_parameter("offset", None)

    def forward(self, quant_conv2d_input: Tensor) -> Tensor:
        """Return [batch, out_channels, height, width] for an input [batch, in_channels, height, width]."""
        scale: Tensor = self.scale
        if scale.dtype == torch.float32:
            scale = torch.ops.npu.npu_trans_quant_param(scale)
        places = (self.stride, self.padding, self.dilation, self.groups, self.offset_x, self.round_mode)
        types = {"input_dtype": self.input_dtype, "weight_dtype": self.weight_dtype}
        return torch.ops.npu.npu_quant_conv2d(  # type: ignore[no-any-return]
            quant_conv2d_input, self.weight, scale, *places, self.output_dtype, self.bias, self.offset, **types
        )
