"""
The tasks of one rank: local copies, notifications and transfers, plane by plane, on the device's tick grid.

A rank shakes hands with its peers (``Notify_Record``, ``Notify_Wait``), moves its bytes, and does so once more when all
are done. Plane 0 is the main queue: it begins before the others and ends after them. The times hold for a rank whose
peers are all there; what it waits for them is added to the tasks marked ``sync`` and moves the tasks marked ``after``.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable

import numpy as np
from attrs import define, field, frozen

from drynpu.arrays import I64, U64, Bools
from drynpu.device.collectives._algorithms import Algorithm, Transfer, TransferStep, choose
from drynpu.device.collectives._links import Link, LinkType, RdmaType, Topology, TransportType
from drynpu.device.collectives._request import POINT_TO_POINT, CollectiveRequest
from drynpu.platforms import Chip

NO_NOTIFY = 0xFFFF_FFFF_FFFF_FFFF
"""Notify id of tasks that notify no rank."""
_NO_RDMA_NOTIFY = 0xFFFF_FFFF
LOCAL_NOTIFY = 1 << 16
"""From this number on a notification joins two planes of one device."""
_READY, _DONE = 0, 1
_POST_US = 0.32
"""Handing a request to the network card; the duration of an RDMASend task in the vendor's test data."""


class TaskName(enum.IntEnum):
    """Names of tasks inside a collective (Ascend/msprof and HCCL's profiling names), by number of this module."""

    Memcpy = 0
    Reduce_Inline = 1
    Notify_Record = 2
    Notify_Wait = 3
    RDMASend = 4


@frozen(eq=False, kw_only=True)
class CollectivePlan:
    """
    Tasks in order of plane and start, int64 columns ``[n]`` in ticks from the start of the operator.

    ``peer`` is a group rank (that of this rank for local work); ``notify`` is uint64. ``ticks`` is the length of the
    whole operator without waiting.
    """

    algorithm: str
    planes: int
    ticks: int
    name: I64
    plane: I64
    start: I64
    length: I64
    sync: Bools
    after: Bools
    peer: I64
    size_bytes: I64
    link: I64
    transport: I64
    rdma: I64
    notify: U64

    def __len__(self) -> int:
        return len(self.name)


def plan_collective(request: CollectiveRequest, chip: Chip) -> CollectivePlan:
    """
    Plan one communication operator of one rank.

    The time is that of device_and_cost_model.md 2: per step the link's latency and its bytes over rate times
    efficiency, and the static cost of a collective, which lies between the tasks of plane 0.

    Raises
    ------
    OptionError
        The request cannot be (raised when it is created).
    """
    algorithm = choose(request, Topology(chip, request.ranks))
    topology = Topology(chip, request.ranks)
    counted = _lay(request, algorithm, topology, gap=0)
    main = sum(1 for task in counted if task.plane == 0)
    gap = max(1, round(chip.interconnect.start_us * 1000 / chip.tick_ns / max(main, 1)))
    tasks = sorted(_lay(request, algorithm, topology, gap=gap), key=lambda task: (task.plane, task.start))

    def column(values: Iterable[int]) -> I64:
        return np.fromiter(values, np.int64, len(tasks))

    return CollectivePlan(
        algorithm=algorithm.name,
        planes=1 + max(task.plane for task in tasks),
        ticks=max(task.start + task.length for task in tasks),
        name=column(task.name for task in tasks),
        plane=column(task.plane for task in tasks),
        start=column(task.start for task in tasks),
        length=column(task.length for task in tasks),
        sync=column(task.sync for task in tasks).astype(bool),
        after=column(task.after for task in tasks).astype(bool),
        peer=column(task.peer for task in tasks),
        size_bytes=column(task.size_bytes for task in tasks),
        link=column(task.link for task in tasks),
        transport=column(task.transport for task in tasks),
        rdma=column(task.rdma for task in tasks),
        notify=np.fromiter((task.notify for task in tasks), np.uint64, len(tasks)),
    )


@frozen(kw_only=True)
class _Task:
    name: int
    plane: int
    start: int
    length: int
    sync: bool
    after: bool
    peer: int
    size_bytes: int
    link: int
    transport: int
    rdma: int
    notify: int


def _lay(request: CollectiveRequest, algorithm: Algorithm, topology: Topology, *, gap: int) -> list[_Task]:
    """Lay the tasks of all planes; *gap* ticks lie between two tasks of a plane."""
    layer = _Layer(request=request, tick_us=topology.chip.tick_ns / 1000, gap=gap)
    local = topology.local
    sides = sorted({plane for plane, _, _ in algorithm.handshakes} - {0})
    layer.local_copy(algorithm.before_bytes, local)
    for plane in sides:
        layer.hand_over(0, plane)
    for plane, peer, link in algorithm.handshakes:
        layer.handshake(plane, peer, link)
    first = True
    for step in algorithm.steps:
        layer.step(step, first=first)
        first = False
    layer.finish(algorithm.handshakes)
    for plane in sides:
        layer.hand_over(plane, 0)
    if algorithm.after_bytes:
        layer.local_copy(algorithm.after_bytes, local)
    return layer.tasks


