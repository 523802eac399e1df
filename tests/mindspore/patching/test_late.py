"""Profilers that are made after the network was compiled: shapes, and memory in both modes."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def late(scripts: Any) -> Any:
    return scripts.simulated(HERE / "late.py")


def rows(late: Any, below: str, name: str) -> list[dict[str, str]]:
    (run,) = late.runs(below)
    with (run / "ASCEND_PROFILER_OUTPUT" / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("below", ["graph", "pynative"])
def test_the_products_have_their_shapes(late: Any, below: str) -> None:
    products = [row["Input Shapes"] for row in rows(late, below, "kernel_details.csv") if row["Type"] == "MatMulV2"]
    assert len(products) == 2 * 5
    assert sum(shapes == '"16,32;64,32"' for shapes in products) == 2


def test_a_graph_has_single_allocations_and_pynative_has_totals(late: Any) -> None:
    assert len(rows(late, "graph", "operator_memory.csv")) > 10
    (run,) = late.runs("pynative")
    assert not (run / "ASCEND_PROFILER_OUTPUT" / "operator_memory.csv").exists()
    for below in ("graph", "pynative"):
        totals = [row for row in rows(late, below, "memory_record.csv") if row["Component"] == "MindSpore"]
        assert len(totals) > 10
        assert max(float(row["Total Allocated(MB)"]) for row in totals) > 0
    told = json.loads((run / "profiler_metadata.json").read_text())["drynpu"]
    assert any("MindSpore's pool on the CPU" in note for note in told["notes"])
    assert not any("allocations" in simulated for simulated in told["simulated"])


def test_the_summary_has_the_peak(late: Any) -> None:
    assert "Device memory: peak " in late.stdout
