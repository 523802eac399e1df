"""The frequency of the AI cores, which does not change while a recording is simulated."""

from __future__ import annotations

from drynpu.deliverables.frequency import facts
from drynpu.deliverables.record_context import GroupRecords, RecordContext
from drynpu.options import Level


def build(context: RecordContext) -> GroupRecords:
    """Return the one frequency of the recording, set before its first task."""
    if context.request.level is Level.NONE:
        return GroupRecords()
    rows = facts.LPM_FREQ.new(1)
    rows["count"] = 1
    rows["points"][0, 0] = (context.anchors.device_cntvct, context.chip.aic_mhz)
    return GroupRecords(device={"lpm_freq": rows})
