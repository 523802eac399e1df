"""Elements that differ, and places of elements that are not 0: how many there are is known once they are computed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np


def _unique(x: Any, ordered: Any = True, inverse: Any = False, counts: Any = False) -> Any:
    # Sorted whatever *ordered* says, as the operator of a device does it.
    del ordered, inverse, counts
    values, places, numbers = np.unique(x, return_inverse=True, return_counts=True)
    return values, places.reshape(x.shape), numbers


def _unique_slices(x: Any, ordered: Any, inverse: Any, dim: Any) -> Any:
    del ordered, inverse
    values, places, numbers = np.unique(x, return_inverse=True, return_counts=True, axis=int(dim))
    return values, places.reshape(-1), numbers


def _unique_values(x: Any, ordered: Any = True, inverse: Any = False) -> Any:
    values, places, _ = _unique(x, ordered)
    return values, places if inverse else places[:0]


def _places(x: Any) -> Any:
    return (np.stack(np.nonzero(x), 1),)


UNIQUE: Final[Mapping[str, Any]] = MappingProxyType(
    {"Unique2": _unique, "UniqueDim": _unique_slices, "InnerUnique": _unique_values, "InnerNonZero": _places}
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
