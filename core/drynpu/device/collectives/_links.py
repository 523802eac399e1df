"""Links between ranks: their kinds, rates and latencies (device_and_cost_model.md 1.3)."""

from __future__ import annotations

import enum

from attrs import frozen

from drynpu.platforms import Chip

_LOCAL_SHARE = 0.6 / 2
"""A local copy reads and writes device memory at the model's memory efficiency (device_and_cost_model.md 2)."""
_UNIFIED_LOCAL_GBS = 262.0
_UNIFIED_LOCAL_US = 0.86
"""Measured on the first generation: 1 KiB in 0.865 us, 527 KiB in 2.9 us."""
_LOCAL_US = 0.6
"""Measured A2 local tasks of a few bytes."""


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
        size = self.chip.interconnect.board_devices
        numbers = [rank // size for rank in self.ranks]
        return tuple(
            tuple(index for index, number in enumerate(numbers) if number == board) for board in sorted(set(numbers))
        )

    def same_board(self, one: int, two: int) -> bool:
        """Return whether the chip's own links join two group ranks."""
        size = self.chip.interconnect.board_devices
        return self.ranks[one] // size == self.ranks[two] // size

    def link(self, one: int, two: int, sharing: int = 1) -> Link:
        """
        Return the link between two group ranks.

        ``sharing`` is the number of transfers that the device runs over the board's links at once: behind a
        switch they share its rate.
        """
        parts = self.chip.interconnect
        if one == two:
            return self.local
        if parts.package_devices > 1 and self._same_package(one, two):
            return Link(LinkType.SIO, parts.package_gbs * parts.efficiency, parts.package_latency_us)
        if self.same_board(one, two):
            rate = parts.pair_gbs / (max(sharing, 1) if parts.shape == "switch" else 1)
            return Link(LinkType[parts.link], rate * parts.efficiency, parts.latency_us)
        if parts.network_gbs:
            return Link(LinkType.ROCE, parts.network_gbs * parts.efficiency, parts.network_latency_us)
        return Link(LinkType.PCIE, self.chip.pcie_gbs * parts.efficiency, parts.pcie_latency_us)

    def _same_package(self, one: int, two: int) -> bool:
        size = self.chip.interconnect.package_devices
        return self.ranks[one] // size == self.ranks[two] // size
