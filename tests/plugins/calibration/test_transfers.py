"""Times of single transfers: a start and a rate for each link, computed by hand from what the chip's file states."""

from __future__ import annotations

import math

import pytest

from drynpu.device.collectives import LinkType
from drynpu.platforms import load_chip
from drynpu_calibration._transfers import link_of, transfer_estimate

SPLIT, UNIFIED = load_chip("Ascend910B2"), load_chip("Ascend910A")


@pytest.mark.parametrize(("transport", "link"), [
    ("HCCS", LinkType.HCCS), ("sdma:remote", LinkType.HCCS), (" RDMA ", LinkType.ROCE), ("PCIE", LinkType.PCIE),
    ("SDMA:local", LinkType.ON_CHIP),
])  # fmt: skip
@pytest.mark.parametrize(("kind", "share"), [("Memcpy", 1.0), ("hcom_reduceScatter_", 0.8), ("hcom_allReduce_", 0.9)])
def test_a_transfer_takes_a_start_for_each_packet_and_its_bytes_at_the_rate(
    transport: str, link: LinkType, kind: str, share: float
) -> None:
    found = link_of(SPLIT, link)
    share = 1.0 if link is LinkType.ON_CHIP else share
    us = 15 * found.latency_us + 7_000_001 / (found.gbs * share * 1000)
    packets = ((500_000.0, 12), (300_000.0, 3))
    estimate = transfer_estimate(
        SPLIT, level="task", kind=kind, transport=transport, size_bytes=7_000_001, packets=packets
    )
    assert estimate.us == pytest.approx(us)
    assert estimate.link == link.name
    bound = "latency" if 15 * found.latency_us > us / 2 else "bandwidth"
    assert estimate.bound == bound
    assert estimate.us / estimate.low_us == pytest.approx(estimate.high_us / estimate.us)
    seen = link in (LinkType.HCCS, LinkType.ON_CHIP)
    assert estimate.support == ("seen" if seen else "physics")
    assert estimate.high_us / estimate.us == pytest.approx(math.exp(0.35 if seen else 0.7))


@pytest.mark.parametrize(("factor", "bound"), [(0.5, "latency"), (0.999, "latency"), (1.001, "bandwidth")])
def test_half_of_the_time_decides_what_bounds_a_transfer(factor: float, bound: str) -> None:
    link = link_of(SPLIT, LinkType.HCCS)
    size = factor * link.latency_us * link.gbs * 1000
    assert transfer_estimate(SPLIT, level="task", kind="Memcpy", transport="HCCS", size_bytes=size).bound == bound


def test_a_lone_start_is_that_of_one_packet() -> None:
    link = link_of(UNIFIED, LinkType.HCCS)
    estimate = transfer_estimate(UNIFIED, level="task", kind="Memcpy", transport="HCCS", size_bytes=0)
    assert (estimate.us, estimate.bound, estimate.support) == (pytest.approx(link.latency_us), "latency", "seen")


def test_what_a_receiver_counts_as_local_crossed_the_link() -> None:
    assert transfer_estimate(SPLIT, level="task", kind="hcom_receive_", transport="LOCAL", size_bytes=9).link == "HCCS"
    assert transfer_estimate(SPLIT, level="task", kind="hcom_send_", transport="LOCAL", size_bytes=9).link == "ON_CHIP"


def test_a_link_that_a_chip_lacks_has_the_rate_of_the_board() -> None:
    parts = SPLIT.interconnect
    assert parts.package_gbs in (None, 0)
    assert link_of(SPLIT, LinkType.SIO).gbs == pytest.approx(parts.pair_gbs * parts.efficiency)
    dies = load_chip("Ascend910_93").interconnect
    assert link_of(load_chip("Ascend910_93"), LinkType.SIO).gbs == pytest.approx(dies.package_gbs * dies.efficiency)
    assert link_of(load_chip("Ascend910_93"), LinkType.SIO).latency_us == dies.package_latency_us


def test_a_whole_collective_of_one_is_that_of_two_and_longer_with_more() -> None:
    def us(count: int) -> float:
        return transfer_estimate(
            SPLIT, level="op", kind="hcom_allReduce_", transport="ring", size_bytes=1e8, group_size=count
        ).us

    assert us(1) == us(2)
    assert us(2) != us(5)
    assert transfer_estimate(SPLIT, level="op", kind="x", transport="HCCS", size_bytes=1e8).support == "physics"
