"""Collections of garbage on the modelled clock: how many objects a process holds says nothing of a host of NPUs."""

from __future__ import annotations

import csv
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import gc
import torch
import torch_npu

gc.disable()
kept = [[number] for number in range(6_000_000)]
config = torch_npu.profiler._ExperimentalConfig({config})
handler = torch_npu.profiler.tensorboard_trace_handler("out")
schedule = torch_npu.profiler.schedule(wait=0, warmup=0, active=4, repeat=1)
with torch_npu.profiler.profile(schedule=schedule, on_trace_ready=handler, experimental_config=config) as profiler:
    x = torch.ones(8, 4).npu()
    for step in range(4):
        torch.mul(x, 2)
        if step == 2:
            gc.collect()
        torch.add(x, 1)
        profiler.step()
"""
LONG_US = 60_000.0


@pytest.mark.parametrize(("config", "shown"), [("", False), ("gc_detect_threshold=1.0", True)])
def test_a_collection_takes_no_time_unless_it_is_to_be_seen(scripts: Any, config: str, shown: bool) -> None:
    run = scripts(SCRIPT.format(config=config))
    (table,) = run.folder.glob("out/*_ascend_pt/ASCEND_PROFILER_OUTPUT/step_trace_time.csv")
    with table.open(encoding="utf-8", newline="") as stream:
        lasts_us = [float(row["Computing"]) + float(row["Free"]) for row in csv.DictReader(stream)]
    assert len(lasts_us) == 4
    assert [each > LONG_US for each in lasts_us] == [False, False, shown, False]
