"""``drynpu calibrate`` and ``drynpu validate``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from drynpu.kernels import TaskType, TensorDesc, estimate, load_calibration
from drynpu.platforms import load_chip
from drynpu_calibration import described_kernel

GENUINE = Path(os.environ.get("GENUINE_PROFILES", Path(__file__).parents[5] / "shared" / "data")) / "genuine"
RANKS = GENUINE / "torch_text_level1"
CHIP = "Ascend910B4"
SLOWER = {"MatMulV3": 1.9, "Add": 1.0, "Cast": 1.6}
"""How much longer than the model the device of the tests takes."""


def _kernel(op_type: str, rows: int, columns: int) -> dict[str, object]:
    """A row of kernel_details.csv."""
    if op_type == "MatMulV3":
        shapes, out, dtypes = f'"{rows},{columns};{columns},1024"', f'"{rows},1024"', "DT_BF16;DT_BF16"
        operands = TensorDesc((rows, columns), "DT_BF16"), TensorDesc((columns, 1024), "DT_BF16")
        made, task = TensorDesc((rows, 1024), "DT_BF16"), TaskType.AI_CORE
    else:
        shapes, out, dtypes = f'"{rows},{columns}"', f'"{rows},{columns}"', "FLOAT"
        operands, made = (TensorDesc((rows, columns), "FLOAT"),), TensorDesc((rows, columns), "FLOAT")
        task = TaskType.AI_VECTOR_CORE
    usual = estimate(described_kernel(op_type, task, operands, [made]), load_chip(CHIP)).us
    return {
        "Name": f"aclnn{op_type}",
        "Type": op_type,
        "Accelerator Core": task.value,
        "Duration(us)": round(usual * SLOWER[op_type], 3),
        "Wait Time(us)": 0,
        "Block Dim": 20,
        "HF32 Eligible": "NO",
        "Input Shapes": shapes,
        "Input Data Types": dtypes,
        "Input Formats": ";".join(["ND"] * (dtypes.count(";") + 1)),
        "Output Shapes": out,
        "Output Data Types": "DT_BF16" if op_type == "MatMulV3" else "FLOAT",
        "Output Formats": "ND",
    }


@pytest.fixture
def details(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes kernel_details.csv of some kernels; each runs one time more than the one before."""

    def write(*kernels: tuple[str, int, int], repeat: int = 1) -> Path:
        rows, start = [], 1_700_000_000_000_000.0
        for kernel in kernels:
            for _ in range(repeat):
                row = _kernel(*kernel)
                rows.append({"Step Id": 3, "Device_id": 0, **row, "Start Time(us)": f"{start:.3f}\t"})
                start += float(str(row["Duration(us)"])) + 10
        path = tmp_path / "kernel_details.csv"
        pl.DataFrame(rows).write_csv(path)
        return path

    return write


def _many() -> list[tuple[str, int, int]]:
    # L2 holds them all: what memory takes is no matter of a kernel's type.
    sizes = [(512 * a, 1024 * b) for a in (1, 3, 5, 7) for b in (1, 2, 3)]
    return [(op_type, *size) for op_type in SLOWER for size in sizes]


def test_errors_by_family_and_type(drynpu: Callable[..., Any], details: Callable[..., Path]) -> None:
    path = details(("MatMulV3", 2048, 1024), ("Cast", 4096, 4096), ("Add", 512, 256), repeat=3)
    ended = drynpu("validate", str(path), "--chip", CHIP, "--types", "--json")
    assert (ended.code, ended.err) == (0, "")
    found = {row["type"]: row for row in json.loads(ended.out)["groups"]}
    for op_type, times in SLOWER.items():
        row = found[op_type]
        assert (row["kernels"], row["launches"], row["support"]) == (1, 3, "seen")
        assert row["measured_ms"] == pytest.approx(times * row["predicted_ms"], rel=2e-3)
        assert row["total"] == pytest.approx(1 / times - 1, abs=2e-3)
        assert row["median"] == pytest.approx(abs(1 / times - 1), abs=2e-3)
    shown = drynpu("validate", str(path), "--chip", CHIP).out
    assert "3 different kernels" in shown
    assert "elementwise" in shown
    assert json.loads(ended.out)["launches"] is None, "kernels alone do not say which operators launched them"
    assert "launch the same" not in shown


