"""
Record builders, one module per group of families, each with ``build(context) -> FamilyRecords``.

The same names stand in ``tables.families`` (records to tables) and ``export.families`` (tables to deliverables).
"""

from __future__ import annotations

from collections.abc import Callable

from drynpu.deliverables._record_context import FamilyRecords, RecordContext
from drynpu.deliverables.aicpu import records as aicpu
from drynpu.deliverables.bandwidth import records as bandwidth
from drynpu.deliverables.communication import records as communication
from drynpu.deliverables.core_samples import records as core_samples
from drynpu.deliverables.graph import records as graph
from drynpu.deliverables.host import records as host
from drynpu.deliverables.links import records as links
from drynpu.deliverables.marks import records as marks
from drynpu.deliverables.operator_memory import records as operator_memory
from drynpu.deliverables.unmodelled import records as unmodelled
from drynpu.deliverables.unmodelled.records import UNMODELLED

__all__ = ["BUILDERS", "UNMODELLED", "FamilyRecords", "RecordContext"]

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
    unmodelled.build,
)
"""Every group's builder; a builder returns nothing for what the request does not ask."""
