"""Clock conversions: exact, monotone, never early (cann_msprof.md 2.5)."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu import RawFormatError
from drynpu.raw import ClockAnchors

RATES = st.one_of(
    st.sampled_from([50_000_000, 100_000_000, 38_400_000, 19_200_000, 1_000_000_000]), st.integers(1, 10**9)
)
UNIX_NS = st.integers(1_500_000_000 * 10**9, 2_500_000_000 * 10**9)
SPANS = st.integers(-(10**9) * 86400 * 365, 10**9 * 86400 * 365)


@st.composite
def anchors(draw: st.DrawFn, *, host_counter: bool = False) -> ClockAnchors:
    return ClockAnchors(
        collection_begin_us=draw(UNIX_NS) // 1000,
        monotonic_raw_ns=draw(st.integers(1, 10**17)),
        host_cntvct=draw(st.integers(1, 10**16)),
        device_cntvct=draw(st.integers(1, 10**16)),
        device_hz=draw(RATES),
        host_hz=draw(st.integers(1, 10**9)) if host_counter else 0,
        host_counter_ns=draw(st.integers(1, 10**17)),
        device_counter_ns=draw(st.integers(1, 10**17)),
    )


@given(anchors(), st.lists(UNIX_NS, min_size=1))
def test_host_nanoseconds_are_exact(clock: ClockAnchors, times: list[int]) -> None:
    raw = clock.unix_to_host(times)
    assert raw.tolist() == [t - clock.collection_begin_us * 1000 + clock.monotonic_raw_ns for t in times]
    assert clock.host_to_unix(raw).tolist() == times


@given(anchors(), st.lists(st.integers(0, 10**14), min_size=1))
def test_ticks_come_back_as_themselves(clock: ClockAnchors, elapsed: list[int]) -> None:
    ticks = [clock.device_cntvct + e % (clock.device_hz * 10**6) for e in elapsed]
    assert clock.unix_to_tick(clock.tick_to_unix(ticks)).tolist() == ticks


@given(anchors(), st.lists(SPANS, min_size=1))
def test_times_come_back_less_than_one_tick_late(clock: ClockAnchors, spans: list[int]) -> None:
    times = [clock.device_counter_ns + clock.offset_ns + span for span in spans]
    back = clock.tick_to_unix(clock.unix_to_tick(times)).tolist()
    for before, after in zip(times, back, strict=True):
        assert 0 <= after - before < Fraction(10**9, clock.device_hz)


@given(anchors(), st.lists(SPANS, min_size=2))
def test_order_is_kept(clock: ClockAnchors, spans: list[int]) -> None:
    times = np.sort(np.array(spans)) + (clock.device_counter_ns + clock.offset_ns)
    assert (np.diff(clock.unix_to_tick(times)) >= 0).all()


@given(anchors(), SPANS)
def test_tick_conversion_is_the_formula(clock: ClockAnchors, span: int) -> None:
    tick = clock.device_cntvct + span // 10**6
    exact = Fraction((tick - clock.device_cntvct) * 10**9, clock.device_hz)
    exact += clock.device_counter_ns + clock.collection_begin_us * 1000 - clock.monotonic_raw_ns
    if abs(exact) < 2**62:
        assert int(clock.tick_to_unix(tick)) == exact.numerator // exact.denominator


@given(anchors(host_counter=True), st.lists(st.integers(0, 10**14), min_size=1))
def test_host_ticks_come_back_as_themselves(clock: ClockAnchors, elapsed: list[int]) -> None:
    raw = [clock.host_cntvct + e % (clock.host_hz * 10**6) for e in elapsed]
    assert clock.unix_to_host(clock.host_to_unix(raw)).tolist() == raw


def test_the_fifty_megahertz_example() -> None:
    clock = ClockAnchors(
        collection_begin_us=1_767_268_800_000_000,
        monotonic_raw_ns=1_000_000_000,
        host_cntvct=0,
        device_cntvct=5_000,
        device_hz=50_000_000,
    )
    # 10 500 us after the start are 525 000 ticks of 20 ns.
    assert int(clock.tick_to_unix(5_000 + 525_000)) == 1_767_268_800_010_500_000
    assert int(clock.unix_to_tick(1_767_268_800_010_500_001)) == 5_000 + 525_001


def test_unsigned_columns_are_taken_as_they_are_in_the_records() -> None:
    clock = ClockAnchors(10**15, 10**9, 0, 10**9, 50_000_000)
    ticks = np.array([10**9, 10**9 + 50], np.uint64)
    assert np.diff(clock.tick_to_unix(ticks)).tolist() == [1000]
    assert clock.tick_to_unix(ticks).dtype == np.int64


def test_now_reads_the_clocks_of_this_machine() -> None:
    before = time.time_ns()
    clock = ClockAnchors.now(50_000_000)
    after = time.time_ns()
    assert before // 1000 <= clock.collection_begin_us <= after // 1000
    assert clock.device_cntvct == clock.monotonic_raw_ns // 20
    assert clock.host_hz == 0


def test_fractions_and_bad_rates_are_refused() -> None:
    clock = ClockAnchors(10**15, 10**9, 0, 10**9, 50_000_000)
    with pytest.raises(RawFormatError, match="integers, not float64"):
        clock.unix_to_host([1.5])
    with pytest.raises(RawFormatError, match="device_hz is 0"):
        ClockAnchors(10**15, 10**9, 0, 10**9, 0)
    with pytest.raises(RawFormatError, match="host_hz is -1"):
        ClockAnchors(10**15, 10**9, 0, 10**9, 50_000_000, -1)
