"""Process groups whose backend is ``hccl``, under the names that profiles give them."""

from __future__ import annotations

import torch.distributed as dist
from attrs import frozen

BACKEND = "hccl"
_UNNAMED = ("", "undefined", "default_pg")
"""Descriptions that PyTorch gives groups that nobody described."""


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


def is_of_device(group: dist.ProcessGroup) -> bool:
    """Tell whether the collectives of a process group are those of a device."""
    devices = dist.get_backend_config(group).split(",")
    return any(part.partition(":")[2] == BACKEND for part in devices)


def group_of(group: dist.ProcessGroup) -> Group | None:
    """Return what profiles show of a process group, None if its collectives are not those of a device."""
    if not is_of_device(group):
        return None
    ranks = tuple(dist.get_process_group_ranks(group))
    return Group(communicator_name(group.group_name), ranks, ranks[dist.get_rank(group)])


def parallel_group_info() -> dict[str, dict[str, object]]:
    """Return the groups of this process as profiler_metadata.json lists them (torch_npu_profiler.md 3.4)."""
    if not (dist.is_available() and dist.is_initialized()):
        return {}
    default = dist.group.WORLD
    found: dict[str, dict[str, object]] = {}
    for group in list(dist.distributed_c10d._world.pg_map):
        known = group_of(group)
        if known is None:
            continue
        described = "" if group.group_desc in _UNNAMED else group.group_desc
        found[known.name] = {
            "group_name": "default_group" if group is default else described,
            "group_rank": dist.get_rank(group),
            "global_ranks": list(known.ranks),
        }
    return found
