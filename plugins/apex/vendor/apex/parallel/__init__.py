"""The facade of ``apex.parallel``."""

from __future__ import annotations

from apex.parallel import LARC, distributed, sync_batchnorm
from torch.distributed import ReduceOp

from drynpu_apex.parallel import (
    DistributedDataParallel,
    Reducer,
    SyncBatchNorm,
    convert_syncbn_model,
    create_syncbn_process_group,
)

__all__ = [
    "LARC",
    "DistributedDataParallel",
    "ReduceOp",
    "Reducer",
    "SyncBatchNorm",
    "convert_syncbn_model",
    "create_syncbn_process_group",
    "distributed",
    "sync_batchnorm",
]
