"""
How long transfers between ranks take: by link type, from the same links that collectives are planned on.

Coefficients are few: latency and share of the peak for each kind of link (the chip's ``interconnect``), and how the
share rises with the size of a packet.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from attrs import frozen

from drynpu.device.collectives import KINDS, CollectiveRequest, Link, LinkType, Topology, collective_us
from drynpu.platforms import Chip

_SPREAD = {"seen": 0.35, "physics": 0.7}
"""Half width of the interval that holds 80 %, as a logarithm."""
_MEASURED = frozenset({("split", "HCCS"), ("split", "ON_CHIP"), ("unified", "HCCS"), ("unified", "ON_CHIP")})


@frozen
class TransferEstimate:
    """A predicted transfer time in us with the interval that holds 80 %; ``bound`` is ``latency`` or ``bandwidth``."""

    us: float
    low_us: float
    high_us: float
    bound: str
    link: str
    support: str


_TRANSPORTS = {
    "HCCS": LinkType.HCCS,
    "HCCS_SW": LinkType.HCCS_SW,
    "UB": LinkType.UB,
    "SIO": LinkType.SIO,
    "SDMA:REMOTE": LinkType.HCCS,
    "SDMA:LOCAL": LinkType.ON_CHIP,
    "LOCAL": LinkType.ON_CHIP,
    "ON_CHIP": LinkType.ON_CHIP,
    "SDMA": LinkType.HCCS,
    "PCIE": LinkType.PCIE,
    "RDMA": LinkType.ROCE,
    "ROCE": LinkType.ROCE,
    "STANDARD_ROCE": LinkType.ROCE,
}
_KIND = re.compile(r"(?:hcom_|Hccl)?([A-Za-z]+)")


def transfer_estimate(
    chip: Chip,
    *,
    level: str,
    kind: str,
    transport: str,
    size_bytes: float,
    packets: Sequence[tuple[float, int]] = (),
    group_size: int = 2,
) -> TransferEstimate:
    """
    Return the time of a transfer over one transport, or of a whole collective without waiting for its peers.

    Parameters
    ----------
    level:
        ``op`` for the whole collective, anything else for its transfers.
    kind:
        The operator (``hcom_allReduce_``, ``Receive``) or the task (``Memcpy``, ``Reduce_Inline``).
    transport:
        As records name it: ``HCCS``, ``SDMA:local``, ...; of a whole collective its algorithm, which is not read.
    packets:
        Size and number of the packets that the bytes come in; one where it is not known.
    """
    name = _kind_name(kind)
    link_type = _TRANSPORTS.get(transport.strip().upper())
    if level.strip() == "op" or link_type is None:
        us, link_type = _collective_us(chip, name, size_bytes, max(group_size, 2)), LinkType[chip.interconnect.link]
        latency = chip.interconnect.start_us
        support = "physics"
    else:
        if link_type is LinkType.ON_CHIP and name == "receive":
            # What a receiver counts as local crossed the link all the same.
            link_type = LinkType[chip.interconnect.link]
        link = link_of(chip, link_type)
        count = sum(number for _, number in packets) or 1
        latency = count * link.latency_us
        us = latency + size_bytes / (link.gbs * _reducing_share(name, link_type) * 1000)
        generation = "split" if chip.split else "unified"
        support = "seen" if (generation, link_type.name) in _MEASURED else "physics"
    spread = math.exp(_SPREAD[support])
    bound = "latency" if latency > us / 2 else "bandwidth"
    return TransferEstimate(us, us / spread, us * spread, bound, link_type.name, support)


_REDUCING, _HALF_REDUCING = 0.8, 0.9
"""Share of a link's rate while the receiver sums up: all of a reduceScatter, half of an allReduce (measured A2)."""


def _reducing_share(name: str, link_type: LinkType) -> float:
    if link_type is LinkType.ON_CHIP:
        return 1.0
    if name.startswith("reduce"):
        return _REDUCING
    return _HALF_REDUCING if name == "allreduce" else 1.0


def _kind_name(kind: str) -> str:
    match = _KIND.match(kind.strip())
    return (match[1] if match else kind).lower()


def link_of(chip: Chip, link_type: LinkType) -> Link:
    """Return a link of the chip by its type; one that the chip lacks has the rate of the board's."""
    parts, topology = chip.interconnect, Topology(chip, (0, 1))
    if link_type is LinkType.ON_CHIP:
        return topology.local
    if link_type is LinkType.SIO and parts.package_gbs:
        return Link(link_type, parts.package_gbs * parts.efficiency, parts.package_latency_us)
    if link_type is LinkType.ROCE and parts.network_gbs:
        return Link(link_type, parts.network_gbs * parts.efficiency, parts.network_latency_us)
    if link_type is LinkType.PCIE or not parts.pair_gbs:
        return Link(link_type, chip.pcie_gbs * parts.efficiency, parts.pcie_latency_us)
    return Link(link_type, parts.pair_gbs * parts.efficiency, parts.latency_us)


def _collective_us(chip: Chip, name: str, size_bytes: float, count: int) -> float:
    by_name = {known.lower(): known for known in KINDS}
    kind, ranks = by_name.get(name, "allReduce"), tuple(range(count))
    return collective_us(CollectiveRequest(kind=kind, size_bytes=round(size_bytes), ranks=ranks, rank=0, peer=1), chip)
