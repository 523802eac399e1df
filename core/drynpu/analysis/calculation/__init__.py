"""How much kernels compute and move: floating point operations, bytes, and their share of the chip's peak."""

from __future__ import annotations

from drynpu.analysis.calculation._scopes import SCOPE_FLOPS, scope_flops
from drynpu.analysis.calculation._work import (
    CUBE_FLOP_PER_CYCLE,
    KERNEL_WORK,
    UNCOUNTED_WORK,
    kernel_work,
    uncounted_work,
    work_totals,
)

__all__ = [
    "CUBE_FLOP_PER_CYCLE",
    "KERNEL_WORK",
    "SCOPE_FLOPS",
    "UNCOUNTED_WORK",
    "kernel_work",
    "scope_flops",
    "uncounted_work",
    "work_totals",
]
