"""Cells of categories that are joined before they are written: the file has their texts."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu.writers import _csv_cells, files
from drynpu.writers._csv_cells import joined_cells
from drynpu.writers.files import write_csv

_WORDS = st.lists(st.sampled_from(['a,"b"', "", "x", "two\nlines", "1,2;3", "é"]), min_size=1, max_size=12)


@given(st.data(), st.integers(1, 6), st.integers(1, 5))
def test_the_file_is_that_of_texts(data: st.DataObject, most: int, rows: int) -> None:
    height = data.draw(st.integers(1, 12))
    columns = {
        f"c{number}": data.draw(st.lists(st.sampled_from(data.draw(_WORDS)), min_size=height, max_size=height))
        for number in range(data.draw(st.integers(1, 6)))
    }
    texts = pl.DataFrame(columns)
    some = data.draw(st.lists(st.sampled_from(texts.columns), unique=True))
    written = []
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(_csv_cells, "_MOST_COMBINATIONS", most)
        patch.setattr(files, "_CSV_CHUNK_ROWS", rows)
        for number, table in enumerate((texts, texts.with_columns(pl.col(some).cast(pl.Categorical)))):
            written.append(write_csv(Path(folder) / f"{number}.csv", table, line_end="\n").read_bytes())
    expected = io.StringIO()
    csv.writer(expected, lineterminator="\n").writerows([texts.columns, *texts.rows()])
    assert written[1] == written[0]
    if len(texts.columns) > 1:  # Python's writer marks a lone empty cell
        assert written[0].decode() == expected.getvalue()


def test_columns_side_by_side_become_one() -> None:
    part = pl.DataFrame({"a": ["x", "y", "x"], "b": ["1", "1", "2"], "c": ["s", "t", "u"], "d": ["k", "k", "k"]})
    found = joined_cells(part.with_columns(pl.col("a", "b", "d").cast(pl.Categorical)), ())
    assert found.to_dict(as_series=False) == {"a": ["x,1", "y,1", "x,2"], "c": ["s", "t", "u"], "d": ["k", "k", "k"]}


def test_a_cell_that_is_not_there_is_empty(tmp_path: Path) -> None:
    part = pl.DataFrame({"a": ["x", None], "b": ["1", "2"]}, schema={"a": pl.Categorical, "b": pl.Categorical})
    assert write_csv(tmp_path / "t.csv", part, line_end="\n").read_text(encoding="utf-8") == "a,b\nx,1\n,2\n"
