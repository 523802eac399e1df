"""Samples of cores against the struct formats of Ascend/msprof (AicoreSample, AicoreSampleV6)."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest

from drynpu.deliverables.core_samples import facts
from drynpu.raw import RecordKind


@pytest.mark.parametrize("kind", facts.KINDS[:3], ids=lambda kind: kind.name)
def test_samples(pack: Callable[..., bytes], kind: RecordKind) -> None:
    values = {"events": np.arange(10, 18), "task_cycles": 1, "time_ns": 2, "event_count": 8, "core_id": 4}
    assert pack(kind, **values) == struct.pack("<BBHHH8QQQBB6B", 1, 0, 0, 0, 0, *range(10, 18), 1, 2, 8, 4, *[0] * 6)


def test_samples_of_the_950(pack: Callable[..., bytes]) -> None:
    values = {"events": np.arange(10, 20), "task_cycles": 1, "tick": 2, "event_count": 10, "core_id": 40}
    expected = struct.pack("<BBHHH10QQQBB6B", 1, 0, 0, 0, 0, *range(10, 20), 1, 2, 10, 40, *[0] * 6)
    assert pack(facts.FFTS_CORE_SAMPLE_V6, **values) == expected


def test_files() -> None:
    assert [kind.stem for kind in facts.KINDS] == ["aicore.data", "aiVectorCore.data", *["ffts_profile.data"] * 2]
    assert facts.UTILIZATION_LAYER.sort_index == 36


def test_places_and_sizes(fits: Callable[..., bool]) -> None:
    assert all(fits(kind.dtype, "<BBHHH8QQQBB6B") for kind in facts.KINDS[:3])
    assert fits(facts.FFTS_CORE_SAMPLE_V6.dtype, "<BBHHH10QQQBB6B")


def test_values_that_can_be(plausible: Callable[..., bool]) -> None:
    for kind, events in (*((kind, 8) for kind in facts.KINDS[:3]), (facts.FFTS_CORE_SAMPLE_V6, 10)):
        assert not plausible(kind)
        assert plausible(kind, mode=1)
        assert plausible(kind, mode=8, event_count=events)
        assert not plausible(kind, mode=9)
        assert not plausible(kind, mode=1, event_count=events + 1)
        for place in (kind.dtype.itemsize - 6, kind.dtype.itemsize - 1):
            raw = bytearray(kind.new(1).tobytes())
            raw[place] = 1
            assert not kind.plausible(np.frombuffer(bytes(raw), kind.dtype))[0]
        assert plausible(kind, mode=1, core_id=255)
