"""The facade of ``apex.parallel.sync_batchnorm``."""

from __future__ import annotations

from drynpu_apex.parallel import (
    SyncBatchNorm,
)

__all__ = [
    "SyncBatchNorm",
]
