"""
Steps of a rank, counted by hand: ring, doubling, tree and pairwise exchange (device_and_cost_model.md 2).

A part is the payload by the ranks, rounded up; peers are counted from the rank itself.
"""

from __future__ import annotations

import pytest

from drynpu.device.collectives import CollectiveRequest, Topology, choose
from drynpu.device.collectives._algorithms import TransferStep
from drynpu.platforms import load_chip

APART = (0, 8, 16, 24, 32, 40)  # each on a board of its own
BOARD = (0, 1, 2, 3, 4)
PAYLOAD = 6_000_001
PART = 1_000_001
NETWORK = Topology(load_chip("Ascend910B2"), APART).link(0, 1)


def steps(kind: str, ranks: tuple[int, ...], rank: int, chip: str, size: int = PAYLOAD, peer: int | None = None
          ) -> tuple[TransferStep, ...]:  # fmt: skip
    more = {} if peer is None else {"peer": peer}
    request = CollectiveRequest(kind=kind, size_bytes=size, ranks=ranks, rank=rank, **more)
    return choose(request, Topology(load_chip(chip), ranks)).steps


def moves(found: tuple[TransferStep, ...], me: int, count: int) -> list[tuple[int, int, bool]]:
    """Distance of the peer, bytes, and whether they are added up, of each step with its only transfer."""
    transfers = [transfer for step in found for transfer in step.transfers]
    assert len(transfers) == len(found)
    return [((transfer.peer - me) % count, transfer.size_bytes, transfer.reduces) for transfer in transfers]


@pytest.mark.parametrize("me", [0, 2, 5])
def test_ranks_apart_double_what_they_hold(me: int) -> None:
    def of(kind: str) -> list[tuple[int, int, bool]]:
        return moves(steps(kind, APART, APART[me], "Ascend910B2"), me, 6)

    assert of("allGather") == [(1, PAYLOAD, False), (2, 2 * PAYLOAD, False), (2, 2 * PAYLOAD, False)]
    assert of("reduceScatter") == [(2, 2 * PART, True), (2, 2 * PART, True), (1, PART, True)]
    assert of("alltoall") == [(distance, PART, False) for distance in range(1, 6)]


@pytest.mark.parametrize("me", [0, 3])
def test_a_ring_hands_on_to_its_neighbour(me: int) -> None:
    def of(kind: str) -> list[tuple[int, int, bool]]:
        return moves(steps(kind, BOARD, me, "Ascend910A"), me, 5)

    part = -(-PAYLOAD // 5)
    assert of("allGather") == [(1, PAYLOAD, False)] * 4
    assert of("reduceScatter") == [(1, part, True)] * 4
    assert of("allReduce") == [(1, part, True)] * 4 + [(1, part, False)] * 4


def test_few_bytes_take_the_tree_and_many_the_ring() -> None:
    """The ring has 2 (N - 1) starts and moves 2 (N - 1) / N of the bytes, the tree 2 log2 N starts and moves 2."""
    # Both last equally long where 2 (5 - 3) starts take as long as 2 / 6 of the payload.
    equal = 2 * (5 - 3) * NETWORK.latency_us * NETWORK.gbs * 1000 / (2 / 6)
    few, many = int(equal) - 10, int(equal) + 10
    segment, part = -(-few // 3), -(-many // 6)
    assert moves(steps("allReduce", APART, 0, "Ascend910B2", few), 0, 6) == [
        *((distance, segment, True) for distance in (1, 2, 4)),
        *((distance, segment, False) for distance in (4, 2, 1)),
    ]
    assert (
        moves(steps("allReduce", APART, 0, "Ascend910B2", many), 0, 6) == [(1, part, True)] * 5 + [(1, part, False)] * 5
    )


@pytest.mark.parametrize("kind", ["broadcast", "reduce", "scatter"])
@pytest.mark.parametrize("root", [0, 3])
def test_a_tree_of_ranks_apart_moves_where_there_is_something_to_get(kind: str, root: int) -> None:
    size = PART if kind == "scatter" else PAYLOAD
    for me, rank in enumerate(APART):
        (step,) = steps(kind, APART, rank, "Ascend910B2", peer=APART[root])
        gets = (me == root) if kind == "reduce" else (me != root)
        assert len(step.transfers) == int(gets)
        assert step.busy_us == pytest.approx(NETWORK.us(size) + 2 * NETWORK.latency_us), "three levels of six ranks"
        for transfer in step.transfers:
            assert (transfer.peer, transfer.size_bytes) == ((me - 1) % 6, size)
            assert transfer.reduces == (kind == "reduce")


def test_two_ranks_need_one_level() -> None:
    (step,) = steps("broadcast", APART[:2], 8, "Ascend910B2", peer=0)
    assert step.busy_us == pytest.approx(NETWORK.us(PAYLOAD))


def test_nothing_moves_where_there_is_nothing() -> None:
    for rank in APART:
        (step,) = steps("broadcast", APART, rank, "Ascend910B2", size=0, peer=0)
        assert step.transfers == ()


@pytest.mark.parametrize("me", range(4))
def test_on_a_mesh_every_rank_reads_the_others_parts(me: int) -> None:
    """The parts of 10 bytes among 4 ranks are 2, 3, 2 and 3."""
    parts, ranks = [2, 3, 2, 3], (0, 1, 2, 3)
    reduce, gather = steps("allReduce", ranks, me, "Ascend910B2", size=10)
    others = [rank for rank in ranks if rank != me]
    assert [(each.peer, each.size_bytes, each.reduces) for each in reduce.transfers] == [
        (other, parts[me], True) for other in others
    ]
    assert [(each.peer, each.size_bytes, each.reduces) for each in gather.transfers] == [
        (other, parts[other], False) for other in others
    ]
    first, second = steps("broadcast", ranks, me, "Ascend910B2", size=10, peer=1)
    assert [(each.peer, each.size_bytes) for each in first.transfers] == ([] if me == 1 else [(1, parts[me])])
    rest = [] if me == 1 else [(other, parts[other]) for other in others]
    assert [(each.peer, each.size_bytes) for each in second.transfers] == rest
    (scattered,) = steps("scatter", ranks, me, "Ascend910B2", size=10, peer=1)
    assert scattered.transfers == first.transfers
    assert scattered.us == pytest.approx(Topology(load_chip("Ascend910B2"), ranks).link(0, 1).us(3))
    reduced, collected = steps("reduce", ranks, me, "Ascend910B2", size=10, peer=1)
    assert reduced.transfers == reduce.transfers
    assert [(each.peer, each.size_bytes) for each in collected.transfers] == (
        [(other, parts[other]) for other in others] if me == 1 else []
    )


@pytest.mark.parametrize(("kind", "expected"), [
    ("allReduce", [(2, 5), (1, 3), (1, 3), (2, 5)]), ("allGather", [(1, 10), (2, 20)]),
    ("reduceScatter", [(2, 5), (1, 3)]),
])  # fmt: skip
def test_boards_reduce_inside_first_and_gather_inside_last(kind: str, expected: list[tuple[int, int]]) -> None:
    """Two ranks on each of two boards: halves on the board, a half of a half, rounded up, between the boards."""
    found = steps(kind, (0, 1, 8, 9), 9, "Ascend910B2", size=10)
    assert [(each.peer, each.size_bytes) for step in found for each in step.transfers] == expected
