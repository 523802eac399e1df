"""Every generation of chips gives complete output, with its own columns."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import torch
import torch_npu
from torch_npu import profiler

assert torch.npu.is_available()
print("device", torch.npu.get_device_name(0))
weight = torch.nn.Parameter(torch.ones(64, 64, device="npu:0"))
with profiler.profile(
    schedule=profiler.schedule(wait=0, warmup=1, active=1, repeat=1),
    on_trace_ready=profiler.tensorboard_trace_handler("out"),
    experimental_config=profiler._ExperimentalConfig(
        profiler_level=profiler.ProfilerLevel.Level1, data_simplification=False
    ),
    profile_memory=True,
) as prof:
    for _ in range(2):
        (weight @ weight).relu().sum().backward()
        prof.step()
"""

CHIPS = {
    "Ascend310": "unified",
    "Ascend310P3": "unified",
    "Ascend910A": "unified",
    "Ascend910B4": "split",
    "Ascend950PR": "split",
}
FILES = {
    "analyse.done",
    "api_statistic.csv",
    "kernel_details.csv",
    "memory_record.csv",
    "npu_module_mem.csv",
    "op_statistic.csv",
    "operator_details.csv",
    "operator_memory.csv",
    "step_trace_time.csv",
    "task_time.csv",
    "trace_view.json",
}
UNIFIED = ["mac", "scalar", "mte1", "mte2", "mte3", "vec"]


@pytest.fixture(scope="module")
def runs(scripts: Any) -> dict[str, Any]:
    calls = [functools.partial(scripts, SCRIPT, environment={"DRYNPU_CHIP": chip}) for chip in CHIPS]
    return dict(zip(CHIPS, scripts.together(*calls), strict=True))


@pytest.mark.parametrize("chip", CHIPS)
def test_output_is_complete(runs: dict[str, Any], chip: str) -> None:
    output = runs[chip].output("out")
    assert output.files == FILES
    assert output.document("profiler_metadata.json")["drynpu"]["chip"].startswith(chip)
    assert f"{chip}" in runs[chip].stdout.split("(simulated)")[0]
    for name in ("op_summary", "op_statistic", "api_statistic", "task_time", "msprof"):
        assert output.toolkit(name).stat().st_size > 100
    info = json.loads((output.prof / "device_0" / "info.json.0").read_text(encoding="utf-8").rstrip("\0"))
    assert info["DeviceInfo"]


@pytest.mark.parametrize("chip", CHIPS)
def test_columns_of_the_counters(runs: dict[str, Any], chip: str) -> None:
    output = runs[chip].output("out")
    columns = output.columns("kernel_details.csv")
    counters = columns[columns.index("aicore_time(us)") :]
    # Sub-tasks and mixed kernels came with the split chips.
    assert ("Context ID" in columns) == ("Mix Block Num" in columns) == (CHIPS[chip] == "split")
    if CHIPS[chip] == "split":
        assert counters[0] == "aicore_time(us)"
        assert {"aic_mac_ratio", "aic_fixpipe_ratio", "aiv_vec_ratio", "aiv_time(us)"} <= set(counters)
        assert counters[-1] == "cube_utilization(%)"
    else:
        assert counters[:2] == ["aicore_time(us)", "total_cycles"]
        assert not [name for name in counters if name.startswith(("aic_", "aiv"))]
        assert {f"{pipe}_ratio" for pipe in UNIFIED} <= set(counters)
        assert "memory_bound" in counters
    rows = output.rows("kernel_details.csv")
    assert len({tuple(row) for row in rows}) == 1
    cores = {row["Accelerator Core"] for row in rows}
    assert "AI_CORE" in cores
    assert cores <= {"AI_CORE", "AI_VECTOR_CORE", "MIX_AIV", "MIX_AIC", "AI_CPU"}
    for row in rows:
        assert float(row["aicore_time(us)"]) <= float(row["Duration(us)"])


@pytest.mark.parametrize("chip", [chip for chip, kind in CHIPS.items() if kind == "unified"])
def test_memory_bound_is_the_share_of_the_busier_unit(runs: dict[str, Any], chip: str) -> None:
    """cann_msprof.md 4.2: of the ratios as they are shown, 0 where neither unit works."""
    for row in runs[chip].output("out").rows("kernel_details.csv"):
        units = float(row["mac_ratio"]), float(row["vec_ratio"])
        expected = float(row["mte2_ratio"]) / max(units) if any(units) else 0.0
        assert float(row["memory_bound"]) == pytest.approx(expected, abs=0.001)


def test_faster_chips_take_less_time(runs: dict[str, Any]) -> None:
    times = {
        chip: sum(float(row["Duration(us)"]) for row in run.output("out").rows("kernel_details.csv"))
        for chip, run in runs.items()
    }
    assert times["Ascend310"] > times["Ascend910B4"]


def test_an_unknown_chip_is_told_with_its_nearest_name(scripts: Any) -> None:
    run = scripts(SCRIPT, environment={"DRYNPU_CHIP": "Ascend910B22"}, status=1)
    assert "Ascend910B2" in run.stderr
    assert not run.outputs("out")
