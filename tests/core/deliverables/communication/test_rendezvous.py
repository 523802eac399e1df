"""Ranks that learn from each other, while they are simulated, when the slowest reached a collective."""

from __future__ import annotations

from typing import Any

import numpy as np

from drynpu.device import Dispatches, DispatchKind, HostCosts, Launches, schedule_streams
from drynpu.options import Clock
from drynpu.platforms import load_chip

TWO = (0, 1)
LATE_NS = 300_000


def test_an_early_rank_waits_until_the_late_one_is_there(kit: Any) -> None:
    asked: list[tuple[int, int]] = []

    def rendezvous(index: int, start_ns: int) -> int:
        asked.append((index, start_ns))
        return start_ns + LATE_NS if index == 0 else start_ns

    both = [kit.collective("allReduce", kit.at(0, us), TWO, 0) for us in (200, 400)]
    alone = kit.record(both, name="alone_ascend_pt")
    met = kit.record(both, rendezvous=rendezvous, name="met_ascend_pt")
    assert [index for index, _ in asked] == [0, 1]
    before, after = alone.communication_ops, met.communication_ops
    assert asked[0][1] == after["start_ns"][0] == before["start_ns"][0]
    assert after["duration_ns"][0] - before["duration_ns"][0] == LATE_NS
    assert after["duration_ns"][1] == before["duration_ns"][1]
    # The second is issued while the device still waits; it comes after the first.
    assert asked[1][1] == after["start_ns"][1] == after["start_ns"][0] + after["duration_ns"][0]


def test_later_work_of_the_stream_moves_with_the_wait(kit: Any) -> None:
    one = [kit.collective("allReduce", kit.at(0, 400), TWO, 0)]
    alone = kit.record(one, name="alone_ascend_pt")
    met = kit.record(one, rendezvous=lambda _, start_ns: start_ns + LATE_NS, name="met_ascend_pt")
    last = met.tasks.filter(met.tasks["start_ns"] > met.communication_ops["start_ns"][0] + LATE_NS)
    assert last.height > 0
    kernels = [profile.kernels.sort("start_ns")["start_ns"].to_list() for profile in (alone, met)]
    assert kernels[0][0] == kernels[1][0]
    end = met.communication_ops["start_ns"][0] + met.communication_ops["duration_ns"][0]
    assert kernels[1][1] >= end > kernels[0][1] - LATE_NS


def test_a_rank_alone_in_its_group_waits_for_nobody(kit: Any) -> None:
    alone = kit.record([kit.collective("allReduce", kit.at(0, 400), (0,), 0)], name="alone_ascend_pt")
    met = kit.record(
        [kit.collective("allReduce", kit.at(0, 400), (0,), 0)],
        rendezvous=lambda _, start_ns: start_ns + LATE_NS,
        name="met_ascend_pt",
    )
    assert met.communication_ops["duration_ns"].to_list() == alone.communication_ops["duration_ns"].to_list()


def test_a_launch_meets_other_ranks_once_its_start_is_known() -> None:
    """Of three launches on one stream the second waits 10 000 ticks for other ranks: only the third is later."""
    chip = load_chip("Ascend910B2")
    count = 3
    start = np.arange(count) * 1_000
    none = np.zeros(count, np.int64)
    dispatches = Dispatches(
        start_ns=start,
        end_ns=start + 500,
        kind=np.full(count, int(DispatchKind.LAUNCH)),
        launches=np.ones(count, np.int64),
        workspace=none.astype(bool),
        stream=none,
        event=none,
        thread=none,
    )
    asked = []

    def rendezvous(launch: int, start_ticks: int) -> int:
        asked.append((launch, start_ticks))
        return 10_000

    def starts(**more: Any) -> list[int]:
        launches = Launches(stream=none, duration_ticks=np.full(count, 5_000), **more)
        times = {"clock": Clock.PROJECTED, "tick_ns": chip.tick_ns, "base_ns": 0}
        plan = schedule_streams(dispatches, launches, costs=HostCosts(), **times)
        return [int(tick) for tick in plan.kernel_start_ticks]

    free = starts()
    late = starts(meets=np.array([False, True, False]), rendezvous=rendezvous)
    assert asked == [(1, free[1])]
    assert [after - early for after, early in zip(late, free, strict=True)] == [0, 0, 10_000]
