"""Calls of docs/lists/mindspore-primitives compute what NumPy or SciPy says: all in PyNative, a slice in GRAPH mode."""

from __future__ import annotations

import csv
import json
import pickle
import runpy
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from drynpu.compiling import find_compiler
from drynpu_mindspore.inside import KNOWN, Inside

pytestmark = pytest.mark.slow

_HERE = Path(__file__).parent
_value_of = runpy.run_path(str(_HERE / "formulas.py"))["value_of"]
_inputs = runpy.run_path(str(_HERE / "inputs.py"))["inputs"]
FILES = sorted((_HERE.parents[3] / "docs" / "lists" / "mindspore-primitives").glob("*.yaml"))
FAMILIES: dict[str, dict[str, dict[str, str]]] = {path.stem: yaml.safe_load(path.read_text()) for path in FILES}
FORMULAS = {
    stem: {call: formula for family in families.values() for call, formula in family.items()}
    for stem, families in FAMILIES.items()
}
CASES = [
    pytest.param(stem, call, formula, id=call)
    for stem, families in FAMILIES.items()
    for name, family in families.items()
    if name != "graphs"
    for call, formula in family.items()
]


@pytest.fixture(scope="module")
def done(scripts: Any) -> Any:
    """Return the run of a file by its name; each runs once."""
    runs: dict[str, Any] = {}

    def run(stem: str) -> Any:
        if stem not in runs:
            path = next(path for path in FILES if path.stem == stem)
            runs[stem] = scripts.simulated(_HERE / "run_primitive_calls.py", str(path), "found.pickle", timeout_s=400)
        return runs[stem]

    return run


@pytest.fixture(scope="module")
def found(done: Any) -> Any:
    """Return what the calls of a file gave, by its name."""
    results: dict[str, Any] = {}

    def read(stem: str) -> Any:
        if stem not in results:
            results[stem] = pickle.loads((done(stem).folder / "found.pickle").read_bytes())
        return results[stem]

    return read


def _check(result: Any, formula: str) -> None:
    assert not isinstance(result, str), result
    expected = np.asarray(_value_of(formula, _inputs()))
    assert np.shape(result) == expected.shape
    half = getattr(result, "dtype", None) == np.float16
    np.testing.assert_allclose(result, expected, rtol=2e-3 if half else 2e-4, atol=1e-3 if half else 2e-5)


@pytest.mark.parametrize(("stem", "call", "formula"), CASES)
def test_a_call_computes_what_the_formula_says(stem: str, call: str, formula: str, found: Any) -> None:
    _check(found(stem)[call], formula)


@pytest.mark.parametrize("stem", FAMILIES)
def test_a_slice_computes_the_same_in_graph_mode(stem: str, found: Any) -> None:
    graphs = {name[6:]: value for name, value in found(stem).items() if name.startswith("GRAPH ")}
    assert len(graphs) >= len(FORMULAS[stem]) // 7
    wrong = {}
    for call, result in graphs.items():
        try:
            _check(result, FORMULAS[stem][call])
        except AssertionError as error:
            wrong[call] = str(error)
    assert wrong == {}


@pytest.mark.parametrize("stem", FAMILIES)
def test_every_primitive_has_a_rule_and_every_kernel_shapes_and_a_time(stem: str, done: Any) -> None:
    (run,) = done(stem).runs("profiled")
    (about,) = (json.loads(path.read_text()) for path in run.rglob("profiler_metadata.json"))
    assert about["drynpu"]["unmapped_operators"] == {}
    if find_compiler() is None or version("mindspore") not in KNOWN[Inside.LAUNCHES]:
        return
    assert "unknown_kernels" not in about["drynpu"]
    (details,) = run.rglob("kernel_details.csv")
    with details.open(newline="") as file:
        durations = [row["Duration(us)"] for row in csv.DictReader(file)]
    assert len(durations) > len(FORMULAS[stem]) // 2
    assert "N/A" not in durations
