"""Rows of ``analysis.db``: communication and step times (torch_npu_profiler.md 4.17)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import polars as pl

from drynpu.analysis import launched_step_trace
from drynpu.deliverables.communication.analyzer_db import Row, bandwidth_rows, link_rows, time_rows
from drynpu.layouts.result_files import COMMUNICATION_FILE, COMMUNICATION_MATRIX_FILE
from drynpu.tables import Profile
from drynpu.writers.db import ANALYSIS_TABLES

_STEP_COLUMNS = {
    "device_id": "deviceId",
    "step": "step",
    "computing_us": "computing",
    "communication_not_overlapped_us": "communication_not_overlapped",
    "overlapped_us": "overlapped",
    "communication_us": "communication",
    "free_us": "free",
    "stage_us": "stage",
    "bubble_us": "bubble",
    "comm_exclude_receive_us": "communication_not_overlapped_and_exclude_receive",
    "preparing_us": "preparing",
}

_Steps = Mapping[str, Mapping[str, Any]]
"""Step -> ``p2p`` or ``collective`` -> operators."""


def communication_rows(documents: Mapping[str, object]) -> Iterator[tuple[str, pl.DataFrame]]:
    """
    Yield the Comm tables from communication.json and communication_matrix.json, *documents* by file name.

    Sums over operators are left out. Times are ms (starts us), sizes 10^6 bytes, rates GB/s.
    """
    if COMMUNICATION_FILE not in documents:
        return
    times: list[Row] = []
    bandwidths: list[Row] = []
    links: list[Row] = []
    for step, kind, operators in _kinds(documents[COMMUNICATION_FILE]):
        times += [(*row, step, kind) for row in time_rows(operators)]
        bandwidths += [(*row, step, kind) for row in bandwidth_rows(operators)]
    for step, kind, operators in _kinds(documents[COMMUNICATION_MATRIX_FILE]):
        links += [(*row, step, kind, link.get("Op Name", "")) for row, link in link_rows(operators)]
    for table, rows in (
        ("CommAnalyzerBandwidth", bandwidths),
        ("CommAnalyzerMatrix", links),
        ("CommAnalyzerTime", times),
    ):
        yield table, _frame(table, rows)


def _kinds(document: object) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for step, kinds in cast("_Steps", document).items():
        for kind, operators in kinds.items():
            yield step, kind, operators


def _frame(table: str, rows: list[Row]) -> pl.DataFrame:
    kinds = {"TEXT": pl.String, "NUMERIC": pl.Float64}
    schema = {name: kinds[kind] for name, kind in ANALYSIS_TABLES[table].columns.items()}
    return pl.DataFrame(rows, schema=schema, orient="row")


def step_trace_rows(profile: Profile) -> pl.DataFrame:
    """Return StepTraceTime in us; it differs from step_trace_time.csv, and without a schedule the step is NULL."""
    return (
        launched_step_trace(profile)
        .with_columns(pl.col("step").replace("", None))
        .select(pl.col(name).alias(title) for name, title in _STEP_COLUMNS.items())
    )
