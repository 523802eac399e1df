"""The facade of ``torch_npu.distributed.tensor.experimental``."""

from __future__ import annotations

from torch.distributed.tensor.experimental import context_parallel

__all__ = ["context_parallel"]
