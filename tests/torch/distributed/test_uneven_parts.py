"""Parts that differ in size from rank to rank are gathered and scattered, and shown as HCCL's operators for them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("uneven_script.py")
ROWS = (3, 1, 2)


@pytest.fixture(scope="module")
def run(run_ranks: Callable[..., Any]) -> Any:
    return run_ranks(SCRIPT, ranks=3)


def rows(count: int, first: float) -> list[list[float]]:
    return [[first + 2 * row, first + 2 * row + 1] for row in range(count)]


def test_what_comes_is_what_the_others_gave(run: Any) -> None:
    gathered = [rows(count, 100.0 * rank) for rank, count in enumerate(ROWS)]
    for rank in range(3):
        results = json.loads((run.folder / f"results_{rank}.json").read_text())
        assert results["gathered"] == gathered
        assert results["whole"] == [row for part in gathered for row in part]
        assert results["largest"] == rows(ROWS[rank], 10.0 * rank + 2), "rank 2 gives the most"
        # 10 * rank + 0, 1 and 2, and thrice what grows with the place.
        first = rows(ROWS[rank], 0.0)
        assert results["summed"] == [[3 * (10.0 * rank + 1 + value) for value in row] for row in first]
        assert results["kept"] == [float(rank), 23.0 + rank], "what is given stays as it is"
        assert results["even"] == [0.0, 1.0, 2.0]
        assert results["host"] is None
        assert "invalid tensor size" in results["gloo"].lower(), "a plain group of gloo refuses them, as without an npu"


def test_they_are_operators_of_their_own(run: Any, by_rank: Callable[..., Any], operators: Callable[..., Any]) -> None:
    kinds = ["allGatherV", "reduceScatterV", "allGatherV", "reduceScatterV", "allGather", "alltoallv"]
    for output in by_rank(run, "out"):
        assert [found.kind for found in operators(output)] == kinds


def test_marks_name_and_count_as_torch_npu_does(run: Any, by_rank: Callable[..., Any]) -> None:
    for rank, output in enumerate(by_rank(run, "out")):
        (path,) = output.prof.glob("mindstudio_profiler_output/msprof_tx_*.csv")
        with path.open(encoding="utf-8", newline="") as stream:
            marks = [json.loads(row["message"]) for row in csv.DictReader(stream) if row["domain"] == "communication"]
        elements = str(2 * ROWS[rank])
        assert [(mark["opName"], mark["count"]) for mark in marks] == [
            ("HcclAllGatherV", elements),
            ("HcclReduceScatterV", elements),
            ("HcclAllGatherV", elements),
            ("HcclReduceScatterV", elements),
            ("HcclAllGather", "4"),
            ("HcclAlltoAllV", "3"),
        ]
