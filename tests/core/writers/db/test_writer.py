"""Rows and texts survive the way into SQLite."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu.deliverables.registry import GROUPS
from drynpu.products.toolkit._db import database_tables
from drynpu.writers.db._writer import new_database

TABLES = database_tables(GROUPS)

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_INTEGERS = st.integers(-(2**63), 2**63 - 1)


def stored(read: SimpleNamespace, table: str, *parts: pl.DataFrame) -> list[tuple[object, ...]]:
    """Write the parts of a table and read them back, texts resolved."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.db"
        with new_database(path, TABLES) as database:
            for part in parts:
                database.write(table, part)
        assert [entry.name for entry in Path(folder).iterdir()] == ["x.db"]
        strings = dict(map(tuple, read.rows(path, "SELECT id, value FROM STRING_IDS")))
        found = read.rows(path, f"SELECT * FROM {table}") if any(part.height for part in parts) else []
        texts = {name for part in parts for name in part.columns if part.schema[name] == pl.String}
        columns = list(TABLES[table].columns)
        return [
            tuple(
                strings[value] if name in texts and value is not None else value
                for name, value in zip(columns, row, strict=True)
            )
            for row in found
        ]


@given(st.lists(st.lists(st.tuples(st.none() | _TEXTS, _INTEGERS, st.none() | _INTEGERS), max_size=6), max_size=3))
def test_texts_and_numbers_come_back(
    read: SimpleNamespace, batches: list[list[tuple[str | None, int, int | None]]]
) -> None:
    schema = {"name": pl.String, "globalTaskId": pl.Int64, "value": pl.Int64}
    parts = [pl.DataFrame(batch, schema=schema, orient="row") for batch in batches]
    rows = [(number, text, value) for batch in batches for text, number, value in batch]
    assert stored(read, "TASK_PMU_INFO", *parts) == rows


@pytest.mark.slow
def test_more_rows_than_one_chunk(read: SimpleNamespace) -> None:
    count = 200_001
    frame = pl.select(
        pl.int_range(count).alias("deviceId"),
        pl.int_range(count).cast(pl.String).alias("name"),
        *(pl.lit(1.5).alias(name) for name in TABLES["SIO"].columns if name not in ("deviceId", "name")),
    )
    rows = stored(read, "SIO", frame)
    assert len(rows) == count
    assert rows[-1] == (count - 1, str(count - 1), *([1.5] * 9))


def test_large_addresses_keep_their_bits(read: SimpleNamespace) -> None:
    columns = {name: [0] for name in TABLES["NPU_OP_MEM"].columns}
    frame = pl.DataFrame(columns).with_columns(addr=pl.lit(2**64 - 2, pl.UInt64))
    assert stored(read, "NPU_OP_MEM", frame)[0][1] == -2


def test_a_column_that_is_missing_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with new_database(tmp_path / "x.db", TABLES) as database:
        database.write("TASK_PMU_INFO", pl.DataFrame({"globalTaskId": [1], "name": ["a"]}))
    (line,) = capsys.readouterr().err.splitlines()
    assert "table TASK_PMU_INFO cannot be made" in line
    assert '"value" not found' in line
