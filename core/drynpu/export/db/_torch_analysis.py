"""Rows of ``analysis.db``: communication and step times (torch_npu_profiler.md 4.17)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import polars as pl

from drynpu.analysis import busy_part, step_trace
from drynpu.export.db._schema import ANALYSIS_TABLES
from drynpu.tables import Profile

__all__ = ["communication_rows", "step_trace_rows"]

_TIME, _BANDWIDTH = "Communication Time Info", "Communication Bandwidth Info"
_TIME_COLUMNS = (
    "Start Timestamp(us)",
    "Elapse Time(ms)",
    "Transit Time(ms)",
    "Wait Time(ms)",
    "Synchronization Time(ms)",
    "Idle Time(ms)",
)
_LINK_COLUMNS = ("Transit Size(MB)", "Transit Time(ms)", "Bandwidth(GB/s)")
_LARGE, _SIZES = "Large Packet Ratio", "Size Distribution"
_TOTAL = "Total Op Info"
_NO_PACKETS = {"0": [0, 0]}
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

Document = Mapping[str, Any]


def communication_rows(documents: Mapping[str, object]) -> Iterator[tuple[str, pl.DataFrame]]:
    """
    Yield the Comm tables from communication.json and communication_matrix.json, *documents* by file name.

    Sums over operators are left out. A transport that moved nothing has no row; one without packets of its own
    (SDMA, the sum of others) has one row with packet size 0. Times are ms (starts us), sizes 10^6 bytes, rates GB/s.
    """
    if "communication.json" not in documents:
        return
    times: list[tuple[Any, ...]] = []
    bandwidths: list[tuple[Any, ...]] = []
    for step, kind, name, group, entry in _entries(documents["communication.json"]):
        if name == _TOTAL:
            continue
        times.append((name, group, *(entry[_TIME][title] for title in _TIME_COLUMNS), step, kind))
        for transport, moved in entry[_BANDWIDTH].items():
            if not moved[_LINK_COLUMNS[0]]:
                continue
            own = (name, group, transport, *(moved[title] for title in _LINK_COLUMNS), moved[_LARGE])
            for size, (count, total) in (moved[_SIZES] or _NO_PACKETS).items():
                bandwidths.append((*own, float(size), count, total, step, kind))
    links: list[tuple[Any, ...]] = []
    for step, kind, name, group, entry in _entries(documents["communication_matrix.json"]):
        for ends, link in entry.items():
            moved = (link["Transport Type"], *(link[title] for title in _LINK_COLUMNS))
            links.append((name, group, *ends.split("-"), *moved, step, kind, link.get("Op Name", "")))
    for table, rows in (
        ("CommAnalyzerBandwidth", bandwidths),
        ("CommAnalyzerMatrix", links),
        ("CommAnalyzerTime", times),
    ):
        yield table, _frame(table, rows)


def _entries(document: object) -> Iterator[tuple[str, str, str, str, Document]]:
    """Yield step, ``p2p`` or ``collective``, operator, group and what the document says of them."""
    for step, kinds in cast("Document", document).items():
        for kind, operators in kinds.items():
            for key, entry in operators.items():
                name, _, group = key.partition("@")
                yield step, kind, name, group, entry


def _frame(table: str, rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    kinds = {"TEXT": pl.String, "NUMERIC": pl.Float64}
    schema = {name: kinds[kind] for name, kind in ANALYSIS_TABLES[table].columns.items()}
    return pl.DataFrame(rows, schema=schema, orient="row")


def step_trace_rows(profile: Profile, ranges: pl.DataFrame, overlaps: pl.DataFrame) -> pl.DataFrame:
    """
    Return StepTraceTime in us: the rows of step_trace_time.csv, except for what the vendor counts differently here.

    Free and Stage of the database reach from the first to the last computing or communication of a step, those of
    the csv from its first to its last event of any kind (torch_npu_profiler.md 5.1). Without a schedule the step is
    NULL.
    """
    whole = step_trace(profile, ranges, overlaps)
    busy = step_trace(profile, ranges, busy_part(overlaps, ranges))
    narrow = busy.select("device_id", "step", "free_us", "stage_us")
    return (
        whole.drop("free_us", "stage_us")
        .join(narrow, on=["device_id", "step"], how="left", maintain_order="left")
        .with_columns(pl.col("free_us", "stage_us").fill_null(0.0), pl.col("step").replace("", None))
        .select(pl.col(name).alias(title) for name, title in _STEP_COLUMNS.items())
    )
