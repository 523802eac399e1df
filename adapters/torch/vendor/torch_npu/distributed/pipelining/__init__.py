"""The facade of ``torch_npu.distributed.pipelining``."""

from __future__ import annotations

from torch.distributed.pipelining import pipeline

__all__ = ["pipeline"]
