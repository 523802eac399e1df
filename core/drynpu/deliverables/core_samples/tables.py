"""Samples of single cores: cycles per reading, and the columns of their counter group per core."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl
from attrs import frozen

from drynpu._errors import OptionError
from drynpu.arrays import I64, Records
from drynpu.deliverables.load_context import LoadContext
from drynpu.kernels import CoreCounters, core_metrics
from drynpu.tables.columns import frame, i64
from drynpu.tables.pmu import parse_events
from drynpu.tables.sides import DeviceSide

CORE_SAMPLES = pl.Schema(
    {
        "device_id": pl.Int64,
        "core_type": pl.String,  # AIC or AIV
        "core_id": pl.Int64,
        "time_ns": pl.Int64,
        "interval_ns": pl.Int64,  # since the last sample of the core, null for its first one
        "cycles": pl.Int64,  # in that time, of tasks
        "mhz": pl.Int64,  # of the core; 0 if unknown
    }
)
"""Samples by device, kind of core, core and time."""

CORE_METRICS = pl.Schema(
    {
        "device_id": pl.Int64,
        "core_type": pl.String,
        "core_id": pl.Int64,
        "cycles": pl.Int64,
        "mhz": pl.Int64,
        "metric": pl.String,
        "value": pl.Float64,  # null where the chip does not have it
    }
)
"""What all samples of a core come to, by device, kind of core, core and column of the counter group."""

SCHEMAS: Mapping[str, pl.Schema] = {"core_samples": CORE_SAMPLES, "core_metrics": CORE_METRICS}

SAMPLE_BASED = "sample-based"
_SETTINGS = {"AIC": "ai_core", "AIV": "aiv"}


@frozen(eq=False)
class _Cores:
    """The samples of one kind of core of a device, by core and time."""

    kind: str
    core: I64
    time_ns: I64
    records: Records


def load(context: LoadContext) -> dict[str, pl.DataFrame]:
    """Return the tables that have rows; records are read only where the settings say that cores were sampled."""
    tables: dict[str, list[pl.DataFrame]] = {name: [] for name in SCHEMAS}
    for side in context.devices:
        for cores in _sampled(context, side):
            mhz = side.facts.aic_mhz if cores.kind == "AIC" else side.facts.aiv_mhz
            tables["core_samples"].append(_samples(side, cores, mhz))
            tables["core_metrics"] += _metrics(context, side, cores, mhz)
    return {name: pl.concat(parts) for name, parts in tables.items() if parts}


def _sampled(context: LoadContext, side: DeviceSide) -> Iterator[_Cores]:
    sample = context.settings(side.device_id)
    if sample.get("ai_core_profiling_mode") != SAMPLE_BASED:
        return
    names, first_vector = context.platform.counters.sample_records, context.platform.counters.first_vector_core
    for name, own_kind in zip(names, _SETTINGS, strict=False):
        rows = context.reader.read(name, side.device_id)
        core = i64(rows["core_id"])
        time_ns = _unix_ns(context, side, rows)
        vector = np.full(len(core), own_kind == "AIV") if first_vector is None else core >= first_vector
        for kind, wanted in (("AIC", ~vector), ("AIV", vector)):
            chosen = np.flatnonzero(wanted)
            order = chosen[np.lexsort((time_ns[chosen], core[chosen]))]
            if len(order):
                yield _Cores(kind, core[order], time_ns[order], rows[order])


def _unix_ns(context: LoadContext, side: DeviceSide, rows: Records) -> I64:
    """The 950 tells ticks, the others the time of the device's own clock."""
    if "tick" in (rows.dtype.names or ()):
        return side.clock.tick_to_unix(rows["tick"])
    shift_ns = context.reader.device_clock_shift_ns(side.device_id) if len(rows) else 0
    return i64(rows["time_ns"]) + (shift_ns + side.clock.offset_ns)


def _samples(side: DeviceSide, cores: _Cores, mhz: int) -> pl.DataFrame:
    columns = {
        "device_id": side.device_id,
        "core_type": cores.kind,
        "core_id": cores.core,
        "time_ns": cores.time_ns,
        "cycles": i64(cores.records["task_cycles"]),
        "mhz": mhz,
        "interval_ns": 0,
    }
    return frame(CORE_SAMPLES, columns).with_columns(pl.col("time_ns").diff().over("core_id").alias("interval_ns"))


def _metrics(context: LoadContext, side: DeviceSide, cores: _Cores, mhz: int) -> Iterator[pl.DataFrame]:
    sample, prefix = context.settings(side.device_id), _SETTINGS[cores.kind]
    metrics = str(sample.get(f"{prefix}_metrics") or "").replace("PipeUtilizationExct", "PipeUtilization")
    events = parse_events(sample.get(f"{prefix}_profiling_events"), ())
    numbers, place = np.unique(cores.core, return_inverse=True)
    events = events[: cores.records["events"].shape[1]]
    counts, cycles = np.zeros((len(numbers), len(events)), np.int64), np.zeros(len(numbers), np.int64)
    np.add.at(counts, place.reshape(-1), i64(cores.records["events"])[:, : len(events)])
    np.add.at(cycles, place.reshape(-1), i64(cores.records["task_cycles"]))
    total = CoreCounters(
        total_cycles=cycles, pmu=counts, block_num=np.ones_like(cycles), mhz=mhz, cores=1, events=events
    )
    try:
        columns = core_metrics(metrics, side.facts.platform, total) if mhz else {}
    except OptionError as error:
        columns = {}
        context.notes.append(f"device {side.device_id}: samples of {cores.kind} cores give no columns: {error}")
    for name, values in columns.items():
        known = {"device_id": side.device_id, "core_type": cores.kind, "mhz": mhz, "metric": name}
        table = frame(CORE_METRICS, {**known, "core_id": numbers, "cycles": cycles, "value": values})
        yield table.with_columns(pl.col("value").fill_nan(None))
