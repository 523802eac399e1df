"""Memory bandwidth and caches against bytes and numbers of cann_msprof.md 7.4 and 4.5."""

from __future__ import annotations

import struct
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from drynpu.deliverables.bandwidth import facts
from drynpu.deliverables.bandwidth.tables import load
from drynpu.layouts import soc_pmu as soc_pmu_facts
from drynpu.platforms import find_platform
from drynpu.raw import RecordKind

BASE_NS = 5_000_000_000


def test_records_are_those_of_the_parser(pack: Callable[..., bytes]) -> None:
    hbm = pack(facts.HBM, time_us=1, count=2, event=facts.WRITE, hbm_id=3)
    assert hbm == struct.pack("<QQII", 1, 2, 1, 3)
    ddr = pack(facts.DDR, time_us=1, count=2, event=facts.READ, ddr_id=3, master_id=facts.ALL_MASTERS)
    assert ddr == struct.pack("<5I", 1, 2, 0, 3, 0xFFFFFFFF)
    assert pack(facts.LLC, time_us=1, count=2, event=0x35, l3t_id=3) == struct.pack("<QQII", 1, 2, 0x35, 3)
    # HBM_FMT_V2 and LLC_FMT_V2 (Ascend/msprof analysis/msparser/data_struct_size_constant.py).
    newer = pack(facts.HBM_2, event=facts.WRITE, hbm_id=3, count=2, monotonic_ns=1)
    assert newer == struct.pack("<IIIIQQ", 0, 0, 1, 3, 2, 1)
    newer = pack(facts.LLC_2, event=0x35, l3t_id=3, count=2, monotonic_ns=1)
    assert newer == struct.pack("<IIIIQ", 0, 2, 0x35, 3, 1)
    cache = pack(facts.L2_CACHE, task_type=1, stream_id=2, task_id=3, events=np.arange(10, 18))
    assert cache == struct.pack("<4H8Q", 1, 2, 3, 0, *range(10, 18))


def test_files_and_layers() -> None:
    assert [kind.stem for kind in facts.KINDS] == [
        *["hbm.data", "hbm.data", "ddr.data"],
        *["llc.data", "llc.data", "l2_cache.data"],
    ]
    layers = (facts.DDR_LAYER, facts.HBM_LAYER, facts.LLC_LAYER)
    assert [(layer.name, layer.sort_index, layer.label) for layer in layers] == [
        ("DDR", 18, "NPU"),
        ("HBM", 24, "NPU"),
        ("LLC", 27, "NPU"),
    ]


@pytest.mark.parametrize(
    ("mode", "codes"),
    [
        ("read", (0x00, 0x01, 0x02, 0x13, 0x20, 0x22, 0x34, 0x36)),
        ("write", (0x00, 0x01, 0x03, 0x14, 0x21, 0x23, 0x35, 0x37)),
    ],
)
def test_events_of_the_last_level_cache(mode: str, codes: tuple[int, ...]) -> None:
    events = facts.LLC_MODES[mode]
    assert events.codes == codes
    # Throughput is of events 0 and 1; the hit rate is (2 + 3 + 5 + 7) / (4 + 6) of the list.
    assert (events.traffic, events.requests) == (codes[:2], (codes[4], codes[6]))
    assert events.hits == (codes[2], codes[3], codes[5], codes[7])
    assert (events.first_request, events.first_hit) == (codes[4], codes[5])


def loaded(
    platform: str, sample: dict[str, str], version: str = "1.0", **raw: tuple[RecordKind, bytes]
) -> dict[str, pl.DataFrame]:
    """Read raw bytes by kind, as if they stood in the files of device 2."""
    empty = {kind.name: kind.new(0) for kind in (*facts.KINDS, *soc_pmu_facts.KINDS)}
    found = empty | {name: np.frombuffer(data, kind.dtype) for name, (kind, data) in raw.items()}
    host = SimpleNamespace(version=version)
    reader = SimpleNamespace(read=lambda name, device: found[name], host_info=host)
    side = SimpleNamespace(device_id=2, clock=SimpleNamespace(device_counter_ns=BASE_NS, offset_ns=7))
    context: Any = SimpleNamespace(
        reader=reader, devices=[side], platform=find_platform(platform), notes=[], settings=lambda device: sample
    )
    return load(context)


def test_an_hbm_count_is_32_bytes() -> None:
    readings = ((1000, 0, 0), (1000, 0, 1), (21000, 1 << 20, 0), (21000, 3 << 20, 1))
    data = b"".join(struct.pack("<QQII", time, count, event, 5) for time, count, event in readings)
    found = loaded("5", {}, hbm=(facts.HBM, data))["memory_bandwidth"]
    assert found.select("time_ns", "unit_id", "event", "bytes", "mb_s").sort("event", "time_ns").rows() == [
        (BASE_NS + 1_000_007, 5, "read", 0, 0.0),
        (BASE_NS + 21_000_007, 5, "read", 32 << 20, 1600.0),
        (BASE_NS + 1_000_007, 5, "write", 0, 0.0),
        (BASE_NS + 21_000_007, 5, "write", 96 << 20, 4800.0),
    ]


