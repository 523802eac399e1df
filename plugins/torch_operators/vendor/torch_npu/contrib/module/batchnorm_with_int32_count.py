"""The facade of ``torch_npu.contrib.module.batchnorm_with_int32_count``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.batch_norms import (
    FastBatchNorm1d,
    FastBatchNorm2d,
    FastBatchNorm3d,
    FastSyncBatchNorm,
)

__all__ = ["FastBatchNorm1d", "FastBatchNorm2d", "FastBatchNorm3d", "FastSyncBatchNorm"]
