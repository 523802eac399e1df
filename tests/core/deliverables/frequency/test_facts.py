"""Frequencies and voltages against cann_msprof.md 7.4 and Ascend/msprof lpm_info_conv."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from drynpu.deliverables.frequency import facts


def test_changes_of_the_clock() -> None:
    rows = facts.LPM_FREQ.new(1)
    rows["count"] = 2
    rows["points"]["tick"][0, [0, 1, 54]] = (5, 6, 7)
    rows["points"]["mhz"][0, [0, 1, 54]] = (1800, 800, 9)
    expected = struct.pack("<IIQIIQII", 2, 0, 5, 1800, 0, 6, 800, 0).ljust(888 - 16, b"\0") + struct.pack(
        "<QII", 7, 9, 0
    )
    assert rows.tobytes() == expected
    assert facts.LPM_FREQ.stem == "lpmFreqConv.data"


def test_voltages() -> None:
    rows = facts.LPM_INFO.new(1)
    rows["count"], rows["type"] = 1, facts.LpmType.BUS_MV
    rows["points"]["tick"][0, 0], rows["points"]["value"][0, 0] = 7, 900
    assert rows.tobytes() == struct.pack("<IIQII", 1, 2, 7, 900, 0).ljust(888, b"\0")
    assert [int(kind) for kind in (facts.LpmType.AI_CORE_MHZ, facts.LpmType.AI_CORE_MV)] == [0, 1]


def test_the_layer() -> None:
    assert (facts.FREQUENCY_LAYER.name, facts.FREQUENCY_LAYER.sort_index) == ("AI Core Freq", 15)


def test_places_and_sizes(fits: Callable[..., bool]) -> None:
    assert fits(facts.LPM_FREQ.dtype, "<II" + "QII" * 55)
    assert fits(facts.LPM_INFO.dtype, "<II" + "QII" * 55)


def test_values_that_can_be(plausible: Callable[..., bool]) -> None:
    for kind in facts.KINDS:
        assert not plausible(kind)
        assert plausible(kind, count=1)
        assert plausible(kind, count=55)
        assert not plausible(kind, count=56)
    assert plausible(facts.LPM_INFO, count=1, type=255)
    assert not plausible(facts.LPM_INFO, count=1, type=256)
    for place, good in ((4, False), (7, False), (8, True)):
        raw = bytearray(struct.pack("<II", 1, 0).ljust(888, b"\0"))
        raw[place] = 1
        assert bool(facts.LPM_FREQ.plausible(np.frombuffer(bytes(raw), facts.LPM_FREQ.dtype))[0]) == good
