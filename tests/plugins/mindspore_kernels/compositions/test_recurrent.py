"""DynamicRNN and DynamicGRUV2 train: their gradients equal formulas, by central differences, in both modes."""

from __future__ import annotations

import csv
import pickle
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow

_HERE = Path(__file__).parent
_formulas = runpy.run_path(str(_HERE / "primitive_formulas.py"))
_inputs = runpy.run_path(str(_HERE / "inputs.py"))
numbers = _inputs["numbers"]
STEP = 1e-4


@pytest.fixture(scope="module", params=["PYNATIVE", "GRAPH"])
def done(scripts: Any, request: Any) -> Any:
    return scripts.simulated(_HERE / "run_recurrent.py", request.param, "found.pickle")


def _arguments(name: str) -> list[Any]:
    """Return the arguments of run_recurrent.py, rounded where they have 16 bits."""
    shapes = [(9, 12), (12,), (1, 4, 3), (1, 4, 3)] if name == "DynamicRNN" else [(6, 9), (3, 9), (9,), (9,), (4, 3)]
    arrays = [_inputs["inputs"]()["cube"], *(numbers(shape, place) for place, shape in enumerate(shapes))]
    wide = len(arrays) if name == "DynamicRNN" else 3
    return [(_formulas["rounded"](each) if n < wide else each).astype(np.float64) for n, each in enumerate(arrays)]


def _total(name: str, parts: list[Any]) -> Any:
    if name == "DynamicRNN":
        x, weight, bias, hidden, memory = parts
        steps, last = _formulas["long_memory"](x, weight, bias, hidden[0], memory[0], remembers=True)
    else:
        x, from_x, from_h, bias_x, bias_h, hidden = parts
        steps = _formulas["gated"](x, (from_x, from_h), (bias_x, bias_h), hidden, name.split()[1])
        last = steps[-1]
    return (steps * numbers((2, 4, 3), 9)).sum() + last.sum()


def _slope(name: str, place: int, element: tuple[int, ...]) -> Any:
    sums = []
    for step in (STEP, -STEP):
        parts = _arguments(name)
        parts[place][element] += step
        sums.append(_total(name, parts))
    return (sums[0] - sums[1]) / (2 * STEP)


@pytest.mark.parametrize("name", ["DynamicRNN", "DynamicGRUV2 rzh", "DynamicGRUV2 zrh"])
def test_gradients_are_those_of_the_formula(name: str, done: Any) -> None:
    found = pickle.loads((done.folder / "found.pickle").read_bytes())[name]
    assert len(found) == len(_arguments(name))
    for place, gradient in enumerate(found):
        expected = [_slope(name, place, element) for element in np.ndindex(gradient.shape)]
        tolerance = 1e-3 if gradient.dtype == np.float16 else 1e-6
        np.testing.assert_allclose(gradient.ravel(), expected, rtol=1e-3, atol=tolerance)


def test_each_way_is_one_kernel(done: Any) -> None:
    (details,) = done.folder.rglob("kernel_details.csv")
    with details.open(newline="") as file:
        kernels = [(row["Name"].rpartition("/")[2], float(row["Duration(us)"])) for row in csv.DictReader(file)]
    for kind, count in (("DynamicRNN", 1), ("DynamicRNNGrad", 1), ("DynamicGRUV2", 2), ("DynamicGRUV2Grad", 2)):
        assert len([1 for name, duration in kernels if name == kind and duration > 0]) == count
