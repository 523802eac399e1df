"""Samples of links as tables: rates are of the time between two readings of the same thing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl

from drynpu.deliverables.links import facts
from drynpu.deliverables.links.tables import _hccs, _sio

MB = 2**20
"""As the vendor counts."""


def side(device: int) -> Any:
    """A device whose ticks are of 1 ms and begin at 7 ns, its own clock 5 ns behind."""
    clock = SimpleNamespace(tick_to_unix=lambda tick: np.asarray(tick, np.int64) * 1_000_000 + 7, offset_ns=5)
    return SimpleNamespace(device_id=device, clock=clock)


def test_each_die_has_rates_of_its_own_from_its_second_reading_on() -> None:
    readings = [(0, 10, 999), (1, 12, 888), (0, 14, 8), (1, 14, 10), (1, 14, 77), (0, 15, 5)]
    rows = facts.SIO.new(len(readings))
    for row, (die, tick, moved) in zip(rows, readings, strict=True):
        row["acc_id"], row["tick"], row["req_rx"], row["dat_tx"] = die, tick, moved * MB, 3 * moved * MB
    found = _sio(side(6), rows).select("device_id", "die", "time_ns", "req_rx", "dat_tx", "rsp_rx").rows()
    assert found == [
        (6, 0, 14_000_007, 2000.0, 6000.0, 0.0),  # 8 MB in 4 ms
        (6, 0, 15_000_007, 5000.0, 15000.0, 0.0),
        (6, 1, 14_000_007, 5000.0, 15000.0, 0.0),  # the second reading of that instant tells nothing
    ]


def test_hccs_counts_on_and_a_counter_that_begins_again_gives_no_row() -> None:
    second = 10**9
    totals = [(1, 100, 7), (2, 300, 8), (2, 400, 9), (4, 700, 9), (5, 20, 10), (6, 50, 3), (7, 50, 9)]
    rows = pl.DataFrame(
        [(time * second, sent * MB, received * MB) for time, sent, received in reversed(totals)],
        schema=["time_ns", "tx_bytes", "rx_bytes"], orient="row",
    )  # fmt: skip
    assert _hccs(side(2), rows.sort("time_ns", "tx_bytes")).rows() == [
        (2, 2 * second + 5, 200 * MB, 1 * MB, 200.0, 1.0),
        (2, 4 * second + 5, 300 * MB, 0, 150.0, 0.0),
        (2, 7 * second + 5, 0, 6 * MB, 0.0, 6.0),
    ]
