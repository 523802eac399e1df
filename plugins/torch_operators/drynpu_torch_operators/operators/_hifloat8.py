"""
HiFloat8, the 8-bit floating type of the 950: codes as UINT8, and what they mean.

Behind the sign the leading bits ("dot") say how many bits the exponent has, 0 to 4; the rest is the mantissa. So there
are more digits near 1 and a wide range (Luo et al., Ascend HiFloat8 Format for Deep Learning, 2024).
"""

from __future__ import annotations

import functools
import math
from typing import Final

import torch
from torch import Tensor

LARGEST: Final = 32768.0
_SIGN, _NAN, _INFINITY = 0x80, 0x80, 0x6F
_DOTS: Final = ((0b11, 5, 4), (0b10, 5, 3), (0b01, 5, 2), (0b001, 4, 1), (0b0001, 3, 0))
"""Leading bits of a code of 7 bits, how far they stand from its end, and the bits of the exponent."""
_LOWEST: Final = 23
"""Codes without any of these bits are powers of two from 2**(1 - 23) on."""


def _magnitude(code: int) -> float:
    """Return the number of a code without its sign."""
    for dot, place, bits in _DOTS:
        if code >> place != dot:
            continue
        rest = code & ((1 << place) - 1)
        mantissa_bits = place - bits
        mantissa = (rest & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
        field = rest >> mantissa_bits
        if not bits:
            return 1 + mantissa
        # The first bit is the exponent's sign; the leading 1 of its size is left out.
        size = (field & ((1 << (bits - 1)) - 1)) | (1 << (bits - 1))
        exponent = -size if field >> (bits - 1) else size
        return math.ldexp(1 + mantissa, exponent)
    return math.ldexp(1.0, code - _LOWEST) if code else 0.0


@functools.cache
def _tables() -> tuple[Tensor, Tensor, Tensor]:
    """Return the numbers of all 256 codes; the positive codes by size, and the middles between their numbers."""
    sizes = torch.tensor([_magnitude(code) for code in range(_SIGN)])
    ordered, in_order = sizes.sort()
    sizes[_INFINITY] = math.inf
    numbers = torch.cat([sizes, -sizes])
    numbers[_NAN] = math.nan
    return numbers, in_order.to(torch.uint8), (ordered[1:] + ordered[:-1]) / 2


def hifloat8_codes(x: Tensor) -> Tensor:
    """Return the codes of the nearest numbers, middles away from zero; what is too large is infinite."""
    _, in_order, middles = (table.to(x.device) for table in _tables())
    wide = x.float()
    codes = in_order[torch.bucketize(wide.abs(), middles, right=True)]
    signed = codes | torch.where((wide < 0) & (codes != 0), _SIGN, 0).to(torch.uint8)
    return torch.where(wide.isnan(), _NAN, signed).to(torch.uint8)


def hifloat8_numbers(codes: Tensor) -> Tensor:
    """Return the numbers of codes, FP32."""
    return _tables()[0].to(codes.device)[codes.int()]
