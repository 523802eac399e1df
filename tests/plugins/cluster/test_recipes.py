"""Recipes: statistics without events, who comes late, and where tables go."""

from __future__ import annotations

import sqlite3
import statistics
from contextlib import closing
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu import OutputError
from drynpu_cluster import FOLDER, analyse_cluster, find_cluster
from drynpu_cluster.recipes import RECIPES, run_recipe
from drynpu_cluster.recipes._dixon import CRITICAL
from drynpu_cluster.recipes._slow import outlier
from drynpu_cluster.recipes._statistics import described


@given(st.lists(st.integers(0, 50), min_size=2, max_size=60))
def test_statistics_of_counts_are_those_of_the_values(values: list[int]) -> None:
    frame = pl.DataFrame({"key": ["a"] * len(values), "Duration": values, "count": [1] * len(values)})
    (row,) = described(frame, ["key"], "Duration").iter_rows(named=True)
    assert row["Count"] == len(values)
    assert row["SumNs"] == sum(values)
    assert row["StdNs"] == pytest.approx(statistics.stdev(values))
    quartiles = [row[name] for name in ("MinNs", "Q1Ns", "MedianNs", "Q3Ns", "MaxNs")]
    assert quartiles == pytest.approx(list(np.quantile(values, (0, 0.25, 0.5, 0.75, 1))))


def test_one_value_has_no_deviation_and_rows_without_a_key_do_not_count() -> None:
    frame = pl.DataFrame({"key": ["a", None], "Duration": [5, 7], "count": [1, 9]})
    (row,) = described(frame, ["key"], "Duration").iter_rows(named=True)
    assert (row["Count"], row["StdNs"], row["MedianNs"]) == (1, None, 5)


def test_the_shortest_of_few_stands_out_by_dixons_test() -> None:
    # (2nd - 1st) / (last - 1st): 0.95 beside 0.823 for five values.
    assert outlier([100.0, 5.0, 101.0, 102.0, 105.0]) == [1]
    assert outlier([100.0, 90.0, 101.0, 102.0, 105.0]) == []
    # Three different values or fewer say nothing.
    assert outlier([1.0, 100.0, 100.0, 101.0]) == []
    assert len(CRITICAL) == 98


def test_of_many_those_stand_out_that_are_three_deviations_off() -> None:
    values = [100.0 + place % 3 for place in range(120)]
    assert outlier(values) == []
    assert outlier([*values, 1.0]) == [120]
    # One that waited long for the others speaks against the shortest.
    assert outlier([*values, 1000.0]) == [0]


def test_texts_have_no_recipes(text_run: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="hccl_sum reads databases"):
        run_recipe(find_cluster(text_run), "hccl_sum", tmp_path)


def test_tables_of_a_recipe_stand_beside_those_of_the_analysis(db_run: Path, tmp_path: Path) -> None:
    analyse_cluster(find_cluster(db_run), tmp_path)
    for rank, path in enumerate(sorted(db_run.glob("*/*/ascend_pytorch_profiler_*.db"))):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE AICORE_FREQ (deviceId, timestampNs, freq)")
            connection.executemany("INSERT INTO AICORE_FREQ VALUES (0, 1, ?)", [(1800,), (800 + 100 * rank,)])
            connection.commit()
    for _ in range(2):
        result = run_recipe(find_cluster(db_run), "freq_analysis", tmp_path)
    assert set(result.tables) == {"FreeFrequencyRanks", "AbnormalFrequencyRanks"}
    with closing(sqlite3.connect(tmp_path / FOLDER / "cluster_analysis.db")) as connection:
        assert connection.execute("SELECT * FROM FreeFrequencyRanks").fetchall() == [(0, "[800, 1800]")]
        odd = connection.execute("SELECT * FROM AbnormalFrequencyRanks").fetchall()
        assert odd == [(1, "[900, 1800]"), (2, "[1000, 1800]")]
        assert connection.execute("SELECT count(*) FROM ClusterStepTraceTime").fetchone() == (3,)


@pytest.mark.parametrize("name", [name for name in RECIPES if not name.startswith("communication")])
def test_ranks_without_the_tables_are_named_and_nothing_is_written(db_run: Path, name: str, tmp_path: Path) -> None:
    result = run_recipe(find_cluster(db_run), name, tmp_path / "out")
    assert result.file is None
    assert not result.tables
    assert result.notes[0].startswith("rank 0 has nothing in")


def test_several_processes_give_what_one_gives(db_run: Path, tmp_path: Path) -> None:
    one, two = (run_recipe(find_cluster(db_run), "communication_time_sum", None, workers=count) for count in (1, 2))
    for name, rows in one.tables.items():
        assert rows.equals(two.tables[name])
