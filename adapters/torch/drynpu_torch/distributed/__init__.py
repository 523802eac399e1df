"""
``torch.distributed`` on the simulated device: the backend ``hccl`` over gloo, and what a recording sees of it.

The processes talk for real, through gloo, so every result is the one of a plain gloo run. While a recording runs,
every call on a group whose backend is ``hccl`` becomes a communication operator of the simulated device; when it is
written, the ranks tell each other when their devices reached each of them (docs/torch-distributed.md).
"""

from __future__ import annotations

from drynpu_torch.distributed._backend import install_hccl
from drynpu_torch.distributed._collective_capture import CollectiveCapture, batch_of_device
from drynpu_torch.distributed._exchange import Exchange
from drynpu_torch.distributed._groups import parallel_group_info
from drynpu_torch.distributed._issued import Communication, Issued
from drynpu_torch.distributed._process_group import ProcessGroupHCCL

__all__ = [
    "CollectiveCapture",
    "Communication",
    "Exchange",
    "Issued",
    "ProcessGroupHCCL",
    "batch_of_device",
    "install_hccl",
    "parallel_group_info",
]
