"""The facade of ``torch_npu.distributed.distributed_c10d``."""

from __future__ import annotations

from torch_npu.distributed import is_hccl_available, reinit_process_group

__all__ = ["is_hccl_available", "reinit_process_group"]
