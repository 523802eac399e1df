"""Both directions of collectives: what one rank sends to another the other one receives from it."""

from __future__ import annotations

import pytest

from drynpu.device.collectives import CollectiveRequest, LinkType, Topology, choose
from drynpu.device.samplers.links import LinkBytes, link_bytes
from drynpu.platforms import load_chip

SYMMETRIC = ("allReduce", "allGather", "reduceScatter", "alltoall")
ROOTED = ("broadcast", "reduce", "scatter")


def per_rank(kind: str, ranks: tuple[int, ...], size: int, chip: str) -> list[dict[LinkType, LinkBytes]]:
    return [
        dict(link_bytes(CollectiveRequest(kind=kind, size_bytes=size, ranks=ranks, rank=rank), load_chip(chip)))
        for rank in ranks
    ]


@pytest.mark.parametrize("chip", ["Ascend910B2", "Ascend910", "Ascend910_93", "Ascend310P3"])
@pytest.mark.parametrize("ranks", [(0, 1), (0, 1, 2, 3), tuple(range(16)), (0, 3, 8, 12, 17)])
@pytest.mark.parametrize("kind", [*SYMMETRIC, *ROOTED])
def test_what_is_sent_is_received(kind: str, ranks: tuple[int, ...], chip: str) -> None:
    found = per_rank(kind, ranks, 1_000_003, chip)
    for link in {link for rank in found for link in rank} - {LinkType.ON_CHIP}:
        sent = sum(rank.get(link, LinkBytes()).sent for rank in found)
        received = sum(rank.get(link, LinkBytes()).received for rank in found)
        assert sent == received > 0


def test_all_gather_of_a_board_moves_everybodys_part_to_everybody() -> None:
    found = per_rank("allGather", (0, 1, 2, 3), 4096, "Ascend910B2")
    for rank in found:
        assert rank[LinkType.HCCS].received == rank[LinkType.HCCS].sent == 3 * 4096


def test_a_message_goes_one_way() -> None:
    chip = load_chip("Ascend910B2")
    for ranks, link in (((0, 1), LinkType.HCCS), ((0, 8), LinkType.ROCE)):
        sender, receiver = (
            link_bytes(CollectiveRequest(kind=kind, size_bytes=5000, ranks=ranks, rank=rank, peer=peer), chip)[link]
            for kind, rank, peer in (("send", ranks[0], ranks[1]), ("receive", ranks[1], ranks[0]))
        )
        assert (sender.sent, sender.received) == (5000, 0)
        assert (receiver.sent, receiver.received) == (0, 5000)


def test_the_root_of_a_broadcast_sends_all_and_receives_nothing() -> None:
    root, *others = per_rank("broadcast", (0, 1, 2, 3), 4000, "Ascend910B2")
    assert root[LinkType.HCCS].received == 0
    assert all(other[LinkType.HCCS].received == 4000 for other in others)


def test_dies_of_a_package_use_their_own_link() -> None:
    found = per_rank("allReduce", (0, 1), 4096, "Ascend910_93")
    assert all(set(rank) == {LinkType.ON_CHIP, LinkType.SIO} for rank in found)


def test_reducing_says_what_is_added_in_place() -> None:
    found = per_rank("reduceScatter", (0, 1), 4096, "Ascend910B2")
    assert all(rank[LinkType.HCCS].reduced == rank[LinkType.HCCS].received == 2048 for rank in found)


def test_a_rank_moves_its_parts_inside_its_memory_before_and_after() -> None:
    chip = load_chip("Ascend910B2")
    request = CollectiveRequest(kind="allReduce", size_bytes=4096, ranks=(0, 1, 2, 3), rank=1)
    algorithm = choose(request, Topology(chip, request.ranks))
    assert algorithm.before_bytes > 0
    assert algorithm.after_bytes > 0
    assert link_bytes(request, chip)[LinkType.ON_CHIP].local == algorithm.before_bytes + algorithm.after_bytes
