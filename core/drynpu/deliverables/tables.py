"""
Further tables of a profile, one module per group of families.

Each module has ``SCHEMAS`` (table name -> schema) and ``load(context) -> tables``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from drynpu.deliverables._load_context import LoadContext
from drynpu.deliverables.aicpu import tables as aicpu
from drynpu.deliverables.bandwidth import tables as bandwidth
from drynpu.deliverables.communication import tables as communication
from drynpu.deliverables.core_samples import tables as core_samples
from drynpu.deliverables.graph import tables as graph
from drynpu.deliverables.host import tables as host
from drynpu.deliverables.links import tables as links
from drynpu.deliverables.marks import tables as marks
from drynpu.deliverables.monitors import tables as monitors
from drynpu.deliverables.soc_pmu import tables as soc_pmu

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
