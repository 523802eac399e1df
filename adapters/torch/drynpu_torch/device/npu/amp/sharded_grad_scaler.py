"""Scaling of losses where each rank has a shard of the gradients (FSDP)."""

from __future__ import annotations

from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler as _ShardedGradScaler

from drynpu_torch.device._state import DEVICE_TYPE


def scale_on_npu() -> None:
    """Let PyTorch's scaler be for the npu unless another device is named, as torch_npu lets it."""
    init = _ShardedGradScaler.__init__
    device, *others = init.__defaults__ or ()
    if device != DEVICE_TYPE:
        init.__defaults__ = (DEVICE_TYPE, *others)


scale_on_npu()
