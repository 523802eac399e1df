"""The facade of ``torch_npu.utils.profiler``, which records one step and ends the script."""

from __future__ import annotations

from typing import Any, Final

from drynpu_torch.profiler import StepProfile

_first: Final[list[StepProfile]] = []


def Profile(*arguments: Any, **options: Any) -> StepProfile:
    """Return the profile of this process, which the first call makes."""
    if not _first:
        _first.append(StepProfile(*arguments, **options))
    return _first[0]


__all__ = ["Profile"]
