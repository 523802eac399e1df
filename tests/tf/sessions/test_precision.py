"""Precision modes change the types and times of kernels, insert conversions, and leave the numbers alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parent / "precise_sessions.py"
PRODUCTS = 5
"""Two forward, and three backward: the input has no gradient."""


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    return scripts(SCRIPT)


def step(run: Any, mode: str) -> list[dict[str, str]]:
    """Return the kernels of the second step, which is the last run."""
    rows = run.prof(mode).rows("op_summary")
    last = max(int(row["Model ID"]) for row in rows if row["Model ID"].isdecimal())
    found = sorted((row for row in rows if row["Model ID"] == str(last)), key=lambda row: row["Task Start Time(us)"])
    return found[len(found) // 2 :]


def types(run: Any, mode: str, kernel: str) -> set[tuple[str, str]]:
    """Return the types of what kernels of a type take and leave."""
    return {
        (row["Input Data Types"], row["Output Data Types"])
        for row in step(run, mode)
        if row["OP Type"].startswith(kernel)
    }


def casts(run: Any, mode: str) -> list[tuple[str, str]]:
    return [(row["Input Data Types"], row["Output Data Types"]) for row in step(run, mode) if row["OP Type"] == "Cast"]


def test_losses_are_those_of_the_graph_in_every_mode(run: Any) -> None:
    losses = run.printed("losses")
    assert all(found == losses["none"] for found in losses.values())


@pytest.mark.parametrize("mode", ["none", "keep"])
def test_without_reduction_all_kernels_keep_float32(mode: str, run: Any) -> None:
    assert types(run, mode, "MatMul") == {("FLOAT;FLOAT", "FLOAT")}
    assert casts(run, mode) == []


def test_products_are_reduced_and_vectors_keep_their_type(run: Any) -> None:
    assert types(run, "cube", "MatMul") == {("FLOAT16;FLOAT16", "FLOAT16")}
    assert types(run, "cube", "Tanh") == {("FLOAT", "FLOAT"), ("FLOAT;FLOAT", "FLOAT")}
    converted = casts(run, "cube")
    # Into products: the input, two weights, the hidden layer, the gradients of the loss and of Tanh. Out: all results.
    assert converted.count(("FLOAT", "FLOAT16")) == 6
    assert converted.count(("FLOAT16", "FLOAT")) == PRODUCTS


def test_inputs_of_the_cube_alone_are_reduced(run: Any) -> None:
    assert types(run, "inputs", "MatMul") == {("FLOAT16;FLOAT16", "FLOAT")}
    assert set(casts(run, "inputs")) == {("FLOAT", "FLOAT16")}


def test_all_but_updates_of_variables_are_reduced(run: Any) -> None:
    assert types(run, "all", "SoftmaxCrossEntropyWithLogits") == {("FLOAT16;FLOAT16", "FLOAT16;FLOAT16")}
    (momentum,) = types(run, "all", "ApplyMomentum")
    assert "FLOAT16" not in momentum[0]


@pytest.mark.parametrize(("mode", "short"), [("mixed", "FLOAT16"), ("brain", "DT_BF16")])
def test_mixed_precision_refuses_losses_and_updates(mode: str, short: str, run: Any) -> None:
    assert types(run, mode, "MatMul") == {(f"{short};{short}", short)}
    assert types(run, mode, "Tanh") == {(short, short), (f"{short};{short}", short)}
    assert types(run, mode, "SoftmaxCrossEntropyWithLogits") == {("FLOAT;FLOAT", "FLOAT;FLOAT")}
    assert (short, "FLOAT") in casts(run, mode)


def test_a_list_of_the_script_changes_what_is_reduced(run: Any) -> None:
    assert types(run, "listed", "MatMul") == {("FLOAT;FLOAT", "FLOAT")}
    # Without trust Tanh follows what makes its input; its gradient is another operator, which is still trusted.
    assert types(run, "listed", "Tanh") == {("FLOAT", "FLOAT"), ("FLOAT16;FLOAT16", "FLOAT16")}


def test_images_are_reduced_and_statistics_are_not(run: Any) -> None:
    assert types(run, "image", "Conv2D") == {("FLOAT16;FLOAT16", "FLOAT16"), ("FLOAT16;FLOAT16", "FLOAT")}
    ((given, left),) = types(run, "image", "BNTrainingUpdateGrad")
    assert (given.split(";")[:2], set(given.split(";")[2:]), set(left.split(";"))) == (
        ["FLOAT16"] * 2,
        {"FLOAT"},
        {"FLOAT"},
    )
    updates = {row["Op Name"] for row in step(run, "image") if row["OP Type"].startswith("ApplyMomentum")}
    assert len(updates) == 3
    # The filter's gradient is float32 as it comes, so nothing is converted before its update.
    names = [row["OP Type"] for row in step(run, "image")]
    assert names[names.index("Conv2DBackpropFilter") + 1] != "Cast"


def test_reduced_products_take_less_time(run: Any) -> None:
    def total(mode: str) -> float:
        return sum(float(row["Task Duration(us)"]) for row in step(run, mode) if row["OP Type"].startswith("MatMul"))

    assert total("cube") < total("keep")


def test_the_summary_says_that_only_times_are_modelled(run: Any) -> None:
    line = "precision_mode changes types and times of kernels alone: the CPU computes in the types of the graph"
    assert line in run.said
    assert line in (run.prof("cube").path / "profiler_metadata.json").read_text()
    assert line not in (run.prof("keep").path / "profiler_metadata.json").read_text()
