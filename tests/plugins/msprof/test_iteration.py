"""One iteration of a profile alone, and what is said when there is none."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import datetime
from typing import Any

import polars as pl
import pytest
from attrs import evolve

from drynpu import CommandError
from drynpu.analysis import iteration_trace
from drynpu.products import export_msprof
from drynpu.tables import NO_MODEL, Profile
from drynpu_msprof._iteration import select_iteration

Record = Callable[..., Profile]
PER_ITERATION = 5


def test_iterations_partition_the_kernels_of_the_model(record: Record, all_reduces: tuple[Any, ...]) -> None:
    profile = record(recording={"collectives": all_reduces})
    parts = [select_iteration(profile, 7, number) for number in (1, 2, 3)]
    assert [part.kernels.height for part in parts] == [PER_ITERATION] * 3
    own = profile.kernels.filter(pl.col("model_id") == 7)
    assert pl.concat([part.kernels for part in parts]).equals(own)
    tasks = profile.tasks.filter(pl.col("model_id") == 7)
    assert sum(part.tasks.height for part in parts) == tasks.height
    assert [part.communication_ops.height for part in parts] == [3, 3, 3]
    for number, part in enumerate(parts, start=1):
        assert part.frame("iterations")["iteration"].to_list() == [number]
        assert set(part.frame("reduces")["iteration"]) == {number}
        assert part.api.filter(pl.col("level") == "model")["name"].to_list() == ["ModelExecute"]
        assert set(part.tasks["connection_id"]) <= set(part.api["connection_id"])
    for first, second in itertools.pairwise(parts):
        assert not set(first.api["connection_id"]) & set(second.api["connection_id"])


def test_what_was_waited_for_stays_known(record: Record) -> None:
    profile = record()
    whole = iteration_trace(profile)
    assert iteration_trace(select_iteration(profile, 7, 2)).row(0) == whole.row(1)


def test_one_iteration_can_be_exported(record: Record) -> None:
    names = {
        path.name.split("_20")[0] for path in export_msprof(select_iteration(record(), 7, 2), now=datetime(2026, 1, 1))
    }
    assert {"op_summary", "step_trace", "msprof"} <= names


def test_a_step_is_chosen_by_its_times(record: Record, graph_operators: Callable[[], Any]) -> None:
    operators = graph_operators()
    steps = evolve(operators, names=(*operators.names[:-1], "ProfilerStep#5"))
    profile = record(graphs=(), recording={"operators": steps, "dataset": ()}, framework="neutral")
    (step,) = profile.frame("iterations").rows(named=True)
    chosen = select_iteration(profile, NO_MODEL, 5)
    inside = profile.kernels.filter(pl.col("start_ns").is_between(step["start_ns"], step["end_ns"]))
    assert chosen.kernels.equals(inside)
    assert chosen.frame("iterations").height == 1


@pytest.mark.parametrize(
    ("model", "iteration", "text", "code"),
    [
        (
            7,
            9,
            "The exported iteration 9-9 is invalid for model id 7. Please enter a valid iteration within 1-3.",
            9,
        ),
        (
            7,
            0,
            "The exported iteration 0-0 is invalid for model id 7. Please enter a valid iteration within 1-3.",
            9,
        ),
        (8, 1, "The model id 8 is invalid. Must select from {7}. Please enter a valid model id.", 1),
    ],
)
def test_what_does_not_exist_is_refused(record: Record, model: int, iteration: int, text: str, code: int) -> None:
    with pytest.raises(CommandError) as caught:
        select_iteration(record(), model, iteration)
    assert (str(caught.value), caught.value.exit_code) == (text, code)


def test_single_operators_have_no_iterations(record: Record) -> None:
    with pytest.raises(CommandError, match="single op mode"):
        select_iteration(record(graphs=()), 7, 1)
