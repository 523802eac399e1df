"""Plans of collectives against the laws that every schedule keeps and the formulas of device_and_cost_model.md 2."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drynpu._errors import OptionError
from drynpu.device.collectives import (
    KINDS,
    LOCAL_NOTIFY,
    NO_NOTIFY,
    CollectivePlan,
    CollectiveRequest,
    LinkType,
    RdmaType,
    TaskName,
    Topology,
    TransportType,
    plan_collective,
)
from drynpu.platforms import Chip, load_chip

CHIPS = ("910A", "910B2", "910B4", "910_93", "310P3", "950PR")
POINT_TO_POINT = ("send", "receive", "batchSendRecv")


def plan(
    kind: str, size: int, ranks: tuple[int, ...], rank: int, chip: str = "910B2", peer: int | None = None
) -> CollectivePlan:
    request = CollectiveRequest(kind=kind, size_bytes=size, ranks=ranks, rank=rank, peer=peer)
    return plan_collective(request, load_chip(chip))


def moved(of: CollectivePlan) -> np.ndarray:
    """Rows that move bytes to or from another rank."""
    copies = np.isin(of.name, [TaskName.Memcpy, TaskName.Reduce_Inline]) & (of.link != LinkType.ON_CHIP)
    return np.flatnonzero(copies | (of.rdma == RdmaType.RDMA_SEND_PAYLOAD))


@st.composite
def requests(draw: st.DrawFn) -> tuple[CollectiveRequest, Chip]:
    kind = draw(st.sampled_from(KINDS))
    least = 2 if kind in POINT_TO_POINT else 1
    ranks = tuple(draw(st.lists(st.integers(0, 40), min_size=least, max_size=12, unique=True)))
    rank = draw(st.sampled_from(ranks))
    others = [other for other in ranks if other != rank]
    peer = draw(st.sampled_from(others)) if kind in POINT_TO_POINT else None
    if kind in ("broadcast", "reduce", "scatter"):
        peer = draw(st.none() | st.sampled_from(ranks))
    size = draw(st.integers(0, 1 << 26))
    request = CollectiveRequest(kind=kind, size_bytes=size, ranks=ranks, rank=rank, peer=peer)
    return request, load_chip(draw(st.sampled_from(CHIPS)))


@settings(deadline=None)
@given(requests())
def test_every_plan_keeps_the_laws(case: tuple[CollectiveRequest, Chip]) -> None:
    request, chip = case
    of = plan_collective(request, chip)
    assert (of.length >= 1).all()
    assert (of.start >= 0).all()
    for plane in range(of.planes):
        rows = of.plane == plane
        ends = of.start[rows] + of.length[rows]
        assert rows.any()
        assert (of.start[rows][1:] >= ends[:-1]).all()
    main = of.plane == 0
    assert of.start[main].min() == 0
    assert (of.start + of.length)[main].max() == of.ticks == (of.start + of.length).max()
    # A rank that waits for its peers does nothing that depends on them before.
    if of.sync.any():
        shaken = (of.start + of.length)[of.sync].max()
        assert (of.name[of.sync] == TaskName.Notify_Wait).all()
        assert of.after[moved(of)].all()
        assert (of.start[moved(of)] >= shaken).all()
    assert of.sync.any() == (len(request.ranks) > 1)
    # On every plane what waiting moves comes after what it does not.
    for plane in range(of.planes):
        assert (np.diff(of.after[of.plane == plane].astype(int)) >= 0).all()


@settings(deadline=None)
@given(requests())
def test_no_transfer_is_faster_than_its_link(case: tuple[CollectiveRequest, Chip]) -> None:
    request, chip = case
    of = plan_collective(request, chip)
    links = chip.interconnect
    peaks = {
        LinkType.HCCS: links.pair_gbs,
        LinkType.HCCS_SW: links.pair_gbs,
        LinkType.UB: links.pair_gbs,
        LinkType.SIO: links.package_gbs,
        LinkType.PCIE: chip.pcie_gbs,
        LinkType.ON_CHIP: chip.memory_gbs,
    }
    for row in np.flatnonzero(np.isin(of.name, [TaskName.Memcpy, TaskName.Reduce_Inline])):
        rate = of.size_bytes[row] / (of.length[row] * chip.tick_ns)
        assert rate <= peaks[LinkType(int(of.link[row]))]
        assert of.transport[row] == TransportType.SDMA
        assert (of.peer[row] == request.me) == (of.link[row] == LinkType.ON_CHIP)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("kind", ["allReduce", "allGather", "reduceScatter", "alltoall", "batchSendRecv"])
def test_who_tells_is_waited_for(kind: str, chip: str) -> None:
    """Over all ranks, every notification that one sends another has its wait, and none is left over."""
    ranks = (0, 1, 2, 3) if kind != "batchSendRecv" else (0, 1)
    told: Counter[int] = Counter()
    waited: Counter[int] = Counter()
    for rank in ranks:
        of = plan(kind, 1 << 20, ranks, rank, chip, peer=1 - rank if kind == "batchSendRecv" else None)
        far = (of.notify.astype(np.int64) & 0xFFFF_FFFF) < LOCAL_NOTIFY
        far &= of.notify != np.uint64(NO_NOTIFY)
        tells = np.isin(of.name, [TaskName.Notify_Record, TaskName.RDMASend])
        told.update(of.notify[far & tells].tolist())
        waited.update(of.notify[far & (of.name == TaskName.Notify_Wait)].tolist())
    if chip in ("910B2", "910B4", "910_93", "950PR") or kind == "batchSendRecv":
        assert told == waited
    else:
        # On a ring a rank reads from one neighbour and is read by the other.
        assert sum(told.values()) == sum(waited.values())


def sent(kind: str, count: int, size: int) -> int:
    """Bytes a rank reads from its peers (device_and_cost_model.md 2, bandwidth terms)."""
    return {
        "allReduce": 2 * (count - 1) * size // count,
        "allGather": (count - 1) * size,
        "reduceScatter": (count - 1) * size // count,
        "alltoall": (count - 1) * size // count,
    }[kind]


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("kind", ["allReduce", "allGather", "reduceScatter", "alltoall"])
@pytest.mark.parametrize("count", [2, 4])
def test_sizes_are_those_of_the_collective(kind: str, chip: str, count: int) -> None:
    size = 1 << 20
    of = plan(kind, size, tuple(range(count)), 1, chip)
    assert of.size_bytes[moved(of)].sum() == sent(kind, count, size)


def test_a_mesh_reads_from_everybody_at_once() -> None:
    size = 16_388_000
    of = plan("allReduce", size, tuple(range(8)), 0)
    chunk = size // 8
    assert of.algorithm == "MESH-RING-NHR"
    assert of.planes == 7
    rows = moved(of)
    assert Counter(of.peer[rows].tolist()) == dict.fromkeys(range(1, 8), 2)
    assert sorted(of.plane[rows].tolist()) == sorted([*range(7)] * 2)
    assert (of.name[rows] == TaskName.Reduce_Inline).sum() == 7
    # Latency and bytes over 28 GB/s (S1) at 0.7: the time of a step; two steps and the static cost are the whole.
    step_us = 2.4 + chunk / (28 * 0.7 * 1000)
    assert of.length[rows] * 0.02 == pytest.approx(step_us, abs=0.021)
    local_us = 2 * (0.6 + chunk / (1600 * 0.3 * 1000))
    assert of.ticks * 0.02 == pytest.approx(2 * step_us + 10 + local_us, rel=0.02)


def test_the_first_generation_goes_round_the_ring() -> None:
    of = plan("allReduce", 8_000_000, tuple(range(8)), 3, "910A")
    rows = moved(of)
    assert of.algorithm == "RING-HD"
    assert of.planes == 1
    assert set(of.peer[rows].tolist()) == {4}
    assert [TaskName(int(name)).name for name in of.name[rows]] == ["Reduce_Inline"] * 7 + ["Memcpy"] * 7
    step_us = 2.2 + 1_000_000 / (30 * 0.7 * 1000)
    assert (of.length[rows] * 0.02).sum() == pytest.approx(14 * step_us, rel=0.01)


def test_dies_of_a_package_use_their_own_link() -> None:
    of = plan("allReduce", 1 << 20, (0, 1, 2, 3), 2, "910_93")
    links = {
        int(peer): LinkType(int(link)).name for peer, link in zip(of.peer[moved(of)], of.link[moved(of)], strict=True)
    }
    assert links == {3: "SIO", 0: "HCCS_SW", 1: "HCCS_SW"}


def test_behind_a_switch_the_peers_share_the_rate() -> None:
    pair = Topology(load_chip("910_93"), (0, 2)).link(0, 1)
    shared = Topology(load_chip("910_93"), (0, 2)).link(0, 1, sharing=7)
    assert pair.gbs == pytest.approx(7 * shared.gbs) == pytest.approx(196 * 0.85)


def test_cards_talk_over_pcie() -> None:
    of = plan("allGather", 1 << 20, (0, 1, 2), 0, "310P3")
    assert {LinkType(int(link)).name for link in of.link[moved(of)]} == {"PCIE"}


def test_between_boards_the_network_carries() -> None:
    of = plan("allReduce", 1 << 20, (0, 8), 0)
    payload = of.rdma == RdmaType.RDMA_SEND_PAYLOAD
    assert payload.any()
    assert (of.transport[payload] == TransportType.RDMA).all()
    assert (of.link[payload] == LinkType.ROCE).all()
    # Payload, notification, wait for its end, barrier: what makes a transfer of it for the vendor's parser.
    for row in np.flatnonzero(payload):
        names = [TaskName(int(name)).name for name in of.name[row : row + 5]]
        assert names == ["RDMASend", "RDMASend", "Notify_Wait", "RDMASend", "Notify_Wait"]
        us = (of.start[row + 4] + of.length[row + 4] - of.start[row]) * 0.02
        assert us >= 1.5 + of.size_bytes[row] / (25 * 0.7 * 1000)


def test_equal_shares_of_boards_reduce_on_the_board_first() -> None:
    size = 1 << 20
    of = plan("allReduce", size, (0, 1, 8, 9), 1)
    links = [LinkType(int(link)).name for link in of.link[moved(of)]]
    assert links[0] == links[-1] == "HCCS"
    assert set(links[1:-1]) == {"ROCE"}
    assert of.size_bytes[moved(of)].tolist()[0] == size // 2
    across = of.size_bytes[moved(of)][1:-1]
    assert across.sum() == 2 * (size // 2) // 2
    assert of.algorithm == "MESH-RING-NHR"


def test_small_messages_take_the_tree() -> None:
    """Few bytes: 2 log2(N) latencies; many: the ring's smaller volume (device_and_cost_model.md 2)."""
    few, many = (plan("allReduce", size, tuple(range(8)), 0, "310P3") for size in (512, 1 << 26))
    assert len(moved(few)) == 2 * math.log2(8)
    assert len(moved(many)) == 2 * 7


