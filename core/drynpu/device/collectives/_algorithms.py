"""
Which algorithm a collective takes, and the steps of one rank.

* *mesh*: on a board whose devices all see each other, a rank reads from all peers at once (two steps for
  allReduce: reduce the part of this rank, gather the parts of the others);
* *ring*: on the first generation's boards, neighbour by neighbour;
* between boards and cards the faster of ring and pipelined tree for allReduce, doubling for allGather and
  reduceScatter, pairwise for alltoall (the terms of device_and_cost_model.md 2);
* *levels*: a group with equally many ranks on several boards reduces on the board first, then between boards; where
  equally many of these lie in several super-nodes, in the super-node first.

Links that are stated to be slower slow down the steps of all ranks whose group has them at that step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from attrs import frozen

from drynpu.device.collectives._links import Link, Topology
from drynpu.device.collectives._request import POINT_TO_POINT, CollectiveRequest

# Levels 0 (board), 1 and 2 (between boards) as the vendor prints them: MESH-RING-NHR in profiles of CANN 8.3,
# RING-HD in the vendor's own test data.
_MESH_NAME, _RING_NAME, _CARD_NAME = "MESH-RING-NHR", "RING-HD", "RING"

Groups: TypeAlias = "Sequence[tuple[int, ...]]"
"""Parts of a group, by group ranks, that do the same at the same time."""


@frozen
class Transfer:
    """Bytes that this rank moves over one link; ``peer`` is a group rank, ``plane`` the queue it runs in."""

    peer: int
    size_bytes: int
    link: Link
    plane: int = 0
    reduces: bool = False


@frozen
class TransferStep:
    """Transfers at the same time; ``busy_us`` is how long the step lasts on the ranks that move most."""

    transfers: tuple[Transfer, ...]
    busy_us: float = 0.0

    @property
    def us(self) -> float:
        """Length of the step."""
        return max([self.busy_us, *(transfer.link.us(transfer.size_bytes) for transfer in self.transfers)])


@frozen
class Algorithm:
    """
    What a rank does.

    ``name`` is what ``alg_type`` shows (empty where the vendor names none); ``before_bytes`` and ``after_bytes``
    are copied within the device; ``handshakes`` are the peers that a rank meets on each plane before and after its
    work: (plane, group rank, link).
    """

    name: str
    before_bytes: int
    after_bytes: int
    handshakes: tuple[tuple[int, int, Link], ...]
    steps: tuple[TransferStep, ...]


def choose(request: CollectiveRequest, topology: Topology) -> Algorithm:
    """Return the algorithm for a request; a group of one rank only copies."""
    shape = topology.chip.interconnect.shape
    boards, everyone = topology.boards, tuple(range(request.count))
    before, after = _local_bytes(request)
    if request.count == 1:
        return Algorithm(_name(shape), before, 0, (), ())
    if request.kind in POINT_TO_POINT:
        link = topology.link(request.me, request.other)
        return Algorithm("", before, 0, ((0, request.other, link),), (_point_to_point(request, link),))
    if len(boards) == 1 and shape in ("mesh", "switch"):
        steps = _mesh_steps(request, topology, boards, request.size_bytes)
        return Algorithm(_name(shape), before, after, _board_handshakes(request, topology), steps)
    if _in_levels(request, boards, shape):
        steps = _levels(request, topology)
        return Algorithm(_name(shape), before, after, _handshakes(steps), steps)
    steps = _chain(request, topology, (everyone,), request.size_bytes, ring=len(boards) == 1)
    return Algorithm(_name(shape), before, after, _handshakes(steps) or _neighbour(request, topology), steps)


def _name(shape: str) -> str:
    return {"mesh": _MESH_NAME, "switch": _MESH_NAME, "ring": _RING_NAME}.get(shape, _CARD_NAME)


def _local_bytes(request: CollectiveRequest) -> tuple[int, int]:
    """Return the bytes that a rank copies into the communication buffer before, and out of it after its work."""
    if request.kind in ("allReduce", "broadcast", "reduce", "alltoall", "alltoallv", "alltoallvc", "scatter"):
        share = request.chunk(request.me) if request.count > 1 else request.size_bytes
        return share, share
    if request.kind.startswith("reduceScatter"):
        return request.chunk(request.me), request.chunk(request.me)
    return request.size_bytes, 0


def _point_to_point(request: CollectiveRequest, link: Link) -> TransferStep:
    """Return the step of a message: over the network the sender writes, elsewhere the receiver reads."""
    moves = request.kind != ("receive" if link.rdma else "send")
    transfers = (Transfer(request.other, request.size_bytes, link),) if moves else ()
    return TransferStep(transfers, link.us(request.size_bytes))


def _plane(me: int, peer: int, count: int) -> int:
    """Return the plane of a peer: 1, 2, ... by its distance; the last peer shares plane 0 with the local work."""
    distance = (peer - me) % count
    return distance % (count - 1) if count > 1 else 0


def _board_handshakes(request: CollectiveRequest, topology: Topology) -> tuple[tuple[int, int, Link], ...]:
    peers = [(request.me + distance) % request.count for distance in range(1, request.count)]
    return tuple((_plane(request.me, peer, request.count), peer, topology.link(request.me, peer)) for peer in peers)


def _handshakes(steps: tuple[TransferStep, ...]) -> tuple[tuple[int, int, Link], ...]:
    """Return the first peer of each plane."""
    peers: dict[int, tuple[int, int, Link]] = {}
    for step in steps:
        for transfer in step.transfers:
            peers.setdefault(transfer.plane, (transfer.plane, transfer.peer, transfer.link))
    return tuple(peers[plane] for plane in sorted(peers))


def _neighbour(request: CollectiveRequest, topology: Topology) -> tuple[tuple[int, int, Link], ...]:
    peer = (request.me + 1) % request.count
    return ((0, peer, topology.link(request.me, peer)),)


def _mesh_steps(
    request: CollectiveRequest, topology: Topology, boards: Groups, payload: int
) -> tuple[TransferStep, ...]:
    """Return the steps in which the ranks of every board read *payload* bytes from each other."""
    members = _group_of(request, boards)
    count, me = len(members), members.index(request.me)
    root = members.index(request.other) if request.other in members else 0
    parts = [payload * (index + 1) // count - payload * index // count for index in range(count)]
    others = [index for index in range(count) if index != me]

    def step(sizes: dict[int, int], *, reduces: bool = False, largest: int = 0) -> TransferStep:
        sharing = topology.sharers(request.me, (members[at] for at in sizes))
        transfers = tuple(
            Transfer(members[at], size, topology.link(request.me, members[at], sharing), _plane(me, at, count), reduces)
            for at, size in sizes.items()
            if size
        )
        # Ranks that move nothing themselves still wait for those that do, and all for a slow link.
        everyone = topology.sharers(members[0], members[1:])
        plain = topology.link(members[0], members[-1], everyone)
        slowest = topology.slowed(plain, boards, sharing=everyone)
        paced = largest or (0 if slowest is plain else max(sizes.values(), default=0))
        return TransferStep(transfers, slowest.us(paced) if paced else 0.0)

    biggest, kind = max(parts), request.kind
    gather = {at: parts[at] for at in others}
    reduce = step(dict.fromkeys(others, parts[me]), reduces=True)
    if kind == "allReduce":
        return (reduce, step(gather))
    if kind == "reduce":
        return (reduce, step(gather if me == root else {}, largest=biggest))
    if kind == "broadcast":
        first = step({root: parts[me]} if me != root else {}, largest=biggest)
        return (first, step(gather if me != root else {}, largest=biggest))
    if kind == "scatter":
        return (step({root: parts[me]} if me != root else {}, largest=biggest),)
    if kind.startswith("allGather"):
        return (step(dict.fromkeys(others, payload)),)
    if kind.startswith("reduceScatter"):
        return (reduce,)
    return (step(dict.fromkeys(others, parts[me])),)


def _chain(
    request: CollectiveRequest, topology: Topology, groups: Groups, payload: int, *, ring: bool, kind: str = ""
) -> tuple[TransferStep, ...]:
    """
    Return the steps of every one of *groups*, one transfer after the other, as rings, trees and doublings have them.

    ``kind`` is what they do together, default what was requested.
    """
    members = _group_of(request, groups)
    count, me = len(members), members.index(request.me)
    kind = kind or request.kind
    pace = topology.widest(members)

    def to(distance: int, size: int, *, reduces: bool = False) -> TransferStep:
        peer = members[(me + distance) % count]
        busy_us = topology.slowed(pace, groups, distance).us(size)
        return TransferStep((Transfer(peer, size, topology.link(request.me, peer), 0, reduces),), busy_us)

    part = -(-payload // count)
    if kind == "allReduce":
        return _all_reduce(payload, count, topology.slowed(pace, groups), to, ring=ring)
    if kind.startswith(("allGather", "reduceScatter")):
        reduces = kind.startswith("reduceScatter")
        unit = part if reduces else payload
        blocks = [1] * (count - 1) if ring else _doubling(count)
        blocks = blocks[::-1] if reduces else blocks
        # A doubling step talks to the rank as far away as the blocks it moves.
        return tuple(to(1 if ring else moved, moved * unit, reduces=reduces) for moved in blocks)
    if kind in ("broadcast", "reduce", "scatter"):
        root = members.index(request.other) if request.other in members else 0
        moves = me != root if kind != "reduce" else me == root
        size = part if kind == "scatter" else payload
        hops = max(1, math.ceil(math.log2(count)))
        source = members[(me - 1) % count]
        transfer = Transfer(source, size, topology.link(request.me, source), 0, kind == "reduce")
        return (TransferStep((transfer,) if moves and size else (), pace.us(size) + (hops - 1) * pace.latency_us),)
    return tuple(to(distance, part) for distance in range(1, count))


def _all_reduce(
    payload: int, count: int, link: Link, to: Callable[..., TransferStep], *, ring: bool
) -> tuple[TransferStep, ...]:
    """Return the ring, or the pipelined tree where that is faster and the links allow it."""
    part, hops = -(-payload // count), math.ceil(math.log2(count))
    ring_us = 2 * (count - 1) * (link.latency_us + payload / count / (link.gbs * 1000))
    tree_us = 2 * hops * link.latency_us + 2 * payload / (link.gbs * 1000)
    if ring or ring_us <= tree_us:
        return (*(to(1, part, reduces=True) for _ in range(count - 1)), *(to(1, part) for _ in range(count - 1)))
    segment = -(-payload // hops)
    distances = [2**hop for hop in range(hops)]
    return (*(to(d, segment, reduces=True) for d in distances), *(to(d, segment) for d in reversed(distances)))


def _doubling(count: int) -> list[int]:
    """
    Return how many blocks each step moves until a rank has the blocks of all others.

    >>> _doubling(6)
    [1, 2, 2]
    """
    blocks, held = [], 1
    while held < count:
        blocks.append(min(held, count - held))
        held += blocks[-1]
    return blocks


def _in_levels(request: CollectiveRequest, boards: tuple[tuple[int, ...], ...], shape: str) -> bool:
    even = len({len(board) for board in boards}) == 1 and len(boards[0]) > 1 and len(boards) > 1
    return even and shape in ("mesh", "switch") and request.kind in ("allReduce", "allGather", "reduceScatter")


def _levels(request: CollectiveRequest, topology: Topology) -> tuple[TransferStep, ...]:
    """Reduce on the board, then among ranks of the same place on every board, then gather on the board."""
    boards = topology.boards
    board = _group_of(request, boards)
    place = board.index(request.me)
    across = tuple(zip(*boards, strict=True))
    payload, size = request.size_bytes, len(board)
    part = payload * (place + 1) // size - payload * place // size
    if request.kind == "allReduce":
        inner = _mesh_steps(request, topology, boards, payload)
        return (inner[0], *_between_boards(request, topology, across, part), inner[1])
    if request.kind == "allGather":
        outer = _between_boards(request, topology, across, payload)
        return (*outer, *_mesh_steps(request, topology, boards, payload * len(boards)))
    inner = _mesh_steps(request, topology, boards, payload)
    return (*inner, *_between_boards(request, topology, across, part))


def _between_boards(
    request: CollectiveRequest, topology: Topology, across: Groups, payload: int
) -> tuple[TransferStep, ...]:
    """Return the steps of ranks of the same place on every board: in the super-node first, then between super-nodes."""
    inside = topology.super_nodes(_group_of(request, across))
    size, count = len(inside[0]), len(inside)
    if size == 1 or count == 1 or any(len(each) != size for each in inside):
        return _chain(request, topology, across, payload, ring=False)
    supers = [topology.super_nodes(members) for members in across]
    within = tuple(group for each in supers for group in each)
    beyond = tuple(group for each in supers for group in zip(*each, strict=True))
    part = -(-payload // size)
    if request.kind == "allReduce":
        first = _chain(request, topology, within, payload, ring=False, kind="reduceScatter")
        last = _chain(request, topology, within, part, ring=False, kind="allGather")
        return (*first, *_chain(request, topology, beyond, part, ring=False), *last)
    if request.kind == "allGather":
        first = _chain(request, topology, beyond, payload, ring=False)
        return (*first, *_chain(request, topology, within, payload * count, ring=False))
    first = _chain(request, topology, within, payload, ring=False)
    return (*first, *_chain(request, topology, beyond, part, ring=False))


def _group_of(request: CollectiveRequest, groups: Groups) -> tuple[int, ...]:
    """Return the one of *groups* that this rank is in."""
    return next(group for group in groups if request.me in group)
