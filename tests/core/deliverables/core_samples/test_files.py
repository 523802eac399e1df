"""Shares of time and tables of sampled cores, worked out by hand from made-up samples."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from tests.core.analysis.conftest import make_profile, table

from drynpu.deliverables.core_samples.files import csv_files, db_rows, layers
from drynpu.deliverables.core_samples.tables import CORE_METRICS, CORE_SAMPLES
from drynpu.tables import Profile
from drynpu.writers.number_text import Writer
from drynpu.writers.trace_json import COMPACT, Events

MS = 1_000_000


def sample(core: int, time: int, interval: int | None, cycles: int, **more: object) -> dict[str, object]:
    common = {"device_id": 3, "core_type": "AIC", "core_id": core, "mhz": 1800, "cycles": cycles}
    return {**common, "time_ns": time * MS, "interval_ns": interval and interval * MS, **more}


def profile(samples: list[dict[str, object]], metrics: list[dict[str, object]] | None = None, **more: Any) -> Profile:
    tables = {"core_samples": table(CORE_SAMPLES, samples), "core_metrics": table(CORE_METRICS, metrics or [])}
    return make_profile(group_tables=tables, **more)


SAMPLES = [
    sample(0, 10, None, 900_000_000),  # half of the second that stands for the first interval
    sample(0, 14, 4, 1_800_000),  # of 7.2 million cycles
    sample(0, 14, 0, 77),
    sample(1, 11, None, 0),
    sample(1, 16, 5, 4_500_000),
    sample(2, 16, 5, 900, mhz=0),
    sample(0, 16, 5, 900, core_type="AIV"),
]


def events(found: Profile) -> list[dict[str, Any]]:
    blocks = [block for block in layers(found, COMPACT, Writer.NATIVE) if isinstance(block, Events)]
    texts = [text for block in blocks for text in block.render(COMPACT, 0, 99).to_list()]
    return [event for event in map(json.loads, texts) if event.get("ph") == "C"]


def test_a_layer_shows_each_cube_core_and_the_mean_of_all() -> None:
    shown = [(event["name"], float(event["ts"]), float(event["args"]["Utilization(%)"])) for event in
             events(profile(SAMPLES))]  # fmt: skip
    assert shown == [
        ("Core 0", 10_000.0, 50.0), ("Core 0", 14_000.0, 25.0), ("Core 1", 11_000.0, 0.0), ("Core 1", 16_000.0, 50.0),
        ("Average", 11_000.0, 25.0), ("Average", 16_000.0, 37.5),
    ]  # fmt: skip


def test_in_the_database_a_first_sample_is_no_percent() -> None:
    rows = next(part for name, part in db_rows(profile(SAMPLES)) if name == "SAMPLE_PMU_TIMELINE")
    assert isinstance(rows, pl.DataFrame)
    assert rows.select("timestampNs", "usage", "coreId", "coreType").rows() == [
        (10 * MS, 0.0, 0, "AIC"),
        (14 * MS, 25.0, 0, "AIC"),
        (11 * MS, 0.0, 1, "AIC"),
        (16 * MS, 50.0, 1, "AIC"),
        (16 * MS, pytest.approx(0.01), 0, "AIV"),
    ]


def metric(core: int, name: str, value: float | None) -> dict[str, object]:
    known = {"device_id": 3, "core_type": "AIC", "core_id": core, "cycles": 3600 * (core + 1), "mhz": 1800}
    return {**known, "metric": name, "value": value}


METRICS = [
    *(metric(1, name, value) for name, value in (("mac_ratio", 0.2), ("vec_ratio", 0.5), ("mte2_ratio", 0.75004))),
    *(metric(0, name, value) for name, value in (("mac_ratio", 0.0), ("vec_ratio", None), ("mte2_ratio", 0.25))),
]


def test_a_core_is_bound_by_memory_as_far_as_it_moves_longer_than_it_computes() -> None:
    found = csv_files(profile([], METRICS), Writer.PYTHON)["ai_core_utilization"]
    assert found.rows() == [
        ("3", "Core0", "0.0", "0.0", "0.25", "0.0"),
        ("3", "Core1", "0.2", "0.5", "0.75", "1.5"),
        ("3", "Average", "0.1", "0.25", "0.5", "2.0"),
    ]
    assert csv_files(profile([], METRICS), Writer.PYTHON)["ai_vector_core_utilization"].is_empty()


def test_sums_of_cores_in_the_database() -> None:
    bandwidth = [metric(0, "l1_read_bw(GB/s)", 2.0)]
    parts = [part for name, part in db_rows(profile([], [*METRICS, *bandwidth])) if name == "SAMPLE_PMU_SUMMARY"]
    total, values = (part.rows() for part in parts if isinstance(part, pl.DataFrame))
    assert total == [(3, "total_time", 4000.0, 1, "AIC"), (3, "total_time", 2000.0, 0, "AIC")]
    assert values[-1][:3] == (3, "l1_read_bw", 2.0 * 2**30)
    assert [row[2] for row in values[:-1]] == [0.2, 0.5, 0.75004, 0.0, 0.0, 0.25]