@pytest.mark.parametrize("chip", CHIPS)
def test_sender_and_receiver_take_equally_long(chip: str) -> None:
    ends = [plan(kind, 1 << 22, (4, 5), rank, chip, peer=9 - rank) for kind, rank in (("send", 4), ("receive", 5))]
    assert len(moved(ends[0])) == 0
    assert len(moved(ends[1])) == 1
    assert ends[0].ticks * 0.02 == pytest.approx(ends[1].ticks * 0.02, abs=3)


def test_over_the_network_the_sender_writes() -> None:
    sender, receiver = (
        plan(kind, 1 << 22, (4, 12), rank, peer=16 - rank) for kind, rank in (("send", 4), ("receive", 12))
    )
    assert sender.size_bytes[moved(sender)].tolist() == [1 << 22]
    assert len(moved(receiver)) == 0
    assert sender.ticks == pytest.approx(receiver.ticks, rel=0.05)


@pytest.mark.parametrize("kind", ["broadcast", "scatter"])
def test_a_root_gives_and_waits(kind: str) -> None:
    root, other = (plan(kind, 1 << 22, (0, 1, 2, 3), rank, peer=2) for rank in (2, 0))
    assert len(moved(root)) == 0
    assert len(moved(other)) > 0
    assert root.ticks == pytest.approx(other.ticks, rel=0.1)


