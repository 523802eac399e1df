"""
Let a CUDA script run as an NPU script: what ``torch_npu.contrib.transfer_to_npu`` does (torch_npu_profiler.md 1.11).

Importing this package changes nothing; :func:`transfer` patches PyTorch, once per process.
"""

from __future__ import annotations

from drynpu_torch.transfer._devices import to_npu, with_hccl_backend, with_npu_devices
from drynpu_torch.transfer._patches import TRANSFERRED, forget_nccl, transfer, without_cuda_config

__all__ = [
    "TRANSFERRED",
    "forget_nccl",
    "to_npu",
    "transfer",
    "with_hccl_backend",
    "with_npu_devices",
    "without_cuda_config",
]
