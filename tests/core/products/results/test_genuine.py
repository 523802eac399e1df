"""Directories that genuine tools left, whole ones and excerpts; they are not in the repository."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from attrs import evolve

from drynpu.analysis import api_statistic, op_statistic, overlap, step_ranges, step_trace, summarise
from drynpu.deliverables.communication.files import torch_json_files
from drynpu.products import export_result, find_profiles, load_profile
from drynpu.products.results._csv import read_csv
from drynpu.tables import Profile

DATA = Path(os.environ.get("GENUINE_PROFILES", Path(__file__).parents[5] / "shared" / "data"))
GENUINE = DATA / "genuine"
RANKS = sorted(GENUINE.glob("*/*_ascend_pt"))
SAMPLES = sorted(path for path in (DATA / "samples").glob("*") if "db" not in path.name and path.is_dir())
TEXTS = [path for path in RANKS if "text" in path.parent.name]
OUTPUT = "ASCEND_PROFILER_OUTPUT"

pytestmark = pytest.mark.skipif(not RANKS, reason=f"no genuine profiles in {DATA}")


def each(paths: list[Path]) -> list[Path]:
    """Parameters must not be empty where everything is skipped."""
    return paths or [DATA]


def ids(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"[:40]


@pytest.fixture(params=each(RANKS), ids=ids)
def profile(request: pytest.FixtureRequest) -> Profile:
    return load_profile(request.param)


def test_both_ranks_of_a_run_are_found() -> None:
    for folder in ("torch_text_level1", "torch_db_level1"):
        assert [load_profile(path).rank_id for path in find_profiles(GENUINE / folder)] == [0, 1]


def test_a_whole_rank(profile: Profile) -> None:
    summary = summarise(profile)
    assert (profile.source, profile.level, profile.aic_metrics) == (("results", "level1", "PipeUtilization"))
    # What no table is for is said, and nothing was damaged.
    assert all("no view shows" in note or "no number is known of AML" in note for note in profile.notes)
    assert profile.device_ids == (profile.rank_id,)
    assert (summary.kernel_count, profile.communication_ops.height) == (187, 4)
    assert profile.frame("communication_tasks").height == 296
    assert (profile.host_ops.height, profile.queue.height) == (860, 318)
    assert summary.steps["step"].to_list() == ["50"]
    assert summary.missing == ()


def test_the_step_follows_from_the_tables(profile: Profile) -> None:
    """
    A step of the same tables as the vendor's own analysis found.

    Of text, the vendor adds up times that were rounded one by one: 191 pieces of at most half a nanosecond, and
    compares floats of Unix microseconds, which are a quarter of one apart.
    """
    (stated,) = (profile.results or {})["step_trace"].rows(named=True)
    computed = evolve(profile, results={})
    (found,) = step_trace(computed, step_ranges(computed), overlap(computed)).rows(named=True)
    assert found.keys() == stated.keys()
    for name in found.keys() - {"step", "device_id"}:
        exact = profile.result_files[0].suffix == ".db"
        assert found[name] == pytest.approx(stated[name], abs=0.0005 if exact else 0.5), name
        if "communication" in name or "comput" in name:
            assert found[name] == pytest.approx(stated[name], abs=0.1), name


@pytest.mark.parametrize("path", each(TEXTS), ids=ids)
def test_statistics_follow_from_the_tables(path: Path) -> None:
    profile = load_profile(path)
    stated, computed = profile.results or {}, evolve(profile, results={})
    for analysis, key in ((op_statistic, ["op_type", "core_type"]), (api_statistic, ["name"])):
        own, file = analysis(computed), stated[analysis.__name__]
        assert own.height == file.height > 30
        both = own.join(file, on=key, how="inner", suffix="_file")
        assert both.height == own.height
        assert both["count"].to_list() == both["count_file"].to_list()
        times = [name for name in own.columns if name.endswith(("_us", "variance", "_pct"))]
        assert max(both.select((pl.col(name) - pl.col(f"{name}_file")).abs().max() for name in times).row(0)) < 0.01


@pytest.mark.parametrize("path", each(TEXTS), ids=ids)
def test_communication_follows_from_its_tasks(path: Path) -> None:
    """Every number of communication.json; each of 296 tasks was rounded to a nanosecond."""
    found = torch_json_files(load_profile(path))
    for name in ("communication.json", "communication_matrix.json"):
        expected = dict(leaves(json.loads((path / OUTPUT / name).read_text())))
        own = dict(leaves(found[name]))
        assert own.keys() == expected.keys()
        for key, value in expected.items():
            if isinstance(value, str):
                assert own[key] == value
            else:
                # Ratios have four decimals.
                least = 1.1e-4 if "Ratio" in str(key[-1]) else 2e-5
                assert own[key] == pytest.approx(value, rel=1e-4, abs=least), key


def leaves(document: object, *path: object) -> Iterator[tuple[tuple[object, ...], object]]:
    if isinstance(document, dict):
        for key, value in document.items():
            yield from leaves(value, *path, key)
    elif isinstance(document, list):
        for place, value in enumerate(document):
            yield from leaves(value, *path, place)
    else:
        yield path, document


REBUILT = {
    "kernels": "kernel_details.csv",
    "op_statistic": "op_statistic.csv",
    "api_statistic": "api_statistic.csv",
    "operator_details": "operator_details.csv",
    "operator_memory": "operator_memory.csv",
    "memory_record": "memory_record.csv",
    "step_trace": "step_trace_time.csv",
}


@pytest.mark.parametrize("path", each(TEXTS), ids=ids)
def test_what_is_rebuilt_equals_what_was_read(path: Path, tmp_path: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in path.rglob("*")}
    export_result(evolve(load_profile(path), path=tmp_path))
    assert {file: file.stat().st_mtime_ns for file in path.rglob("*")} == before
    for kind, name in REBUILT.items():
        notes: list[str] = []
        own, file = (read_csv(kind, [folder / OUTPUT / name], notes) for folder in (tmp_path, path))
        assert own.height == file.height > 0
        for column in file.columns:
            assert column in own.columns, (name, column)
            left, right = own[column], file[column]
            if left.dtype == pl.String:
                # Collectives run on HCCL in the words of that toolkit.
                left = left.replace("COMMUNICATION", "HCCL").str.replace_all(r"\s", "")
                assert numbers(left) == pytest.approx(numbers(right.str.replace_all(r"\s", "")), abs=0.0011)
            else:
                # A wait is a difference of rounded times.
                assert ((left - right).abs().fill_null(0) <= (1 if column == "wait_ns" else 0.00051)).all(), column
                assert left.null_count() == right.null_count()


def numbers(cells: pl.Series) -> list[object]:
    return [float(cell) if cell.replace(".", "").isdecimal() else cell for cell in cells]


def test_types_and_shapes_of_operators_stand_where_they_belong(profile: Profile) -> None:
    """The database of that torch_npu has them in each other's columns, its timeline has not."""
    row = profile.host_ops.filter(pl.col("name") == "aten::lift_fresh").row(0, named=True)
    assert (row["input_dtypes"], row["input_shapes"]) == ("float", "0")
    assert set(profile.api["level"]) == {"acl", "node", "communication"}


