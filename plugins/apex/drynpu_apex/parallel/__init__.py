"""Data parallel training as ``apex.parallel`` has it."""

from __future__ import annotations

from drynpu_apex.parallel._data_parallel import DistributedDataParallel
from drynpu_apex.parallel._flat import Reducer, by_type, flat_call, reduced_flat
from drynpu_apex.parallel._larc import LARC
from drynpu_apex.parallel._sync_batch_norm import SyncBatchNorm, convert_syncbn_model, create_syncbn_process_group

__all__ = [
    "LARC",
    "DistributedDataParallel",
    "Reducer",
    "SyncBatchNorm",
    "by_type",
    "convert_syncbn_model",
    "create_syncbn_process_group",
    "flat_call",
    "reduced_flat",
]
