"""Faults that are put into numbers at chosen steps, with which a script tries whether training notices them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from drynpu_mindspore_kernels.compositions._arguments import Numbers
from drynpu_mindspore_kernels.compositions._bfloat import widen

_CYCLE = 0
"""``error_mode``: every so many steps; otherwise at the steps that are listed. Both count from ``start``."""
_ONE_BIT, _EXPONENT, _MULTIPLY, _LARGEST = 0, 1, 2, 3
"""``flip_mode``: bitflip, bitflip_designed, multiply, multiply_max."""
_BFLOAT16, _HALF = 8, 5
"""Bits of exponents; float32 has as many as bfloat16."""


def _is_hit(step: int, steps: Any, mode: int) -> bool:
    if step < 0:
        return False
    if mode == _CYCLE:
        return step != 0 and step % int(np.ravel(steps)[0]) == 0
    return bool(np.any(np.ravel(steps) == step))


def _with_faults(
    x: Any,
    places: Any,
    step: Any,
    seed: Any,
    offset: Any,
    start: Any = 0,
    steps: Numbers = 1,
    error_mode: Any = _CYCLE,
    mode: Any = _ONE_BIT,
    factor: Any = 0.0,
    bit: Any = 0,
    share: Any = 0.0,
) -> Any:
    del seed, offset
    if share > 0:
        raise ValueError("flip_probability is not supported: how an AI CPU draws depends on the number of its cores")
    if not _is_hit(int(step) - int(start), steps, int(error_mode)):
        return widen(x)
    result = np.array(widen(x))
    flat = result.reshape(-1)
    hit = np.ravel(places)
    if int(mode) == _LARGEST:
        hit = np.flatnonzero(np.abs(flat) == np.abs(flat).max())
    if int(mode) in (_MULTIPLY, _LARGEST):
        np.multiply.at(flat, hit, factor)
        return result
    numbers = np.array(x)
    bits = numbers.reshape(-1).view(f"u{x.itemsize}")
    for place in hit:
        bits[place] ^= _mask(bits[place], int(mode), int(bit), _HALF if x.dtype == np.float16 else _BFLOAT16)
    return widen(numbers)


def _mask(number: Any, mode: int, bit: int, exponent: int) -> Any:
    """Return the bit that changes: a numbered one from the sign on, or the first of the exponent that is 0."""
    highest = 8 * number.itemsize - 1
    if mode == _ONE_BIT:
        return number.dtype.type(1 << (highest - bit))
    masks = [1 << (highest - 1 - place) for place in range(exponent)]
    return number.dtype.type(next((mask for mask in masks if not int(number) & mask), 0))


FAULTS: Final[Mapping[str, Any]] = MappingProxyType(
    {"GenerateEodMaskV2": _with_faults, "InsertGemV2InBackward": lambda x, *_: x}
)
"""By primitive, as the kernel of an AI CPU in MindSpore's sources defines it."""