def test_sums_of_a_db_are_those_of_plain_sql() -> None:
    import sqlite3

    (path,) = GENUINE.glob("torch_db_level1/*/*/ascend_pytorch_profiler_0.db")
    profile = load_profile(path)
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        query = "SELECT count(*), sum(endNs - startNs) FROM TASK JOIN COMPUTE_TASK_INFO USING (globalTaskId)"
        assert database.execute(query).fetchone() == (profile.kernels.height, profile.kernels["duration_ns"].sum())
        query = "SELECT count(*), min(startNs), max(endNs) FROM CANN_API"
        api = profile.api
        assert database.execute(query).fetchone() == (api.height, api["start_ns"].min(), api["end_ns"].max())
    assert profile.kernels["aiv_time(us)"].sum() > 1000


@pytest.mark.parametrize("path", each(SAMPLES), ids=ids)
def test_an_excerpt(path: Path) -> None:
    summary = summarise(load_profile(path))
    (file,) = [*path.rglob("kernel_details.csv"), *path.rglob("op_summary*.csv")]
    with file.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert summary.kernel_count == len(rows)
    duration = "Duration(us)" if "Duration(us)" in rows[0] else "Task Duration(us)"
    assert summary.kernel_us == pytest.approx(sum(float(row[duration]) for row in rows), abs=0.01)


@pytest.mark.parametrize("name", ["trace_view.json", "kernel_details.csv", "memory_record.csv", "step_trace_time.csv"])
def test_a_file_by_itself(name: str) -> None:
    (path,) = GENUINE.glob(f"torch_text_level1/*504_*/*/{name}")
    summary = summarise(load_profile(path))
    assert summary.files.keys() == {name}
    assert summary.missing
    if "json" in name or "kernel" in name:
        assert summary.kernel_count == 187
        assert summary.steps["step"].to_list() == ["50"]
