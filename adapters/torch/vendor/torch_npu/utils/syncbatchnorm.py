"""The facade of ``torch_npu.utils.syncbatchnorm``: statistics of batches that the ranks share, with their gradients."""

from __future__ import annotations

from torch.nn.modules._functions import SyncBatchNorm

__all__ = ["SyncBatchNorm"]
