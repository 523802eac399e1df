"""Counters of tasks against cann_msprof.md 7.4 and the vendor's own unit test of PmuBeanV6."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from drynpu.layouts import counters as facts


def test_counters(pack: Callable[..., bytes]) -> None:
    values = {"stream_id": 1, "task_id": 2, "sub_task": 3, "sub_task_id": 4, "ffts": 5, "total_cycles": 6}
    found = pack(facts.FFTS_PROFILE, **values, pmu=np.arange(10, 18), start_tick=100, end_tick=200)
    expected = struct.pack("<4HQ4HQQQ8QQQ", 0x28, 0x6BD3, 1, 2, 0, 3, 4, 5, 0, 0, 6, 0, *range(10, 18), 100, 200)
    assert found == expected


def test_counters_of_the_950(pack: Callable[..., bytes]) -> None:
    # The vendor's record, with a vector core and the overflow bit besides.
    values = {
        "task_id": 1, "total_cycles": 642379, "context_type": 6, "flags": 3, "core_type": 128,
        "core_id": 15, "sub_block_id": 17, "block_id": 18, "pmu": np.arange(10, 20), "start_tick": 2201803260082,
        "end_tick": 2201803277549,
    }  # fmt: skip
    # The id is one number of 32 bits in the places of the vendor's stream and task: its low half comes first.
    text = "<4HQ2BH2B3HI10Q2Q"
    assert struct.calcsize(text) == 128
    head = (0x2A, 0x6BD3, 1, 0, 642379, 6)
    tail = (0, 17, 18, 0, *range(10, 20), 2201803260082, 2201803277549)
    assert pack(facts.FFTS_PROFILE_V6, **values) == struct.pack(text, *head, 3, 0, 128, 15, *tail)
    other = pack(facts.FFTS_PROFILE_V6, **{**values, "flags": 7, "core_type": 1})
    assert other == struct.pack(text, *head, 7, 0, 1, 15, *tail)


def test_numbers() -> None:
    assert {name.name: int(name) for name in facts.PmuFunction} == {
        "CONTEXT_PMU": 0x28,
        "BLOCK_PMU": 0x29,
        "CONTEXT_PMU_V6": 0x2A,
    }
    assert {kind.stem for kind in facts.KINDS} == {"ffts_profile.data", "aicore.data"}


def test_counters_of_the_310(pack: Callable[..., bytes]) -> None:
    # EVENT_COUNT_FMT of data_struct_size_constant.py, its L of four bytes. AiCoreTaskInfo of event_counter.py takes
    # stream and task from places 5 and 6, the counters from 9 to 16, then cycles, time and blocks. The tag comes from
    # create_runtime_db.py.
    text = "<BBHIHHHHQ8QQQH3H"
    assert struct.calcsize(text) == 112
    # Numbers of eight bytes use their upper half.
    pmu, cycles, tick = [2**40 + number for number in range(10, 18)], 2**41 + 6000, 2**42 + 77
    values = {
        "task_type": 6, "stream_id": 3, "task_id": 9, "overflow": 5, "overflow_cycles": 2**39 + 1, "pmu": pmu,
        "total_cycles": cycles, "tick": tick, "block_num": 2,
    }  # fmt: skip
    expected = struct.pack(text, 0, 4, 112, 0, 6, 3, 9, 5, 2**39 + 1, *pmu, cycles, tick, 2, 0, 0, 0)
    assert pack(facts.AICORE_TS, **values) == expected


def test_counters_before_stars(pack: Callable[..., bytes]) -> None:
    # AIC_PMU_FMT of Ascend/msprof analysis/msparser/data_struct_size_constant.py; AicPmuBean takes the task from place
    # 4, the cycles from 7, the counters from 9 to 16 and the stream from 17.
    text = "<BBHHHII10Q8I"
    assert struct.calcsize(text) == 128
    places = [0x50, 0, 0x6BD3, 0, 9, 0, 0, 6000, 0, *range(10, 18), 3, *[0] * 7]
    values = {"tag": 0x50, "task_id": 9, "total_cycles": 6000, "pmu": np.arange(10, 18), "stream_id": 3}
    assert pack(facts.AICORE, **values) == struct.pack(text, *places)


def test_places_and_sizes(fits: Callable[..., bool]) -> None:
    assert fits(facts.FFTS_PROFILE.dtype, "<4HQ4HIHHQQ8QQQ")
    assert fits(facts.FFTS_PROFILE_V6.dtype, "<2HIQ2BH2B3HI10Q2Q")
    assert fits(facts.AICORE.dtype, "<BBHHHQQQ8QI28s")
    assert fits(facts.AICORE_TS.dtype, "<BBHIHHHHQ8QQQH3H")


def test_tags_before_stars_hold_a_running_number_in_their_upper_half() -> None:
    assert facts.AICORE.running == ("tag", 4)
