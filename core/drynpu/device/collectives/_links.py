"""Links between ranks: their kinds, rates and latencies (device_and_cost_model.md 1.3)."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence

from attrs import evolve, frozen

from drynpu.platforms import Chip

_LOCAL_SHARE = 0.6 / 2
"""A local copy reads and writes device memory at the model's memory efficiency (device_and_cost_model.md 2)."""
_UNIFIED_LOCAL_GBS = 262.0
_UNIFIED_LOCAL_US = 0.86
"""Measured on the first generation: 1 KiB in 0.865 us, 527 KiB in 2.9 us."""
_LOCAL_US = 0.6
"""Measured A2 local tasks of a few bytes."""
_PACE_BYTES = 1 << 20
"""The packet by which links are called slower or faster; what HCCL's buffers hold is larger, latencies matter less."""


class LinkType(enum.IntEnum):
    """Numbers of link types in records (cann_msprof.md 4.6)."""

    ON_CHIP = 0
    HCCS = 1
    PCIE = 2
    ROCE = 3
    SIO = 4
    HCCS_SW = 5
    STANDARD_ROCE = 6
    UB = 7
    INVALID_TYPE = 0xFFFF_FFFF


class TransportType(enum.IntEnum):
    """Numbers of transport types in records (cann_msprof.md 4.6)."""

    SDMA = 0
    RDMA = 1
    LOCAL = 2
    UB = 3
    INVALID_TYPE = 0xFFFF_FFFF


class RdmaType(enum.IntEnum):
    """What an RDMA task does (cann_msprof.md 4.6)."""

    RDMA_SEND_NOTIFY = 0
    RDMA_SEND_PAYLOAD = 1
    INVALID_TYPE = 0xFFFF_FFFF


@frozen
class Link:
    """The connection between two ranks, with what a transfer over it takes."""

    type: LinkType
    gbs: float
    """What a transfer reaches: peak times efficiency, 10^9 bytes/s."""
    latency_us: float

    @property
    def rdma(self) -> bool:
        """Whether transfers go through the network card."""
        return self.type is LinkType.ROCE

    def us(self, size_bytes: int) -> float:
        """Return how long *size_bytes* take."""
        return self.latency_us + size_bytes / (self.gbs * 1000)


@frozen
class Topology:
    """How the ranks of a group are joined on a chip's system. Group ranks index ``ranks``."""

    chip: Chip
    ranks: tuple[int, ...]

    @property
    def local(self) -> Link:
        """Copies within a device."""
        if self.chip.generation == "split":
            return Link(LinkType.ON_CHIP, self.chip.memory_gbs * _LOCAL_SHARE, _LOCAL_US)
        return Link(LinkType.ON_CHIP, min(_UNIFIED_LOCAL_GBS, self.chip.memory_gbs * _LOCAL_SHARE), _UNIFIED_LOCAL_US)

    @property
    def boards(self) -> tuple[tuple[int, ...], ...]:
        """Group ranks by board, boards in order of their number."""
        return self._parts(range(len(self.ranks)), self.chip.interconnect.board_devices)

    def super_nodes(self, members: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """Return *members* (group ranks) by super-node; a node without one is its own."""
        parts = self.chip.interconnect
        return self._parts(members, max(parts.super_devices, parts.node_devices, parts.board_devices))

    def _parts(self, members: Iterable[int], size: int) -> tuple[tuple[int, ...], ...]:
        parts: dict[int, list[int]] = {}
        for member in members:
            parts.setdefault(self.ranks[member] // size, []).append(member)
        return tuple(tuple(parts[number]) for number in sorted(parts))

    def same_board(self, one: int, two: int) -> bool:
        """Return whether the chip's own links join two group ranks."""
        return self._share(one, two, self.chip.interconnect.board_devices)

    def link(self, one: int, two: int, sharing: int = 1) -> Link:
        """
        Return the link between two group ranks.

        ``sharing`` is the number of transfers that the device runs over the board's links at once: behind a
        switch they share its rate.
        """
        plain = self._level(one, two, sharing)
        ends = {self.ranks[one], self.ranks[two]}
        factor = next((slow.factor for slow in self.chip.interconnect.slow_links if set(slow.ranks) == ends), 1.0)
        return plain if factor == 1.0 else evolve(plain, gbs=plain.gbs / factor)

    def sharers(self, me: int, peers: Iterable[int]) -> int:
        """Return how many of *peers* share the device's rate; the other die of its package has a link of its own."""
        package = self.chip.interconnect.package_devices
        return max(sum(not self._share(me, peer, package) for peer in peers), 1)

    def widest(self, members: Sequence[int]) -> Link:
        """Return the link of the widest level that *members* (group ranks) span: it sets the pace of them all."""
        parts, first = self.chip.interconnect, members[0]
        for size in (parts.super_devices, parts.node_devices, parts.board_devices):
            away = next((peer for peer in members if not self._share(first, peer, size)), None) if size > 1 else None
            if away is not None:
                return self._level(first, away, 1)
        return self._level(first, members[1], 1)

    def slowed(self, plain: Link, groups: Sequence[Sequence[int]], distance: int = 0, sharing: int = 1) -> Link:
        """
        Return the slowest of *plain* and the slow links by which ranks of one of *groups* reach each other.

        With a *distance* these are links to the rank that lies so far behind in the group.
        """
        links = [plain]
        for slow in self.chip.interconnect.slow_links:
            ends = [self.ranks.index(rank) for rank in slow.ranks if rank in self.ranks]
            for group in groups:
                if len(ends) == 2 and all(end in group for end in ends):
                    apart = group.index(ends[0]) - group.index(ends[1])
                    if not distance or distance in (apart % len(group), -apart % len(group)):
                        links.append(self.link(ends[0], ends[1], sharing))
        return max(links, key=lambda link: link.us(_PACE_BYTES))

    def _level(self, one: int, two: int, sharing: int) -> Link:
        parts = self.chip.interconnect
        if one == two:
            return self.local
        if parts.package_devices > 1 and self._share(one, two, parts.package_devices):
            return Link(LinkType.SIO, parts.package_gbs * parts.efficiency, parts.package_latency_us)
        if self.same_board(one, two):
            peers = max(sharing, 1) if parts.shape == "switch" else 1
            latency_us = parts.latency_us + parts.notify_us * (peers - 1)
            return Link(LinkType[parts.link], parts.pair_gbs / peers * parts.efficiency, latency_us)
        if not self._share(one, two, parts.node_devices):
            if self._share(one, two, parts.super_devices):
                return Link(LinkType[parts.super_link], parts.super_gbs * parts.efficiency, parts.super_latency_us)
            if parts.network_gbs:
                return Link(LinkType.ROCE, parts.network_gbs * parts.efficiency, parts.network_latency_us)
        return Link(LinkType.PCIE, self.chip.pcie_gbs * parts.efficiency, parts.pcie_latency_us)

    def _share(self, one: int, two: int, size: int) -> bool:
        return self.ranks[one] // size == self.ranks[two] // size
