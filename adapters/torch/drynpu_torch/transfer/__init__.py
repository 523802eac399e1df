"""
Let a CUDA script run as an NPU script: what ``torch_npu.contrib.transfer_to_npu`` does (torch_npu_profiler.md 1.11).

Importing this package changes nothing; :func:`transfer` patches PyTorch, once per process.
"""

from __future__ import annotations

from drynpu_torch.transfer._patches import TRANSFERRED, transfer

__all__ = ["TRANSFERRED", "transfer"]
