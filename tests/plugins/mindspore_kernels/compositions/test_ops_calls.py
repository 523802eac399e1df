"""Every call of docs/lists/mindspore-ops-calls.yaml computes what NumPy or SciPy says."""

from __future__ import annotations

import csv
import json
import pickle
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from drynpu.compiling import find_compiler

pytestmark = pytest.mark.slow

_HERE = Path(__file__).parent
_value_of = runpy.run_path(str(_HERE / "formulas.py"))["value_of"]
_inputs = runpy.run_path(str(_HERE / "inputs.py"))["inputs"]
CALLS = _HERE.parents[3] / "docs" / "lists" / "mindspore-ops-calls.yaml"
FAMILIES: dict[str, dict[str, str]] = yaml.safe_load(CALLS.read_text())
CASES = [pytest.param(call, formula, id=call) for family in FAMILIES.values() for call, formula in family.items()]


@pytest.fixture(scope="module")
def done(scripts: Any) -> Any:
    return scripts.simulated(_HERE / "run_ops_calls.py", str(CALLS), "found.pickle")


@pytest.fixture(scope="module")
def found(done: Any) -> dict[str, Any]:
    return dict(pickle.loads((done.folder / "found.pickle").read_bytes()))


def test_every_primitive_has_a_rule(done: Any) -> None:
    (run,) = done.runs("profiled")
    (about,) = (json.loads(path.read_text()) for path in run.rglob("profiler_metadata.json"))
    assert about["drynpu"]["unmapped_operators"] == {}


@pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")
def test_every_kernel_has_shapes_and_a_time(done: Any) -> None:
    (run,) = done.runs("profiled")
    (about,) = (json.loads(path.read_text()) for path in run.rglob("profiler_metadata.json"))
    assert "unknown_kernels" not in about["drynpu"]
    (details,) = run.rglob("kernel_details.csv")
    with details.open(newline="") as file:
        durations = [row["Duration(us)"] for row in csv.DictReader(file)]
    assert len(durations) > len(CASES)
    assert "N/A" not in durations


def test_a_slice_of_the_cells_computes_the_same_in_graph_mode(found: dict[str, Any]) -> None:
    formulas = FAMILIES["cells"] | FAMILIES["networks"] | FAMILIES["further_cells"]
    graphs = {name.removeprefix("GRAPH "): value for name, value in found.items() if name.startswith("GRAPH ")}
    assert len(graphs) > 15
    for call, result in graphs.items():
        assert not isinstance(result, str), f"{call}: {result}"
        expected = np.asarray(_value_of(formulas[call], _inputs()))
        np.testing.assert_allclose(result, expected, rtol=2e-4, atol=2e-5, err_msg=call)


@pytest.mark.parametrize(("call", "formula"), CASES)
def test_a_call_computes_what_the_formula_says(call: str, formula: str, found: dict[str, Any]) -> None:
    result = found[call]
    assert not isinstance(result, str), result
    expected = np.asarray(_value_of(formula, _inputs()))
    assert np.shape(result) == expected.shape
    np.testing.assert_allclose(result, expected, rtol=2e-4, atol=2e-5)
