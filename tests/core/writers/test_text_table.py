"""Tables made chunk by chunk: whatever the size of a chunk, the file is the same."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from drynpu.deliverables.tasks.op_summary import STARTS, kernel_details, op_summary
from drynpu.platforms import find_platform
from drynpu.tables import COMMUNICATION_OPS, KERNELS, NO_CONTEXT, NO_MODEL
from drynpu.writers import files
from drynpu.writers.files import write_csv, write_csv_slices
from drynpu.writers.number_text import Writer
from drynpu.writers.text_table import TextTable, parts_of

BEGIN_NS = 1736408883704643212
COUNT = 23


def kernels() -> pl.DataFrame:
    """Kernels of two devices, not in the order of the file, some left out, with texts that need quotes."""
    number = pl.int_range(COUNT, dtype=pl.Int64, eager=True).alias("task_id")
    table = number.to_frame().with_columns(
        (number * 7 % COUNT * 10_000 + BEGIN_NS).alias("start_ns"),
        (number * 611).alias("duration_ns"),
        (number % 2).alias("device_id"),
        pl.when(number % 5 == 4).then(pl.lit("WRITE_BACK")).otherwise(pl.lit("AI_CORE")).alias("task_type"),
        pl.format('k,"{}"', number % 3).alias("name"),
        pl.when(number % 4 == 0).then(pl.lit("")).otherwise(pl.lit("FLOAT")).alias("input_dtypes"),
        pl.lit("4,8").alias("input_shapes"),
        pl.lit(NO_MODEL).alias("model_id"),
        pl.lit(NO_CONTEXT).alias("context_id"),
        pl.lit(value=False).alias("hf32"),
        # Beyond the texts that are looked up, below zero, and not there at all.
        (number.cast(pl.Float64) * 9.1234 - 1).alias("aicore_time(us)"),
        (number.cast(pl.Float64) / 24).alias("aic_mac_ratio"),
        pl.when(number % 3 == 0).then(None).otherwise(number.cast(pl.Float64)).alias("cube_utilization(%)"),
    )
    absent = [name for name in KERNELS if name not in table.columns]
    counters = [name for name in table.columns if name not in KERNELS]
    filled = table.with_columns(pl.lit("" if KERNELS[name] == pl.String else 0).alias(name) for name in absent)
    return filled.select(*(pl.col(name).cast(dtype) for name, dtype in KERNELS.items()), *counters)


def collectives() -> pl.DataFrame:
    rows = [
        {"device_id": number % 2, "name": f"hcom_allReduce__586_{number}_1", "start_ns": BEGIN_NS + number * 33_000}
        for number in range(6)
    ]
    more = {"group": "g", "duration_ns": 2000, "connection_id": 4, "dtype": "FP16", "count": 10, "algorithm": "RING"}
    return pl.DataFrame([row | more for row in rows], schema=COMMUNICATION_OPS)


def summary(communication: pl.DataFrame, writer: Writer) -> TextTable:
    return op_summary(kernels(), communication, level="level1", platform=find_platform("5"), writer=writer)


@pytest.mark.parametrize("writer", list(Writer))
@pytest.mark.parametrize("mixed", [False, True])
def test_many_small_chunks_are_the_file_written_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: Writer, *, mixed: bool
) -> None:
    table = summary(collectives() if mixed else COMMUNICATION_OPS.to_frame(), writer)
    details = kernel_details(table, lambda starts: (starts % 3).cast(pl.String), level="level1")
    written = []
    for rows in (1, 2, 7, table.height, 1000):
        monkeypatch.setattr(files, "_CSV_CHUNK_ROWS", rows)
        paths = [
            write_csv(tmp_path / f"{rows}.csv", table.drop(STARTS), line_end="\n"),
            write_csv(tmp_path / f"{rows}_details.csv", details, line_end="\r\n"),
        ]
        written.append([path.read_bytes() for path in paths])
    assert table.height == COUNT - COUNT // 5 + (6 if mixed else 0)
    assert written[0][0].count(b"\n") == table.height + 1
    assert all(one == written[0] for one in written)


def test_parts_are_those_of_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = summary(collectives(), Writer.NATIVE)
    whole = table.frame()
    assert whole[STARTS].is_sorted() is False, "two devices, each in order of time"
    assert pl.concat(part() for part in parts_of(table, 4)).equals(whole)
    assert table.slice(5, 9).frame().equals(whole.slice(5, 9))
    assert table.slice(20, 900).height == table.height - 20
    assert pl.concat(part() for part in parts_of(table.slice(3, 11), 4)).equals(whole.slice(3, 11))
    monkeypatch.setattr(files, "CSV_ROW_LIMIT", 10)
    paths = write_csv_slices(tmp_path, "op_summary", "20260131235958", table.drop(STARTS), line_end="\n")
    assert [path.read_text().count("\n") - 1 for path in paths] == [10, 10, table.height - 20]


def test_numbers_that_are_looked_up_are_those_that_are_made(tmp_path: Path) -> None:
    found = summary(COMMUNICATION_OPS.to_frame(), Writer.PYTHON).frame().sort(pl.col("Task ID").cast(pl.Int64))
    number = found["Task ID"].cast(pl.Int64).to_list()
    assert found["aicore_time(us)"].to_list() == [str(round(value * 9.1234 - 1, 3)) for value in number]
    assert found["aic_mac_ratio"].to_list() == [str(round(value / 24, 3)) for value in number]
