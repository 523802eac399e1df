"""Ranks of a job reach each other: collectives, messages, values, and what happens when one does not come."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from drynpu import CommandError
from drynpu.recorder import RankCall, RankLink, RankRendezvous, announce

HOST = "127.0.0.1"


def free_port() -> int:
    with socket.socket() as free:
        free.bind((HOST, 0))
        return int(free.getsockname()[1])


def join(rank: int, size: int, port: int, *, job: str = "job", answer_s: float = 20.0) -> RankLink:
    return RankLink.join(rank, size, host=HOST, port=port, job=job, connect_s=5.0, answer_s=answer_s)


@pytest.fixture
def ranks() -> Iterator[Callable[..., list[RankLink]]]:
    joined: list[RankLink] = []

    def start(size: int, **keywords: Any) -> list[RankLink]:
        port = free_port()
        joined.extend(join(rank, size, port, **keywords) for rank in range(size))
        return joined

    yield start
    for link in reversed(joined):
        link.close()


def on_all(links: list[RankLink], work: Callable[[RankLink], Any]) -> list[Any]:
    """Return what *work* returns for each rank; all run at once."""
    with ThreadPoolExecutor(len(links)) as pool:
        return list(pool.map(work, links))


@pytest.mark.parametrize(("reduction", "expected"), [("sum", 6.0), ("prod", 6.0), ("max", 3.0), ("min", 1.0)])
def test_a_reduction_gives_all_ranks_the_same(ranks: Any, reduction: str, expected: float) -> None:
    def reduce(link: RankLink) -> Any:
        part = np.full(3, link.rank + 1, "float32").tobytes()
        (found,), _ = link.gather("x", [0, 1, 2], part, reduction=reduction, dtype="float32")
        return np.frombuffer(found, "float32").tolist()

    assert on_all(ranks(3), reduce) == [[expected] * 3] * 3


def test_a_sum_adds_in_the_order_of_the_ranks(ranks: Any) -> None:
    values = np.array([1e8, 1.0, -1e8], "float32")

    def reduce(link: RankLink) -> Any:
        time.sleep(0.05 * (2 - link.rank))
        (found,), _ = link.gather("x", [0, 1, 2], values[link.rank].tobytes(), reduction="sum", dtype="float32")
        return float(np.frombuffer(found, "float32")[0])

    assert on_all(ranks(3), reduce) == [float(values[0] + values[1] + values[2])] * 3


def test_parts_of_any_length_come_in_the_order_of_the_group_with_what_describes_them(ranks: Any) -> None:
    def gather(link: RankLink) -> Any:
        return link.gather("x", [2, 0, 1], bytes(link.rank), content=["rank", link.rank])

    parts = ([bytes(2), b"", bytes(1)], [["rank", 2], ["rank", 0], ["rank", 1]])
    assert on_all(ranks(3), gather) == [parts] * 3


def test_calls_of_several_threads_do_not_hold_each_other_up(ranks: Any) -> None:
    links = ranks(2)
    barrier = threading.Barrier(8)

    def gather(place: int) -> Any:
        rank, name = place % 2, place // 2
        barrier.wait()
        # The two ranks come to the names in opposite order.
        time.sleep(0.02 * (name if rank else 3 - name))
        return links[rank].gather(f"n{name}", [0, 1], bytes([place]))[0]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(gather, range(8)))
    assert found == [[bytes([place // 2 * 2]), bytes([place // 2 * 2 + 1])] for place in range(8)]


def test_messages_arrive_in_the_order_in_which_they_were_sent(ranks: Any) -> None:
    first, second = ranks(2)
    for text in (b"one", b"two"):
        first.send("a>b", text)
    assert [second.receive("a>b"), second.receive("a>b")] == [b"one", b"two"]


def test_values_are_read_when_they_are_there(ranks: Any) -> None:
    first, second = ranks(2)
    assert second.find("key") is None
    threading.Timer(0.1, lambda: first.set("key", "text")).start()
    assert second.read(["key"], 10) == ["text"]
    assert second.find("key") == "text"
    with pytest.raises(TimeoutError, match=r"no answer of another rank in 0\.1 s"):
        second.read(["other"], 0.1)


def test_who_does_not_come_is_named(ranks: Any) -> None:
    first, _ = ranks(2, answer_s=0.2)
    with pytest.raises(TimeoutError, match=r"ranks \[1\] have not come to x/1 in 0\.2 s"):
        first.gather("x", [0, 1], b"")


def test_a_rank_that_has_ended_is_not_waited_for() -> None:
    port = free_port()
    first = join(0, 2, port, answer_s=60)
    script = (
        "from drynpu.recorder import RankLink\n"
        f"link = RankLink.join(1, 2, host={HOST!r}, port={port}, job='job', connect_s=5, answer_s=5)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, env=dict(os.environ))
    # A rank that is waited for in vain is told of in other words.
    with pytest.raises(TimeoutError, match="rank 1 has ended without x/1"):
        first.gather("x", [0, 1], b"")
    first.close()


def test_parts_of_different_sizes_cannot_be_reduced(ranks: Any) -> None:
    def reduce(link: RankLink) -> Any:
        part = np.zeros(link.rank + 1, "float32").tobytes()
        with pytest.raises(TimeoutError, match=r"bring \[4, 8\] bytes|have not come"):
            link.gather("x", [0, 1], part, reduction="sum", dtype="float32")

    on_all(ranks(2, answer_s=0.5), reduce)


def test_a_rank_of_another_job_is_refused(ranks: Any) -> None:
    first = ranks(1)[0]
    with pytest.raises(CommandError, match="here is a job of 1 ranks, 'job'"):
        join(1, 2, first._address[1], job="other")


def test_a_rank_alone_says_what_is_missing() -> None:
    with pytest.raises(CommandError, match="rank 1 of 2: rank 0 is not there at port .* start 2 processes"):
        RankLink.join(1, 2, host=HOST, port=free_port(), job="job", connect_s=0.2, answer_s=1)


def test_a_connection_that_reaches_itself_is_no_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    genuine = socket.create_connection

    def from_the_same_port(address: tuple[str, int], timeout: float) -> socket.socket:
        return genuine(address, timeout, source_address=address)

    monkeypatch.setattr(socket, "create_connection", from_the_same_port)
    with pytest.raises(CommandError, match="rank 0 is not there at port"):
        RankLink.join(1, 2, host=HOST, port=free_port(), job="job", connect_s=0.1, answer_s=1.0)


def test_a_port_in_use_is_named(ranks: Any) -> None:
    first = ranks(1)[0]
    with pytest.raises(CommandError, match="rank 0 cannot serve the other ranks at port"):
        join(0, 1, first._address[1])


def test_ranks_find_each_other_at_the_first_free_of_several_ports() -> None:
    other = join(0, 1, free_port(), job="other")
    port = other._address[1]
    links = [
        RankLink.join(rank, 2, host=HOST, port=port, job="job", connect_s=5, answer_s=5, ports=8) for rank in range(2)
    ]
    assert links[0]._address == links[1]._address
    assert port < links[0]._address[1] < port + 8
    for link in [links[1], links[0], other]:
        link.close()


def call(kind: str = "allReduce", sequence: int = 0) -> RankCall:
    return RankCall(group="g", ranks=(0, 1), kind=kind, sequence=sequence)


def test_a_rendezvous_tells_when_the_slowest_rank_came(ranks: Any) -> None:
    # Rank 1 began to record one collective later than rank 0.
    calls = [[call(sequence=3), call(sequence=4)], [call(sequence=4)]]
    times = [[100, 200], [900]]

    def meet(link: RankLink) -> Any:
        number = announce(link, link.rank)
        link.gather("all announced", [0, 1], b"")
        with RankRendezvous(calls[link.rank], number, link.rank, link) as others:
            found = [others(index, start) for index, start in enumerate(times[link.rank])]
        return found, others.notes

    assert on_all(ranks(2), meet) == [([100, 900], []), ([900], [])]


def test_a_rank_that_does_not_record_is_named_and_not_waited_for(ranks: Any) -> None:
    link = ranks(2)[0]
    with RankRendezvous([call()], announce(link, 0), 0, link) as others:
        assert others(0, 5) == 5
    assert others.notes == ["ranks [1] did not record with this one: its collectives do not wait for them"]
