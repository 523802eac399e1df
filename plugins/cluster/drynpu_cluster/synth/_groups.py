"""Groups of a synthetic cluster: what all recorded ranks joined joins all ranks; other groups are there once a copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
from attrs import frozen

from drynpu.deliverables.communication.group_names import group_id
from drynpu_cluster._groups import Group


@frozen
class GroupCopies:
    """
    The groups of the recorded ranks, for one copy of them.

    Attributes
    ----------
    keys:
        Id of a recorded group -> its id in the copy.
    shifts:
        Id of a recorded group -> what is added to numbers within the group.
    members:
        Id of a recorded group -> its ranks in the cluster.
    metadata:
        ``parallel_group_info`` of the copy.
    """

    keys: Mapping[str, str]
    shifts: Mapping[str, int]
    members: Mapping[str, tuple[int, ...]]
    metadata: Mapping[str, Mapping[str, object]]

    def renamed(self, name: str) -> str:
        """Return the name of an operator or entry ``<name>@<group>`` in the copy."""
        stem, at, key = name.rpartition("@")
        new = self.keys.get(key, key)
        if not at or new == key:
            return name
        return f"{stem.replace(f'__{key[-3:]}_', f'__{new[-3:]}_')}@{new}"

    def renamed_operator(self, name: str, key: str) -> str:
        """Return the name of an operator of a group, in a file that keeps the group apart."""
        return self.renamed(f"{name}@{key}").rpartition("@")[0]

    def link(self, source: str, end: str, key: str) -> tuple[str, str]:
        """Return the ends of a link, numbers within its group, in the copy."""
        shift = self.shifts.get(key, 0)
        return (str(int(source) + shift), str(int(end) + shift)) if shift else (source, end)


def copy_groups(groups: Sequence[Group], recorded: Sequence[int], copy: int, ranks: int) -> GroupCopies:
    """
    Return the groups of a copy of the ranks *recorded*, in a cluster of *ranks*.

    A group of all recorded ranks keeps its id and has all ranks. Others have an id of their own in each copy.
    """
    size = len(recorded)
    places = {rank: place for place, rank in enumerate(recorded)}
    keys: dict[str, str] = {}
    shifts: dict[str, int] = {}
    all_members: dict[str, tuple[int, ...]] = {}
    metadata: dict[str, Mapping[str, object]] = {}
    for group in groups:
        joined = [places[rank] for rank in group.seen if rank in places]
        whole = len(joined) == size and size > 1
        name = group.label or group.key
        label = name if whole or not copy else f"{name}_{copy}"
        keys[group.key] = group.key if whole or not copy else str(group_id(label))
        shifts[group.key] = copy * size if whole else 0
        members = list(range(ranks)) if whole else [place + copy * size for place in joined]
        all_members[group.key] = tuple(rank for rank in members if rank < ranks)
        if group.label:
            metadata[label] = {
                "group_name": group.purpose,
                "group_rank": 0,
                "global_ranks": list(all_members[group.key]),
            }
    return GroupCopies(keys, shifts, all_members, metadata)


def merge_groups(groups: Sequence[Group]) -> tuple[Group, ...]:
    """Return each group once: one with collectives and messages was seen wherever either was."""
    merged: dict[str, Group] = {}
    for group in groups:
        known = merged.get(group.key)
        seen = group.seen if known is None else tuple(sorted({*known.seen, *group.seen}))
        merged[group.key] = attrs.evolve(known or group, seen=seen)
    return tuple(merged.values())
