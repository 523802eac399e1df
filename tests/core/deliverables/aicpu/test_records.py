"""Records of AI CPU kernels: moments by two clocks, and the parts between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from drynpu.options import Level, Switches
from drynpu.platforms import load_chip

NAMES = ("Small", "Where", "Large", "Where")


@pytest.mark.parametrize("chip", ["Ascend910B2", "Ascend910A"])
def test_moments_of_a_kernel_lie_in_its_task_on_both_clocks(run: Callable[..., Any], chip: str) -> None:
    made = run(chip=chip, names=NAMES, switches=Switches(aicpu=True))
    rows, anchors = made.reader.read("aicpu_node", 0), made.reader.anchors(0)
    tasks = made.profile.kernels.filter(pl.col("task_type") == "AI_CPU")
    assert len(rows) == tasks.height == 2
    assert rows["stream_id"].tolist() == tasks["stream_id"].to_list()
    assert rows["task_id"].tolist() == tasks["task_id"].to_list()

    def unix_ns(name: str) -> Any:
        return anchors.tick_to_unix(rows[f"{name}_tick"].astype(np.int64))

    tick_ns = 1e9 / load_chip(chip).hwts_hz
    assert unix_ns("submit") == pytest.approx(tasks["start_ns"].to_numpy(), abs=1)
    assert unix_ns("run_end") + tick_ns == pytest.approx((tasks["start_ns"] + tasks["duration_ns"]).to_numpy(), abs=1)
    assert (rows["before_run_tick"] == rows["run_start_tick"]).all()
    assert (rows["after_run_tick"] == rows["run_end_tick"]).all()
    assert (rows["timestamp"] == rows["run_start_tick"]).all()
    for name in ("run_start", "run_end"):
        monotonic_ns = unix_ns(name) - anchors.offset_ns
        assert (rows[f"{name}_us"].astype(np.int64) == monotonic_ns // 1000).all()
    assert (rows["memcpy_end_us"] == rows["run_end_us"]).all()


def test_the_parts_of_a_kernel_are_shares_of_its_time(run: Callable[..., Any]) -> None:
    """Half of the fixed 30 us are dispatch, a quarter scheduling; half a MiB is read and written at 2 bytes a ns."""
    rows = run(names=NAMES, switches=Switches(aicpu=True)).reader.read("aicpu_node", 0)
    written = read = 256 * 1024 * 2 / 2
    whole_us = rows["total_us"].astype(np.int64)
    scale = whole_us / (30_000 + written + read)
    assert rows["dispatch_us"] == pytest.approx(15_000 * scale, abs=1)
    assert rows["run_end_us"].astype(np.int64) - rows["run_start_us"] == pytest.approx(
        whole_us - 22_500 * scale, abs=1.5
    )
    assert rows["memcpy_end_us"].astype(np.int64) - rows["memcpy_start_us"] == pytest.approx(written * scale, abs=1.5)
    assert rows["memcpy_start_us"].astype(np.int64) - rows["compute_start_us"] == pytest.approx(read * scale, abs=1.5)
    ticks = rows["schedule_tick"].astype(np.int64) - rows["submit_tick"]
    assert rows["dispatch_us"] == pytest.approx(ticks * 20 / 1000, abs=0.5)


@pytest.mark.parametrize(("level", "wanted"), [(Level.L0, True), (Level.NONE, False)])
def test_kernels_are_recorded_from_level_0_on(run: Callable[..., Any], level: Level, *, wanted: bool) -> None:
    made = run(names=NAMES, level=level, switches=Switches(aicpu=True))
    assert bool(len(made.reader.read("aicpu_node", 0))) is wanted
