"""The facade of ``apex.parallel.sync_batchnorm``."""

from __future__ import annotations

from drynpu_torch.apex.parallel import (
    SyncBatchNorm,
)

__all__ = [
    "SyncBatchNorm",
]
