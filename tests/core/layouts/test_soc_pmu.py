"""Counters outside the cores against cann_msprof.md 7.4 and the struct formats of Ascend/msprof."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from drynpu.layouts import soc_pmu as facts


def test_records(pack: Callable[..., bytes]) -> None:
    events = np.arange(10, 18)
    values = {"task_type": 1, "stream_id": 2, "task_id": 3, "data_type": facts.SocPmuType.SMMU, "events": events}
    assert pack(facts.SOC_PMU, **values) == struct.pack("<2I4H8Q", 0, 0, 1, 2, 3, 2, *events)
    assert pack(facts.SOC_PMU_V6, **values) == struct.pack("<6B3HI8Q", *[0] * 6, 2, 1, 2, 3, *events)


def test_numbers() -> None:
    assert {kind.name: int(kind) for kind in facts.SocPmuType} == {"L2_CACHE": 1, "SMMU": 2, "PAGE_FAULT": 4}
    # TLB hit = (0x8c + 0x8d) / 0x8a, miss = 0x2 / 0x8a.
    assert (facts.SMMU_REQUESTS, facts.SMMU_HITS, facts.SMMU_MISSES) == ((0x8A,), (0x8C, 0x8D), (0x02,))
    assert {kind.stem for kind in facts.KINDS} == {"socpmu.data"}


def test_places_and_sizes(fits: Callable[..., bool]) -> None:
    assert fits(facts.SOC_PMU.dtype, "<2I4H8Q")
    assert fits(facts.SOC_PMU_V6.dtype, "<6B3HI8Q")
    assert facts.EVENTS_PER_UNIT == 8


def test_values_that_can_be(plausible: Callable[..., bool]) -> None:
    for kind, reserved in ((facts.SOC_PMU, 8), (facts.SOC_PMU_V6, 6)):
        assert plausible(kind)
        assert plausible(kind, data_type=255)
        assert not plausible(kind, data_type=256)
        for place, good in ((0, False), (reserved - 1, False), (reserved, True)):
            raw = bytearray(kind.dtype.itemsize)
            raw[place] = 1
            assert bool(kind.plausible(np.frombuffer(bytes(raw), kind.dtype))[0]) == good
