"""Collectives on the links of a stated cluster, against times computed by hand."""

from __future__ import annotations

import pytest
from attrs import evolve

from drynpu.device.collectives import CollectiveRequest, LinkType, Topology, choose, collective_us
from drynpu.platforms import Chip, ClusterTopology, Hccs, Level, SlowLink, SuperNode, load_chip

MB = 1 << 20
CLUSTER = ClusterTopology(
    devices=4,
    hccs=Hccs(devices=4, shape="mesh", link="HCCS", gbs=30.0, latency_us=2.0),
    super_node=SuperNode(nodes=2, gbs=50.0, latency_us=3.0),
    roce=Level(gbs=20.0, latency_us=7.0),
    efficiency=0.5,
)


def cluster(**changes: object) -> Chip:
    return evolve(CLUSTER, **changes).applied(load_chip("910B2"))


def spent_us(kind: str, size: int, ranks: tuple[int, ...], rank: int, chip: Chip, peer: int | None = None) -> float:
    request = CollectiveRequest(kind=kind, size_bytes=size, ranks=ranks, rank=rank, peer=peer)
    return sum(step.us for step in choose(request, Topology(chip, ranks)).steps)


def over(size: float, gbs: float, latency_us: float) -> float:
    return latency_us + size / (gbs * 0.5 * 1000)


@pytest.mark.parametrize(
    ("one", "two", "kind", "gbs"),
    [(1, 3, LinkType.HCCS, 15), (1, 6, LinkType.HCCS_SW, 25), (1, 9, LinkType.ROCE, 10), (9, 14, LinkType.HCCS_SW, 25)],
)
def test_each_pair_has_the_link_of_its_level(one: int, two: int, kind: LinkType, gbs: float) -> None:
    link = Topology(cluster(), tuple(range(16))).link(one, two)
    assert (link.type, link.gbs) == (kind, gbs)


def test_boards_of_a_node_meet_over_pcie() -> None:
    halves = evolve(CLUSTER.hccs, devices=2)
    topology = Topology(cluster(hccs=halves, pcie=Level(gbs=32.0, latency_us=5.0)), tuple(range(16)))
    assert [topology.link(0, other).type.name for other in (1, 2, 4, 8)] == ["HCCS", "PCIE", "HCCS_SW", "ROCE"]
    assert topology.link(0, 2).gbs == 16


def test_a_slow_link_is_slow_in_both_directions_and_alone() -> None:
    topology = Topology(cluster(slow_links=(SlowLink(ranks=(2, 5), factor=4.0),)), (5, 7, 2, 0))
    assert topology.link(0, 2).gbs == topology.link(2, 0).gbs == 25 / 4
    assert topology.link(1, 2).gbs == 25


def test_nodes_of_one_super_node_reduce_on_the_board_and_then_over_its_switches() -> None:
    ranks, size = tuple(range(8)), 24 * MB
    part = size / 4
    board = 2 * over(part, 30, 2)
    between = 2 * over(part / 2, 50, 3)
    assert spent_us("allReduce", size, ranks, 5, cluster()) == pytest.approx(board + between, rel=1e-6)


def test_the_network_carries_only_what_is_left_when_super_nodes_have_reduced() -> None:
    """4 nodes in 2 super-nodes: a quarter stays on the board, half of that crosses the network."""
    ranks, size = tuple(range(16)), 24 * MB
    part = size / 4
    expected = 2 * over(part, 30, 2) + 2 * over(part / 2, 50, 3) + 2 * over(part / 4, 20, 7)
    assert spent_us("allReduce", size, ranks, 6, cluster()) == pytest.approx(expected, rel=1e-6)
    request = CollectiveRequest(kind="allReduce", size_bytes=size, ranks=ranks, rank=6)
    moved = [
        (step.transfers[0].peer, step.transfers[0].link.type.name)
        for step in choose(request, Topology(cluster(), ranks)).steps
    ]
    assert moved[1:5] == [(2, "HCCS_SW"), (14, "ROCE"), (14, "ROCE"), (2, "HCCS_SW")]


@pytest.mark.parametrize("kind", ["allGather", "reduceScatter"])
def test_gathering_and_scattering_go_the_same_way(kind: str) -> None:
    ranks, size = tuple(range(16)), 16 * MB
    unit = size if kind == "allGather" else size / 16
    expected = over(unit, 20, 7) + over(unit * 2, 50, 3) + over(unit * 4, 30, 2)
    assert spent_us(kind, size, ranks, 11, cluster()) == pytest.approx(expected, rel=1e-6)


def test_a_group_across_super_nodes_goes_at_the_pace_of_the_network() -> None:
    """One rank of each of three nodes, of which two share a super-node: a ring over RoCE in every step."""
    ranks, size = (0, 4, 8), 9 * MB
    expected = 4 * over(size / 3, 20, 7)
    for rank in ranks:
        assert spent_us("allReduce", size, ranks, rank, cluster()) == pytest.approx(expected, rel=1e-6)


def test_a_slow_link_slows_all_ranks_of_its_mesh_and_no_others() -> None:
    slow = cluster(slow_links=(SlowLink(ranks=(1, 2), factor=3.0),))
    ranks, size = (0, 1, 2, 3), 12 * MB
    expected = 2 * over(size / 4, 30 / 3, 2)
    for rank in ranks:
        assert spent_us("allReduce", size, ranks, rank, slow) == pytest.approx(expected, rel=1e-6)
    assert spent_us("allReduce", size, (0, 1, 3), 1, slow) == spent_us("allReduce", size, (0, 1, 3), 1, cluster())


def test_a_slow_link_counts_at_the_distance_that_uses_it() -> None:
    """A ring of 3 nodes of one rank each has neighbours only; pairwise exchange uses every pair."""
    slow = cluster(slow_links=(SlowLink(ranks=(0, 8), factor=5.0),))
    ranks, size = (0, 8, 16, 24), 4 * MB
    assert spent_us("allReduce", size, ranks, 16, slow) > spent_us("allReduce", size, ranks, 16, cluster())
    slow = cluster(slow_links=(SlowLink(ranks=(0, 16), factor=5.0),))
    ring = spent_us("allReduce", size, ranks, 8, slow)
    assert ring == spent_us("allReduce", size, ranks, 8, cluster()), "0 and 16 are no neighbours in the ring"
    exchange = over(MB, 20 / 5, 7) + 2 * over(MB, 20, 7)
    assert spent_us("alltoall", size, ranks, 8, slow) == pytest.approx(exchange, rel=1e-6)


def test_the_time_of_a_collective_has_its_start_and_its_copies() -> None:
    chip = cluster(start_us=13.0)
    request = CollectiveRequest(kind="allReduce", size_bytes=8 * MB, ranks=tuple(range(8)), rank=1)
    local = Topology(chip, request.ranks).local.us(MB)
    moved = spent_us("allReduce", 8 * MB, request.ranks, 1, chip)
    assert collective_us(request, chip) == pytest.approx(13 + 2 * local + moved)
