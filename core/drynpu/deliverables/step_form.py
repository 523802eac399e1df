"""The step trace in the form of a platform."""

from __future__ import annotations

from drynpu.arrays import Records
from drynpu.layouts.graph import STEP_RECORDS, TS_TRACK_STEP
from drynpu.platforms import Platform


def step_form(records: Records, platform: Platform) -> dict[str, Records]:
    """Return records of kind ``TS_TRACK_STEP`` as those that the platform writes, by the name of their kind."""
    kind = STEP_RECORDS[platform.tasks.step_record]
    rows = kind.new(len(records))
    for name in set(TS_TRACK_STEP.dtype.names or ()) - set(kind.constants):
        rows[name] = records[name]
    return {kind.name: rows}