def test_coefficients_follow_the_device(
    drynpu: Callable[..., Any], details: Callable[..., Path], tmp_path: Path
) -> None:
    path, mine = details(*_many()), tmp_path / "out" / "my.yaml"
    ended = drynpu("calibrate", str(path), "--chip", CHIP, "-o", str(mine), "--json")
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(ended.out)
    assert found["before"]["kernels"] == found["after"]["kernels"] == 36
    assert found["before"]["median"] > 0.3
    assert found["after"]["median"] < 0.6 * found["before"]["median"]
    assert abs(found["after"]["total"]) < 0.6 * abs(found["before"]["total"])
    calibration = load_calibration(mine)
    assert "RmsNorm" not in {kernel for kernel, _, _ in _many()}
    assert calibration.support("RmsNorm", "split") == "seen"
    ended = drynpu("validate", str(path), "--chip", CHIP, "--calibration", str(mine), "--types", "--json")
    groups = {row["type"]: row["total"] for row in json.loads(ended.out)["groups"]}
    assert abs(groups["MatMulV3"]) < abs(1 / SLOWER["MatMulV3"] - 1) / 2
    assert abs(groups["Cast"]) < abs(1 / SLOWER["Cast"] - 1) / 2


def test_a_few_kernels_are_no_calibration(
    drynpu: Callable[..., Any], details: Callable[..., Path], tmp_path: Path
) -> None:
    mine = tmp_path / "my.yaml"
    ended = drynpu("calibrate", str(details(*_many()[:19], repeat=5)), "--chip", CHIP, "-o", str(mine))
    assert ended.code == 1
    assert "19 different kernels with shapes and times are too few; a calibration needs 20" in ended.err
    assert "record_shapes" in ended.err
    assert not mine.exists()


@pytest.mark.parametrize("verb", ["calibrate", "validate"])
def test_the_chip_must_be_named(
    drynpu: Callable[..., Any], details: Callable[..., Path], tmp_path: Path, verb: str
) -> None:
    output = ["-o", str(tmp_path / "my.yaml")] if verb == "calibrate" else []
    path = str(details(("Cast", 64, 64)))
    assert "Missing option '--chip'" in drynpu(verb, path, *output).err
    ended = drynpu(verb, path, "--chip", "Ascend7", *output)
    assert ended.code == 1
    assert "unknown chip 'Ascend7'" in ended.err


def test_simulated_times_are_refused(
    drynpu: Callable[..., Any], profile: Callable[[Path], Path], tmp_path: Path
) -> None:
    result = profile(tmp_path / "simulated")
    for arguments in (["calibrate", "-o", str(tmp_path / "my.yaml")], ["validate"]):
        ended = drynpu(*arguments, str(result), "--chip", CHIP)
        assert ended.code == 1
        assert "was simulated by drynpu" in ended.err


@pytest.mark.skipif(not RANKS.is_dir(), reason="NO GENUINE PROFILES")
def test_a_genuine_profile(drynpu: Callable[..., Any], tmp_path: Path) -> None:
    (rank, _) = sorted(RANKS.iterdir())
    ended = drynpu("validate", str(rank), "--chip", "910B2", "--json")
    document = json.loads(ended.out)
    table = pl.DataFrame(document["groups"])
    csv = pl.read_csv(rank / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv", infer_schema_length=None)
    launches = table["launches"].sum() + sum(document["left_out"].values())
    assert launches == csv.filter(pl.col("Accelerator Core") != "HCCL").height
    assert table["measured_ms"].sum() * 1000 == pytest.approx(
        csv.filter(pl.col("Input Shapes").str.contains(r"\d"))["Duration(us)"].sum(), rel=0.05
    )
    assert abs(table["predicted_ms"].sum() / table["measured_ms"].sum() - 1) < 0.25
    compared = document["launches"]
    assert compared["kernels"] == csv.filter(pl.col("Accelerator Core") != "HCCL").height
    differing = compared["operators"] - compared["equal"]
    assert differing == sum(row["calls"] for row in compared["table"])
    assert differing <= 8, compared["table"]
    assert compared["missing"] <= 9
    # A profile does not say to which type a call casts.
    assert {"operator": "aten::to", "calls": 2, "genuine": ["Cast"], "predicted": []} in compared["table"]
    shown = " ".join(drynpu("validate", str(rank), "--chip", "910B2").out.split())
    assert "80 of 88 operators launch the same kernels here" in shown
    ended = drynpu("calibrate", str(RANKS), "--chip", "910B2", "-o", str(tmp_path / "my.yaml"))
    assert ended.code == 0
    assert "262 different kernels" in ended.out
