"""The backend ``hccl``, and patches of PyTorch for tensors of a device that say cpu."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from drynpu_torch.device import known_device, state
from drynpu_torch.distributed._alone import install_lone, lone_rank
from drynpu_torch.distributed._batch_norm import patch_batch_norm, register_batch_norm
from drynpu_torch.distributed._collective_capture import batch_of_device
from drynpu_torch.distributed._groups import BACKEND, is_of_device, make_backend, name_communicators
from drynpu_torch.distributed._interception import interception

_NAMESPACE = "c10d::"
_DEVICE_KEY = "PrivateUse1"


@functools.cache
def install_hccl() -> None:
    """
    Register the backend ``hccl``; let groups, their splits, DistributedDataParallel and FSDP accept its tensors.

    Without gloo there is no backend.
    """
    register_batch_norm()
    if not dist.is_available() or not dist.is_gloo_available():
        return
    dist.Backend.register_backend(BACKEND, _create, devices=["npu", "cpu"], extended_api=True)
    name_communicators()
    dist.is_hccl_available = lambda: True  # type: ignore[attr-defined]
    _patch_config()
    _patch_splits()
    _patch_batches()
    _patch_data_parallel()
    if state().library is not None:
        _install_transport()
    lone = lone_rank()
    if lone is not None:
        install_lone(lone)
    interception()


def _create(group: object, options: object) -> dist.ProcessGroup:
    _patch_sharding()
    patch_batch_norm()
    return make_backend(group, options)  # type: ignore[return-value]


# N22, docs/tricks.md
def _patch_config() -> None:
    """Let a group that is for the npu alone (``npu:hccl``, or no backend named) accept its tensors, which say cpu."""
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

    PyTorch would copy the options of the backend, and gloo's options cannot be copied. A new group of the same ranks,
    which only its members create, is equal to a split.
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
            # PyTorch refuses the arguments, or the group is not of the device.
            return original(parent_pg, split_ranks, timeout, pg_options, group_desc, **kwargs)
        global_ranks = dist.get_process_group_ranks(parent)
        parts = [[global_ranks[rank] for rank in part] for part in split_ranks]
        members = next((sorted(part) for part in parts if dist.get_rank() in part), None)
        if members is None:
            return None
        group: dist.ProcessGroup = dist.new_group(
            members, timeout, dist.get_backend_config(parent), group_desc=group_desc, use_local_synchronization=True
        )
        return group

    for module in (dist, dist.distributed_c10d, dist.device_mesh):
        module.split_group = split_group  # type: ignore[attr-defined]


def _patch_batches() -> None:
    """Let a recording see that the calls of a batch belong together: a device runs them as one operator."""
    original = dist.batch_isend_irecv

    @functools.wraps(original)
    def batch_isend_irecv(p2p_op_list: list[dist.P2POp]) -> list[dist.Work]:
        return batch_of_device(lambda: original(p2p_op_list))

    dist.batch_isend_irecv = batch_isend_irecv
    dist.distributed_c10d.batch_isend_irecv = batch_isend_irecv


def _patch_data_parallel() -> None:
    """
    Let a module that says cpu accept ``device_ids=[n]``.

    On a device DistributedDataParallel moves the inputs to device n, where the parameters have to be. Here all are in
    host memory, so that nothing has to be moved, and only the check of the argument is left.
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
            _check_device(module, device_ids)
            device_ids = output_device = None
        original(self, module, device_ids, output_device, *args, **kwargs)

    DistributedDataParallel.__init__ = init  # type: ignore[method-assign]


def _check_device(module: torch.nn.Module, device_ids: Sequence[int | torch.device]) -> None:
    if len(device_ids) != 1:
        raise ValueError(
            f"device_ids {list(device_ids)} has {len(device_ids)} devices; DistributedDataParallel takes one device "
            "per process, give device_ids=[local_rank]"
        )
    index = state().device_index(device_ids[0])
    for name, parameter in module.named_parameters():
        device = known_device(parameter)
        if device not in (None, index):
            raise ValueError(
                f"device_ids [{index}] is not where the module is: parameter {name!r} was made for npu:{device}; "
                f'give device_ids=[{device}] or move the module with .to("npu:{index}")'
            )


@functools.cache
def _patch_sharding() -> None:
    """
    Let ``fully_shard`` and ``FullyShardedDataParallel`` take modules that were moved to the npu; once per process.

    FSDP asks every parameter whether it is on the device of the group. Streams and events stay the device's, so
    that gathers overlap as they do there. This is called when a group is created, which FSDP needs: its import takes
    longer than all else here.
    """
    from torch.distributed.fsdp import _init_utils
    from torch.distributed.fsdp._fully_shard._fsdp_param import FSDPParam

    from drynpu_torch.device.npu.amp import sharded_grad_scaler

    compute_device, shard = _init_utils._get_compute_device, FSDPParam._init_sharded_param

    @functools.wraps(compute_device)
    def get_compute_device(*args: Any, **kwargs: Any) -> torch.device:
        return _as_tensors_say(compute_device(*args, **kwargs))

    @functools.wraps(shard)
    def init_sharded_param(
        self: FSDPParam, param: torch.nn.Parameter, device: torch.device, *args: Any, **kwargs: Any
    ) -> None:
        shard(self, param, _as_tensors_say(device), *args, **kwargs)

    sharded_grad_scaler.scale_on_npu()
    _init_utils._get_compute_device = get_compute_device
    FSDPParam._init_sharded_param = init_sharded_param  # type: ignore[method-assign]


def _as_tensors_say(device: torch.device) -> torch.device:
    """Return the device that a tensor on *device* says: cpu, or the npu where device reporting is on."""
    return torch.empty(0, device=device).device


def _install_transport() -> None:
    """Let the operators of ``c10d`` run on views in host memory: gloo moves nothing else."""
    registered = torch._C._dispatch_get_registrations_for_dispatch_key(_DEVICE_KEY)
    names = [name.removeprefix(_NAMESPACE) for name in registered if name.startswith(_NAMESPACE)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch tells of kernels that are replaced, as these are on purpose
        torch.ops.drynpu.serve_collectives(names)
