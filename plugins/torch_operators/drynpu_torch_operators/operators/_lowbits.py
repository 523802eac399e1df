"""Numbers of fewer than 8 bits, packed into carriers, and scales that are powers of two for blocks of 32."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors

BLOCK: Final = 32
"""Numbers that share a scale in the mx formats."""
HIFLOAT8: Final = 290
_FP4_E2M1: Final = 296
_FP4_E1M2: Final = 297
_MIDDLES: Final = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)
"""Middles between neighbouring magnitudes of e2m1: 0, 0.5, 1, 1.5, 2, 3, 4, 6."""
_EXPONENT_BIAS: Final = 127
_LARGEST_EXPONENT: Final = {24: 8, 292: 8, 23: 15, 291: 15, _FP4_E2M1: 2, _FP4_E1M2: 0}
_LARGEST: Final = {24: 448.0, 292: 448.0, 23: 57344.0, 291: 57344.0, _FP4_E2M1: 6.0, _FP4_E1M2: 1.75}
_TYPES: Final = {24: torch.float8_e4m3fn, 292: torch.float8_e4m3fn, 23: torch.float8_e5m2, 291: torch.float8_e5m2}


def unpacked_int4(words: Tensor) -> Tensor:
    """Return the eight integers of every INT32 word, the lowest bits first, along the last axis; FP32."""
    nibbles = words.unsqueeze(-1).bitwise_right_shift(torch.arange(0, 32, 4, device=words.device).int()) & 15
    signed = torch.where(nibbles > 7, nibbles - 16, nibbles)
    return signed.flatten(-2).float()


def packed_int4(values: Tensor) -> Tensor:
    """Return eight integers of [-8, 7] in every INT32 word, the first in the lowest bits, along the last axis."""
    nibbles = (values.long() & 15).reshape(*values.shape[:-1], values.shape[-1] // 8, 8)
    words = (nibbles << torch.arange(0, 32, 4, device=values.device)).sum(-1)
    return torch.where(words >= 2**31, words - 2**32, words).int()


def _fp4_codes(x: Tensor, number: int) -> Tensor:
    """Return the 4-bit codes of *x*, rounded half to even and saturated."""
    size = x.abs()
    if number == _FP4_E1M2:  # equal steps of a quarter
        code = (size * 4).round().clamp(max=7)
    else:
        code = torch.zeros_like(size)
        for place, middle in enumerate(_MIDDLES):
            code += (size > middle) | ((size == middle) & (place % 2 == 1))
    return code.to(torch.uint8) | (x.signbit().to(torch.uint8) << 3)


def in_mx_type(x: Tensor, number: int) -> Tensor:
    """Return *x* in the type of that number: a type of 8 bits of torch, or two of 4 bits in a UINT8."""
    if number in _TYPES:
        limit = _LARGEST[number]
        return x.clamp(-limit, limit).to(_TYPES[number])
    codes = _fp4_codes(x, number)
    return codes[..., ::2] | (codes[..., 1::2] << 4)


def mx_exponents(largest: Tensor, number: int, algorithm: int) -> tuple[Tensor, Tensor]:
    """
    Return the exponents of blocks with those *largest* magnitudes, and their codes: the exponent plus 127 as UINT8.

    Algorithm 0 takes the exponent of the largest number, 1 rounds the exponent of largest / limit up.
    """
    errors.require(number in _LARGEST, f"the dst_type {number} is not supported", errors.TYPE)
    errors.require(algorithm in (0, 1), f"scale_alg {algorithm} is not supported by drynpu", errors.NOT_SUPPORTED)
    mantissa, exponent = torch.frexp(largest if algorithm == 0 else largest / _LARGEST[number])
    exponent = exponent - 1
    exponent = exponent - _LARGEST_EXPONENT[number] if algorithm == 0 else exponent + (mantissa != 0.5).int()
    exponent = torch.where(largest == 0, -_EXPONENT_BIAS, exponent.clamp(-_EXPONENT_BIAS, _EXPONENT_BIAS))
    return exponent, (exponent + _EXPONENT_BIAS).to(torch.uint8)


def mx_quantised(x: Tensor, axis: int, number: int, algorithm: int, block: int = BLOCK) -> tuple[Tensor, Tensor]:
    """
    Return *x* in an mx type with the scales of its blocks along *axis*.

    The axis of the scales has half as many places as there are blocks, and the last axis two.
    """
    rows = x.float().movedim(axis, -1)
    length = rows.shape[-1]
    padded = torch.nn.functional.pad(rows, (0, -length % block)).reshape(*rows.shape[:-1], -1, block)
    exponent, codes = mx_exponents(padded.abs().amax(-1), number, algorithm)
    scaled = torch.ldexp(padded, -exponent.unsqueeze(-1)).flatten(-2)[..., :length].movedim(-1, axis)
    codes = torch.nn.functional.pad(codes, (0, codes.shape[-1] % 2)).reshape(*codes.shape[:-1], -1, 2)
    place = axis % x.dim() - x.dim()
    return in_mx_type(scaled, number), codes.movedim(-2, place - 1).contiguous()


def mx_factors(scale: Tensor, length: int) -> Tensor:
    """Return factors [length, columns] of scales [length / 64, columns, 2], whose blocks go down the columns."""
    exponents = scale.view(torch.uint8).int().movedim(-1, -2).flatten(-3, -2) - _EXPONENT_BIAS
    factors = torch.ldexp(torch.ones_like(exponents, dtype=torch.float32), exponents)
    return factors.repeat_interleave(BLOCK, -2)[..., :length, :]


def mx_row_factors(scale: Tensor, length: int) -> Tensor:
    """Return factors [rows, length] of scales [rows, length / 64, 2], whose blocks go along the rows."""
    exponents = scale.view(torch.uint8).int().flatten(-2) - _EXPONENT_BIAS
    factors = torch.ldexp(torch.ones_like(exponents, dtype=torch.float32), exponents)
    return factors.repeat_interleave(BLOCK, -1)[..., :length]
