from __future__ import annotations

import math
from importlib import resources
from pathlib import Path

import pytest

from drynpu import OptionError
from drynpu.kernels import (
    KernelSpec,
    TaskType,
    TensorDesc,
    Tuning,
    bundled_calibration,
    cost,
    estimate,
    load_calibration,
    usual_calibration,
)
from drynpu.platforms import load_chip

MINE = """
generation: split
sources: [mine]
interval: {seen: [-0.1, 0.2], family: [-0.3, 0.4], physics: [-0.5, 0.6]}
coefficients:
  "": {fixed: [0.1, 0.01], work: [0.2, 0.02], rows: 40}
  "chip/Ascend910B3": {fixed: [0.0, 0.01], work: [0.05, 0.02], rows: 40}
  elementwise: {fixed: [0.3, 0.05], work: [0.4, 0.06], rows: 20}
  elementwise/Mul: {fixed: [-0.2, 0.05], work: [0.1, 0.06], rows: 7}
"""
B3 = load_chip("Ascend910B3")


def kernel(op_type: str, elements: int) -> KernelSpec:
    x = TensorDesc((8, elements // 8), "FLOAT")
    return KernelSpec(
        name="k",
        op_type=op_type,
        task_type=TaskType.AI_VECTOR_CORE,
        inputs=(x,),
        outputs=(x,),
        vector_ops=elements,
        bytes_read=4 * elements,
        bytes_written=4 * elements,
    )


def test_levels_add_up(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(MINE)
    found = load_calibration(path)
    mul, add = (found.factors(name, "split", "Ascend910B3") for name in ("Mul", "Add"))
    assert (math.log(mul.fixed), math.log(mul.work)) == pytest.approx((0.2, 0.75))
    assert (math.log(add.fixed), math.log(add.work)) == pytest.approx((0.4, 0.65))
    assert found.factors("Mul", "split", "Ascend910B1").work == pytest.approx(math.exp(0.7))
    assert [found.support(name, "split") for name in ("Mul", "Add", "SoftmaxV2")] == ["seen", "family", "physics"]
    assert found.interval("Add", "split") == pytest.approx((math.exp(-0.3), math.exp(0.4)))
    # Other generations keep what is bundled.
    bundled = bundled_calibration()
    assert found.factors("Mul", "unified", "Ascend910") == bundled.factors("Mul", "unified", "Ascend910")


def test_a_run_takes_the_calibration_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(MINE)
    before = cost(kernel("Mul", 4096), B3)
    monkeypatch.setenv("DRYNPU_CALIBRATION", str(path))
    assert usual_calibration().label == f"mine.yaml {load_calibration(path).digest}"
    assert cost(kernel("Mul", 4096), B3) != before
    assert cost(kernel("Mul", 4096), B3) == cost(kernel("Mul", 4096), B3, Tuning(calibration=load_calibration(path)))


@pytest.mark.parametrize("text", ["", "generation: split", "[", "generation: split\ninterval: []\ncoefficients: {}"])
def test_a_file_that_is_no_calibration(tmp_path: Path, text: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    with pytest.raises(OptionError, match=r"wrong\.yaml"):
        load_calibration(path)


def test_the_bundled_files_are_small_and_apart() -> None:
    folder = resources.files("drynpu.platforms").joinpath("calibration")
    texts = [entry.read_text() for entry in folder.iterdir() if entry.name.endswith(".yaml")]
    assert sum(map(len, texts)) < 50_000
    generations = bundled_calibration().generations
    assert set(generations) == {"mini", "unified", "split"}
    for known in generations.values():
        assert 0 < known.high["seen"] - known.low["seen"] <= math.log(3) + 0.002
        assert 0 < known.high["family"] - known.low["family"] <= math.log(6) + 0.002
        assert all(level.work.error > 0 and level.work.rows > 0 for level in known.levels.values())
        assert known.sources


def test_an_estimate_is_the_cost_with_its_interval() -> None:
    found = estimate(kernel("Mul", 2**22), B3)
    assert found.us == cost(kernel("Mul", 2**22), B3).duration_ns / 1000
    assert found.low_us < found.us < found.high_us
    assert (found.family, found.support) == ("elementwise", "seen")
    assert estimate(kernel("Mul", 8), B3).bound == "launch"
