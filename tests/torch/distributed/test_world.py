"""One rank of a job without its peers records the collectives that it records with them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent / "world_script.py"
PARALLEL = Path(__file__).parent / "parallel_script.py"
GPT = Path(__file__).parents[3] / "examples" / "torch" / "train_gpt_parallel.py"
ALONE = (sys.executable, "-m", "drynpu", "run", "--world", "4", "--ranks", "1")
QUIET = {"OMP_NUM_THREADS": "1", "DRYNPU_QUIET": "1"}


@pytest.fixture(scope="module")
def both(scripts: Any, run_ranks: Callable[..., Any]) -> tuple[Any, Any]:
    """Return runs of the script on four ranks and on one of four."""
    alone = scripts(SCRIPT, "out", program=ALONE, environment=QUIET)
    return run_ranks(SCRIPT, "out", ranks=4), alone


@pytest.fixture(scope="module")
def gpt(scripts: Any, run_ranks: Callable[..., Any]) -> tuple[Any, Any]:
    arguments = ("--tp", "2", "--pp", "2", "--output", "out")
    return run_ranks(GPT, *arguments, ranks=4), scripts(GPT, *arguments, program=ALONE, environment=QUIET)


@pytest.fixture(scope="module")
def parallel(scripts: Any, run_ranks: Callable[..., Any]) -> tuple[Any, Any]:
    """Return expert and context parallel training on four ranks and on one of four."""
    alone = scripts(PARALLEL, "out", program=ALONE, environment=QUIET)
    return run_ranks(PARALLEL, "out", ranks=4), alone


def described(output: Any, operators: Callable[[Any], list[Any]]) -> list[tuple[Any, ...]]:
    """Return name with group and number, count, type and size of the group of each collective, in order."""
    return [(each.name, *(each.args[key] for key in ("count", "data_type", "rank_size"))) for each in operators(output)]


def assert_same(runs: tuple[Any, Any], below: str, by_rank: Any, operators: Any) -> None:
    real, alone = by_rank(runs[0], below)[1], by_rank(runs[1], below)[0]
    expected = described(real, operators)
    assert described(alone, operators) == expected != []
    groups = [output.document("profiler_metadata.json")["parallel_group_info"] for output in (real, alone)]
    assert groups[0] == groups[1]


@pytest.mark.parametrize("part", ["ddp", "fsdp2"])
def test_collectives_are_those_of_a_real_run(both: Any, part: str, by_rank: Any, operators: Any) -> None:
    assert_same(both, f"out/{part}", by_rank, operators)


def test_those_of_tensor_and_pipeline_parallel_training_too(gpt: Any, by_rank: Any, operators: Any) -> None:
    assert_same(gpt, "out", by_rank, operators)


@pytest.mark.parametrize(
    ("part", "kinds"),
    [
        ("experts", {"alltoall", "alltoallv", "allReduce"}),
        ("experts_pairs", {"alltoall", "alltoallv", "allReduce"}),
        ("ring", {"batchSendRecv", "allReduce"}),
        ("gathered", {"allGather", "reduceScatter", "allReduce"}),
    ],
)
def test_those_of_expert_and_context_parallel_training_too(
    parallel: Any, part: str, kinds: set[str], by_rank: Any, operators: Any
) -> None:
    assert_same(parallel, f"out/{part}", by_rank, operators)
    found = operators(by_rank(parallel[1], f"out/{part}")[0])
    assert {each.name.split("_")[1] for each in found} == kinds
    exchanged = [each.args["count"] for each in found if "alltoallv" in each.name]
    assert bool(exchanged) == part.startswith("experts")


def test_equal_ranks_get_the_values_of_a_real_run(both: Any) -> None:
    """All ranks of the script hold the same, which is what a rank without peers assumes."""
    real, alone = (next(line for line in run.stdout.splitlines() if line.startswith("1: ")) for run in both)
    assert alone.replace("'AVG': [1.0, 2.0, 3.0, 4.0], ", "") == real


def test_assumed_values_are_counted_and_waits_labelled(both: Any, by_rank: Any) -> None:
    document = by_rank(both[1], "out/calls")[0].document("profiler_metadata.json")["drynpu"]
    (line,) = [note for note in document["run_notes"] if "without the others" in note]
    assert line.startswith("rank 1 of 4 ran without the others: ")
    # FSDP2's two steps of three layers, and the script's own.
    assert "reduce_scatter_base 7" in line
    assert any(note.startswith("waits for ranks that did not run are modelled") for note in document["notes"])


def test_a_rank_of_a_large_world_runs_at_full_size(scripts: Any) -> None:
    program = (sys.executable, "-m", "drynpu", "run", "--world", "1024", "--ranks", "17", "--no-compute")
    sizes = ("--tp", "8", "--pp", "8", "--width", "8192", "--heads", "64", "--layers", "16", "--words", "128000")
    more = ("--tokens", "4096", "--batch", "1", "--bf16", "--output", "out")
    run = scripts(GPT, *sizes, *more, program=program, environment=QUIET)
    metadata = run.output("out").document("profiler_metadata.json")
    groups = {group["group_name"]: group["global_ranks"] for group in metadata["parallel_group_info"].values()}
    assert groups["tp"] == list(range(16, 24))
    assert groups["dp"] == list(range(1, 128, 8))
    assert groups["pp"] == list(range(17, 1024, 128))
    assert len(groups["default_group"]) == 1024


def test_options_that_do_not_fit_are_refused(scripts: Any) -> None:
    for options, message in (
        (("--ranks", "3"), "go with --world"),
        (("--world", "4", "--ranks", "4"), "rank 4 is not in a world of 4"),
        (("--world", "4", "--ranks", "a"), "'a' is no rank"),
        (("--world", "4", "--straggler", "1"), "'1' is no straggler"),
    ):
        run = scripts(GPT, program=(sys.executable, "-m", "drynpu", "run", *options), status=2)
        assert message in run.stderr
