"""Samples of memory and caches: raw counters turned into rates as the vendor's parser does, MB of 2^20 bytes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from drynpu.arrays import I64, Records
from drynpu.deliverables._sample_times import sampled_unix_ns
from drynpu.deliverables._task_counters import event_codes, operator_names, soc_counters
from drynpu.deliverables.bandwidth import facts
from drynpu.deliverables.load_context import LoadContext
from drynpu.deliverables.units import MB
from drynpu.layouts.soc_pmu import SocPmuType
from drynpu.platforms import CacheEvents
from drynpu.raw import decode_stream_task
from drynpu.tables.columns import frame, i64
from drynpu.tables.sides import DeviceSide

MEMORY_BANDWIDTH = pl.Schema(
    {
        "device_id": pl.Int64,
        "time_ns": pl.Int64,
        "kind": pl.String,  # hbm or ddr
        "unit_id": pl.Int64,  # -1: all of the device
        "event": pl.String,  # read or write
        "bytes": pl.Int64,  # since the last sample
        "mb_s": pl.Float64,  # 0 for the first sample
    }
)
"""Samples of memory bandwidth by device, time, unit and event."""

LLC_SAMPLES = pl.Schema(
    {
        "device_id": pl.Int64,
        "time_ns": pl.Int64,
        "llc_id": pl.Int64,
        "mode": pl.String,  # read or write
        "hit_rate": pl.Float64,  # of 1
        "mb_s": pl.Float64,  # 0 for the first sample
    }
)
"""Samples of the last level caches by device, cache and time."""

L2_CACHE_TASKS = pl.Schema(
    {
        "device_id": pl.Int64,
        "stream_id": pl.Int64,
        "task_id": pl.Int64,
        "name": pl.String,  # operator, "" if unknown
        "requests": pl.Int64,
        "hits": pl.Int64,
        "victims": pl.Int64,
    }
)
"""L2 counters of tasks, in the order of the records."""

SCHEMAS: Mapping[str, pl.Schema] = {
    "memory_bandwidth": MEMORY_BANDWIDTH,
    "llc_samples": LLC_SAMPLES,
    "l2_cache_tasks": L2_CACHE_TASKS,
}

ALL_UNITS = -1


def load(context: LoadContext) -> dict[str, pl.DataFrame]:
    """Return the tables that have rows; counters that cannot be told apart are left out with a note."""
    tables: dict[str, list[pl.DataFrame]] = {name: [] for name in SCHEMAS}
    for side in context.devices:
        read = context.reader.read
        hbm, llc = facts.BY_VERSION.get(context.reader.host_info.version, (facts.HBM, facts.LLC))
        tables["memory_bandwidth"] += _hbm(side, read(hbm.name, side.device_id))
        tables["memory_bandwidth"] += _ddr(context, side, read("ddr", side.device_id))
        tables["llc_samples"] += _llc(context, side, read(llc.name, side.device_id))
        tables["l2_cache_tasks"] += _l2_cache(context, side, read("l2_cache", side.device_id))
        # Some drivers count the cache among what is outside the cores, by the same events.
        tables["l2_cache_tasks"] += _l2_cache(context, side, soc_counters(context, side, SocPmuType.L2_CACHE))
    return {name: pl.concat(parts) for name, parts in tables.items() if parts}


def _times(side: DeviceSide, records: Records) -> I64:
    """Return Unix times (ns) of samples; version 2.0 has the monotonic clock."""
    if "monotonic_ns" in (records.dtype.names or ()):
        return np.asarray(i64(records["monotonic_ns"]) + side.clock.offset_ns, np.int64)
    return sampled_unix_ns(side.clock, records["time_us"])


def _rates(table: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Add ``mb_s``: bytes over the time since the last sample of the same keys."""
    span_ns = (pl.col("time_ns") - pl.col("time_ns").shift().over(keys)).fill_null(0)
    rate = pl.when(span_ns > 0).then(pl.col("bytes") / MB / (span_ns / 1e9)).otherwise(0.0)
    return table.with_columns(rate.alias("mb_s"))


