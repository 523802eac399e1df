"""``sys_io`` and ``sys_interconnection`` of a user's script: what went over the links while the recording ran."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import torch, torch_npu
from torch_npu.profiler import ProfilerLevel, _ExperimentalConfig, profile, tensorboard_trace_handler

data = torch.ones(4096, 4096)
for name, asked in (("both", True), ("none", False)):
    print("begin", name, flush=True)
    config = _ExperimentalConfig(
        profiler_level=ProfilerLevel.Level1, aic_metrics=None, sys_io=asked, sys_interconnection=asked
    )
    with profile(experimental_config=config, on_trace_ready=tensorboard_trace_handler(name)):
        for _ in range(8):
            (data.npu() + 1).sum().item()
print("begin end", flush=True)
"""
FILES = {"nic.csv", "roce.csv", "pcie.csv", "hccs.csv"}


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    return scripts(SCRIPT)


def test_the_files_come_with_their_options(run: Any) -> None:
    found = {name: {path.name for path in run.output(name).folder.iterdir()} & FILES for name in ("both", "none")}
    assert found == {"both": FILES, "none": set()}
    assert {"NIC", "RoCE", "PCIe", "HCCS"} <= run.output("both").layers.keys()
    assert not [message for _, message in run.section("both") if "does not record" in message]


def test_copies_to_the_device_are_traffic_of_pcie_and_of_nothing_else(run: Any) -> None:
    output = run.output("both")
    # The table has the last sample alone, as the toolkit's, and nothing may have moved in that; the timeline has all.
    moved = [event["args"] for event in output.trace if event["name"] == "PCIe_cpl"]
    assert max(args["Rx"] for args in moved) > 0
    assert all(args["Tx"] == 0 for args in moved)
    assert len(output.rows("pcie.csv")) == 7
    assert all(float(row["Max"]) == 0 for row in output.rows("hccs.csv"))
    idle = ("Rx Bandwidth efficiency(%)", "Tx Bandwidth efficiency(%)")
    assert all(
        float(row[column]) == 0 for name in ("nic.csv", "roce.csv") for row in output.rows(name) for column in idle
    )
