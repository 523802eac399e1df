"""Results that drynpu writes, opened without their raw data: text, databases and raw data give the same tables."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from attrs import evolve
from polars.testing import assert_frame_equal

from drynpu.analysis import memory_record, op_statistic, operator_details, operator_memory, overlap, summarise
from drynpu.options import ExportType, ProfilingRequest, Sampling, Switches
from drynpu.products import export_msprof, export_msprof_db, export_result, load_profile
from drynpu.tables import Profile

OUTPUT = "ASCEND_PROFILER_OUTPUT"
FORMS = {"text": ExportType.TEXT, "db": ExportType.DB}
UNKNOWN = {
    # What each form does not tell: the timeline knows no launch types and no asynchronous operators, the database
    # neither batches nor the items of calls nor the hardware's name for tasks that are no kernels.
    "text": {"tasks": ["launch_type"], "kernels": [], "api": [], "host_ops": ["scope", "is_async"], "queue": []},
    "db": {
        "tasks": ["batch_id", "kernel_type", "copy_engine"],
        "kernels": ["batch_id", "node_start_ns", "node_tid"],
        "api": ["item"],
        "host_ops": ["scope", "is_async", "module_hierarchy"],
        "queue": ["correlation_id"],
    },
}


@pytest.fixture
def raw(tools: Any, write: Callable[..., Any]) -> Profile:
    rows = [(120_000, 4096, 512), (180_000, 8192, 1024), (400_000, 4096, -512)]
    request = ProfilingRequest(
        switches=Switches(record_shapes=True, profile_memory=True), sampling=Sampling(hardware_memory_hz=1000)
    )
    outcome = write(tools.mixture(), allocations=tools.allocations(rows), request=request)
    return load_profile(outcome.directory)


@pytest.fixture
def results(raw: Profile, tmp_path: Path) -> Callable[[str], Profile]:
    """Return a function that writes results of one form and opens them where there is nothing else."""

    def make(form: str) -> Profile:
        export_result(raw, [FORMS[form]])
        alone = tmp_path / form / "host_4321_20250109074803000_ascend_pt"
        shutil.copytree(raw.path / OUTPUT, alone / OUTPUT)
        return load_profile(alone)

    return make


def without_calls_of_copies(tasks: pl.DataFrame) -> pl.DataFrame:
    copies = pl.col("launch_type").cast(pl.String) == "MEMCPY_ASYNC"
    return tasks.with_columns(pl.when(~copies).then("connection_id").alias("connection_id"))


@pytest.mark.parametrize("form", FORMS)
def test_tables_are_those_of_the_raw_data(raw: Profile, results: Callable[[str], Profile], form: str) -> None:
    found = results(form)
    assert (found.source, raw.source) == ("results", "raw")
    assert not found.notes
    key = ["device_id", "time_ns", "kind", "unit_id", "event", "mb_s"]
    sampled = raw.frame("memory_bandwidth").select(key)
    assert sampled.height > 4
    assert_frame_equal(found.frame("memory_bandwidth").select(key).sort(key), sampled.sort(key), abs_tol=0.0011)
    caches = raw.frame("llc_samples").sort("llc_id", "time_ns")
    assert_frame_equal(found.frame("llc_samples").sort("llc_id", "time_ns"), caches, abs_tol=0.0011)
    assert (found.pid, found.device_ids, found.product) == (raw.pid, raw.device_ids, "torch")
    for table, unknown in UNKNOWN[form].items():
        own, expected = getattr(found, table), getattr(raw, table)
        if (form, table) == ("db", "tasks"):
            # A database has copies belong to the call around the runtime's.
            own, expected = (without_calls_of_copies(each) for each in (own, expected))
        assert own.height == expected.height > 0
        absent = set(expected.columns) - set(own.columns)
        assert absent <= {"cube_utilization(%)"}  # which the database does not have
        names = [name for name in expected.columns if name not in {*unknown, *absent}]
        key = [name for name in ("device_id", "start_ns", "stream_id", "tid", "op_id") if name in names]
        assert_frame_equal(
            own.select(names).sort(key), expected.select(names).sort(key), check_dtypes=False, abs_tol=0.0011
        )
    for table in ("npu_mem", "frequencies"):
        assert_frame_equal(found.frame(table), raw.frame(table))


def test_samples_of_a_database_are_those_of_the_raw_data(raw: Profile, results: Callable[[str], Profile]) -> None:
    found = results("db")
    for table, unknown in (("memory_bandwidth", ["bytes"]), ("llc_samples", [])):
        own, expected = found.frame(table).drop(unknown), raw.frame(table).drop(unknown)
        assert own.height > 4
        # The database has whole bytes per second.
        assert_frame_equal(own, expected, abs_tol=1e-5, check_row_order=False)


@pytest.mark.parametrize("form", FORMS)
def test_analyses_are_those_of_the_raw_data(raw: Profile, results: Callable[[str], Profile], form: str) -> None:
    """What the files state, and what follows from their tables alone."""
    stated = results(form)
    computed = evolve(stated, results={})
    for analysis in (overlap, op_statistic, operator_memory, memory_record):
        expected = analysis(raw)
        assert expected.height > 0
        assert_frame_equal(analysis(stated), expected, check_row_order=False, abs_tol=0.0011)
    for analysis in (overlap, op_statistic, operator_details):
        assert_frame_equal(analysis(computed), analysis(raw), check_row_order=False, abs_tol=0.0011)
    of_raw, own = summarise(raw), summarise(stated)
    # analysis.db does not count what is free at the edges of a step (torch_npu_profiler.md 5.1).
    other = {"text": [], "db": ["free_us", "stage_us"]}[form]
    steps = own.steps
    if form == "db":
        # Nor does it leave out step 8, which launched nothing.
        assert steps["step"].to_list() == ["7", "8"]
        steps = steps.head(1)
    assert_frame_equal(steps.drop(other), of_raw.steps.drop(other), abs_tol=0.0011)
    assert (own.kernels, own.peak_allocated_bytes) == (of_raw.kernels, of_raw.peak_allocated_bytes)
    assert own.missing == ("collectives",)


def test_results_of_the_toolkit_alone(raw: Profile, tmp_path: Path) -> None:
    """``mindstudio_profiler_output`` of a PROF directory without records, and its database without anything else."""
    folder = tmp_path / "PROF_000001_20250109074803000_ABC" / "mindstudio_profiler_output"
    export_msprof(raw, folder)
    (tmp_path / "bare").mkdir()
    export_msprof_db(raw, tmp_path / "bare")
    for place in (folder.parent, folder, tmp_path / "bare", next((tmp_path / "bare").iterdir())):
        found = load_profile(place)
        names = ["stream_id", "task_id", "name", "op_type", "start_ns", "duration_ns", "input_shapes", "block_num"]
        assert_frame_equal(found.kernels.select(names), raw.kernels.select(names))
        assert found.api.height == raw.api.height
        assert "operators of the framework" in (summarise(found).missing or ())
