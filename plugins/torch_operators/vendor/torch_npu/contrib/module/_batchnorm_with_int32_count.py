"""The facade of ``torch_npu.contrib.module._batchnorm_with_int32_count``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.batch_norms import BatchNorm as _BatchNorm
from drynpu_torch_operators.contrib.batch_norms import (
    FastBatchNorm1d,
    FastBatchNorm2d,
    FastBatchNorm3d,
    FastSyncBatchNorm,
)
from drynpu_torch_operators.contrib.batch_norms import NormBase as _NormBase

__all__ = [
    "FastBatchNorm1d",
    "FastBatchNorm2d",
    "FastBatchNorm3d",
    "FastSyncBatchNorm",
    "_BatchNorm",
    "_NormBase",
]
