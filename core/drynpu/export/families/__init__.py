"""
Further deliverables of a PROF directory, one module per group of families.

Each module may have ``csv_files(profile, writer)`` (file stem -> table), ``layers(profile, style, writer)`` (timeline
events), ``trace_files(profile, style, writer)`` (file stem -> events) and ``json_files(profile)`` (path -> document).
The same names stand in ``session.families`` and ``tables.families``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import polars as pl

from drynpu.export._json import Events, JsonStyle
from drynpu.export._numbers import Writer
from drynpu.export.families import (
    aicpu,
    bandwidth,
    communication,
    core_samples,
    frequency,
    graph,
    host,
    links,
    marks,
    monitors,
    operator_memory,
    soc_pmu,
)
from drynpu.tables import Profile

__all__ = ["CSV_FILES", "JSON_FILES", "LAYERS", "TORCH_CSV_FILES", "TORCH_JSON_FILES", "TRACE_FILES"]

CSV_FILES: tuple[Callable[[Profile, Writer], Mapping[str, pl.DataFrame]], ...] = (
    aicpu.csv_files,
    bandwidth.csv_files,
    communication.csv_files,
    core_samples.csv_files,
    graph.csv_files,
    host.csv_files,
    links.csv_files,
    marks.csv_files,
    monitors.csv_files,
    operator_memory.csv_files,
    soc_pmu.csv_files,
)
"""Every group's CSV tables; a table exists only if its data exists."""

TORCH_CSV_FILES: tuple[Callable[[Profile, Writer], Mapping[str, pl.DataFrame]], ...] = (
    aicpu.torch_csv_files,
    bandwidth.torch_csv_files,
    links.torch_csv_files,
    soc_pmu.torch_csv_files,
)
"""Those that torch_npu.profiler copies or makes in ASCEND_PROFILER_OUTPUT (torch_npu_profiler.md 3.6), by file name."""

JSON_FILES: tuple[Callable[[Profile], Mapping[str, object]], ...] = (communication.json_files,)
"""Documents below the PROF directory, by path without time stamp (``analyze/communication.json``)."""

TORCH_JSON_FILES: tuple[Callable[[Profile], Mapping[str, object]], ...] = (communication.torch_json_files,)
"""Documents in ASCEND_PROFILER_OUTPUT, by file name (``communication.json``)."""

LAYERS: tuple[Callable[[Profile, JsonStyle, Writer], Iterator[Events | Sequence[str]]], ...] = (
    host.layers,
    marks.layers,
    graph.layers,
    frequency.layers,
    links.layers,
    bandwidth.layers,
    monitors.layers,
    core_samples.layers,
)
"""Every group's timeline layers (cann_msprof.md 4.5)."""

TRACE_FILES: tuple[Callable[[Profile, JsonStyle, Writer], Mapping[str, Iterator[Events | Sequence[str]]]], ...] = (
    graph.trace_files,
    marks.trace_files,
)
"""Further timelines beside ``msprof_*.json``, by file stem (``step_trace``)."""
