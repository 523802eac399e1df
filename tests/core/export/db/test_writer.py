"""Rows and texts survive the way into SQLite; tasks whose ids come round again keep their own kernels."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu.deliverables.counters.db import counter_name
from drynpu.deliverables.db_enums import ENUMS, enum_number
from drynpu.deliverables.registry import GROUPS
from drynpu.deliverables.tasks._task_ids import find_task_ids
from drynpu.products.toolkit._db import database_tables
from drynpu.tables import NO_CONTEXT
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


def test_a_column_that_is_missing_is_told(tmp_path: Path) -> None:
    with (
        pytest.raises(pl.exceptions.ColumnNotFoundError, match="value"),
        new_database(tmp_path / "x.db", TABLES) as database,
    ):
        database.write("TASK_PMU_INFO", pl.DataFrame({"globalTaskId": [1], "name": ["a"]}))
    assert list(tmp_path.iterdir()) == []


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 50)), min_size=1, max_size=40),
    st.data(),
)
def test_tasks_whose_ids_come_round_again(gaps: list[tuple[int, int]], data: st.DataObject) -> None:
    time, rows = 0, []
    for number, (task, gap) in enumerate(gaps):
        time += 10 * gap
        rows.append((number, 0, 1, task, 0, NO_CONTEXT, time))
    names = ["globalTaskId", "device_id", "stream_id", "task_id", "batch_id", "context_id", "start_ns"]
    tasks = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Int64), orient="row")
    chosen = data.draw(st.lists(st.sampled_from(range(len(rows))), max_size=20))
    late = data.draw(st.lists(st.integers(0, 4), min_size=len(chosen), max_size=len(chosen)))
    asked = tasks[chosen].with_columns(pl.col("start_ns") + pl.Series(late, dtype=pl.Int64)).drop("globalTaskId")
    assert find_task_ids(asked, tasks).to_list() == chosen


@given(st.data())
def test_ids_part_by_part_are_those_of_whole_tables(data: st.DataObject) -> None:
    """Tasks of two devices whose ids come round again; some rows begin with their task, others beside it."""
    ids = st.tuples(st.integers(0, 1), st.integers(0, 9), st.integers(0, 2))
    tasks = sorted(data.draw(st.lists(ids, min_size=1, max_size=30, unique_by=lambda row: row[:2])))
    rows = data.draw(st.lists(ids, max_size=30))
    expected = []
    for device, start, task in rows:
        near = [
            (abs(begun - start), -begun, number)
            for number, (on, begun, ran) in enumerate(tasks)
            if (on, ran) == (device, task)
        ]
        expected.append(min(near)[2] if near and len({each[0] for each in near}) == len(near) else None)
    frames = [
        pl.DataFrame(
            {
                "device_id": [device for device, _, _ in found],
                "stream_id": [1] * len(found),
                "task_id": [task for _, _, task in found],
                "batch_id": [0] * len(found),
                "context_id": [NO_CONTEXT] * len(found),
                "start_ns": [start for _, start, _ in found],
            },
            schema=dict.fromkeys(("device_id", "stream_id", "task_id", "batch_id", "context_id", "start_ns"), pl.Int64),
        )
        for found in (rows, tasks)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("drynpu.tables.stored.PART_ROWS", 4)
        found = find_task_ids(*frames).to_list()
    for answer, wanted, row in zip(found, expected, rows, strict=True):
        alone = [task for task in tasks if (task[0], task[2]) == (row[0], row[2])]
        assert answer == wanted or (wanted is None and bool(alone)), "of two that are as near either will do"


def test_a_task_that_is_not_there_has_no_id() -> None:
    schema = dict.fromkeys(
        ["globalTaskId", "device_id", "stream_id", "task_id", "batch_id", "context_id", "start_ns"], pl.Int64
    )
    tasks = pl.DataFrame([(0, 0, 1, 1, 0, 7, 5), (1, 0, 1, 1, 0, 7, 9)], schema=schema, orient="row")
    asked = pl.DataFrame([(0, 0, 2, 1, 0, 7, 5)], schema=schema, orient="row").drop("globalTaskId")
    assert find_task_ids(asked, tasks).to_list() == [None]
    assert find_task_ids(asked, tasks[:1]).to_list() == [None]


@pytest.mark.parametrize("name", sorted(ENUMS))
def test_names_become_their_numbers(name: str) -> None:
    known = ENUMS[name]
    frame = pl.DataFrame({"text": [*known.values(), *map(str, known)]})
    assert frame.select(enum_number(pl.col("text"), name)).to_series().to_list() == [*known, *known]
    odd = pl.DataFrame({"text": ["", None, "nonsense"]}).select(enum_number(pl.col("text"), name)).to_series()
    assert odd.to_list() == [65534 if "N/A" in known.values() else 65535] * 2 + [65535]


@pytest.mark.parametrize(
    ("column", "split", "name", "scale"),
    [
        ("aicore_time(us)", True, "aic_total_time", 1000.0),
        ("aicore_time(us)", False, "total_time", 1000.0),
        ("aiv_time(us)", True, "aiv_total_time", 1000.0),
        ("aic_mte2_time(us)", True, "aic_mte2_time", 1000.0),
        ("aiv_ub_read_bw(GB/s)", True, "aiv_ub_read_bw", 1.0),
        ("ub_read_bw(GB/s)", False, "ub_read_bw", 2.0**30),
        ("aic_mac_ratio", True, "aic_mac_ratio", 1.0),
        ("aic_total_cycles", True, "aic_total_cycles", 1.0),
        ("GM_to_L1_datas(KB)", True, "GM_to_L1_datas(KB)", 1.0),
    ],
)
def test_names_of_counters(column: str, split: bool, name: str, scale: float) -> None:
    assert counter_name(column, split=split) == (name, scale)
