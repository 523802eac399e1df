"""Long tables lie in files and are read in parts, and are the same tables."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal, assert_series_equal
from tests.tiny_benchmarks import definitions_of

from drynpu.products import export_msprof, export_torch, load_profile
from drynpu.tables import _column_file
from drynpu.tables._column_file import ColumnFile, KeptColumns, RowFile, Spool
from drynpu.tables.columns import order_by
from drynpu.tables.intervals import OpenIntervals
from drynpu.tables.stored import stored

FRAME = pl.DataFrame(
    {
        "small": pl.Series([3, None, 255, 0, 7], dtype=pl.UInt8),
        "time": pl.Series([2**60, -1, 0, 5, 2**60 + 1], dtype=pl.Int64),
        "share": pl.Series([0.5, None, float("nan"), -1e300, 2.0]),
        "known": pl.Series([True, None, False, True, True]),
    }
)


@pytest.fixture
def filed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tables of more than two rows lie in files."""
    monkeypatch.setattr(_column_file, "FILED_ROWS", 2)


def kept(frame: pl.DataFrame) -> pl.DataFrame | ColumnFile:
    columns = KeptColumns(frame.height)
    for column in frame:
        columns.add(column)
    return columns.kept()


def test_columns_in_a_file_are_the_same(filed: None) -> None:
    file = kept(FRAME)
    assert isinstance(file, ColumnFile)
    assert file.schema == FRAME.schema
    for column in FRAME:
        assert_series_equal(file.read(column.name), column)
        assert_series_equal(file.read(column.name, 1, 3), column.slice(1, 3))
        assert_series_equal(file.read(column.name, 4, 9), column.slice(4))
        assert file.read(column.name, 5, 1).is_empty()


def test_columns_without_a_fixed_size_keep_all_in_memory(filed: None) -> None:
    frame = FRAME.with_columns(pl.Series("text", ["a", "", None, "bb", "c"]))
    found = kept(frame)
    assert isinstance(found, pl.DataFrame)
    assert_frame_equal(found, frame)


def test_a_full_folder_for_temporary_files_keeps_all_in_memory(filed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.pwrite", full)
    found = kept(FRAME)
    assert isinstance(found, pl.DataFrame)
    assert_frame_equal(found, FRAME)
    rows = RowFile(np.dtype([("a", "<i4"), ("b", "u1")]))
    for number in range(5):
        rows.append(np.array([(number, number)], rows.kind))
    assert rows.gather(np.array([3, 1]))["a"].tolist() == [3, 1]


def test_a_table_in_a_file_gives_rows_slices_and_orders(filed: None) -> None:
    table = stored(FRAME).filed()
    assert_frame_equal(table.slice(1, 2, "time", "known"), FRAME.select("time", "known").slice(1, 2))
    assert_frame_equal(table.gather(pl.Series([4, None, 2, 4])), FRAME[[4, None, 2, 4]])
    assert_frame_equal(table.gather(pl.Series([1, 2, 3])), FRAME[1:4])
    assert_frame_equal(table.ordered("time").frame(), FRAME.sort("time"))
    assert_frame_equal(table.without("share").frame(), FRAME.drop("share"))


def test_frames_of_other_columns_come_one_after_the_other(filed: None) -> None:
    spool = Spool()
    for frame in (FRAME.select("small"), FRAME.select("small", "time"), FRAME.select("time")):
        spool.append(frame)
    assert spool.height == 15
    assert spool.column("small", pl.Int64()).to_list() == [*FRAME["small"].to_list() * 2, *[None] * 5]
    assert spool.column("time", pl.Int64()).to_list() == [*[None] * 5, *FRAME["time"].to_list() * 2]


def test_rows_are_found_in_the_file_and_in_what_came_since(filed: None) -> None:
    rows = RowFile(np.dtype([("a", "<i4")]))
    for part in ([0, 1, 2, 3], [4], [5, 6]):
        rows.append(np.array([(number,) for number in part], rows.kind))
    wanted = np.array([5, 0, 6, 3, 5])
    assert rows.gather(wanted)["a"].tolist() == wanted.tolist()
    assert not len(rows.gather(np.zeros(0, np.int64)))


def test_an_order_by_the_second_key_where_the_first_is_equal() -> None:
    first, second = np.array([1, 1, 2, 2, 2]), np.array([5, 4, 0, 9, 9])
    order = order_by(first, second.__getitem__)
    assert order is not None
    assert order.tolist() == [1, 0, 2, 3, 4]
    assert order_by(first, np.sort(second).__getitem__) is None
    assert order_by(np.array([3, 1, 2])).tolist() == [1, 2, 0]  # type: ignore[union-attr]


def test_times_too_far_apart_for_one_number_are_found_as_well() -> None:
    starts, ends = np.array([-(2**61), 0, 5]), np.array([2**61, 9, 7])
    calls = OpenIntervals.from_bounds(starts, ends, np.array([1, 1, 1]))
    assert calls.times is not None
    at = np.array([-(2**61) - 1, -(2**61), -3, 0, 6, 8, 10, 2**61, 2**61 + 1])
    assert calls.around(at, np.ones(9, np.int64)).tolist() == [-1, 0, 0, 1, 2, 1, 0, 0, -1]
    assert calls.around(at, np.full(9, 2)).tolist() == [-1] * 9


def deliverables(session: Path, out: Path) -> dict[str, bytes]:
    """Return what the toolkit and PyTorch's profiler deliver of a session, by name."""
    profile = load_profile(session)
    moment = datetime(2026, 1, 2, 3, 4, 5)
    written = [*export_msprof(profile, out, moment), *export_torch(profile)]
    return {path.name: path.read_bytes() for path in written}


@pytest.mark.slow
def test_a_long_recording_gives_the_files_of_a_short_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes parts, files and several slices in a long recording takes them here, and nothing shows."""
    session = definitions_of("bench_million.py")
    (tmp_path / "session").mkdir()
    session["write"](tmp_path / "session", 1500)
    session["repeat"](tmp_path / "session", 3)
    expected = deliverables(tmp_path / "session", tmp_path / "short")
    monkeypatch.setattr(_column_file, "FILED_ROWS", 100)
    monkeypatch.setattr("drynpu.tables.stored.PART_ROWS", 700)
    monkeypatch.setattr("drynpu.raw._reader.PART_BYTES", 30_000)
    monkeypatch.setattr("drynpu.products.torch._framework_tables.PART_BYTES", 50_000)
    profile = load_profile(tmp_path / "session")
    assert profile.table("kernels").height == 4500
    assert isinstance(profile.table("kernels")._numbers, ColumnFile)
    found = deliverables(tmp_path / "session", tmp_path / "long")
    assert list(found) == list(expected)
    assert len(found) > 6
    for name, content in expected.items():
        assert found[name] == content, name
