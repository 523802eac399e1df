"""Element operations of kernels that sort: their number grows with the length of what is sorted."""

from __future__ import annotations

import math
from typing import Final

from drynpu.kernels._families import family_of
from drynpu.kernels._types import KernelSpec

_SORTED_AT_ONCE: Final = 32
"""Elements that the first pass of a vector core puts in order."""
_MERGED_LISTS: Final = 4
"""Ordered lists that a further pass makes one of."""
_PASS_OPERATIONS: Final = 24.0
"""What a pass takes for one element: 4096 FLOAT in 9.4 us on one core of A2 are five passes of 0.64 cycles each."""
_CHUNK: Final = 4096
"""Elements that stay in a core between passes; of a longer row a top-k merges the largest of each chunk alone."""


def operations_per_element(spec: KernelSpec) -> float:
    """Return the element operations per element of the largest tensor of a vector kernel."""
    family, name = family_of(spec.op_type), spec.op_type.lower()
    if family.name != "sort" or name.startswith("arg"):
        return family.operations
    longest = max((t.shape[-1] for t in spec.inputs if t.shape and t.elements), default=1)
    merged = longest if "sort" in name else min(longest, _CHUNK)
    merges = math.ceil(math.log(max(merged / _SORTED_AT_ONCE, 1.0), _MERGED_LISTS) - 1e-9)
    return _PASS_OPERATIONS * (1 + merges)
