"""``torch_npu._C._distributed_c10d``: where scripts find the options of a communicator."""

from __future__ import annotations

from drynpu_torch.distributed import ProcessGroupHCCL

__all__ = ["ProcessGroupHCCL"]
