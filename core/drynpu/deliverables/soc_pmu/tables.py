"""Address translation of tasks: what hit and missed the translation buffers outside the cores."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from drynpu.arrays import I64
from drynpu.deliverables._task_counters import event_codes, operator_names, soc_counters
from drynpu.deliverables.load_context import LoadContext
from drynpu.layouts.soc_pmu import EVENTS_PER_UNIT, SMMU_HITS, SMMU_MISSES, SMMU_REQUESTS, SocPmuType
from drynpu.raw import decode_stream_task
from drynpu.tables.columns import frame, i64
from drynpu.tables.sides import DeviceSide

SOC_PMU_TASKS = pl.Schema(
    {
        "device_id": pl.Int64,
        "stream_id": pl.Int64,
        "task_id": pl.Int64,
        "name": pl.String,  # operator, "" if unknown
        "requests": pl.Int64,
        "hits": pl.Int64,
        "misses": pl.Int64,
    }
)
"""Translations of tasks, in the order of the records."""

SCHEMAS: Mapping[str, pl.Schema] = {"soc_pmu_tasks": SOC_PMU_TASKS}


def load(context: LoadContext) -> dict[str, pl.DataFrame]:
    """Return the table if it has rows; counters that cannot be told apart are left out with a note."""
    parts = [table for side in context.devices for table in _tasks(context, side)]
    return {"soc_pmu_tasks": pl.concat(parts)} if parts else {}


def _tasks(context: LoadContext, side: DeviceSide) -> list[pl.DataFrame]:
    records = soc_counters(context, side, SocPmuType.SMMU)
    if not len(records):
        return []
    text = context.settings(side.device_id).get("npuEvents")
    codes = _smmu_codes(text)
    if not context.platform.memory.translation_counters or not {*SMMU_REQUESTS, *SMMU_HITS, *SMMU_MISSES} <= set(codes):
        what = f"translation counters of platform {context.platform.version!r}"
        context.notes.append(f"device {side.device_id}: {what} are not decoded: npuEvents is {text!r}")
        return []
    counters = i64(records["events"])

    def total(wanted: tuple[int, ...]) -> I64:
        return np.asarray(counters[:, [codes.index(code) for code in wanted]].sum(axis=1), np.int64)

    stream, task = (i64(part) for part in decode_stream_task(records["stream_id"], records["task_id"]))
    columns = {
        "device_id": side.device_id,
        "stream_id": stream,
        "task_id": task,
        "name": operator_names(context, side.device_id, stream, task),
        "requests": total(SMMU_REQUESTS),
        "hits": total(SMMU_HITS),
        "misses": total(SMMU_MISSES),
    }
    return [frame(SOC_PMU_TASKS, columns)]


def _smmu_codes(text: object) -> list[int]:
    """Return the events of the memory management unit out of ``HA:0x00,0x88;SMMU:0x2,0x8a``, eight at most."""
    for part in str(text or "").split(";"):
        unit, _, codes = part.partition(":")
        if unit.strip().upper() == "SMMU":
            return event_codes(codes)[:EVENTS_PER_UNIT]
    return []
