from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve

from drynpu._errors import OptionError
from drynpu.kernels import metric_column_names
from drynpu.platforms import find_platform
from drynpu.tables.pmu import CoreFacts, Measured, counter_columns, decodable, parse_events

MEMORY = (0x15, 0x16, 0x31, 0x32, 0xF, 0x10, 0x12, 0x13)


def facts(*, split: bool = True, events: tuple[int, ...] = MEMORY, **changes: object) -> CoreFacts:
    known: dict[str, object] = {"aic_mhz": 1000, "aiv_mhz": 1000, "aic_cores": 20, "aiv_cores": 40}
    known["platform"] = find_platform("", split=split)
    return CoreFacts(aic_events=events, aiv_events=events, **(known | changes))  # type: ignore[arg-type]


def measured(cube: list[int], vector: list[int]) -> Measured:
    """Two kernels: one on the cube, one on the vector cores, 10^6 cycles each."""
    pmu = np.zeros((2, 2, 8), np.int64)
    pmu[0, 0], pmu[1, 1] = cube, vector
    return Measured(
        cycles=np.array([[10**6, 0], [0, 10**6]]),
        pmu=pmu,
        blocks=np.array([[4, 0], [0, 4]]),
        duration_us=np.array([300.0, 300.0]),
    )


def test_columns_of_another_group_are_not_rounded() -> None:
    found = counter_columns("Memory", measured([0, 0, 5, 0, 0, 0, 11, 0], [7, 0, 0, 0, 0, 0, 0, 3]), facts())
    assert tuple(found) == metric_column_names("Memory", find_platform("5"))
    per_ms = 1000 / 2**33
    assert found["aic_l1_read_bw(GB/s)"].tolist() == [5 * 4096 * per_ms, 0]
    assert found["aic_main_mem_read_bw(GB/s)"].tolist() == [11 * 64 * per_ms, 0]
    assert found["aiv_ub_read_bw(GB/s)"].tolist() == [0, 7 * 1024 * per_ms]
    assert found["aic_total_cycles"].tolist() == [10**6, 0]
    assert found["aic_total_cycles"].dtype == np.int64
    assert found["aiv_time(us)"].tolist() == [0, 250.0]


def test_unified_chips_have_one_core_whichever_half_counted() -> None:
    rows = measured([0, 0, 0, 0, 0, 0, 16, 0], [0, 0, 0, 0, 0, 0, 16, 0])
    found = counter_columns("Memory", rows, facts(split=False))
    assert tuple(found) == metric_column_names("Memory", find_platform("1"))
    assert found["total_cycles"].tolist() == [10**6, 10**6]
    assert len(set(found["main_mem_read_bw(GB/s)"].tolist())) == 1


def test_the_family_chooses_formulas_and_columns() -> None:
    events = (0x49, 0x4A, 0x4B, 0x4C, 0x4D, 0x4E, 0x4F)
    rows = measured([0, 0, 0, 0, 0, 2, 0, 0], [0] * 8)
    old = counter_columns("ArithmeticUtilization", rows, facts(split=False, events=events))
    newer = counter_columns(
        "ArithmeticUtilization", rows, facts(split=False, events=events, platform=find_platform("4"))
    )
    assert (old["vector_fops"][0], newer["vector_fops"][0]) == (128, 32)


def test_events_of_a_custom_list_keep_their_counts() -> None:
    found = counter_columns("Custom:0x49,0x8", measured([3, 4] + [0] * 6, [5, 6] + [0] * 6), facts(events=(0x49, 0x8)))
    assert found["aic_r49"].tolist() == [3, 0]
    assert found["aiv_r8"].tolist() == [0, 6]


def test_older_profiles_of_split_chips_name_the_common_pipes() -> None:
    events = (0x8, 0xA, 0x9, 0xB, 0xC, 0xD, 0x54, 0x55)
    pipes = counter_columns(
        "PipeUtilization", measured([0, 1000, 0, 0, 0, 0, 0, 0], [500] + [0] * 7), facts(events=events)
    )
    assert pipes["aic_mac_ratio"].tolist() == [0.001, 0]


def test_a_recorded_core_time_rules() -> None:
    events = (0x8, 0xA, 0x9, 0xB, 0xC, 0xD, 0x54, 0x55)
    rows = evolve(measured([0, 500_000, 0, 0, 0, 0, 0, 0], [0] * 8), core_us=np.array([[120.0, 0.0], [0.0, 80.0]]))
    found = counter_columns("PipeUtilization", rows, facts(events=events))
    assert found["aicore_time(us)"].tolist() == [120, 0]
    assert found["aic_mac_time(us)"].tolist() == [60, 0]
    assert found["aiv_time(us)"].tolist() == [0, 80]


def test_what_can_be_decoded() -> None:
    assert decodable("MemoryAccess", facts())
    assert decodable("Custom:0x7fff", facts())
    assert not decodable("MemoryAccess", facts(split=False))
    assert not decodable("Custom:what", facts())
    assert not decodable("", facts())
    assert not decodable("Memory", facts(aiv_mhz=0))
    with pytest.raises(OptionError, match="no counters for 'L2Cache'"):
        counter_columns("L2Cache", measured([0] * 8, [0] * 8), facts(split=False))


def test_event_lists() -> None:
    assert parse_events("0x8,10", (1,)) == (8, 10)
    assert parse_events("", (1,)) == parse_events("x", (1,)) == parse_events(None, (1,)) == (1,)
