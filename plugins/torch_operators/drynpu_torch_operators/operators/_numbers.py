"""How the device computes: vector units in FP32 with one rounding to the result's type; casts that saturate."""

from __future__ import annotations

from typing import Final, overload

import torch

from drynpu_torch_operators.operators import errors

_BY_NUMBER: Final = {
    0: torch.uint8,
    1: torch.int8,
    2: torch.int16,
    3: torch.int32,
    4: torch.int64,
    5: torch.float16,
    6: torch.float32,
    7: torch.float64,
    11: torch.bool,
    15: torch.bfloat16,
    16: torch.int32,
    12: torch.int8,
    13: torch.uint8,
    14: torch.int32,
    23: torch.float8_e5m2,
    24: torch.float8_e4m3fn,
    256: torch.float32,
    257: torch.float16,
    258: torch.int8,
    259: torch.int32,
    260: torch.uint8,
    262: torch.int16,
    265: torch.int64,
    267: torch.float64,
    268: torch.bool,
    283: torch.bfloat16,
    285: torch.int32,
    290: torch.uint8,
    291: torch.float8_e5m2,
    292: torch.float8_e4m3fn,
    293: torch.uint8,
    296: torch.uint8,
    297: torch.uint8,
}
"""Types of torch by its own numbers (12 to 14 and 16 are the quantised ones), and by torch_npu's."""


TYPE_NUMBERS: Final = {
    "int4": 285,
    "hifloat8": 290,
    "float8_e5m2": 291,
    "float8_e4m3fn": 292,
    "float8_e8m0fnu": 293,
    "float4_e2m1fn_x2": 296,
    "float4_e1m2fn_x2": 297,
}
"""Names of torch_npu for types that its operators take by number (torch_npu/csrc/custom_dtype: 256 + aclDataType)."""


@overload
def wide(x: torch.Tensor) -> torch.Tensor: ...
@overload
def wide(x: None) -> None: ...
def wide(x: torch.Tensor | None) -> torch.Tensor | None:
    """Return *x* in the type in which vector units compute: FP32, or FP64 for a tensor of FP64."""
    return x if x is None or x.dtype is torch.float64 else x.to(torch.float32)


def wide_dtype(x: torch.Tensor) -> torch.dtype:
    """Return the type in which vector units compute with *x*."""
    return torch.float64 if x.dtype is torch.float64 else torch.float32


def saturated(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return *x* in an integer or 8-bit floating *dtype*: rounded half to even, values out of range at its ends."""
    if dtype.is_floating_point:
        limits = torch.finfo(dtype)
        return x.clamp(limits.min, limits.max).to(dtype)
    bounds = torch.iinfo(dtype)
    return x.round().clamp(bounds.min, bounds.max).to(dtype)


def torch_dtype(number: int | None, default: torch.dtype) -> torch.dtype:
    """
    Return the type that carries a type given by number.

    Numbers below 256 come from torch (c10/core/ScalarType.h), others from ACL plus 256, which are no types of
    torch: an 8-bit number without such a type comes in UINT8, and 4-bit integers come eight to an INT32.
    """
    if number is None:
        return default
    dtype = _BY_NUMBER.get(number)
    if dtype is None:
        raise RuntimeError(errors.tagged(f"the type number {number} is not supported", errors.TYPE))
    return dtype


def quantised_by_row(
    x: torch.Tensor, dtype: torch.dtype, largest: float | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """
    Return *x* in *dtype* with the scale of each row, FP32 and of the shape of *x* without its last axis.

    A row of zeros has the scale 0.
    """
    limit = largest or (torch.finfo(dtype).max if dtype.is_floating_point else float(torch.iinfo(dtype).max))
    scale = x.abs().amax(-1) / limit
    divided = x / torch.where(scale == 0, 1.0, scale).unsqueeze(-1)
    return saturated(divided, dtype), scale.float()