def test_alone_a_rank_only_copies() -> None:
    of = plan("allReduce", 4096, (7,), 7)
    assert [TaskName(int(name)).name for name in of.name] == ["Memcpy"]
    assert of.link.tolist() == [LinkType.ON_CHIP]


@pytest.mark.parametrize(
    ("kind", "other"), [("broadcast", 0), ("reduce", 0), ("scatter", 0), ("allReduce", 2), ("alltoall", 2)]
)
def test_without_a_root_the_first_of_the_group_is_it_and_others_have_themselves(kind: str, other: int) -> None:
    request = CollectiveRequest(kind=kind, size_bytes=64, ranks=(7, 4, 9), rank=9)
    assert (request.me, request.other) == (2, other)
    rooted = CollectiveRequest(kind="broadcast", size_bytes=64, ranks=(7, 4, 9), rank=9, peer=4)
    assert rooted.other == 1


def test_every_problem_is_told() -> None:
    with pytest.raises(OptionError) as caught:
        CollectiveRequest(kind="allreduce", size_bytes=-1, ranks=(0, 0), rank=3, peer=9)
    assert len(caught.value.problems) == 5
    assert "allReduce" in caught.value.problems[0]
    with pytest.raises(OptionError, match="needs a peer"):
        CollectiveRequest(kind="send", size_bytes=1, ranks=(0, 1), rank=0)
    with pytest.raises(OptionError, match="the rank itself"):
        CollectiveRequest(kind="send", size_bytes=1, ranks=(0, 1), rank=0, peer=0)


def test_each_further_peer_behind_a_switch_adds_its_notification_and_the_other_die_takes_no_share() -> None:
    topology = Topology(load_chip("910_93"), tuple(range(16)))
    lone, busy = topology.link(0, 5), topology.link(0, 5, sharing=14)
    assert busy.latency_us - lone.latency_us == pytest.approx(13 * topology.chip.interconnect.notify_us)
    assert topology.sharers(0, range(1, 16)) == 14
    assert topology.sharers(0, (1,)) == 1
