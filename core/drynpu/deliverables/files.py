"""
Further deliverables of a PROF directory, one module per group of families.

Each module may have ``csv_files(profile, writer)`` (file stem -> table), ``layers(profile, style, writer)`` (timeline
events), ``trace_files(profile, style, writer)`` (file stem -> events) and ``json_files(profile)`` (path -> document).
The same names stand in ``session.families`` and ``tables.families``. ``TABLES`` says what a group reads, where it is
asked only if there is any of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import polars as pl

from drynpu.deliverables.aicpu import files as aicpu
from drynpu.deliverables.bandwidth import files as bandwidth
from drynpu.deliverables.communication import files as communication
from drynpu.deliverables.core_samples import files as core_samples
from drynpu.deliverables.frequency import files as frequency
from drynpu.deliverables.graph import files as graph
from drynpu.deliverables.host import files as host
from drynpu.deliverables.links import files as links
from drynpu.deliverables.marks import files as marks
from drynpu.deliverables.monitors import files as monitors
from drynpu.deliverables.operator_memory import files as operator_memory
from drynpu.deliverables.soc_pmu import files as soc_pmu
from drynpu.tables import Profile
from drynpu.writers._json import Events, JsonStyle
from drynpu.writers._numbers import Writer

__all__ = ["CSV_FILES", "JSON_FILES", "LAYERS", "TORCH_CSV_FILES", "TORCH_JSON_FILES", "TRACE_FILES"]

_CsvFiles: TypeAlias = Callable[[Profile, Writer], Mapping[str, pl.DataFrame]]
_Layers: TypeAlias = Callable[[Profile, JsonStyle, Writer], Iterator[Events | Sequence[str]]]


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
    _files(aicpu.TABLES, aicpu.csv_files),
    _files(bandwidth.TABLES, bandwidth.csv_files),
    communication.csv_files,
    _files(core_samples.TABLES, core_samples.csv_files),
    graph.csv_files,
    _files(host.TABLES, host.csv_files),
    _files(links.TABLES, links.csv_files),
    marks.csv_files,
    _files(monitors.TABLES, monitors.csv_files),
    operator_memory.csv_files,
    _files(soc_pmu.TABLES, soc_pmu.csv_files),
)
"""Every group's CSV tables; a table exists only if its data exists."""

TORCH_CSV_FILES: tuple[_CsvFiles, ...] = (
    _files(aicpu.TABLES, aicpu.torch_csv_files),
    _files(bandwidth.TABLES, bandwidth.torch_csv_files),
    _files(links.TABLES, links.torch_csv_files),
    _files(soc_pmu.TABLES, soc_pmu.torch_csv_files),
)
"""Those that torch_npu.profiler copies or makes in ASCEND_PROFILER_OUTPUT (torch_npu_profiler.md 3.6), by file name."""

JSON_FILES: tuple[Callable[[Profile], Mapping[str, object]], ...] = (communication.json_files,)
"""Documents below the PROF directory, by path without time stamp (``analyze/communication.json``)."""

TORCH_JSON_FILES: tuple[Callable[[Profile], Mapping[str, object]], ...] = (communication.torch_json_files,)
"""Documents in ASCEND_PROFILER_OUTPUT, by file name (``communication.json``)."""

LAYERS: tuple[_Layers, ...] = (
    _shown(host.TABLES, host.layers),
    marks.layers,
    graph.layers,
    frequency.layers,
    _shown(links.TABLES, links.layers),
    _shown(bandwidth.TABLES, bandwidth.layers),
    _shown(monitors.TABLES, monitors.layers),
    _shown(core_samples.TABLES, core_samples.layers),
)
"""Every group's timeline layers (cann_msprof.md 4.5)."""

TRACE_FILES: tuple[Callable[[Profile, JsonStyle, Writer], Mapping[str, Iterator[Events | Sequence[str]]]], ...] = (
    graph.trace_files,
    marks.trace_files,
)
"""Further timelines beside ``msprof_*.json``, by file stem (``step_trace``)."""
