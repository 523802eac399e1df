"""The clock of the cores in the database and on the timeline, of changes made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from drynpu.deliverables.frequency.files import db_rows, layers
from drynpu.deliverables.frequency.tables import SCHEMAS
from drynpu.platforms._platform import PlatformFiles
from drynpu.writers.number_text import Writer
from drynpu.writers.trace_json import COMPACT, write_trace


def profile(rows: list[tuple[int, int, int]], begin: int = 100, end: int = 900, *, shown: bool = True) -> Any:
    """Rows are device, time and MHz."""
    (schema,) = SCHEMAS.values()
    frame = pl.DataFrame(rows, schema=["device_id", "time_ns", "mhz"], orient="row").select(schema.names())
    platform = SimpleNamespace(files=PlatformFiles(frequency_layer=shown))
    return SimpleNamespace(
        pid=4321, begin_ns=begin, end_ns=end, platform=platform, frame=lambda name: frame.cast(schema)
    )


def clock(found: Any) -> list[tuple[int, int, int]]:
    ((_, rows),) = db_rows(found)
    return [(row["deviceId"], row["timestampNs"], row["freq"]) for row in rows.to_dicts()]


def test_the_clock_at_the_begin_is_what_the_last_change_before_had_set() -> None:
    rows = [(0, 40, 1000), (0, 100, 1100), (0, 500, 1200), (1, 300, 1500), (1, 700, 1600)]
    assert clock(profile(rows)) == [
        (0, 100, 1100), (0, 500, 1200), (0, 900, 1200), (1, 100, 1500), (1, 300, 1500), (1, 700, 1600), (1, 900, 1600),
    ]  # fmt: skip
    assert clock(profile(rows[:1])) == [(0, 100, 1000), (0, 900, 1000)]


def test_an_end_that_is_not_known_has_no_clock() -> None:
    assert clock(profile([(0, 40, 1000), (0, 500, 1200)], end=0)) == [(0, 100, 1000), (0, 500, 1200)]
    assert clock(profile([(0, 40, 1000), (0, 500, 1200)], begin=0)) == [(0, 40, 1000), (0, 500, 1200)]
    assert list(db_rows(profile([(0, 40, 1000)], shown=False))) == []


@pytest.mark.parametrize(("writer", "text"), [(Writer.NATIVE, '{"MHz":1200}'), (Writer.PYTHON, '{"MHz":1200.0}')])
def test_one_writer_shows_whole_numbers(tmp_path: Path, writer: Writer, text: str) -> None:
    found = profile([(0, 500_000, 1200)])
    assert write_trace(tmp_path / "t.json", layers(found, COMPACT, writer), COMPACT)
    content = (tmp_path / "t.json").read_text(encoding="utf-8")
    assert text in content
    assert [event["ts"] for event in json.loads(content) if event["ph"] == "C"] == ["500.000"]
    assert list(layers(profile([(0, 5, 12)], shown=False), COMPACT, writer)) == []
