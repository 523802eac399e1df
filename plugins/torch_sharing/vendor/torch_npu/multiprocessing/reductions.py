"""The facade of ``torch_npu.multiprocessing.reductions``."""

from __future__ import annotations

from drynpu_torch_sharing.reductions import install as _add_reductions_methods
from drynpu_torch_sharing.reductions import rebuild_npu_event, rebuild_npu_tensor
from drynpu_torch_sharing.reductions import reduce_event as _npu_reduce_event
from drynpu_torch_sharing.reductions import reduce_storage as _npu_reduce_storage
from drynpu_torch_sharing.reductions import reduce_tensor as _npu_reduce_tensor

__all__ = [
    "_add_reductions_methods",
    "_npu_reduce_event",
    "_npu_reduce_storage",
    "_npu_reduce_tensor",
    "rebuild_npu_event",
    "rebuild_npu_tensor",
]
