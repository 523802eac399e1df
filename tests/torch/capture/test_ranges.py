"""Ranges that are open where a recording is cut or ends, in one process with the device."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.profiler import record_function

from drynpu_torch.capture import Capture, CapturedTorch, new_tracer
from drynpu_torch.capture._ranges import RangeCut, joined_ranges


def work() -> None:
    x = torch.ones(4, 4, device="npu")
    for _ in range(5):
        x = x + 1


def rows_of(captured: CapturedTorch, name: str) -> list[tuple[int, int]]:
    operators = captured.operators
    if name not in operators.names:
        return []
    rows = operators.name == operators.names.index(name)
    return list(zip(operators.start_ns[rows].tolist(), operators.end_ns[rows].tolist(), strict=True))


def recorded(script: Callable[[Capture], object], **options: Any) -> CapturedTorch:
    capture = Capture(tracer=new_tracer(memory=options.pop("memory", True)), **options)
    capture.start()
    script(capture)
    return capture.stop()


@pytest.mark.parametrize("memory", [True, False])
def test_a_range_around_steps_is_one_range(memory: bool) -> None:
    def script(capture: Capture) -> None:
        for _ in range(2):
            with record_function("epoch"), record_function("part"):
                for _ in range(3):
                    with record_function("model"):
                        work()
                    capture.step()

    captured = recorded(script, chunk_events=1, memory=memory)
    pauses = captured.device_calls.calls
    assert len(pauses) == 6
    epochs, parts, models = (rows_of(captured, name) for name in ("epoch", "part", "model"))
    assert [len(epochs), len(parts), len(models)] == [2, 2, 6]
    for number, (epoch, part) in enumerate(zip(epochs, parts, strict=True)):
        assert epoch[0] <= part[0] < part[1] <= epoch[1]
        inside = pauses[number * 3 : number * 3 + 3]
        assert part[0] < inside[0].time_ns
        assert inside[-1].until_ns <= part[1]


def test_ranges_that_end_after_their_recording_harm_nobody() -> None:
    """They would write into memory that the tracer gave back: many of them end the process within a few rounds."""
    for _ in range(10):
        capture = Capture(tracer=new_tracer(memory=True), chunk_events=1)
        capture.start()
        entered = [record_function(f"open {number}") for number in range(50)]
        for each in entered:
            each.__enter__()
        work()
        capture.step()
        first = capture.stop()
        capture = Capture(tracer=new_tracer(memory=True))
        capture.start()
        for each in reversed(entered):
            each.__exit__(None, None, None)
        work()
        second = capture.stop()
        assert len(rows_of(first, "open 49")) == 1
        assert rows_of(second, "open 49") == []


def test_nothing_is_cut_while_another_thread_is_inside_a_range() -> None:
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with record_function("elsewhere"):
            entered.set()
            leave.wait()

    def script(capture: Capture) -> None:
        thread = threading.Thread(target=other)
        thread.start()
        entered.wait()
        capture.step()
        leave.set()
        thread.join()
        assert not capture._chunks
        capture.step()
        assert len(capture._chunks) == 1

    assert len(recorded(script, chunk_events=1).device_calls.calls) == 2


def test_nothing_is_cut_while_a_thread_that_computed_lives() -> None:
    computed, leave = threading.Event(), threading.Event()

    def other() -> None:
        work()
        computed.set()
        leave.wait()

    def script(capture: Capture) -> None:
        thread = threading.Thread(target=other)
        thread.start()
        computed.wait()
        work()
        capture.step()  # only the tracer that stops tells which threads computed
        capture.step()
        assert len(capture._chunks) == 1
        leave.set()
        thread.join()
        capture.step()
        assert len(capture._chunks) == 2

    recorded(script, chunk_events=1, memory=False)


def test_chunks_are_handed_on_by_time_and_together_are_the_recording() -> None:
    parts: list[CapturedTorch] = []

    def script(capture: Capture) -> None:
        capture.on_chunk = lambda captured: parts.append(captured())
        for number in range(4):
            with record_function(f"step {number}"):
                work()
            if number == 2:
                time.sleep(0.06)
            capture.step()

    whole = recorded(script, chunk_ns=50_000_000)
    # The first step is always cut, to see how many events a step has; then the one that was slow; then the end.
    assert len(parts) == 3
    assert sum(len(part.operators) for part in parts) == len(whole.operators)
    assert [[name for name in part.operators.names if name.startswith("step")] for part in parts] == [
        ["step 0"],
        ["step 1", "step 2"],
        ["step 3"],
    ]
    assert sum(len(part.device_calls.calls) for part in parts) == len(whole.device_calls.calls) == 4
    assert sum(len(part.allocations) for part in parts) == len(whole.allocations)


def test_the_class_is_as_it_was_afterwards() -> None:
    before = record_function.__enter__, record_function.__exit__
    recorded(lambda capture: work())
    assert (record_function.__enter__, record_function.__exit__) == before


def test_parts_are_joined_over_several_cuts_and_by_their_name() -> None:
    names = ["outer", "other", "inner"]
    # outer 10-95 is cut at 40 and 70; inside it inner 20-30 is whole, inner 35-60 is cut once; other ends before a cut.
    start = np.array([10, 12, 20, 35, 41, 42, 71])
    end = np.array([40, 39, 30, 40, 69, 60, 95])
    name = np.array([0, 1, 2, 2, 0, 2, 0])
    cuts = [RangeCut(41, ("outer", "inner")), RangeCut(70, ("outer",))]
    whole, kept = joined_ranges(cuts, names, name, start, end)
    assert kept.tolist() == [True, True, True, True, False, False, False]
    assert whole[kept].tolist() == [95, 39, 30, 60]
