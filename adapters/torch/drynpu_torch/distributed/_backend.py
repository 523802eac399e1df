"""The backend ``hccl``, and what in PyTorch asks a device that says cpu for more than it can answer."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from drynpu_torch.distributed._batch_norm import patch_batch_norm
from drynpu_torch.distributed._groups import BACKEND, is_of_device
from drynpu_torch.distributed._process_group import make_backend, name_communicators
from drynpu_torch.distributed._sharded import patch_sharding


def install_hccl(
    index_of: Callable[[Any], int],
    made_for: Callable[[torch.Tensor], int | None],
    in_batch: Callable[[Callable[[], list[dist.Work]]], list[dist.Work]],
) -> None:
    """
    Register the backend ``hccl``; let groups, their splits, DistributedDataParallel and FSDP take what says cpu.

    Parameters
    ----------
    index_of:
        Returns the checked index of a device.
    made_for:
        Returns the index of the device that a tensor was made for, None if that is not known.
    in_batch:
        Runs a batch of point-to-point calls, which a device runs as one operator.
    """
    if not dist.is_available() or not dist.is_gloo_available():
        return
    dist.Backend.register_backend(BACKEND, _create, devices=["npu", "cpu"], extended_api=True)
    name_communicators()
    dist.is_hccl_available = lambda: True  # type: ignore[attr-defined]
    _patch_config()
    _patch_splits()
    _patch_batches(in_batch)
    _patch_data_parallel(index_of, made_for)


def _create(asked: Any, options: Any) -> dist.ProcessGroup:
    patch_sharding()
    patch_batch_norm()
    return make_backend(asked, options)  # type: ignore[return-value]


def _patch_config() -> None:
    """Let a group that is for the npu alone (``npu:hccl``, or no backend named) take its tensors, which say cpu."""
    kind = dist.distributed_c10d.BackendConfig
    original = kind.__init__

    @functools.wraps(original)
    def init(self: dist.distributed_c10d.BackendConfig, backend: dist.Backend) -> None:
        original(self, backend)
        if self.device_backend_map.get("npu") == BACKEND:
            self.device_backend_map.setdefault("cpu", dist.Backend(BACKEND))

    kind.__init__ = init  # type: ignore[method-assign]


def _patch_splits() -> None:
    """
    Let ``split_group`` divide an ``hccl`` group, as a mesh does whose default group was bound to a device.

    gloo's options cannot be copied, so that PyTorch's own way ends in an error; a new group of the same ranks, which
    only its members make, is what a split gives.
    """
    original = dist.split_group

    @functools.wraps(original)
    def split_group(
        parent_pg: dist.ProcessGroup | None = None,
        split_ranks: list[list[int]] | None = None,
        timeout: timedelta | None = None,
        pg_options: Any = None,
        group_desc: str | None = None,
        **kwargs: Any,
    ) -> dist.ProcessGroup | None:
        world = dist.group.WORLD
        parent = parent_pg or world
        bound = world is not None and world.bound_device_id is not None
        if not split_ranks or parent is None or not bound or not is_of_device(parent):
            # Refused in PyTorch's own words, or none of ours.
            return original(parent_pg, split_ranks, timeout, pg_options, group_desc, **kwargs)
        inside = dist.get_process_group_ranks(parent)
        parts = [[inside[rank] for rank in part] for part in split_ranks]
        own = next((sorted(part) for part in parts if dist.get_rank() in part), None)
        if own is None:
            return None
        made: dist.ProcessGroup = dist.new_group(
            own, timeout, dist.get_backend_config(parent), group_desc=group_desc, use_local_synchronization=True
        )
        return made

    for module in (dist, dist.distributed_c10d, dist.device_mesh):
        module.split_group = split_group  # type: ignore[attr-defined]


def _patch_batches(in_batch: Callable[[Callable[[], list[dist.Work]]], list[dist.Work]]) -> None:
    original = dist.batch_isend_irecv

    @functools.wraps(original)
    def batch_isend_irecv(p2p_op_list: list[dist.P2POp]) -> list[dist.Work]:
        return in_batch(lambda: original(p2p_op_list))

    dist.batch_isend_irecv = batch_isend_irecv
    dist.distributed_c10d.batch_isend_irecv = batch_isend_irecv


def _patch_data_parallel(index_of: Callable[[Any], int], made_for: Callable[[torch.Tensor], int | None]) -> None:
    """
    Let ``device_ids=[n]`` mean what it means on a device, for a module that says cpu.

    On a device DistributedDataParallel moves the inputs to device n, where the parameters have to be; here they
    are all in host memory, so there is nothing to move and only the check is left.
    """
    original = DistributedDataParallel.__init__

    @functools.wraps(original)
    def init(
        self: DistributedDataParallel,
        module: torch.nn.Module,
        device_ids: Sequence[int | torch.device] | None = None,
        output_device: int | torch.device | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if device_ids and all(parameter.device.type == "cpu" for parameter in module.parameters()):
            _check_device(module, device_ids, index_of, made_for)
            device_ids = output_device = None
        original(self, module, device_ids, output_device, *args, **kwargs)

    DistributedDataParallel.__init__ = init  # type: ignore[method-assign]


def _check_device(
    module: torch.nn.Module,
    device_ids: Sequence[int | torch.device],
    index_of: Callable[[Any], int],
    made_for: Callable[[torch.Tensor], int | None],
) -> None:
    if len(device_ids) != 1:
        raise ValueError(
            f"device_ids {list(device_ids)} has {len(device_ids)} devices; DistributedDataParallel takes one device "
            "per process, give device_ids=[local_rank]"
        )
    index = index_of(device_ids[0])
    elsewhere = {name: at for name, value in module.named_parameters() if (at := made_for(value)) not in (None, index)}
    if elsewhere:
        name, at = next(iter(elsewhere.items()))
        raise ValueError(
            f"device_ids [{index}] is not where the module is: parameter {name!r} was made for npu:{at}; "
            f'give device_ids=[{at}] or move the module with .to("npu:{index}")'
        )
