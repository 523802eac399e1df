"""
``torch.distributed`` on the simulated device: the backend ``hccl`` over gloo, and its recording.

The processes exchange data through gloo, so every result equals a plain gloo run. While a recording runs, every
call on a group whose backend is ``hccl`` becomes a communication operator of the simulated device. When the recording
is written, the ranks exchange the times at which their devices reached each operator (docs/torch-distributed.md).
"""

from __future__ import annotations

from drynpu_torch.distributed._alone import lone_notes
from drynpu_torch.distributed._backend import install_hccl
from drynpu_torch.distributed._collective_capture import CollectiveCapture
from drynpu_torch.distributed._exchange import rendezvous
from drynpu_torch.distributed._groups import ProcessGroupHCCL, find_group, parallel_group_info
from drynpu_torch.distributed._interception import interception
from drynpu_torch.distributed._issued import Communication, Issued
from drynpu_torch.distributed._uneven import all_gather_into_tensor_uneven, reduce_scatter_tensor_uneven

__all__ = [
    "CollectiveCapture",
    "Communication",
    "Issued",
    "ProcessGroupHCCL",
    "all_gather_into_tensor_uneven",
    "find_group",
    "install_hccl",
    "interception",
    "lone_notes",
    "parallel_group_info",
    "reduce_scatter_tensor_uneven",
    "rendezvous",
]
