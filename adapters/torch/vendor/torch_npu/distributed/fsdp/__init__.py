"""The facade of ``torch_npu.distributed.fsdp``; the vendor's function keeps buffers that PyTorch's makes anew."""

from __future__ import annotations

from torch.distributed.fsdp import fully_shard

__all__ = ["fully_shard"]
