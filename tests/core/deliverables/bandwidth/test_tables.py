"""Counts of memory and caches become bytes, rates and shares, worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from drynpu.deliverables.bandwidth import facts
from drynpu.deliverables.bandwidth.tables import _cache_counts, _ddr, _hbm, _llc
from drynpu.platforms import CacheEvents
from drynpu.platforms._platform import PlatformMemory
from drynpu.raw import ClockAnchors

MB = 2**20
ANCHORS = ClockAnchors(collection_begin_us=5, monotonic_raw_ns=0, host_cntvct=0, device_cntvct=0, device_hz=50_000_000)
SIDE: Any = SimpleNamespace(device_id=3, clock=ANCHORS)
BASE_NS = ANCHORS.device_counter_ns + ANCHORS.offset_ns


def context(mode: str = "read", ddr_bytes: int = 32) -> Any:
    platform = SimpleNamespace(memory=PlatformMemory(ddr_bytes=ddr_bytes))
    return SimpleNamespace(notes=[], settings=lambda device: {"llc_profiling": mode}, platform=platform)


def records(kind: Any, rows: list[dict[str, int]]) -> Any:
    found = kind.new(len(rows))
    for record, row in zip(found, rows, strict=True):
        for name, value in row.items():
            record[name] = value
    return found


def test_memory_is_added_up_by_unit_and_way_and_rated_since_the_last_sample() -> None:
    rows = [
        {"time_us": 2000, "count": 3 * MB, "event": facts.READ, "hbm_id": 1},
        {"time_us": 1000, "count": 7, "event": facts.READ, "hbm_id": 1},
        {"time_us": 2000, "count": MB, "event": facts.READ, "hbm_id": 1},
        {"time_us": 2000, "count": 5 * MB, "event": facts.WRITE, "hbm_id": 1},
        {"time_us": 6000, "count": MB, "event": facts.WRITE, "hbm_id": 1},
        {"time_us": 2000, "count": 9, "event": facts.READ, "hbm_id": 0},
    ]
    (found,) = _hbm(SIDE, records(facts.HBM, rows))
    size = facts.HBM_BYTES
    times = [(time - BASE_NS) // 1000 for time in found["time_ns"].to_list()]
    assert list(zip(times, *found.select("unit_id", "event", "bytes"), strict=True)) == [
        (1000, 1, "read", 7 * size),
        (2000, 0, "read", 9 * size),
        (2000, 1, "read", 4 * MB * size),
        (2000, 1, "write", 5 * MB * size),
        (6000, 1, "write", MB * size),
    ]
    # 4 Mi counts in 1 ms; 1 Mi in 4 ms; the first sample of a unit and way has no rate.
    assert found["mb_s"].to_list() == pytest.approx([0, 0, 4 * size / 0.001, 0, size / 0.004])
    assert set(found["device_id"]) == {3}
    assert _hbm(SIDE, records(facts.HBM, [])) == []


def test_a_second_sample_at_the_same_time_has_no_rate() -> None:
    rows = [{"time_us": 1000, "count": 9, "event": facts.READ, "hbm_id": unit} for unit in (0, 1)]
    (found,) = _hbm(SIDE, records(facts.HBM, rows))
    assert found["mb_s"].to_list() == [0.0, 0.0]


def test_controllers_of_ddr_are_one_and_rows_of_a_single_master_are_left_out() -> None:
    everybody = {"master_id": facts.ALL_MASTERS, "event": 0}
    rows = [
        {**everybody, "time_us": 1, "count": 3, "ddr_id": 0},
        {**everybody, "time_us": 1, "count": 4, "ddr_id": 5},
        {**everybody, "time_us": 1, "count": 90, "ddr_id": 5, "master_id": 7},
    ]
    (found,) = _ddr(context(ddr_bytes=16), SIDE, records(facts.DDR, rows))
    assert found.select("kind", "unit_id", "event", "bytes").rows() == [("ddr", -1, "read", 7 * 16)]
    assert _ddr(context(), SIDE, records(facts.DDR, rows[2:])) == []


def test_a_cache_hits_of_what_it_was_asked_for() -> None:
    events = facts.LLC_MODES["write"]
    requests, hits = events.requests, events.hits
    traffic = events.traffic[-1]
    assert traffic not in {*requests, *hits}
    rows = [
        {"time_us": 1000, "l3t_id": 2, "event": requests[0], "count": 6},
        {"time_us": 1000, "l3t_id": 2, "event": requests[1], "count": 4},
        {"time_us": 1000, "l3t_id": 2, "event": hits[1], "count": 5},
        {"time_us": 1000, "l3t_id": 2, "event": traffic, "count": 700},
        {"time_us": 3000, "l3t_id": 2, "event": hits[2], "count": 1},
        {"time_us": 3000, "l3t_id": 2, "event": traffic, "count": 512},
        {"time_us": 1000, "l3t_id": 0, "event": requests[0], "count": 3},
        {"time_us": 1000, "l3t_id": 0, "event": 0x7F, "count": 99},
    ]
    (found,) = _llc(context("write"), SIDE, records(facts.LLC, rows))
    assert found.select("llc_id", "hit_rate").rows() == [(0, 0.0), (2, 0.5), (2, 0.0)]
    # 512 counts of 4096 bytes are 2 MB, in 2 ms.
    assert found["mb_s"].to_list() == pytest.approx([0, 0, 1000])
    assert set(found["mode"]) == {"write"}
    unknown = context("both")
    assert _llc(unknown, SIDE, records(facts.LLC, rows)) == []
    assert unknown.notes == ["device 3: cache samples of mode 'both' are not decoded"]
    assert _llc(unknown, SIDE, records(facts.LLC, [])) == []


def test_hits_are_counted_or_what_is_neither_a_miss_nor_a_victim() -> None:
    counters = np.array([[100, 7, 20, 3, 50], [40, 1, 5, 2, 30]], np.int64)
    codes = [0x10, 0x20, 0x30, 0x40, 0x50]
    counted = CacheEvents(events=(), requests=(0x10, 0x50), hits=(0x20, 0x30), victims=(0x40,))
    found = _cache_counts(counted, codes, counters)
    assert {name: values.tolist() for name, values in found.items()} == {
        "requests": [150, 70], "hits": [27, 6], "victims": [3, 2],
    }  # fmt: skip
    missed = CacheEvents(events=(), requests=(0x10,), misses=(0x30,), victims=(0x20, 0x40))
    found = _cache_counts(missed, codes, counters)
    assert {name: values.tolist() for name, values in found.items()} == {
        "requests": [100, 40], "hits": [100 - 20 - 10, 40 - 5 - 3], "victims": [10, 3],
    }  # fmt: skip