def _memory_rows(
    side: DeviceSide, kind: str, time: I64, unit: npt.ArrayLike, event: npt.ArrayLike, size: I64
) -> list[pl.DataFrame]:
    rows = pl.DataFrame(
        {
            "time_ns": time,
            "unit_id": i64(unit),
            "event": np.where(np.asarray(event) == facts.READ, "read", "write"),
            "bytes": size,
        }
    )
    keys = ["time_ns", "unit_id", "event"]
    summed = rows.group_by(keys).agg(pl.col("bytes").sum()).sort(keys)
    rated = _rates(summed, keys[1:])
    return [
        rated.with_columns(pl.lit(side.device_id, pl.Int64).alias("device_id"), pl.lit(kind).alias("kind")).select(
            MEMORY_BANDWIDTH.names()
        )
    ]


def _hbm(side: DeviceSide, records: Records) -> list[pl.DataFrame]:
    if not len(records):
        return []
    size = i64(records["count"]) * facts.HBM_BYTES
    return _memory_rows(side, "hbm", _times(side, records), records["hbm_id"], records["event"], size)


def _ddr(context: LoadContext, side: DeviceSide, records: Records) -> list[pl.DataFrame]:
    """Add up the controllers, as the parser does; the bus is 256 or 128 bits wide."""
    rows = records[records["master_id"] == facts.ALL_MASTERS]
    if not len(rows):
        return []
    size = i64(rows["count"]) * context.platform.memory.ddr_bytes
    return _memory_rows(side, "ddr", _times(side, rows), np.full(len(rows), ALL_UNITS), rows["event"], size)


def _llc(context: LoadContext, side: DeviceSide, records: Records) -> list[pl.DataFrame]:
    """Return hits per request and the traffic of every cache; a sample is what has the same time and cache."""
    if not len(records):
        return []
    mode = str(context.settings(side.device_id).get("llc_profiling", ""))
    if mode not in facts.LLC_MODES:
        context.notes.append(f"device {side.device_id}: cache samples of mode {mode!r} are not decoded")
        return []
    events = facts.LLC_MODES[mode]
    code = np.asarray(records["event"])

    def counted(codes: tuple[int, ...]) -> I64:
        return np.where(np.isin(code, codes), i64(records["count"]), 0)

    rows = pl.DataFrame(
        {
            "time_ns": _times(side, records),
            "llc_id": i64(records["l3t_id"]),
            "bytes": counted(events.traffic) * facts.LLC_BYTES,
            "requests": counted(events.requests),
            "hits": counted(events.hits),
        }
    )
    summed = rows.group_by("llc_id", "time_ns").agg(pl.col("bytes", "requests", "hits").sum())
    rated = _rates(summed.sort("llc_id", "time_ns"), ["llc_id"])
    hit_rate = pl.when(pl.col("requests") > 0).then(pl.col("hits") / pl.col("requests")).otherwise(0.0)
    return [
        rated.with_columns(
            pl.lit(side.device_id, pl.Int64).alias("device_id"),
            pl.lit(mode).alias("mode"),
            # The parser keeps three decimals of every sample, and computes means from them.
            hit_rate.round(3).alias("hit_rate"),
            mb_s=pl.col("mb_s").round(3),
        ).select(LLC_SAMPLES.names())
    ]


def _l2_cache(context: LoadContext, side: DeviceSide, records: Records) -> list[pl.DataFrame]:
    if not len(records):
        return []
    platform = context.platform
    events = platform.memory.l2_events
    codes = event_codes(context.settings(side.device_id).get("l2CacheTaskProfilingEvents"))
    needed = () if events is None else (*events.requests, *events.hits, *events.misses, *events.victims)
    if events is None or not set(needed) <= set(codes):
        context.notes.append(
            f"device {side.device_id}: L2 counters of platform {platform.version!r} are not decoded: {codes}"
        )
        return []
    counters = i64(records["events"])
    stream, task = (i64(part) for part in decode_stream_task(records["stream_id"], records["task_id"]))
    columns = {
        "device_id": side.device_id,
        "stream_id": stream,
        "task_id": task,
        "name": operator_names(context, side.device_id, stream, task),
        **_cache_counts(events, codes, counters),
    }
    return [frame(L2_CACHE_TASKS, columns)]


def _cache_counts(events: CacheEvents, codes: list[int], counters: I64) -> dict[str, I64]:
    def total(wanted: tuple[int, ...]) -> I64:
        return np.asarray(counters[:, [codes.index(code) for code in wanted]].sum(axis=1), np.int64)

    requests, victims = total(events.requests), total(events.victims)
    hits = total(events.hits) if events.hits else requests - total(events.misses) - victims
    return {"requests": requests, "hits": hits, "victims": victims}
