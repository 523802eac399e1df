"""
Ranks and groups (``hccl.manage.api``, ``hccl.split.api``), read from the environment that the script was started in.

Groups that are made are known by name and size only: no data crosses ranks here.
"""

from __future__ import annotations

from collections.abc import Sequence

from drynpu import say_once
from drynpu_tf.options import read_number

WORLD_GROUP = "hccl_world_group"
_DEVICES_PER_SERVER = 8

_GROUPS: dict[str, tuple[int, ...]] = {}
"""World ranks of the groups of this process: the vendor's groups are process-wide too."""


def _members(group: str) -> tuple[int, ...]:
    if group == WORLD_GROUP:
        return tuple(range(read_number("RANK_SIZE", 1)))
    if group not in _GROUPS:
        raise ValueError(f"group {group!r} was not created; there are {[WORLD_GROUP, *_GROUPS]}")
    return _GROUPS[group]


def create_group(group: str, rank_num: int, rank_ids: Sequence[int]) -> None:
    """Make a group of *rank_num* world ranks. Raises ``ValueError`` where the two disagree or the name is taken."""
    if group == WORLD_GROUP or group in _GROUPS:
        raise ValueError(f"group {group!r} is there already")
    if rank_num != len(set(rank_ids)):
        raise ValueError(f"group {group!r}: rank_num is {rank_num}, rank_ids has {len(set(rank_ids))} different ranks")
    _GROUPS[group] = tuple(int(rank) for rank in rank_ids)


def destroy_group(group: str) -> None:
    """Forget a group. Raises ``ValueError`` for one that is not there."""
    _members(group)
    _GROUPS.pop(group, None)


def get_rank_size(group: str = WORLD_GROUP) -> int:
    """Return the number of ranks (``RANK_SIZE``, 1 where it is not set)."""
    return len(_members(group))


def get_rank_id(group: str = WORLD_GROUP) -> int:
    """Return this process's rank (``RANK_ID``, else 0). Raises ``ValueError`` for one outside the group."""
    rank = read_number("RANK_ID", 0)
    return rank if group == WORLD_GROUP else get_group_rank_from_world_rank(rank, group)


def get_local_rank_size(group: str = WORLD_GROUP) -> int:
    """Return the number of ranks on this server: ``LOCAL_RANK_SIZE``, else at most 8, the devices of one server."""
    return read_number("LOCAL_RANK_SIZE", min(len(_members(group)), _DEVICES_PER_SERVER))


def get_local_rank_id(group: str = WORLD_GROUP) -> int:
    """Return this process's rank on its server (``LOCAL_RANK_ID``, else ``DEVICE_ID``, else from ``RANK_ID``)."""
    return read_number(
        "LOCAL_RANK_ID", read_number("DEVICE_ID", read_number("RANK_ID", 0) % get_local_rank_size(group))
    )


def get_world_rank_from_group_rank(group: str, group_rank_id: int) -> int:
    """Return the world rank of a member. Raises ``ValueError`` where the group has no such rank."""
    members = _members(group)
    if not 0 <= group_rank_id < len(members):
        raise ValueError(f"group {group!r} has ranks 0 to {len(members) - 1}, not {group_rank_id}")
    return members[group_rank_id]


def get_group_rank_from_world_rank(world_rank_id: int, group: str) -> int:
    """Return the rank of a world rank in a group. Raises ``ValueError`` where it is no member."""
    members = _members(group)
    if world_rank_id not in members:
        raise ValueError(f"rank {world_rank_id} is not in group {group!r}, which has {list(members)}")
    return members.index(world_rank_id)


def set_split_strategy_by_idx(idxList: Sequence[int], group: str = WORLD_GROUP) -> None:  # noqa: N803 - the vendor's
    """Check the group; how gradients are grouped has no effect, because none are reduced here."""
    _members(group)
    say_once(f"set_split_strategy_by_idx({list(idxList)}): gradients are not reduced here, so they are not grouped")


def set_split_strategy_by_size(dataSizeList: Sequence[float], group: str = WORLD_GROUP) -> None:  # noqa: N803
    """Check the group; how gradients are grouped has no effect, because none are reduced here."""
    _members(group)
    say_once(
        f"set_split_strategy_by_size({list(dataSizeList)}): gradients are not reduced here, so they are not grouped"
    )
