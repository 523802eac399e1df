"""
Ranks and groups (``hccl.manage.api``, ``hccl.split.api``), read from the environment that the script was started in.

Groups are known to each process by itself; that all their ranks create them is the script's business.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from attrs import define

from drynpu.device.collectives import WORLD_GROUP
from drynpu_tf.options import read_number
from drynpu_tf.ranks import rank_count, rank_number, segments_by_index, segments_by_size

_DEVICES_PER_SERVER = 8

_GROUPS: dict[str, tuple[int, ...]] = {}
"""World ranks of the groups of this process: the vendor's groups are process-wide too."""


def _members(group: str) -> tuple[int, ...]:
    if group == WORLD_GROUP:
        return tuple(range(rank_count(os.environ)))
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
    """Return the number of ranks (``RANK_SIZE``, else as in the table of ranks, else 1)."""
    return len(_members(group))


def members(group: str = WORLD_GROUP) -> tuple[int, ...]:
    """Return the world ranks of a group in their order. Raises ``ValueError`` for one that was not created."""
    return _members(group)


def get_rank_id(group: str = WORLD_GROUP) -> int:
    """Return this process's rank (``RANK_ID``, else 0). Raises ``ValueError`` for one outside the group."""
    rank = rank_number(os.environ)
    return rank if group == WORLD_GROUP else get_group_rank_from_world_rank(rank, group)


def get_local_rank_size(group: str = WORLD_GROUP) -> int:
    """Return the number of ranks on this server: ``LOCAL_RANK_SIZE``, else at most 8, the devices of one server."""
    return read_number("LOCAL_RANK_SIZE", min(len(_members(group)), _DEVICES_PER_SERVER))


def get_local_rank_id(group: str = WORLD_GROUP) -> int:
    """Return this process's rank on its server (``LOCAL_RANK_ID``, else ``DEVICE_ID``, else from ``RANK_ID``)."""
    return read_number("LOCAL_RANK_ID", read_number("DEVICE_ID", rank_number(os.environ) % get_local_rank_size(group)))


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
    """Reduce gradients in segments that end with the numbers *idxList*, counted as the backward part computes them."""
    _members(group)
    _SPLITTING.last, _SPLITTING.shares = tuple(int(index) for index in idxList), ()


def set_split_strategy_by_size(dataSizeList: Sequence[float], group: str = WORLD_GROUP) -> None:  # noqa: N803
    """
    Reduce gradients in segments of these shares of their bytes, in percent.

    Raises
    ------
    ValueError
        They are not 100 together.
    """
    _members(group)
    if abs(sum(dataSizeList) - 100) > 1e-6:
        raise ValueError(f"dataSizeList {list(dataSizeList)} is {sum(dataSizeList):g} % together, not 100")
    _SPLITTING.last, _SPLITTING.shares = (), tuple(float(share) for share in dataSizeList)


def gradient_segments(sizes_bytes: Sequence[int]) -> list[list[int]]:
    """Return which gradients are reduced together, numbered in the order in which the backward part computes them."""
    if _SPLITTING.last:
        return segments_by_index(len(sizes_bytes), _SPLITTING.last)
    return segments_by_size(sizes_bytes, *([_SPLITTING.shares] if _SPLITTING.shares else []))


@define
class _Splitting:
    """How a script wants its gradients grouped; process-wide, as the vendor's is."""

    last: tuple[int, ...] = ()
    shares: tuple[float, ...] = ()


_SPLITTING = _Splitting()
