"""The layer Overlap Analysis, byte by byte where the two writers differ (cann_msprof.md 4.5)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from drynpu.analysis import OVERLAP
from drynpu.deliverables.overlap import files
from drynpu.tables.stored import stored
from drynpu.writers.number_text import Writer
from drynpu.writers.trace_json import COMPACT, write_trace


@pytest.mark.parametrize(("writer", "tail"), [(Writer.NATIVE, ',"args":{}}]'), (Writer.PYTHON, '"ph":"X"}]')])
def test_overlap_names_all_threads_and_has_arguments_by_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: Writer, tail: str
) -> None:
    pieces = pl.DataFrame([(1, "Free", 1_000_000, 1_500_000)], schema=OVERLAP, orient="row")
    monkeypatch.setattr(files, "overlap_table", lambda profile: stored(pieces))
    profile: Any = type("Process", (), {"pid": 4321})
    assert write_trace(tmp_path / "t.json", files.layers(profile, COMPACT, writer), COMPACT)
    found = (tmp_path / "t.json").read_text(encoding="utf-8")
    events = json.loads(found)
    assert [event["args"]["name"] for event in events if event["name"] == "thread_name"] == [
        "Computing",
        "Communication",
        "Communication(Not Overlapped)",
        "Free",
    ]
    assert events[-1]["pid"] == 4321 << 10 | 31 << 5 | 1
    assert (events[-1]["tid"], events[-1]["dur"]) == (3, 500.0)
    assert found.endswith(tail)
    ((_, rows),) = files.db_rows(profile)
    assert rows.frame().rows() == [(0, 1, 1_000_000, 1_500_000, 3)]
