"""FSDP on a device whose tensors say cpu: it asks every parameter whether it is on the device that the group is for."""

from __future__ import annotations

import functools
from typing import Any

import torch


@functools.cache
def patch_sharding() -> None:
    """
    Let ``fully_shard`` and ``FullyShardedDataParallel`` take modules that were moved to the npu; once per process.

    Streams and events stay the device's, so that gathers overlap as there. Called when a group is made, because
    FSDP needs one, and because importing it takes longer than all else here.
    """
    from torch.distributed.fsdp import _init_utils
    from torch.distributed.fsdp._fully_shard._fsdp_param import FSDPParam

    compute_device, shard = _init_utils._get_compute_device, FSDPParam._init_sharded_param

    @functools.wraps(compute_device)
    def get_compute_device(*args: Any, **kwargs: Any) -> torch.device:
        return _as_tensors_say(compute_device(*args, **kwargs))

    @functools.wraps(shard)
    def init_sharded_param(
        self: FSDPParam, param: torch.nn.Parameter, device: torch.device, *args: Any, **kwargs: Any
    ) -> None:
        shard(self, param, _as_tensors_say(device), *args, **kwargs)

    _init_utils._get_compute_device = get_compute_device
    FSDPParam._init_sharded_param = init_sharded_param  # type: ignore[method-assign]


def _as_tensors_say(device: torch.device) -> torch.device:
    """Return what a tensor on *device* says; the device itself where device reporting is on."""
    return torch.empty(0, device=device).device
