"""Collectives as their files describe them: what was asked of the device, and how long that takes on a chip."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import frozen

from drynpu import OptionError
from drynpu.deliverables.communication.group_names import group_id
from drynpu.device.collectives import KINDS, POINT_TO_POINT, CollectiveRequest, plan_collective
from drynpu.kernels import DTYPES
from drynpu.platforms import Chip
from drynpu.tables import Profile

_SIZES = {"FP16": 2, "FP32": 4, "FP64": 8, "BFP16": 2, "INT128": 16}
"""Bytes of the types that only HCCL spells so."""


@frozen
class OperationRow:
    """One communication operation as its row has it; ``others``: ranks that its tasks name."""

    op_type: str
    group: str
    dtype: str
    count: int
    rank_size: int | None
    others: tuple[int, ...] = ()


def group_ranks(profile: Profile) -> Mapping[str, tuple[int, ...]]:
    """Return the global ranks of the groups that a profile describes, by the id that its operations have of them."""
    described = profile.metadata.get("parallel_group_info")
    ranks: dict[str, tuple[int, ...]] = {}
    for name, facts in described.items() if isinstance(described, Mapping) else ():
        members = facts.get("global_ranks") if isinstance(facts, Mapping) else None
        if isinstance(members, list):
            ranks[name] = ranks[str(group_id(name))] = tuple(map(int, members))
    return ranks


def request_of(row: OperationRow, groups: Mapping[str, tuple[int, ...]], rank: int) -> CollectiveRequest | None:
    """
    Return what was asked of the device; ``None`` where the files do not tell.

    The ranks of a group that no file lists are those that its operations name, else as many as it has, from 0 on.
    """
    kind = row.op_type.removeprefix("hcom_").strip("_")
    each = _SIZES.get(row.dtype) or (DTYPES[row.dtype].size_bytes if row.dtype in DTYPES else 0)
    me = max(rank, 0)
    named = tuple(sorted({me, *row.others}))
    counted = tuple(range(row.rank_size or 0))
    ranks = groups.get(row.group) or (counted if me in counted and len(counted) > len(named) else named)
    if kind not in KINDS or not row.count or not each or len(ranks) < 2:
        return None
    # Its count is of what a rank gets, its size of all that it gives.
    parts = len(ranks) if kind.startswith("reduceScatter") else 1
    peer = next((other for other in ranks if other in row.others and other != me), None)
    wanted = peer if kind in POINT_TO_POINT else None
    try:
        return CollectiveRequest(kind=kind, size_bytes=row.count * each * parts, ranks=ranks, rank=me, peer=wanted)
    except OptionError:
        return None


def collective_times(chip: Chip) -> Callable[[CollectiveRequest], float]:
    """Return a function that says how long a collective takes on a chip when all its ranks are there, ns."""
    known: dict[CollectiveRequest, float] = {}

    def takes(request: CollectiveRequest) -> float:
        if request not in known:
            known[request] = plan_collective(request, chip).ticks * chip.tick_ns
        return known[request]

    return takes
