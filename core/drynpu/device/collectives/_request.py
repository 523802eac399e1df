"""One communication operator as one rank requests it."""

from __future__ import annotations

from attrs import field, frozen

from drynpu._errors import OptionError
from drynpu._spelling import did_you_mean

KINDS = (
    "allReduce",
    "allGather",
    "allGatherV",
    "reduceScatter",
    "reduceScatterV",
    "broadcast",
    "reduce",
    "scatter",
    "alltoall",
    "alltoallv",
    "alltoallvc",
    "send",
    "receive",
    "batchSendRecv",
)
"""Operators that are modelled, spelt as in ``hcom_<kind>_`` (device_and_cost_model.md 4.1)."""

HCCL = "hccl"
"""Its name as a backend of a framework."""

WORLD_GROUP = "hccl_world_group"
"""HCCL's name of the group of all ranks."""

MESSAGES = ("send", "receive")
POINT_TO_POINT = (*MESSAGES, "batchSendRecv")
ROOTED = ("broadcast", "reduce", "scatter")


@frozen(kw_only=True)
class CollectiveRequest:
    """
    One communication operator as one rank sees it; equal requests give equal plans.

    Attributes
    ----------
    kind:
        One of :data:`KINDS`.
    size_bytes:
        The tensor of allReduce, broadcast and reduce; what this rank contributes to allGather; the whole input of
        reduceScatter; what the root scatters; what this rank sends in alltoall; the message of point-to-point kinds.
    ranks:
        Global ranks of the group in order of group rank.
    rank:
        Global rank of this device.
    peer:
        Global rank of the other side of send, receive and batchSendRecv; the root of broadcast, reduce and
        scatter (default: the first of the group).

    Raises
    ------
    OptionError
        The kind is unknown, or ranks do not fit together; every problem is named.
    """

    kind: str
    size_bytes: int
    ranks: tuple[int, ...]
    rank: int
    peer: int | None = None

    me: int = field(init=False)
    """Group rank of this device."""
    other: int = field(init=False)
    """Group rank of peer or root, this rank's own where the kind has neither."""

    @me.default
    def _find_me(self) -> int:
        return self.ranks.index(self.rank) if self.rank in self.ranks else 0

    @other.default
    def _find_other(self) -> int:
        if self.peer is None:
            return 0 if self.kind in ROOTED else self.me
        return self.ranks.index(self.peer) if self.peer in self.ranks else 0

    def __attrs_post_init__(self) -> None:
        problems = list(self._problems())
        if problems:
            raise OptionError([f"collective {self.kind!r}: {problem}" for problem in problems])

    @property
    def count(self) -> int:
        """Number of ranks in the group."""
        return len(self.ranks)

    def chunk(self, index: int) -> int:
        """Return the bytes of the part that group rank *index* holds when the payload is dealt out evenly."""
        return self.size_bytes * (index + 1) // self.count - self.size_bytes * index // self.count

    def _problems(self) -> list[str]:
        problems: list[str] = []
        if self.kind not in KINDS:
            problems.append(f"is not one of {', '.join(KINDS)}.{did_you_mean(self.kind, KINDS)}")
        if self.size_bytes < 0:
            problems.append(f"size_bytes {self.size_bytes} is negative")
        if len(set(self.ranks)) != len(self.ranks) or min(self.ranks, default=0) < 0:
            problems.append(f"ranks {self.ranks} must be different and not negative")
        if self.rank not in self.ranks:
            problems.append(f"rank {self.rank} is not among the ranks {self.ranks}")
        if self.peer is not None and self.peer not in self.ranks:
            problems.append(f"peer {self.peer} is not among the ranks {self.ranks}")
        if self.kind in POINT_TO_POINT and self.peer is None:
            problems.append("needs a peer")
        elif self.kind in POINT_TO_POINT and self.peer == self.rank:
            problems.append(f"peer {self.peer} is the rank itself")
        return problems
