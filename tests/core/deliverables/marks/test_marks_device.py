"""When markers run on the device, worked out by hand on a clock of 20 ns a tick."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from drynpu.deliverables.marks._marks_device import device_ticks

STREAM, OTHER = 2, 9


def context(*, collectives: bool) -> Any:
    """
    Two operators, issued at 100 and 300 and through with that at 150 and 420, launch a kernel each on one stream.

    The first kernel ends on tick 60, the second on tick 45. Of two collectives, issued at 200 and 210, the first holds
    the stream until tick 107, the second holds nothing and ends on tick 900.
    """
    calls = [SimpleNamespace(blocking=True, start_ns=200), SimpleNamespace(blocking=False, start_ns=210)]
    issued = calls if collectives else []
    count = len(issued)
    simulation = SimpleNamespace(
        base_ns=0,
        tick_ns=20,
        time_map=lambda time_ns: time_ns,
        rows=np.arange(2),
        stream=np.array([STREAM, STREAM]),
        kernel_ticks=np.array([10, 5]),
        schedule=SimpleNamespace(dequeue_end_ns=np.array([150, 420]), kernel_start_ticks=np.array([50, 40])),
        lowered=SimpleNamespace(dispatch_op=np.array([0, 2]), launch_dispatch=np.array([0, 1])),
        collectives=SimpleNamespace(
            start_ticks=np.array([100, 890][:count], np.int64),
            calls=SimpleNamespace(
                collectives=issued,
                ticks=np.array([7, 10][:count], np.int64),
                issuing=np.array([STREAM, STREAM][:count], np.int64),
            ),
        ),
    )
    operators = SimpleNamespace(start_ns=np.array([100, 110, 300]))
    return SimpleNamespace(simulation=simulation, recording=SimpleNamespace(operators=operators))


def ran(found: Any, *marks: tuple[int, int]) -> list[tuple[int, int]]:
    time, stream = np.array(marks, np.int64).T
    ticks, tasks = device_ticks(found, time, stream)
    return list(zip(ticks.tolist(), tasks.tolist(), strict=True))


def test_a_marker_waits_for_what_was_issued_before_it() -> None:
    marks = [(99, STREAM), (100, STREAM), (101, OTHER), (101, STREAM), (300, STREAM), (301, STREAM), (301, OTHER)]
    # At 100 the first operator begins: it is not issued before. 150 ns are 8 ticks, 420 are 21. Kernels come first.
    assert ran(context(collectives=False), *marks) == [
        (5, 2), (5, 3), (8, 0), (60, 4), (60, 5), (60, 6), (21, 1),
    ]  # fmt: skip


def test_a_collective_that_blocks_its_stream_holds_the_marker() -> None:
    marks = [(101, STREAM), (200, STREAM), (201, STREAM), (211, STREAM), (301, OTHER)]
    assert ran(context(collectives=True), *marks) == [(60, 2), (60, 3), (107, 4), (107, 5), (21, 0)]
