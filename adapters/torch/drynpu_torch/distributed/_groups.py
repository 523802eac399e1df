"""Process groups whose backend is ``hccl``, under the names that profiles give them, and ``ProcessGroupHCCL``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from attrs import define, field, frozen
from attrs.validators import instance_of

BACKEND = "hccl"
_TIMEOUT = timedelta(minutes=30)  # PyTorch's for every backend but NCCL
_UNNAMED = ("", "undefined", "default_pg")
"""Descriptions of groups that were created without one."""


@frozen
class Group:
    """
    A communication group.

    ``name`` is the communicator's, the same on all ranks: ``group_name_<n>`` as in genuine profiles, where n is
    PyTorch's own number of the group. ``ranks`` are global, in order of group rank; ``rank`` is this process's.
    """

    name: str
    ranks: tuple[int, ...]
    rank: int


def communicator_name(number: str) -> str:
    """Return the name of the communicator of PyTorch's group *number*, as in genuine profiles."""
    return f"group_name_{number}"


def _devices(group: dist.ProcessGroup) -> list[str]:
    """Return the kinds of devices whose collectives the backend ``hccl`` runs in a group."""
    pairs = (part.split(":") for part in dist.get_backend_config(group).split(","))
    return [device for device, backend in pairs if backend == BACKEND]


def is_of_device(group: dist.ProcessGroup) -> bool:
    """Return whether a device runs the collectives of a process group."""
    return bool(_devices(group))


def find_group(group: dist.ProcessGroup) -> Group | None:
    """Return a process group as profiles show it, None if its collectives belong to no device."""
    if not is_of_device(group):
        return None
    ranks = tuple(dist.get_process_group_ranks(group))
    return Group(communicator_name(group.group_name), ranks, ranks[dist.get_rank(group)])


def parallel_group_info() -> dict[str, dict[str, object]]:
    """Return the groups of this process as profiler_metadata.json lists them (torch_npu_profiler.md 3.4)."""
    if not (dist.is_available() and dist.is_initialized()):
        return {}
    default = dist.group.WORLD
    groups: dict[str, dict[str, object]] = {}
    for group in list(dist.distributed_c10d._world.pg_map):
        device_group = find_group(group)
        if device_group is None:
            continue
        description = "" if group.group_desc in _UNNAMED else group.group_desc
        groups[device_group.name] = {
            "group_name": "default_group" if group is default else description,
            "group_rank": dist.get_rank(group),
            "global_ranks": list(device_group.ranks),
        }
    return groups


@define
class Options:
    """
    The values of ``pg_options`` (torch_npu's guide, "pg_options").

    ``hccl_config`` configures HCCL (``hccl_buffer_size``, ``hccl_algo``, ...). None of its keys changes the simulated
    links, so it has no effect here. The other fields are filled in when the group is created.
    """

    hccl_config: Mapping[str, Any] = field(factory=dict, validator=instance_of(Mapping))  # type: ignore[type-abstract]
    is_high_priority_stream: bool = False
    global_ranks_in_group: Sequence[int] = ()
    group_id: str = ""
    _timeout: timedelta = _TIMEOUT


_Options = Options  # inside the class the name is the attribute


class ProcessGroupHCCL:
    """
    The backend ``hccl`` under the vendor's name. A call of the class returns a backend of gloo.

    ``options`` is the value of ``pg_options``, or a timeout.
    """

    Options = Options

    def __new__(  # type: ignore[misc]
        cls, store: dist.Store, rank: int, size: int, options: _Options | timedelta | None = None
    ) -> dist.ProcessGroupGloo:
        timeout = options._timeout if isinstance(options, _Options) else options or _TIMEOUT
        return dist.ProcessGroupGloo(store, rank, size, timeout=timeout)

    def get_hccl_comm_name(self: Any, rankid: int, init_comm: bool = True) -> str:
        """
        Return the name of the communicator, under which profiles know the group.

        The communicator exists as soon as the group does, so ``init_comm`` has no effect. Raises ``ValueError`` for a
        negative rank and for a group that is not of the device.
        """
        del init_comm
        if rankid < 0:
            raise ValueError(f"rankid {rankid} is no rank; give the global rank of this process, 0 or more")
        group = _group_of(self)
        if group is None:
            raise ValueError(f"the group has the backend {self.name()}; only groups of hccl have a communicator")
        return communicator_name(group.group_name)


def _group_of(backend: dist.ProcessGroupGloo) -> dist.ProcessGroup | None:
    """
    Return the group whose collectives of a device this backend runs.

    Nothing can be noted on a backend: every access creates a new Python object around it, and its options have a place
    for a name from PyTorch 2.8 only.
    """
    for group in dist.distributed_c10d._world.pg_map:
        for device in _devices(group):
            # Python has one object of a backend as long as it is referred to.
            if group._get_backend(torch.device(device)) is backend:
                return group
    return None


def make_backend(group: Any, options: Any) -> dist.ProcessGroupGloo:
    """Create the backend of a group that PyTorch describes; only ``pg_options`` of this module count."""
    if isinstance(options, Options):
        options.global_ranks_in_group, options.group_id = tuple(group.global_ranks_in_group), group.group_id
        options._timeout = group.timeout
    return ProcessGroupHCCL(group.store, group.group_rank, group.group_size, group.timeout)


def name_communicators() -> None:
    """Give backends the method that names their communicator, and ``torch.distributed`` the vendor's class."""
    kind: Any = dist.ProcessGroupGloo
    kind.get_hccl_comm_name = ProcessGroupHCCL.get_hccl_comm_name
    for module in (dist, dist.distributed_c10d):
        module.ProcessGroupHCCL = ProcessGroupHCCL  # type: ignore[attr-defined]
