"""
Record builders, one module per group of families, each with ``build(context) -> FamilyRecords``.

The same names stand in ``tables.families`` (records to tables) and ``export.families`` (tables to deliverables).
"""

from __future__ import annotations

from collections.abc import Callable

from drynpu.session.families import (
    aicpu,
    bandwidth,
    communication,
    core_samples,
    graph,
    host,
    links,
    marks,
    operator_memory,
)
from drynpu.session.families._context import FamilyRecords, RecordContext

__all__ = ["BUILDERS", "FamilyRecords", "RecordContext"]

BUILDERS: tuple[Callable[[RecordContext], FamilyRecords], ...] = (
    aicpu.build,
    bandwidth.build,
    communication.build,
    core_samples.build,
    graph.build,
    host.build,
    links.build,
    marks.build,
    operator_memory.build,
)
"""Every group's builder; a builder returns nothing for what the request does not ask."""
