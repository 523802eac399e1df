"""Rows about the run, the host's calls, memory and overlap (cann_msprof.md 4.6)."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from drynpu.analysis import OVERLAP_KINDS, overlap
from drynpu.deliverables.tasks._db_enums import ENUMS, enum_number, enum_rows
from drynpu.deliverables.tasks._db_tasks import mark_connection
from drynpu.tables import Profile
from drynpu.writers._text_table import Table, TextTable
from drynpu.writers.db._schema import SCHEMA_VERSION

__all__ = ["NO_HOST_UID", "host_rows", "run_rows"]

_UNKNOWN = "N/A"
_NO_DEVICE, _NO_RANK, _NO_DIE = -1, -1, -1
_NO_NAME = "UNKNOWN"
NO_HOST_UID = "0"
"""The toolkit's host number where info.json has none (Ascend/msprof, context.cpp)."""

_COMPONENT = "GE"
_NO_RANGE = 4_294_967_295
_TID_BITS = 2**32

Rows = Iterator[tuple[str, Table]]


def run_rows(profile: Profile) -> Rows:
    """Yield the tables that every database has, and the time of the session if it is known."""
    devices = list(profile.device_ids) or [_NO_DEVICE]
    name = profile.platform.npu_info_name if profile.device_ids else _NO_NAME
    yield "NPU_INFO", pl.DataFrame({"id": devices, "name": [name] * len(devices)})
    # The toolkit does not know ranks; torch's profiler puts them in when it takes the file over.
    yield "RANK_DEVICE_MAP", pl.DataFrame({"rankId": [_NO_RANK] * len(devices), "deviceId": devices})
    yield "HOST_INFO", pl.DataFrame({"hostUid": [NO_HOST_UID], "hostName": [profile.hostname]})
    version = dict(zip(("MAJOR", "MINOR", "MICRO"), map(str, SCHEMA_VERSION), strict=True))
    names = ["SCHEMA_VERSION", *(f"SCHEMA_VERSION_{part}" for part in version)]
    yield "META_DATA", pl.DataFrame({"name": names, "value": [".".join(version.values()), *version.values()]})
    for enum in ENUMS:
        yield enum, enum_rows(enum)
    if profile.begin_ns:
        times = {"startTimeNs": [profile.begin_ns], "endTimeNs": [profile.end_ns or None]}
        yield "SESSION_TIME_INFO", pl.DataFrame(times, schema=dict.fromkeys(times, pl.Int64))


def host_rows(profile: Profile) -> Rows:
    """Yield calls, memory, clock changes and overlap; tables without rows are empty frames."""
    yield "CANN_API", _calls(profile.compact("api"))
    yield "NPU_MEM", _memory(profile.npu_mem)
    yield (
        "NPU_MODULE_MEM",
        profile.npu_module_mem.select(
            pl.col("module_id").alias("moduleId"),
            pl.col("time_ns").alias("timestampNs"),
            pl.col("reserved_bytes").alias("totalReserved"),
            pl.col("device_id").alias("deviceId"),
        ),
    )
    yield "NPU_OP_MEM", _allocations(profile.cann_allocations, profile.pid)
    yield (
        "AICORE_FREQ",
        profile.frequencies.select(
            pl.col("device_id").alias("deviceId"),
            pl.col("time_ns").alias("timestampNs"),
            pl.col("mhz").alias("freq"),
            pl.lit(_NO_DIE, pl.Int64).alias("dieId"),
        ),
    )
    yield "MSTX_EVENTS", _marks(profile.frame("tx_marks"))
    yield "OVERLAP_ANALYSIS", _overlap(overlap(profile))


def _calls(api: pl.DataFrame) -> TextTable:
    columns = [
        pl.col("start_ns").alias("startNs"),
        pl.col("end_ns").alias("endNs"),
        enum_number(pl.col("level"), "ENUM_API_TYPE").alias("type"),
        (pl.col("pid") * _TID_BITS + pl.col("tid")).alias("globalTid"),
        pl.col("connection_id").alias("connectionId"),
        pl.col("name").replace("", _UNKNOWN),
    ]
    return TextTable.of(api, columns)


def _memory(samples: pl.DataFrame) -> pl.DataFrame:
    kinds = {0: "app", 1: "device"}
    return samples.select(
        pl.col("event").replace_strict(kinds, default=_UNKNOWN, return_dtype=pl.String).alias("type"),
        pl.col("ddr_bytes").alias("ddr"),
        pl.col("hbm_bytes").alias("hbm"),
        pl.col("time_ns").alias("timestampNs"),
        pl.col("device_id").alias("deviceId"),
    )


def _allocations(events: pl.DataFrame, pid: int) -> pl.DataFrame:
    size = pl.col("size_bytes")
    return events.select(
        pl.col("name").replace("", _UNKNOWN).alias("operatorName"),
        pl.col("address").alias("addr"),
        pl.when(size < 0).then(pl.lit("release")).otherwise(pl.lit("allocate")).alias("type"),
        size.abs().alias("size"),
        pl.col("time_ns").alias("timestampNs"),
        (pid * _TID_BITS + pl.col("tid")).alias("globalTid"),
        pl.col("total_allocated_bytes").alias("totalAllocate"),
        pl.col("total_reserved_bytes").alias("totalReserve"),
        pl.lit(_COMPONENT).alias("component"),
        pl.col("device_id").alias("deviceId"),
    )


def _marks(marks: pl.DataFrame) -> pl.DataFrame:
    """Return the user's marks; the toolkit knows no ids of ranges, and a range ends on the thread that began it."""
    thread = pl.col("pid") * _TID_BITS + pl.col("tid")
    return marks.select(
        pl.col("start_ns").alias("startNs"),
        pl.col("end_ns").alias("endNs"),
        enum_number(pl.col("event_type"), "ENUM_MSTX_EVENT_TYPE").alias("eventType"),
        pl.lit(_NO_RANGE, pl.Int64).alias("rangeId"),
        "category",
        "message",
        thread.alias("globalTid"),
        thread.alias("endGlobalTid"),
        pl.col("domain").fill_null(_UNKNOWN).alias("domainId"),
        mark_connection().alias("connectionId"),
    )


def _overlap(pieces: pl.DataFrame) -> pl.DataFrame:
    return pieces.with_row_index("id").select(
        pl.col("id").cast(pl.Int64),
        pl.col("device_id").alias("deviceId"),
        pl.col("start_ns").alias("startNs"),
        pl.col("end_ns").alias("endNs"),
        pl.col("kind")
        .replace_strict(list(OVERLAP_KINDS), list(range(len(OVERLAP_KINDS))), return_dtype=pl.Int64)
        .alias("type"),
    )
