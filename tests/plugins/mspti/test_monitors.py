"""Monitors of a user's script: what each hands over, beside the recording that torch_npu.profiler makes of the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import polars as pl
import pytest

pytest.importorskip("torch")

from tests.core.analysis.conftest import make_profile

from drynpu.tables import COMMUNICATION_OPS
from drynpu_mspti._records import rates

SCRIPT = """
import json, torch, torch_npu, mstx
from mspti import KernelMonitor, MstxMonitor, MsptiActivityFlag, MsptiActivitySourceKind, MsptiResult
from mspti.constant import MsptiActivityKind
from torch_npu.profiler import ProfilerLevel, _ExperimentalConfig, profile, tensorboard_trace_handler

said, x = {}, torch.ones(64, 64).npu()

def work():
    torch.relu(x @ x)
    torch.npu.synchronize()

kernels, marks, ranges = [], [], []
kernel, marker = KernelMonitor(), MstxMonitor()
said["refused"] = [kernel.start(3).name, kernel.set_buffer_size(257).name, kernel.set_buffer_size("1").name]
said["accepted"] = [kernel.start(kernels.append).name, marker.start(marks.append, ranges.append).name]
first = mstx.range_start("host")
work()
mstx.range_end(first)
second = torch.npu.mstx.range_start("device", torch.npu.current_stream(), "layers")
work()
torch.npu.mstx.range_end(second, "layers")
mstx.mark("instant")
with profile() as inner:  # the monitors record
    pass
said["flushed"] = [KernelMonitor.flush_all().name, len(kernels)]
marker.disable_domain("layers")
torch.npu.mstx.range_end(torch.npu.mstx.range_start("unseen", None, "layers"), "layers")
def fails(record):
    raise RuntimeError("of the script")
kernel.stop()
kernel.start(fails)
work()
said["stopped"] = [kernel.stop().name, marker.stop().name]
said["kernels"] = [[k.name, k.type, k.kind.name, k.end > k.start] for k in kernels]
said["marks"] = [[m.name, m.flag.name, m.domain] for m in marks]
said["ranges"] = [[r.name, r.domain, r.source_kind.name, r.end > r.start] for r in ranges]
config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1)
with profile(on_trace_ready=tensorboard_trace_handler("result"), experimental_config=config):
    work()
    said["beside a profiler"] = kernel.start(kernels.append).name
json.dump(said, open("said.json", "w"))
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("monitors")
    (folder / "script.py").write_text(SCRIPT, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DRYNPU_", "ASCEND_"))}
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=folder,
        env={**kept, "KINETO_LOG_LEVEL": "99"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads((folder / "said.json").read_text(encoding="utf-8"))
    return {**said, "folder": folder, "printed": done.stdout}


def test_kernels_are_those_of_a_profiler(run: dict[str, Any]) -> None:
    (file,) = run["folder"].glob("result/*_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv")
    recorded = pl.read_csv(file).select("Name", "Accelerator Core").rows()
    assert [tuple(kernel[:2]) for kernel in run["kernels"]] == recorded * 2
    assert {tuple(kernel[2:]) for kernel in run["kernels"]} == {("MSPTI_ACTIVITY_KIND_KERNEL", True)}
    assert run["flushed"] == ["MSPTI_SUCCESS", len(recorded) * 2], "handed over before the monitor stops"


def test_marks_and_ranges_of_both_packages(run: dict[str, Any]) -> None:
    assert run["marks"] == [["instant", "MSPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS", "default"]]
    assert run["ranges"] == [
        ["host", "default", "MSPTI_ACTIVITY_SOURCE_KIND_HOST", True],
        ["device", "layers", "MSPTI_ACTIVITY_SOURCE_KIND_HOST", True],
        ["device", "layers", "MSPTI_ACTIVITY_SOURCE_KIND_DEVICE", True],
    ]


def test_what_cannot_be_is_refused(run: dict[str, Any]) -> None:
    assert run["refused"] == ["MSPTI_ERROR_INVALID_PARAMETER"] * 3
    assert run["accepted"] == run["stopped"] == ["MSPTI_SUCCESS"] * 2
    assert run["beside a profiler"] == "MSPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
    assert "Buffer size 257 exceed the upper limit: 256" in run["printed"]
    assert "Call kernel callback failed. Exception: of the script" in run["printed"]


@pytest.mark.parametrize(
    ("op_type", "dtype", "rate"),
    [
        ("hcom_allReduce_", "FP32", 4 * 1000 / 500),
        ("hcom_allGather_", "BFP16", 2 * 1000 * 8 / 500),
        ("hcom_reduceScatter_", "INT8", 1000 * 8 / 500),
        ("hcom_send_", "FP16", 2 * 1000 / 500),
        ("hcom_allReduce_", "STRANGE", 0.0),
    ],
)
def test_the_rate_of_a_collective_is_of_the_bytes_of_its_call(op_type: str, dtype: str, rate: float) -> None:
    row: dict[str, Any] = {name: "" if kind == pl.String else 0 for name, kind in COMMUNICATION_OPS.items()}
    row |= {"op_type": op_type, "dtype": dtype, "count": 1000, "rank_size": 8, "duration_ns": 500, "start_ns": 7}
    row |= {"relay": False, "retry": False}
    (record,) = rates(make_profile(communication_ops=[row]))
    assert (record["bandWidth"], record["start"], record["end"]) == (rate, 7, 507)
