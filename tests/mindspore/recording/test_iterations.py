"""Each iteration of a graph has its row of the step trace, however a script trains."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from drynpu.analysis import step_phases
from drynpu.products import load_profile

SCRIPT = Path(__file__).with_name("iterating.py")
_TRAINING = {
    "train": [6],
    "fit": [6, 6],
    "sink": [6],
    "sink_size": [4],
    "loss_scale": [6],
    "loop": [5],
    "stop_at_step": [4],
    "stop_at_epoch": [3],
    "jit": [5],
}
ITERATIONS = {**_TRAINING, "predict": [4]}
"""How often each graph runs."""


@pytest.fixture(scope="module", params=[pytest.param("O0", marks=pytest.mark.slow), "O2"])
def runs(scripts: Any, request: pytest.FixtureRequest) -> Mapping[str, Path]:
    run = scripts.simulated(SCRIPT, request.param, environment={"DRYNPU_QUIET": "1"})
    # To callbacks the two batches that an epoch sinks are one step.
    assert [line for line in run.stdout.splitlines() if line.startswith("step ")] == ["step 2", "step 4"]
    return {kind: run.runs(kind)[0] for kind in (*ITERATIONS, "eager", "three_steps")}


def iterations(path: Path) -> pl.DataFrame:
    return load_profile(path).frame("iterations").sort("model_id", "iteration")


@pytest.mark.parametrize("kind", ITERATIONS)
def test_every_run_of_a_graph_is_an_iteration(runs: Mapping[str, Path], kind: str) -> None:
    table = iterations(runs[kind])
    counts = table.group_by("model_id", maintain_order=True).len()["len"].to_list()
    assert counts == ITERATIONS[kind]
    first = table.filter(pl.col("model_id") == table["model_id"][0])
    assert first["end_ns"].is_sorted()
    if kind in _TRAINING:
        assert first.filter(pl.col("forward_ns") < pl.col("backward_ns")).height == len(first)


@pytest.mark.parametrize("kind", ITERATIONS)
def test_every_kernel_belongs_to_an_iteration_and_the_step_page_has_them(runs: Mapping[str, Path], kind: str) -> None:
    profile = load_profile(runs[kind])
    assert step_phases(profile).height == sum(ITERATIONS[kind])
    assert profile.kernels["model_id"].unique().sort().to_list() == sorted(
        iterations(runs[kind])["model_id"].unique().to_list()
    )


def test_a_list_of_steps_without_a_schedule_names_iterations(runs: Mapping[str, Path]) -> None:
    folder = runs["three_steps"] / "ASCEND_PROFILER_OUTPUT"
    assert pl.read_csv(folder / "step_trace_time.csv")["Step"].to_list() == [2, 3, 4]
    chosen, whole = (
        pl.read_csv(runs[kind] / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv") for kind in ("three_steps", "train")
    )
    assert chosen.height * 2 == whole.height


def test_parts_of_a_step_of_pynative_are_no_iterations(runs: Mapping[str, Path]) -> None:
    assert iterations(runs["eager"]).is_empty()
    assert load_profile(runs["eager"]).kernels.height > 0


def test_a_point_that_nothing_is_called_is_said(scripts: Any) -> None:
    text = """
import iterating
iterating.ms.set_context(mode=iterating.ms.GRAPH_MODE, device_target="Ascend")
iterating.profiled(iterating.predict)
"""
    folder = scripts.new_folder()
    (folder / "iterating.py").write_text(SCRIPT.read_text(encoding="utf-8"), encoding="utf-8")
    run = scripts.simulated(text, folder=folder, environment={"PROFILING_FP_START": "Default/no-op0"})
    assert run.stderr.count("No operator of the recording is called 'Default/no-op0'") == 1
