"""Integers that are read from tensors: lengths, counts and ends of groups; and what stands for them without values."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor


def integers(tensor: Tensor, stand_in: Sequence[int]) -> list[int]:
    """Return the integers of a tensor, or *stand_in* where it has no values: a run that computes nothing."""
    if tensor.device.type == "meta":
        return list(stand_in)
    return [int(value) for value in tensor.reshape(-1).tolist()]


def even_shares(total: int, parts: int) -> list[int]:
    """Return *total* in as many parts as equal as can be, the larger ones first."""
    share, rest = divmod(total, max(parts, 1))
    return [share + (number < rest) for number in range(parts)]


def running_ends(counts: Sequence[int]) -> list[int]:
    """Return where each of the parts that stand one behind the other ends."""
    ends, end = [], 0
    for count in counts:
        end += count
        ends.append(end)
    return ends
