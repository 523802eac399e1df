"""
The tasks of one rank: local copies, notifications and transfers, plane by plane, on the device's tick grid.

A rank shakes hands with its peers (``Notify_Record``, ``Notify_Wait``), moves its bytes, and does so once more when all
are done. Plane 0 is the main queue: it begins before the others and ends after them. The times hold for a rank whose
peers are all there; what it waits for them is added to the tasks marked ``sync`` and moves the tasks marked ``after``.
"""

from __future__ import annotations

import enum
import math
from typing import Any

import numpy as np
from attrs import define, field, fields_dict, frozen

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

    ``peer`` is a group rank (this rank's for local work); ``notify`` is uint64. ``ticks`` is the length of the
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

    The time follows device_and_cost_model.md 2: per step the link's latency and its bytes over rate times
    efficiency, and the static cost of a collective, which lies between the tasks of plane 0.

    Raises
    ------
    OptionError
        The request cannot be (raised when it is created).
    """
    topology = Topology(chip, request.ranks)
    algorithm = choose(request, topology)
    counted = _lay(request, algorithm, topology, gap=0)
    main = sum(1 for task in counted if task.plane == 0)
    gap = max(1, round(chip.interconnect.start_us * 1000 / chip.tick_ns / max(main, 1)))
    tasks = sorted(_lay(request, algorithm, topology, gap=gap), key=lambda task: (task.plane, task.start))

    columns: dict[str, Any] = {
        name: np.array([getattr(task, name) for task in tasks], _COLUMN_TYPES.get(name, np.int64))
        for name in fields_dict(_Task)
    }
    return CollectivePlan(
        algorithm=algorithm.name,
        planes=1 + max(task.plane for task in tasks),
        ticks=max(task.start + task.length for task in tasks),
        **columns,
    )


_COLUMN_TYPES: dict[str, type[np.generic]] = {"sync": np.bool_, "after": np.bool_, "notify": np.uint64}
"""Columns that are not int64."""


@frozen(kw_only=True)
class _Task:
    name: int
    plane: int
    start: int
    length: int
    sync: bool
    after: bool
    peer: int
    size_bytes: int = 0
    link: int = LinkType.INVALID_TYPE
    transport: int = TransportType.LOCAL
    rdma: int = RdmaType.INVALID_TYPE
    notify: int = NO_NOTIFY


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
    for number, step in enumerate(algorithm.steps):
        layer.step(step, first=number == 0)
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
        **values: int,
    ) -> int:
        """Append a task with further *values* of `_Task` to a plane, and return its end."""
        start = max(self.free.get(plane, 0), not_before)
        task = _Task(
            name=name,
            plane=plane,
            start=start,
            length=ticks,
            sync=sync,
            after=self.after or plane in self.waited,
            peer=self.request.me if peer is None else peer,
            **values,
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

    def hand_over(self, source: int, follower: int) -> None:
        """Make the plane *follower* wait until the plane *source* has finished its tasks so far."""
        notify = self.notify(self.request.me, LOCAL_NOTIFY + source * 256 + follower)
        recorded = self.put(TaskName.Notify_Record, source, notify=notify)
        self.put(TaskName.Notify_Wait, follower, not_before=recorded, notify=notify)

    def handshake(self, plane: int, peer: int, link: Link) -> None:
        """Notify the peer that this rank has arrived, and wait for the peer's notification."""
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
        """Notify the peers that this rank is done, and wait until they are."""
        for plane, peer, link in handshakes:
            self.record(plane, peer, link, _DONE)
            self.wait(plane, peer, _DONE, ticks=max(1, self.begun - self.free[plane]))

    def notify(self, owner: int, number: int) -> int:
        """Return a notify id: the rank that waits in the upper half, a number of that rank in the lower."""
        return owner << 32 | number


def collective_us(request: CollectiveRequest, chip: Chip) -> float:
    """Return how long a collective takes without waiting for its peers, us."""
    topology = Topology(chip, request.ranks)
    algorithm = choose(request, topology)
    copied = sum(topology.local.us(size) for size in (algorithm.before_bytes, algorithm.after_bytes) if size)
    return chip.interconnect.start_us + sum(step.us for step in algorithm.steps) + copied
