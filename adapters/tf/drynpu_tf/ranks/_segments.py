"""
Which gradients HCCL reduces together: segments of them, in the order in which the backward part computes them.

Without a strategy of the script's own there are two: 96.54 % of the bytes and the rest (CANN's guide to splitting
gradients).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

DEFAULT_SHARES: Final = (96.54, 3.46)


def segments_by_size(sizes_bytes: Sequence[int], shares: Sequence[float] = DEFAULT_SHARES) -> list[list[int]]:
    """Return the numbers of the gradients in each segment; a segment ends with the gradient that fills its share."""
    total, whole = sum(sizes_bytes), sum(shares)
    bounds, passed = [], 0.0
    for share in shares[:-1]:
        passed += share
        bounds.append(total * passed / whole)
    segments: list[list[int]] = [[]]
    filled = 0
    for number, size in enumerate(sizes_bytes):
        if segments[-1] and len(segments) <= len(bounds) and filled >= bounds[len(segments) - 1]:
            segments.append([])
        segments[-1].append(number)
        filled += size
    return [segment for segment in segments if segment]


def segments_by_index(count: int, last: Sequence[int]) -> list[list[int]]:
    """Return the numbers of *count* gradients in segments that end with the numbers *last*."""
    ends = [*sorted(number + 1 for number in last if 0 <= number < count - 1), count]
    starts = [0, *ends[:-1]]
    return [list(range(start, end)) for start, end in zip(starts, ends, strict=True) if start < end]
