"""Memory of which only the totals of the framework's own pool are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


@pytest.fixture
def totals(hand: Any) -> Any:
    times = hand.BEGIN_NS + np.array([100_000, 200_000, 300_000])
    return np.stack([times, [512, 2_048_000, 1024], [1 << 30] * 3], axis=1)


def test_they_are_the_framework_s_memory_and_there_are_no_allocations(totals: Any, export: Any) -> None:
    session = export(totals=totals, communication=False)
    lines = (session.path / "FRAMEWORK" / "cpu_ms_memory_record_0.txt").read_text().splitlines()
    assert [line.split(",")[1:] for line in lines[1:]] == [
        [str(size), str(1 << 30), str(size)] for size in totals[:, 1].tolist()
    ]
    rows = [row for row in session.rows("memory_record.csv") if row["Component"] == "MindSpore"]
    assert [row["Total Allocated(MB)"] for row in rows] == ["0.0005", "2.0", "0.001"]
    assert "operator_memory.csv" not in session.names


@pytest.mark.parametrize("told", [{"activities": ["NPU"]}, {"profile_memory": False}], ids=["no host", "no memory"])
def test_nothing_is_written_that_was_not_asked_for(told: dict[str, Any], totals: Any, export: Any) -> None:
    session = export(totals=totals, communication=False, told=told)
    assert not list((session.path / "FRAMEWORK").glob("cpu_ms_memory_record_*"))
