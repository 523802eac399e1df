"""One communication operator of a graph: what its node says of itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from attrs import asdict, frozen

from drynpu.recorder import RankCall

MARK: Final = "_drynpu_hcom"
"""The attribute by which a node of this host is known as a communication operator of the device."""
_NODES: Final = {
    "allReduce": "HcomAllReduce",
    "allGather": "HcomAllGather",
    "broadcast": "HcomBroadcast",
    "reduce": "HcomReduce",
    "reduceScatter": "HcomReduceScatter",
    "alltoallv": "HcomAllToAllV",
    "alltoallvc": "HcomAllToAllVC",
    "send": "HcomSend",
    "receive": "HcomReceive",
}
"""The graph engine's operator by HCCL's."""
NODE_TYPES: Final = frozenset(_NODES.values())


@frozen(kw_only=True)
class Hcom:
    """
    A communication operator: HCCL's kind, its group, and further what the kind needs.

    ``ranks`` are the world ranks of the group; ``peer`` is the world rank of the root or of the other side; ``tag``
    tells the messages between two ranks apart.
    """

    kind: str
    group: str
    ranks: tuple[int, ...]
    reduction: str = ""
    peer: int | None = None
    tag: int = 0

    @property
    def op_type(self) -> str:
        """The type of the graph engine's operator."""
        return _NODES[self.kind]

    def text(self) -> bytes:
        """Return what a node keeps of it."""
        return json.dumps(asdict(self)).encode()

    def call(self, rank: int) -> RankCall:
        """Return what the other ranks are told of it by *rank*; its number follows from the order of calls."""
        return RankCall(group=self.group, ranks=self.ranks, kind=self.kind, messages=self.messages(rank))

    def messages(self, rank: int) -> tuple[tuple[int, int, int], ...]:
        """Return the message of a send or receive of *rank*: (sender, receiver, tag)."""
        if self.peer is None or self.kind not in ("send", "receive"):
            return ()
        return ((rank, self.peer, self.tag) if self.kind == "send" else (self.peer, rank, self.tag),)


def hcom_of(attributes: Mapping[str, Any]) -> Hcom | None:
    """Return the communication operator that a node's attributes name, ``None`` for other nodes."""
    text = attributes.get(MARK)
    if not text:
        return None
    fields = json.loads(text)
    return Hcom(**{**fields, "ranks": tuple(fields["ranks"])})
