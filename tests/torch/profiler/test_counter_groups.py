"""Counter groups other than the default one, asked for by a user's script."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

from drynpu.kernels import metric_column_names
from drynpu.platforms import find_platform

pytestmark = pytest.mark.slow

GROUPS = (
    *("PipeUtilization", "ArithmeticUtilization", "Memory", "MemoryL0", "MemoryUB", "ResourceConflictRatio"),
    *("L2Cache", "MemoryAccess"),
)
SCRIPT = """
import sys
import torch, torch_npu
from torch_npu.profiler import AiCMetrics, ProfilerLevel, _ExperimentalConfig, profile, tensorboard_trace_handler

for group in sys.argv[1:]:
    config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1, aic_metrics=getattr(AiCMetrics, group))
    a, b = torch.randn(256, 512, device="npu"), torch.randn(512, 128, device="npu")
    with profile(experimental_config=config, on_trace_ready=tensorboard_trace_handler(group)):
        torch.add(a @ b, 1).sum()
        torch.npu.synchronize()
"""


def run(folder: Path, chip: str, *groups: str) -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(SCRIPT, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DRYNPU_", "ASCEND_"))}
    return subprocess.run(
        [sys.executable, "script.py", *groups],
        cwd=folder,
        env={**kept, "DRYNPU_CHIP": chip, "TF_ENABLE_ONEDNN_OPTS": "0", "KINETO_LOG_LEVEL": "99"},
        capture_output=True,
        text=True,
        check=True,
    )


def kernels(folder: Path, group: str) -> list[dict[str, str]]:
    (path,) = (folder / group).glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv")
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("groups")
    assert "aic_metrics" not in run(path, "Ascend910B2", *GROUPS, "AiCoreNone").stdout
    return path


@pytest.mark.parametrize("group", GROUPS)
def test_columns_of_the_group(folder: Path, group: str) -> None:
    expected = metric_column_names(group, find_platform("5"))
    rows = kernels(folder, group)
    assert tuple(rows[0])[-len(expected) :] == expected
    counted = [column for column in expected if any(row[column] not in ("N/A", "0", "0.0", "0.000") for row in rows)]
    assert len(counted) > 2, "more than times and cycles"


def test_no_columns_without_a_group(folder: Path) -> None:
    assert list(kernels(folder, "AiCoreNone")[0])[-1] == "Context ID"


def test_numbers_are_about_the_work(folder: Path) -> None:
    products = {row["Type"]: row for row in kernels(folder, "ArithmeticUtilization") if float(row["aic_cube_fops"])}
    (row,) = products.values()
    assert row["Accelerator Core"] == "AI_CORE"
    assert float(row["aic_cube_fops"]) == pytest.approx(2 * 256 * 512 * 128, rel=0.05)
    moved = {row["Accelerator Core"]: row for row in kernels(folder, "MemoryAccess")}
    assert float(moved["AI_CORE"]["aic_GM_to_L1_datas(KB)"]) >= (256 * 512 + 512 * 128) * 4 / 1024
    assert float(moved["AI_VECTOR_CORE"]["aiv_GM_to_UB_datas(KB)"]) > 0


def test_a_chip_without_the_group_says_so_and_has_the_default(tmp_path: Path) -> None:
    said = run(tmp_path, "Ascend910A", "ArithmeticUtilization", "MemoryAccess").stdout
    assert "aic_metrics: Ascend910 has no counters for 'MemoryAccess'; available: ArithmeticUtilization" in said
    assert "This recording will have PipeUtilization's instead." in said
    assert "'ArithmeticUtilization';" not in said
    columns = metric_column_names("PipeUtilization", find_platform("1"))
    assert tuple(kernels(tmp_path, "MemoryAccess")[0])[-len(columns) :] == columns
