"""Long tables are kept narrow, and readers see the dtypes of the schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.tiny_benchmarks import definitions_of

from drynpu.kernels import Allocations
from drynpu.options import Clock, ProfilingRequest, Switches
from drynpu.platforms import load_chip
from drynpu.products import load_profile
from drynpu.recorder import Setup, write_recording
from drynpu.simulate import Destination
from drynpu.simulate import Recording as SessionRecording
from drynpu.tables import API, HOST_OPS, KERNELS, QUEUE, TASKS
from drynpu.tables.launches import Launches
from drynpu.tables.stored import Gathered, Stored, Texts, coded, narrow, stored

MOST_BYTES = 600
"""For a kernel with counters, its task, its operator, two sides of the queue and four calls; 460 when it was set."""

SCHEMA = pl.Schema({"time_ns": pl.Int64, "name": pl.String, "kind": pl.String, "size": pl.Int64, "known": pl.Boolean})
ROWS = pl.DataFrame(
    {
        "time_ns": [2**60, 2**60 + 1, 2**60],
        "name": ["b", "a", "b"],
        "kind": ["", "x", ""],
        "size": [7, -1, None],
        "known": [True, False, None],
    },
    schema=SCHEMA,
)


def table() -> Stored:
    codes = pl.Series([0, 1, 0], dtype=pl.UInt8)
    columns: dict[str, Any] = {
        "time_ns": ROWS["time_ns"],
        "name": Texts(codes, pl.Series(["b", "a"])),
        "kind": Texts(codes, pl.Series(["", "x"])),
        "size": ROWS["size"],
        "known": ROWS["known"],
    }
    return Stored.from_columns(SCHEMA, columns)


def test_a_kept_table_is_the_table_again() -> None:
    kept = table()
    assert kept.height == 3
    assert_frame_equal(kept.frame(), ROWS)
    assert_frame_equal(pl.DataFrame([kept.column(name) for name in SCHEMA]), ROWS)
    # Texts that go together have their codes once, and numbers the width that they need.
    assert dict(kept.numbers.schema) == {
        "time_ns": pl.Int64,
        "name": pl.UInt8,
        "size": pl.Int8,
        "known": pl.Boolean,
    }


def test_rows_are_taken_and_ordered() -> None:
    kept = table()
    gathered = kept.gather(pl.Series([1, None], dtype=pl.UInt32))
    assert gathered.rows() == [(2**60 + 1, "a", "x", -1, False), (None,) * 5]
    # As many rows, in order, as the stretch from the first to the last has.
    assert kept.gather(pl.Series([0, 0, 2]), "size")["size"].to_list() == [7, 7, None]
    assert kept.ordered("time_ns").frame()["size"].to_list() == [7, None, -1]
    both = kept.ordered("time_ns", "size", descending=(True, False))
    assert both.frame()["name"].to_list() == ["a", "b", "b"]


def test_rows_in_order_of_their_first_column_are_ordered_by_the_second() -> None:
    rows = pl.DataFrame({"time_ns": [1, 1, 2], "size": [7, -1, 0]})
    assert stored(rows).ordered("time_ns", "size").frame()["size"].to_list() == [-1, 7, 0]
    assert stored(rows).ordered("time_ns").frame()["size"].to_list() == [7, -1, 0]


def test_texts_as_categories_are_the_same_texts() -> None:
    compact = table().compact("name", "size")
    assert compact.schema["name"] == pl.Categorical
    assert_frame_equal(compact.cast({"name": pl.String}), ROWS.select("name", "size"))
    assert_frame_equal(stored(ROWS).compact().cast({"name": pl.String, "kind": pl.String}), ROWS)


def test_one_value_stands_for_all_rows() -> None:
    kept = Stored.from_columns(
        pl.Schema({"pid": pl.Int64, "of": pl.String, "at": pl.Int64}), {"pid": 9, "of": "x", "at": np.arange(2)}
    )
    assert kept.frame().rows() == [(9, "x", 0), (9, "x", 1)]


def test_numbers_are_kept_as_the_schema_says_however_they_are_given() -> None:
    schema = pl.Schema({"count": pl.Int64, "share": pl.Float64, "size": pl.Int64, "many": pl.Int64})
    kept = Stored.from_columns(
        schema,
        {
            "count": np.array([7.0, 300.0]),
            "share": np.array([1, 2], np.uint8),
            "size": np.array([5, -6], np.int16),
            "many": np.array([1, 2**40]),
        },
    )
    assert kept.frame().schema == schema
    assert kept.frame().rows() == [(7, 1.0, 5, 1), (300, 2.0, -6, 2**40)]
    assert list(kept.numbers.schema.values()) == [pl.UInt16, pl.Float64, pl.Int8, pl.Int64]


def test_parts_become_one_table_with_the_words_of_all() -> None:
    gathered = Gathered(SCHEMA)
    parts = [ROWS, ROWS.head(0), ROWS.with_columns(pl.lit("c").alias("name"), pl.lit(None, pl.String).alias("kind"))]
    for part in parts:
        gathered.append(part)
    assert_frame_equal(gathered.table().frame(), pl.concat(parts))
    assert_frame_equal(Gathered(SCHEMA).table().frame(), ROWS.head(0))


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([0, 255], pl.UInt8),
        ([0, 256], pl.UInt16),
        ([0, 2**32 - 1], pl.UInt32),
        ([0, 2**32], pl.Int64),
        ([-128, 127], pl.Int8),
        ([-1, 128], pl.Int16),
        ([-(2**31), 0], pl.Int32),
        ([-1, 2**31], pl.Int64),
        ([None, None], pl.UInt8),
        ([], pl.UInt8),
    ],
)
def test_numbers_take_the_fewest_bytes_that_hold_them(values: list[int | None], dtype: pl.DataType) -> None:
    kept = narrow(pl.Series(values, dtype=pl.Int64))
    assert kept.dtype == dtype
    assert kept.cast(pl.Int64).to_list() == values


def test_distinct_values_are_asked_for_once() -> None:
    asked: list[int] = []

    def word(value: int) -> str:
        asked.append(value)
        return f"<{value}>"

    texts = coded(np.array([2**63 + 1, 5, 2**63 + 1], np.uint64), word)
    assert texts.series().to_list() == [f"<{2**63 + 1}>", "<5>", f"<{2**63 + 1}>"]
    assert sorted(asked) == [5, 2**63 + 1]
    assert texts.codes.dtype == pl.UInt8


def test_tasks_find_the_launch_of_the_same_occurrence() -> None:
    kept = Stored.from_columns(pl.Schema({"node": pl.Int64}), {"node": np.arange(4)})
    launched = Launches(np.array([7, 9, 7, 7]), np.array([0, 0, 1, 2]), kept)
    found = launched.rows(np.array([7, 7, 9, 9, 8, 10, 7]), np.array([2, 0, 0, 1, 0, 0, 3]))
    assert found.tolist() == [3, 0, 1, -1, -1, -1, -1]
    nothing = Launches(np.zeros(0, np.int64), np.zeros(0, np.int64), kept)
    assert nothing.rows(np.array([7]), np.array([0])).tolist() == [-1]


def test_a_session_takes_few_bytes_for_each_kernel(tmp_path: Path) -> None:
    """Texts as such would add 560 bytes to every kernel and whole numbers of 8 bytes 240: nobody would see it here."""
    count = 4000
    session = definitions_of("bench_million.py")
    table = session["operators"](count)
    write_recording(
        SessionRecording(
            operators=table,
            allocations=Allocations.empty(),
            begin_ns=session["BEGIN_NS"],
            end_ns=int(table.end_ns[-1]) + 10_000,
        ),
        Destination(directory=tmp_path, framework="torch", pid=session["PID"]),
        Setup(
            request=ProfilingRequest(switches=Switches(record_shapes=True)),
            chip=load_chip("910B2"),
            clock=Clock.PROJECTED,
            seed=0,
            anchors=session["ANCHORS"],
            plan=session["plan"],
        ),
    )
    profile = load_profile(tmp_path)
    assert profile.kernels.height == count
    assert profile.api.height == 4 * count
    kept = sum(column.estimated_size() for table in profile._long.values() for column in table.numbers)
    assert kept / count < MOST_BYTES
    schemas = {"host_ops": HOST_OPS, "queue": QUEUE, "api": API, "tasks": TASKS}
    for name, schema in schemas.items():
        assert getattr(profile, name).schema == schema
        texts = {column for column, dtype in schema.items() if dtype == pl.String}
        assert set(profile._long[name].words) == texts
    assert dict(profile.kernels.schema).items() >= dict(KERNELS).items()