def test_version_2_has_the_monotonic_clock() -> None:
    """Ascend/msprof decode_hbm_v2 and decode_llc_v2 take the time as it is; decode_*_v1 put it behind the start."""
    readings = ((BASE_NS, 0), (BASE_NS + 20_000_000, 1 << 20))
    hbm = b"".join(struct.pack("<IIIIQQ", 9, 9, 1, 5, count, time) for time, count in readings)
    llc = b"".join(struct.pack("<IIIIQ", 9, count >> 10, 0x01, 3, time) for time, count in readings)
    found = loaded("5", {"llc_profiling": "write"}, "2.0", hbm_2=(facts.HBM_2, hbm), llc_2=(facts.LLC_2, llc))
    assert found["memory_bandwidth"].select("time_ns", "unit_id", "event", "mb_s").rows() == [
        (BASE_NS + 7, 5, "write", 0.0),
        (BASE_NS + 20_000_007, 5, "write", 1600.0),
    ]
    assert found["llc_samples"].select("time_ns", "llc_id", "mb_s").rows()[1] == (BASE_NS + 20_000_007, 3, 200.0)


@pytest.mark.parametrize(("platform", "size"), [("1", 32), ("4", 32), ("7", 16), ("8", 16)])
def test_a_ddr_count_is_32_or_16_bytes_and_other_masters_do_not_count(platform: str, size: int) -> None:
    readings = ((0, 0, 0, 1 << 20, 0xFFFFFFFF), (20000, 2 << 20, 0, 1, 0xFFFFFFFF), (20000, 7 << 20, 0, 1, 3))
    data = b"".join(
        struct.pack("<5I", time, count, event, unit, master) for time, count, event, unit, master in readings
    )
    found = loaded(platform, {}, ddr=(facts.DDR, data))["memory_bandwidth"]
    assert found.select("kind", "event", "bytes", "mb_s").rows()[-1] == ("ddr", "read", 2 * size << 20, 100.0 * size)


def test_a_cache_count_is_4096_bytes_and_hits_go_by_requests() -> None:
    counts = {0x00: 256, 0x01: 512, 0x02: 1, 0x13: 2, 0x20: 40, 0x22: 4, 0x34: 10, 0x36: 8}
    first = b"".join(struct.pack("<QQII", 0, 0, code, 3) for code in counts)
    data = first + b"".join(struct.pack("<QQII", 20000, count, code, 3) for code, count in counts.items())
    found = loaded("5", {"llc_profiling": "read"}, llc=(facts.LLC, data))["llc_samples"]
    assert found.select("llc_id", "mode", "hit_rate", "mb_s").rows()[1] == (3, "read", 0.3, 150.0)


def test_places_and_sizes(fits: Callable[..., bool]) -> None:
    assert fits(facts.HBM.dtype, "<QQII")
    assert fits(facts.DDR.dtype, "<5I")
    assert fits(facts.LLC.dtype, "<QQII")
    assert fits(facts.HBM_2.dtype, "<IIIIQQ")
    assert fits(facts.LLC_2.dtype, "<IIIIQ")
    assert fits(facts.L2_CACHE.dtype, "<4H8Q")


def test_values_that_can_be(plausible: Callable[..., bool]) -> None:
    for kind, bounds in (
        (facts.HBM, {"event": 1, "hbm_id": 255}),
        (facts.HBM_2, {"event": 1, "hbm_id": 255}),
        (facts.DDR, {"event": 255, "ddr_id": 255}),
        (facts.LLC, {"event": 255, "l3t_id": 4095}),
        (facts.LLC_2, {"event": 255, "l3t_id": 4095}),
        (facts.L2_CACHE, {"task_type": 255}),
    ):
        assert plausible(kind)
        assert plausible(kind, **bounds)
        assert not any(plausible(kind, **{field: most + 1}) for field, most in bounds.items())
    for place, good in ((5, True), (6, False), (7, False), (8, True)):
        raw = bytearray(72)
        raw[place] = 1
        assert bool(facts.L2_CACHE.plausible(np.frombuffer(bytes(raw), facts.L2_CACHE.dtype))[0]) == good
    assert (facts.HBM_BYTES, facts.LLC_BYTES, facts.READ, facts.WRITE) == (32, 4096, 0, 1)


def test_rates_follow_from_four_stacks() -> None:
    """cann_msprof.md 7.4 "hbm.data": a rate is since the row 8 earlier for two events, 4 earlier for one."""
    assert len((facts.READ, facts.WRITE)) * facts.HBM_STACKS == 8
    assert facts.HBM_STACKS == 4


def test_no_machine_runs_for_36_years() -> None:
    years = facts.LATEST_NS / (365.25 * 86_400 * 1e9)
    assert 36 < years < 37
