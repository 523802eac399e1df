"""A dynamic loss scale: overflows are seen, halve the scale and skip the step; losses follow the formulas."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent / "scaled_training.py"


@pytest.fixture(scope="module")
def formulas() -> dict[str, Any]:
    """Return the sizes of the training and its data, from the script; MindSpore is imported by it alone."""
    text = SCRIPT.read_text().partition("class Collect")[0]
    kept = "\n".join(line for line in text.splitlines() if "mindspore" not in line)
    space: dict[str, Any] = {"__name__": "formulas"}
    exec(compile(kept, str(SCRIPT), "exec"), space)
    return space


def expected(sizes: dict[str, Any]) -> list[list[float]]:
    """Return loss, overflow and scale of every step: products in float16, loss and update in float32."""
    x, y, weight = sizes["data"]()
    scale, velocity, calm, steps = sizes["SCALE"], np.zeros_like(weight), 0, []
    for begin in [*range(0, len(x), sizes["BATCH"])] * 2:
        rows, wanted = x[begin : begin + sizes["BATCH"]].astype(np.float16), y[begin : begin + sizes["BATCH"]]
        half = weight.astype(np.float16)
        missed = (rows.astype(np.float32) @ half.T.astype(np.float32)).astype(np.float16).astype(np.float32) - wanted
        with np.errstate(over="ignore", invalid="ignore"):
            back = (2 * missed / len(rows) * np.float32(scale)).astype(np.float16).astype(np.float32)
            gradient = (back.T @ rows.astype(np.float32)).astype(np.float16).astype(np.float32) / np.float32(scale)
        overflow = not np.isfinite(gradient).all()
        if not overflow:
            velocity = sizes["MOMENTUM"] * velocity + gradient
            weight = weight - sizes["RATE"] * velocity
        calm = 0 if overflow else calm + 1
        if overflow:
            scale /= 2
        elif calm == sizes["WINDOW"]:
            scale, calm = scale * 2, 0
        steps.append([float((missed**2).mean()), float(overflow), scale])
    return steps


@pytest.mark.parametrize("mode", ["GRAPH", "PYNATIVE"])
def test_an_overflow_halves_the_scale_and_skips_the_step(mode: str, scripts: Any, formulas: dict[str, Any]) -> None:
    done = scripts.simulated(SCRIPT, mode, "found.pickle")
    through_model, through_cell = pickle.loads((done.folder / "found.pickle").read_bytes())
    steps = np.array(expected(formulas))
    assert 0 < steps[:, 1].sum() < len(steps)
    for found in (through_model, through_cell):
        np.testing.assert_array_equal(np.array(found)[:, 1:], steps[:, 1:])
        np.testing.assert_allclose(np.array(found)[:, 0], steps[:, 0], rtol=2e-3)
