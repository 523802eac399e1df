"""Numbers of type bfloat16, which NumPy lacks: the upper half of a float32."""

from __future__ import annotations

from typing import Any

import numpy as np

BFLOAT16_BITS = np.dtype([("bfloat16", np.uint16)])
"""Type of an array whose elements are the bits of bfloat16 numbers."""
_HALF_BITS = np.uint32(16)


def widen(array: Any) -> Any:
    """Return an array of bfloat16 bits as float32, exactly; anything else as it is."""
    if not isinstance(array, np.ndarray) or array.dtype != BFLOAT16_BITS:
        return array
    return (array["bfloat16"].astype(np.uint32) << _HALF_BITS).view(np.float32)


def narrow(array: Any) -> Any:
    """Return numbers rounded to the nearest bfloat16, ties to even, as bits; what is not a number stays none."""
    wide = np.array(array, np.float32, order="C")
    bits = wide.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> _HALF_BITS) & 1)) >> _HALF_BITS
    rounded = np.where(np.isnan(wide), np.uint32(0x7FC0), rounded)
    return rounded.astype(np.uint16).view(BFLOAT16_BITS)
