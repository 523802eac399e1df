"""
Further deliverables of a PROF directory, one module per group of families.

Each module may have ``csv_files(profile, writer)`` (file stem -> table), ``layers(profile, style, writer)`` (timeline
events), ``trace_files(profile, style, writer)`` (file stem -> events) and ``json_files(profile)`` (path -> document).
The same names stand in ``session.families`` and ``tables.families``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

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

_CsvFiles: TypeAlias = Callable[[Profile, Writer], Mapping[str, pl.DataFrame]]
_Layers: TypeAlias = Callable[[Profile, JsonStyle, Writer], Iterator[Events | Sequence[str]]]

_AICPU = ("aicpu_kernels", "data_queue", "queue_waits")
_BANDWIDTH = ("memory_bandwidth", "llc_samples", "l2_cache_tasks")
_CORE_SAMPLES = ("core_metrics", "core_samples")
_HOST = (
    *("host_cpu_usage", "host_memory_usage", "host_disk_usage", "host_network_usage"),
    *("host_cpu_times", "host_cpu_shares", "host_memory", "host_process_memory"),
)
_LINKS = ("network_samples", "pcie_samples", "hccs_samples", "sio_samples")
_MONITORS = ("acc_pmu_samples", "soc_levels", "chip_links", "qos_samples", "dvpp_engines")


def _files(tables: Sequence[str], group: _CsvFiles) -> _CsvFiles:
    """Have a group asked only where one of its tables has rows: most recordings have few of them."""

    @functools.wraps(group)
    def files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
        return group(profile, writer) if any(name in profile.families for name in tables) else {}

    return files


def _shown(tables: Sequence[str], group: _Layers) -> _Layers:
    """Do the same for a group of layers."""

    @functools.wraps(group)
    def layers(profile: Profile, style: JsonStyle, writer: Writer) -> Iterator[Events | Sequence[str]]:
        return group(profile, style, writer) if any(name in profile.families for name in tables) else iter(())

    return layers


CSV_FILES: tuple[_CsvFiles, ...] = (
    _files(_AICPU, aicpu.csv_files),
    _files(_BANDWIDTH, bandwidth.csv_files),
    communication.csv_files,
    _files(_CORE_SAMPLES, core_samples.csv_files),
    graph.csv_files,
    _files(_HOST, host.csv_files),
    _files(_LINKS, links.csv_files),
    marks.csv_files,
    _files(_MONITORS, monitors.csv_files),
    operator_memory.csv_files,
    _files(("soc_pmu_tasks",), soc_pmu.csv_files),
)
"""Every group's CSV tables; a table exists only if its data exists."""

TORCH_CSV_FILES: tuple[_CsvFiles, ...] = (
    _files(("aicpu_kernels",), aicpu.torch_csv_files),
    _files(_BANDWIDTH, bandwidth.torch_csv_files),
    _files(_LINKS, links.torch_csv_files),
    _files(("soc_pmu_tasks",), soc_pmu.torch_csv_files),
)
"""Those that torch_npu.profiler copies or makes in ASCEND_PROFILER_OUTPUT (torch_npu_profiler.md 3.6), by file name."""

JSON_FILES: tuple[Callable[[Profile], Mapping[str, object]], ...] = (communication.json_files,)
"""Documents below the PROF directory, by path without time stamp (``analyze/communication.json``)."""

TORCH_JSON_FILES: tuple[Callable[[Profile], Mapping[str, object]], ...] = (communication.torch_json_files,)
"""Documents in ASCEND_PROFILER_OUTPUT, by file name (``communication.json``)."""

LAYERS: tuple[_Layers, ...] = (
    _shown(_HOST, host.layers),
    marks.layers,
    graph.layers,
    frequency.layers,
    _shown(_LINKS, links.layers),
    _shown(_BANDWIDTH, bandwidth.layers),
    _shown(_MONITORS, monitors.layers),
    _shown(_CORE_SAMPLES, core_samples.layers),
)
"""Every group's timeline layers (cann_msprof.md 4.5)."""

TRACE_FILES: tuple[Callable[[Profile, JsonStyle, Writer], Mapping[str, Iterator[Events | Sequence[str]]]], ...] = (
    graph.trace_files,
    marks.trace_files,
)
"""Further timelines beside ``msprof_*.json``, by file stem (``step_trace``)."""
