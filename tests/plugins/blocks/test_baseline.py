"""What a baseline of tests says of numbers that changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from drynpu import OutputError
from drynpu_blocks.baseline import Baseline

TEST = "test_model.py::test_step"


def numbers(**changed: Any) -> dict[str, Any]:
    kernels = {"Add": {"count": 3, "ms": 0.03}, "MatMulV2": {"count": 5, "ms": 0.5}}
    return {
        "chip": "Ascend910B2",
        "step_ms": 2.0,
        "kernel_ms": 0.53,
        "peak_bytes": 1000,
        "kernels": kernels,
    } | changed


def written(tmp_path: Path) -> Path:
    path = tmp_path / "npu.json"
    first = Baseline(path, 0.1).load()
    assert first.check(TEST, numbers()) == ""
    assert first.store()
    return path


def test_it_is_written_where_it_is_absent_and_kept_where_it_is_there(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert json.loads(path.read_text())["tests"] == {TEST: numbers()}
    again = Baseline(path, 0.1).load()
    assert again.check(TEST, numbers(step_ms=2.19)) == ""
    assert again.check("test_model.py::test_new", numbers()) == ""
    assert again.new == ["test_model.py::test_new"]
    assert not again.store()


def test_a_growth_names_the_test_the_kernel_and_both_values(tmp_path: Path) -> None:
    path = written(tmp_path)
    kernels = {"Add": {"count": 3, "ms": 0.04}, "MatMulV2": {"count": 6, "ms": 0.6}, "Cast": {"count": 1, "ms": 0.001}}
    text = Baseline(path, 0.1).load().check(TEST, numbers(step_ms=2.21, kernels=kernels, peak_bytes=1101))
    assert text.splitlines() == [
        f"{TEST} is worse than {path} allows (times and memory +10%, no more kernels):",
        "  step: 2.000 -> 2.210 ms (+10.5%)",
        "  peak memory: 1000 -> 1101 bytes (+10.1%)",
        "  kernels Add: 0.030 -> 0.040 ms (+33.3%)",
        "  kernels MatMulV2: 5 -> 6 calls (+20.0%)",
        "  kernels Cast: 0 -> 1 calls",
        "  If that is meant: --npu-baseline-update",
    ]


def test_what_became_better_fails_nothing(tmp_path: Path) -> None:
    baseline = Baseline(written(tmp_path), 0.1).load()
    assert baseline.check(TEST, numbers(step_ms=1.0)) == ""
    assert [str(change) for change in baseline.better[TEST]] == ["step: 2.000 -> 1.000 ms (-50.0%)"]


def test_another_chip_is_not_compared(tmp_path: Path) -> None:
    assert "on Ascend910B2, it ran on Ascend310P3" in Baseline(written(tmp_path), 0.1).load().check(
        TEST, numbers(chip="Ascend310P3")
    )


def test_an_update_replaces_the_numbers_of_this_run_alone(tmp_path: Path) -> None:
    path = written(tmp_path)
    update = Baseline(path, 0.1, update=True).load()
    assert update.check("test_model.py::test_new", numbers(step_ms=9.0)) == ""
    assert update.store()
    assert [*json.loads(path.read_text())["tests"]] == ["test_model.py::test_new", TEST]


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "npu.json").write_text("[]")
    with pytest.raises(OutputError, match=r"npu\.json is no baseline that --npu-baseline has written"):
        Baseline(tmp_path / "npu.json", 0.1).load()
