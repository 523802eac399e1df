"""Ranks that run without the others: the order they get, where they meet, and how the others are modelled."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from drynpu import OptionError
from drynpu.platforms import ClusterTopology, Hccs, Level, load_chip
from drynpu.recorder import FolderStore, RankCall, RankRendezvous, SymmetricPeers, WorldCommand, announce, note_end

SECOND = 10**9


def call(
    *ranks: int, kind: str = "allReduce", messages: tuple[tuple[int, int, int], ...] = (), size_bytes: int = 0
) -> RankCall:
    return RankCall(group="g", ranks=ranks, kind=kind, messages=messages, size_bytes=size_bytes)


def test_an_order_is_read_as_it_was_written(tmp_path: Path) -> None:
    command = WorldCommand(size=8, ranks=(0, 5), folder=tmp_path, jitter=0.1, straggler=(3, 1.5))
    assert WorldCommand.from_environ({"DRYNPU_WORLD": command.to_text()}) == command
    assert WorldCommand.from_environ({}) is None
    with pytest.raises(OptionError, match="DRYNPU_WORLD: not an order"):
        WorldCommand.from_text('{"size": 8}')


def test_the_straggler_delays_its_group_by_its_factor() -> None:
    peers = SymmetricPeers(size=4, rank=1, straggler=(2, 1.25))
    group = call(0, 1, 2, 3)
    assert peers.slowest_ns(group, 0, 0) == 0, "nothing has passed yet"
    first = peers.slowest_ns(group, SECOND, SECOND)
    assert first == pytest.approx(1.25 * SECOND)
    assert peers.slowest_ns(group, first + SECOND, 0) == pytest.approx(first + 1.25 * SECOND), "all began together"


def test_the_straggler_itself_waits_for_nobody() -> None:
    peers = SymmetricPeers(size=4, rank=2, straggler=(2, 1.25))
    peers.slowest_ns(call(0, 1, 2, 3), 0, 0)
    assert peers.slowest_ns(call(0, 1, 2, 3), SECOND, SECOND) == SECOND


def test_a_straggler_is_felt_through_the_groups_of_other_ranks() -> None:
    """Rank 3 is in no group of rank 0. It delays rank 2, with which rank 0 averages afterwards."""
    peers = SymmetricPeers(size=4, rank=0, straggler=(3, 2.0))
    peers.slowest_ns(call(0, 1), 0, 0)
    assert peers.slowest_ns(call(0, 1), SECOND, SECOND) == SECOND, "the pair of rank 0 is in time"
    assert peers.slowest_ns(call(0, 2), SECOND, SECOND) == 2 * SECOND


def test_a_message_waits_for_a_late_sender_and_a_late_receiver_for_none() -> None:
    message = call(0, 1, kind="receive", messages=((0, 1, 0),))
    for straggler, expected in (((0, 2.0), 2 * SECOND), ((1, 2.0), SECOND)):
        peers = SymmetricPeers(size=2, rank=1, straggler=straggler)
        peers.slowest_ns(call(0, 1), 0, 0)
        assert peers.slowest_ns(message, SECOND, SECOND) == expected


def test_a_group_that_is_no_lattice_meets_by_itself() -> None:
    peers = SymmetricPeers(size=8, rank=0, straggler=(3, 2.0))
    peers.slowest_ns(call(0, 1, 3), 0, 0)
    assert peers.slowest_ns(call(0, 1, 3), SECOND, SECOND) == 2 * SECOND


def test_groups_with_slower_links_are_late_by_what_they_take_longer() -> None:
    """Pairs {0, 1} and {2, 3} reduce; the second pair crosses boards. Rank 0 waits for it where it meets rank 2."""
    links = ClusterTopology(
        devices=3,
        hccs=Hccs(devices=3, shape="mesh", gbs=28.0, latency_us=2.0),
        roce=Level(gbs=10.0, latency_us=5.0),
        efficiency=0.5,
    )
    chip, size_bytes = links.applied(load_chip("910B2")), 12_000_000
    peers = SymmetricPeers(size=4, rank=0, chip=chip)
    peers.slowest_ns(call(0, 1, size_bytes=size_bytes), 0, 0)
    waited_us = (peers.slowest_ns(call(0, 2, size_bytes=size_bytes), SECOND, SECOND) - SECOND) / 1000
    # Two steps of half the bytes: over RoCE of 5 GB/s and 5 us, and over HCCS of 14 GB/s and 2 us.
    assert waited_us == pytest.approx(2 * (5 + 6_000_000 / 5_000) - 2 * (2 + 6_000_000 / 14_000))
    assert SymmetricPeers(size=4, rank=0).slowest_ns(call(0, 2), SECOND, SECOND) == SECOND


def test_jitter_follows_the_seed() -> None:
    def waited(seed: int) -> int:
        peers = SymmetricPeers(size=64, rank=0, jitter=0.02, seed=seed)
        peers.slowest_ns(call(*range(64)), 0, 0)
        return peers.slowest_ns(call(*range(64)), SECOND, SECOND) - SECOND

    assert waited(1) == waited(1) != waited(2)
    # The last of 64 normal draws lies 2.4 deviations out on average; this rank's own draw is one of them.
    assert 0 < waited(1) < 0.1 * SECOND


def meet(folder: Path, rank: int, arrival_ns: int, base_ns: int, found: dict[int, int]) -> None:
    store = FolderStore(folder, frozenset({0, 1} - {rank}), 0)
    others = RankRendezvous(
        (call(0, 1),), 0, rank, store, base_ns=base_ns, patience_s=20, absent=SymmetricPeers(size=2, rank=rank)
    )
    with others:
        found[rank] = others(0, base_ns + arrival_ns) - base_ns
    note_end(folder, rank)


def test_ranks_that_run_meet_by_the_time_since_their_recordings_began(tmp_path: Path) -> None:
    found: dict[int, int] = {}
    threads = [
        threading.Thread(target=meet, args=(tmp_path, 0, 3 * SECOND, 0, found)),
        threading.Thread(target=meet, args=(tmp_path, 1, SECOND, 500 * SECOND, found)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {0: 3 * SECOND, 1: 3 * SECOND}


def test_a_rank_that_has_ended_is_not_waited_for(tmp_path: Path) -> None:
    note_end(tmp_path, 1)
    store = FolderStore(tmp_path, frozenset({1}), 0)
    assert announce(store, 0) is not None
    with pytest.raises(OSError, match="rank 1 ended"):
        store.read(["1/0/table"], 20)
    assert store.find("1/records") == "0"
    assert store.find("7/records") is None, "a rank that does not run"
