"""Counters that drivers report per task: whose they are, and which of them stand in socpmu.data."""

from __future__ import annotations

import numpy as np
import polars as pl

from drynpu.arrays import I64, Records
from drynpu.deliverables.load_context import LoadContext
from drynpu.layouts.soc_pmu import SocPmuType
from drynpu.tables.columns import ordinals
from drynpu.tables.sides import DeviceSide

_CORE_TYPES = ("AI_CORE", "AI_VECTOR_CORE", "MIX_AIC", "MIX_AIV", "")
"""Types of kernels on cores; at level0 the type is not known."""


def operator_names(context: LoadContext, device_id: int, stream: I64, task: I64) -> pl.Series:
    """Return the operator of each record: the n-th of a stream and task is the n-th kernel there, ``""`` if none."""
    kernels = context.kernels.filter((pl.col("device_id") == device_id) & pl.col("task_type").is_in(_CORE_TYPES))
    kernels = kernels.sort("start_ns", maintain_order=True)
    kernel_keys = kernels["stream_id"].to_numpy() << 32 | kernels["task_id"].to_numpy()
    known = pl.DataFrame({"key": kernel_keys, "turn": ordinals(kernel_keys), "name": kernels["name"]})
    key = stream << 32 | task
    wanted = pl.DataFrame({"key": key, "turn": ordinals(key)})
    joined = wanted.join(known, on=["key", "turn"], how="left", maintain_order="left")
    return joined["name"].fill_null("")


def soc_counters(context: LoadContext, side: DeviceSide, kind: SocPmuType) -> Records:
    """Return the records of socpmu.data of one kind: ``stream_id``, ``task_id`` and ``events`` of tasks."""
    records = context.reader.read(context.platform.memory.soc_pmu_record, side.device_id)
    return np.asarray(records[records["data_type"] == kind])


def event_codes(text: object) -> list[int]:
    """Return the numbers of a comma list of sample.json such as ``0x8a,0x8c``; none where it is no such list."""
    try:
        return [int(code, 16) for code in str(text or "").split(",") if code.strip()]
    except ValueError:
        return []
