"""Every call of docs/lists/mindspore-calls.yaml: its numbers, its gradients and its kernel, in both modes."""

from __future__ import annotations

import functools
import pickle
import re
import runpy
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

_HERE = Path(__file__).parent
_FORMULAS = runpy.run_path(str(_HERE / "formulas.py"))
gradient_of, value_of = _FORMULAS["gradient_of"], _FORMULAS["value_of"]
inputs: Callable[[], dict[str, Any]] = runpy.run_path(str(_HERE / "inputs.py"))["inputs"]
CALLS = _HERE.parents[3] / "docs" / "lists" / "mindspore-calls.yaml"
FAMILIES: dict[str, list[dict[str, Any]]] = yaml.safe_load(CALLS.read_text())

# All calls of a mode run for the first of its tests: a minute and a half on a calm core.
pytestmark = pytest.mark.slow


def name_of(case: dict[str, Any]) -> str:
    """Return what run_calls.py calls a case."""
    return f"{case['cell']}: {case['call']}" if "cell" in case else str(case["call"])


@functools.cache
def expected_gradient(formula: str, name: str) -> Any:
    """Return the gradient of a formula, which both modes are compared with."""
    return gradient_of(formula, inputs(), name)


MODES = ("PYNATIVE", "GRAPH")
ONE_OF = {"PYNATIVE": 2, "GRAPH": 12}
"""How many calls one stands for in `make test-all`; the others are exhaustive. To compile a graph takes a second."""


def cases_of(mode: str, family: str) -> list[dict[str, Any]]:
    """Return the calls that run_calls.py makes of a family, if it makes all."""
    return [case for case in FAMILIES[family] if mode in case.get("modes", MODES)]


CASES = [
    pytest.param(
        *(mode, family, case),
        id=f"{mode}-{name_of(case)}",
        marks=pytest.mark.exhaustive if number % ONE_OF[mode] else (),
    )
    for mode in MODES
    for family in FAMILIES
    for number, case in enumerate(cases_of(mode, family))
]


@pytest.fixture(scope="session")
def every(request: pytest.FixtureRequest) -> dict[str, int]:
    """Return by mode how many calls stand for one in this session."""
    exhaustive = any(
        item.path == Path(__file__) and item.get_closest_marker("exhaustive") for item in request.session.items
    )
    return dict.fromkeys(MODES, 1) if exhaustive else ONE_OF


@pytest.fixture(scope="session")
def families(scripts: Any, every: dict[str, int]) -> Callable[[str, str], tuple[dict[str, Any], pl.DataFrame]]:
    """Return what the calls of a family gave, and their kernels; all families of a mode run in one process."""

    @functools.cache
    def run(mode: str) -> Any:
        arguments = (str(CALLS), mode, str(every[mode]), "found.pickle")
        try:
            return scripts.simulated(_HERE / "run_calls.py", *arguments, timeout_s=800)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            return error  # for every test: it is not tried again

    def of_family(mode: str, family: str) -> tuple[dict[str, Any], pl.DataFrame]:
        done = run(mode)
        assert not isinstance(done, Exception), done
        (folder,) = done.runs("profiled")
        kernels = pl.read_csv(folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv", infer_schema=False)
        results = pickle.loads((done.folder / "found.pickle").read_bytes())
        return results[family], kernels.filter(pl.col("Step ID") == str(list(results).index(family)))

    return functools.cache(of_family)


@pytest.mark.parametrize(("mode", "family", "case"), CASES)
def test_a_call_computes_what_the_formula_says(mode: str, family: str, case: dict[str, Any], families: Any) -> None:
    result = families(mode, family)[0][name_of(case)]
    assert not isinstance(result, str), result
    value, gradients = result
    arrays = inputs()
    expected = np.asarray(value_of(case["numpy"], arrays))
    assert value.shape == expected.shape
    loose = case.get("tolerance", 0)
    np.testing.assert_allclose(value, expected, rtol=loose or 2e-4, atol=loose or 2e-5)
    names = [n for n in dict.fromkeys(re.findall(r"(?<![\w.'])\w+", case["call"])) if n in arrays]
    wanted = case.get("grad", [name for name in names if arrays[name].dtype.kind == "f"])
    assert len(gradients) == len(wanted)
    for name, gradient in zip(wanted, gradients, strict=True):
        right = expected_gradient(case["numpy"], name)
        np.testing.assert_allclose(gradient, right, rtol=loose or 1e-3, atol=loose or 1e-4)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("mode", MODES)
def test_a_primitive_is_one_kernel(mode: str, family: str, families: Any, every: dict[str, int]) -> None:
    _, kernels = families(mode, family)
    names = kernels["Name"].to_list()
    for case in cases_of(mode, family)[:: every[mode]]:
        if mode in case.get("launched", MODES):
            for kernel in (case[key] for key in ("kernel", "gradient") if key in case):
                shown = re.compile(rf"(^|[/:]){kernel}(-op\d+)?(/|$)")
                assert any(map(shown.search, names)), kernel
