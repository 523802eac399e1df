"""What a cell of a sweep is read from: errors of its ranks, groups of its profiles, means of its steps."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from drynpu import CommandError
from drynpu_sweep._cells import Cell, Measures, _data_group, _last_line, _measure, world_of


def summary(*steps: tuple[float, float, float, float], **more: Any) -> Any:
    """Computing, communication, exposed communication and free time of each step, us."""
    names = ("computing_us", "communication_us", "communication_not_overlapped_us", "free_us")
    frame = pl.DataFrame(steps, schema=dict.fromkeys(names, pl.Float64), orient="row")
    return SimpleNamespace(
        **(
            {"steps": frame, "step_intervals_us": None, "peak_allocated_bytes": None, "peak_reserved_bytes": None}
            | more
        )
    )


def test_measures_are_means_over_the_steps() -> None:
    found = _measure(
        summary(
            (1_000, 700, 300, 50),
            (3_000, 900, 500, 150),
            step_intervals_us=((1_200.0, 1_500.0), (3_000.0, 4_500.0)),
            peak_allocated_bytes=3 * 2**29,
            peak_reserved_bytes=2**31,
        )
    )
    assert found == Measures(
        step_ms=2.5,
        low_ms=2.1,
        high_ms=3.0,
        computing_ms=2.0,
        communication_ms=0.8,
        exposed_ms=0.4,
        free_ms=0.1,
        peak_gib=1.5,
        steps=2,
        reserved_gib=2.0,
    )


def test_what_is_not_known_has_no_number() -> None:
    found = _measure(summary((1_000, 0, 0, 0)))
    assert found is not None
    assert (found.step_ms, found.low_ms, found.high_ms, found.peak_gib) == (1.0, None, None, None)
    assert _measure(summary()) is None


def test_a_row_has_the_grid_first_and_empty_cells_of_a_run_that_failed() -> None:
    row = Cell(values={"batch": "8"}, ranks=(0, 4), world=8, data_parallel=2, error="no").row()
    assert list(row)[:4] == ["batch", "world", "dp", "ranks"]
    assert (row["batch"], row["world"], row["dp"], row["ranks"], row["error"]) == ("8", 8, 2, "0,4", "no")
    assert row["step_ms"] is row["peak_gib"] is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Traceback\n[3] [rank3]: ValueError: too large\nlast words\n", "ValueError: too large"),
        ("torch.OutOfMemoryError: 3 GiB\n[1] KeyError: 'a'\n\n", "KeyError: 'a'"),
        ("only words\n  \n", "only words"),
        ("no Error: in front\nend", "end"),
        ("", ""),
    ],
)
def test_the_error_of_a_cell_is_the_last_exception_or_else_the_last_line(text: str, line: str, tmp_path: Path) -> None:
    errors = tmp_path / "stderr.txt"
    errors.write_text(text)
    assert _last_line(errors) == line


def test_data_parallel_ranks_are_those_of_the_largest_group_of_that_name(tmp_path: Path) -> None:
    assert _data_group(tmp_path) is None
    groups = {"dp": (0, 2), "tp": (0, 1, 2, 3), "data_parallel_group": (0, 2, 4)}
    document = {name: {"group_name": name, "global_ranks": ranks} for name, ranks in groups.items()}
    (tmp_path / "profiler_metadata.json").write_text(json.dumps({"parallel_group_info": document}))
    assert _data_group(tmp_path) == 3
    (tmp_path / "profiler_metadata.json").write_text(json.dumps({"parallel_group_info": {"tp": document["tp"]}}))
    assert _data_group(tmp_path) is None


def test_the_world_is_data_parallel_ranks_times_the_other_sizes() -> None:
    assert world_of({"dp": "3"}, {"tp": 2, "pp": 5, "cp": 1}) == 30
    for text in ("0", "-1", "x", "1.5"):
        with pytest.raises(CommandError, match="is no number of data-parallel ranks"):
            world_of({"dp": text}, {"tp": 2})
