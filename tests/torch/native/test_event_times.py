"""Times between events come from the simulated device, and recordings go on as if no events were timed."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("event_times.py")
PRODUCT_MS = 2 * 4096**3 / 376e12 * 1e3
"""The least time of a product of two BF16 matrices of 4 096 on an Ascend910B2: 376 TFLOP/s is its peak."""


def test_products_take_as_long_as_their_kernels_in_a_profile(run: Any) -> None:
    (first_ms, again_ms), inside_ms, kernels_ms, later_ms = run(SCRIPT, "profiled", DRYNPU_COMPUTE="0")
    assert 12 * PRODUCT_MS < kernels_ms < 3 * 12 * PRODUCT_MS
    for elapsed_ms in (first_ms, again_ms, inside_ms, later_ms):
        assert elapsed_ms == pytest.approx(kernels_ms, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("device", "kind"), [("native", "npu"), ("native", "torch"), ("sink", "npu")])
def test_times_are_the_same_with_and_without_a_profile(run: Any, device: str, kind: str) -> None:
    times, recorded_ms = run(SCRIPT, "options", kind, device=device)
    assert [len(each) for each in times.values()] == [1, *[6] * 6, 1, 1]
    if device == "sink":
        del times["torch.profiler"]  # which leaves no recorder for the timer
    # Of a step in which this machine stalls Kineto does not know that.
    medians = {name: statistics.median(each) for name, each in times.items()}
    assert medians == pytest.approx(dict.fromkeys(times, medians["alone"]), rel=0.02)
    if kind == "npu":
        assert recorded_ms == pytest.approx(times["asked after the profile"][0], abs=0.002)


@pytest.mark.slow
def test_asking_changes_nothing_of_a_profile(run: Any) -> None:
    silent, asked = run(SCRIPT, "untouched")
    assert asked == silent


def test_small_operators_take_as_long_as_their_launches(run: Any) -> None:
    few_ms, many_ms, again_ms = run(SCRIPT, "launched")
    assert many_ms == pytest.approx(10 * few_ms, rel=0.2)
    assert many_ms == pytest.approx(again_ms, rel=0.01), "whatever this machine does beside"
    assert 100 * 0.005 < many_ms < 100 * 0.2, "a launch takes from 5 to 200 us on any host"


def test_each_stream_has_its_own_line(run: Any) -> None:
    here_ms, there_ms = run(SCRIPT, "streams", DRYNPU_COMPUTE="0")
    assert there_ms > 9 * PRODUCT_MS
    assert PRODUCT_MS < here_ms < there_ms / 2


def test_times_of_later_stretches_go_on_from_the_first(run: Any) -> None:
    found, paused_ms = run(SCRIPT, "stretches", DRYNPU_COMPUTE="0")
    assert found == sorted(found)
    assert 0.03 < found[0] < 1
    assert found[2] - found[1] >= paused_ms, "between two stretches the host's time counts"


@pytest.mark.slow
def test_a_profiler_of_pytorch_is_left_alone(run: Any) -> None:
    inside_ms, after_ms, count = run(SCRIPT, "beside_torch_profiler")
    for elapsed_ms in (inside_ms, after_ms):
        assert 0 < elapsed_ms < 1, "modelled: a pause that is seen once is below the limit of the clock"
    assert count == 1


@pytest.mark.parametrize("kind", ["npu", "torch"])
def test_events_that_are_gone_are_forgotten(run: Any, kind: str) -> None:
    assert run(SCRIPT, "forgotten", kind) == [0, 0, False, False]


def test_a_forked_child_asks_nobody(run: Any) -> None:
    status, elapsed_ms = run(SCRIPT, "forked")
    assert status == 0
    assert 0 < elapsed_ms < 1
