"""Counts of memory traffic are dealt out to counters, none too large for its field and none lost."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from drynpu.deliverables._traffic import BothDirections
from drynpu.deliverables.bandwidth import facts
from drynpu.deliverables.bandwidth.records import _ddr, _hbm
from drynpu.device.samplers.traffic import Flow
from drynpu.platforms import load_chip
from drynpu.raw import ClockAnchors

EDGES_US = np.array([0, 10, 20])
ANCHORS = ClockAnchors(collection_begin_us=5, monotonic_raw_ns=0, host_cntvct=0, device_cntvct=0, device_hz=50_000_000)


def context(chip: str) -> Any:
    simulation = SimpleNamespace(base_ns=ANCHORS.device_counter_ns + ANCHORS.offset_ns)
    return SimpleNamespace(chip=load_chip(chip), anchors=ANCHORS, simulation=simulation)


def flow(first: float, second: float) -> Flow:
    return Flow([0, 10_000], [10_000, 20_000], [first, second])


@pytest.mark.parametrize(("most", "controllers"), [(2**32 - 1, 1), (2**32, 2), (2**33 + 5, 3)])
def test_a_count_too_large_for_its_field_goes_to_several_controllers(most: int, controllers: int) -> None:
    where = context("Ascend310P3")
    unit = where.chip.platform.memory.ddr_bytes
    memory = BothDirections(flow(7 * unit, most * unit), flow(3 * unit, 11 * unit))
    rows = _ddr(where, memory, EDGES_US)
    assert len(rows) == controllers * 2 * len(EDGES_US)
    assert sorted(set(rows["ddr_id"].tolist())) == list(range(controllers))
    for event, counts in ((facts.READ, (0, 7, most)), (facts.WRITE, (0, 3, 11))):
        for time_us, count in zip(EDGES_US, counts, strict=True):
            chosen = rows[(rows["event"] == event) & (rows["time_us"] == time_us)]
            shares = chosen["count"].astype(int).tolist()
            assert sum(shares) == count
            assert max(shares) - min(shares) <= 1
            assert shares == sorted(shares, reverse=True), "the first controllers take what is left over"


def test_the_stacks_share_the_traffic_of_each_direction() -> None:
    where = context("Ascend910B2")
    memory = BothDirections(flow(13 * facts.HBM_BYTES, 0), flow(0, 22 * facts.HBM_BYTES))
    rows = _hbm(where, memory, EDGES_US)
    assert len(rows) == 2 * facts.HBM_STACKS * len(EDGES_US)

    def shares(event: int, time_us: int) -> list[int]:
        chosen = rows[(rows["event"] == event) & (rows["time_us"] == time_us)]
        assert chosen["hbm_id"].tolist() == list(range(facts.HBM_STACKS))
        return cast("list[int]", chosen["count"].astype(int).tolist())

    assert [sum(shares(facts.READ, int(time))) for time in EDGES_US] == [0, 13, 0]
    assert [sum(shares(facts.WRITE, int(time))) for time in EDGES_US] == [0, 0, 22]
    assert shares(facts.READ, 10) == [13 // facts.HBM_STACKS + (n < 13 % facts.HBM_STACKS)
                                      for n in range(facts.HBM_STACKS)]  # fmt: skip
