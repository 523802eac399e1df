"""
Further tables of a profile, one module per group of families.

Each module has ``SCHEMAS`` (table name -> schema) and ``load(context) -> tables``; what ``mindspore`` describes is no
part of PROF and is loaded with the other FRAMEWORK files. The same names stand in
``session.families`` (recording to records) and ``export.families`` (tables to deliverables).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from drynpu.tables.families import (
    aicpu,
    bandwidth,
    communication,
    core_samples,
    graph,
    host,
    links,
    marks,
    mindspore,
    monitors,
    soc_pmu,
)
from drynpu.tables.families._context import LoadContext

__all__ = ["LOADERS", "SCHEMAS", "LoadContext"]

SCHEMAS: Mapping[str, pl.Schema] = {
    **aicpu.SCHEMAS,
    **bandwidth.SCHEMAS,
    **communication.SCHEMAS,
    **core_samples.SCHEMAS,
    **graph.SCHEMAS,
    **host.SCHEMAS,
    **links.SCHEMAS,
    **marks.SCHEMAS,
    **mindspore.SCHEMAS,
    **monitors.SCHEMAS,
    **soc_pmu.SCHEMAS,
}
"""Every further table by name."""

LOADERS: tuple[Callable[[LoadContext], Mapping[str, pl.DataFrame]], ...] = (
    aicpu.load,
    bandwidth.load,
    communication.load,
    core_samples.load,
    graph.load,
    host.load,
    links.load,
    marks.load,
    monitors.load,
    soc_pmu.load,
)
"""Every group's loader; a loader gives only tables that have rows."""