@define(kw_only=True)
class _Layer:
    """Planes being filled: the next free tick of each, and the tick before which no further step may begin."""

    request: CollectiveRequest
    tick_us: float
    gap: int
    tasks: list[_Task] = field(factory=list)
    free: dict[int, int] = field(factory=dict)
    begun: int = 0
    waited: set[int] = field(factory=set)
    after: bool = False

    def ticks(self, us: float) -> int:
        return max(1, math.ceil(us / self.tick_us))

    def put(
        self,
        name: TaskName,
        plane: int,
        *,
        ticks: int = 1,
        peer: int | None = None,
        not_before: int = 0,
        sync: bool = False,
        size_bytes: int = 0,
        link: LinkType = LinkType.INVALID_TYPE,
        transport: TransportType = TransportType.LOCAL,
        rdma: RdmaType = RdmaType.INVALID_TYPE,
        notify: int = NO_NOTIFY,
    ) -> int:
        """Append a task to a plane and return its end."""
        start = max(self.free.get(plane, 0), not_before)
        task = _Task(
            name=name,
            plane=plane,
            start=start,
            length=ticks,
            sync=sync,
            after=self.after or plane in self.waited,
            peer=self.request.me if peer is None else peer,
            size_bytes=size_bytes,
            link=link,
            transport=transport,
            rdma=rdma,
            notify=notify,
        )
        self.tasks.append(task)
        self.free[plane] = start + ticks + self.gap
        if sync:
            self.waited.add(plane)
        return start + ticks

    def local_copy(self, size_bytes: int, link: Link) -> None:
        self.put(
            TaskName.Memcpy,
            0,
            ticks=self.ticks(link.us(size_bytes)),
            size_bytes=size_bytes,
            link=link.type,
            transport=TransportType.SDMA,
        )

    def hand_over(self, source: int, target: int) -> None:
        """Let one plane of the device go on when another has come this far."""
        notify = self.notify(self.request.me, LOCAL_NOTIFY + source * 256 + target)
        recorded = self.put(TaskName.Notify_Record, source, notify=notify)
        self.put(TaskName.Notify_Wait, target, not_before=recorded, notify=notify)

    def handshake(self, plane: int, peer: int, link: Link) -> None:
        """Tell the peer that this rank has arrived, and wait until the peer has."""
        self.record(plane, peer, link, _READY)
        self.wait(plane, peer, _READY, sync=True)

    def record(self, plane: int, peer: int, link: Link, phase: int) -> None:
        notify = self.notify(peer, self.request.me * 2 + phase)
        if link.rdma:
            self.post(plane, peer, RdmaType.RDMA_SEND_NOTIFY, notify)
        else:
            self.put(TaskName.Notify_Record, plane, peer=peer, transport=TransportType.SDMA, notify=notify)

    def wait(self, plane: int, peer: int, phase: int, *, ticks: int = 1, sync: bool = False) -> int:
        notify = self.notify(self.request.me, peer * 2 + phase)
        return self.put(TaskName.Notify_Wait, plane, ticks=ticks, peer=peer, sync=sync, notify=notify)

    def post(self, plane: int, peer: int, rdma: RdmaType, notify: int, size_bytes: int = 0) -> None:
        self.put(
            TaskName.RDMASend,
            plane,
            ticks=self.ticks(_POST_US),
            peer=peer,
            size_bytes=size_bytes or (4 if rdma is RdmaType.RDMA_SEND_NOTIFY else 0),
            link=LinkType.ROCE,
            transport=TransportType.RDMA,
            rdma=rdma,
            notify=notify,
        )

    def step(self, step: TransferStep, *, first: bool) -> None:
        """Run the transfers of a step; the next one begins when all planes and all ranks have finished it."""
        if first:
            # The handshake came before: from here on everything happens after the peers have arrived.
            self.after = True
            self.begun = max(self.free.values(), default=0)
        begun = self.begun
        for transfer in step.transfers:
            self.free[transfer.plane] = max(self.free.get(transfer.plane, 0), begun)
            if not first:
                self.record(transfer.plane, transfer.peer, transfer.link, _READY)
                self.wait(transfer.plane, transfer.peer, _READY)
            self.move(transfer)
        ends = [self.free[transfer.plane] for transfer in step.transfers]
        self.begun = max([begun + self.ticks(step.us), *ends])

    def move(self, transfer: Transfer) -> None:
        ticks = self.ticks(transfer.link.us(transfer.size_bytes))
        if transfer.link.rdma:
            self.post(transfer.plane, transfer.peer, RdmaType.RDMA_SEND_PAYLOAD, _NO_RDMA_NOTIFY, transfer.size_bytes)
            self.record(transfer.plane, transfer.peer, transfer.link, _DONE)
            self.wait(transfer.plane, transfer.peer, _DONE, ticks=ticks)
            if self.request.kind not in POINT_TO_POINT:
                self.record(transfer.plane, transfer.peer, transfer.link, _READY)
                self.wait(transfer.plane, transfer.peer, _READY)
            return
        self.put(
            TaskName.Reduce_Inline if transfer.reduces else TaskName.Memcpy,
            transfer.plane,
            ticks=ticks,
            peer=transfer.peer,
            size_bytes=transfer.size_bytes,
            link=transfer.link.type,
            transport=TransportType.SDMA,
        )

    def finish(self, handshakes: tuple[tuple[int, int, Link], ...]) -> None:
        """Tell the peers that this rank is done, and wait until they are."""
        for plane, peer, link in handshakes:
            self.record(plane, peer, link, _DONE)
            self.wait(plane, peer, _DONE, ticks=max(1, self.begun - self.free[plane]))

    def notify(self, owner: int, number: int) -> int:
        """Return a notify id: the rank that waits in the upper half, a number of that rank in the lower."""
        return owner << 32 | number
