"""What one rank of a collective moves over the links of its device, in both directions."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, frozen

from drynpu.device.collectives import CollectiveRequest, LinkType, Topology, Transfer, choose
from drynpu.platforms import Chip

_OPPOSITE = {"send": "receive", "receive": "send", "batchSendRecv": "batchSendRecv"}


@frozen(kw_only=True)
class LinkBytes:
    """Bytes of one rank over links of one type."""

    received: int = 0
    sent: int = 0
    reduced: int = 0
    """Received and added to what is there."""
    local: int = 0
    """Copied within the device."""

    def __add__(self, other: LinkBytes) -> LinkBytes:
        return LinkBytes(
            received=self.received + other.received,
            sent=self.sent + other.sent,
            reduced=self.reduced + other.reduced,
            local=self.local + other.local,
        )


def link_bytes(request: CollectiveRequest, chip: Chip) -> Mapping[LinkType, LinkBytes]:
    """
    Return what the rank moves, by link type.

    Over the network a rank writes to its peers, over all other links it reads from them (as the plans of
    :mod:`drynpu.device.collectives` do); what its peers do with it follows from their own plans.
    """
    topology = Topology(chip, request.ranks)
    algorithm = choose(request, topology)
    by_type = {LinkType.ON_CHIP: LinkBytes(local=algorithm.before_bytes + algorithm.after_bytes)}

    def count(move: Transfer, *, mine: bool) -> None:
        size, kind = move.size_bytes, move.link.type
        if mine != move.link.rdma:
            gained = LinkBytes(received=size, reduced=size if move.reduces else 0)
        else:
            gained = LinkBytes(sent=size)
        by_type[kind] = by_type.get(kind, LinkBytes()) + gained

    for step in algorithm.steps:
        for move in step.transfers:
            count(move, mine=True)
    for rank in request.ranks:
        if rank == request.rank or (request.kind in _OPPOSITE and rank != request.peer):
            continue
        for step in choose(_as_seen_by(request, rank), topology).steps:
            for move in step.transfers:
                if move.peer == request.me:
                    count(move, mine=False)
    return by_type


def _as_seen_by(request: CollectiveRequest, rank: int) -> CollectiveRequest:
    """Return the same operator as another rank issues it: to a sender the receiver is the peer."""
    if request.kind in _OPPOSITE:
        return evolve(request, kind=_OPPOSITE[request.kind], rank=rank, peer=request.rank)
    return evolve(request, rank=rank)
