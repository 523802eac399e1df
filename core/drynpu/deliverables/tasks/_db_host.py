"""Rows about the run, the host's calls, marks and overlap (cann_msprof.md 4.6)."""

from __future__ import annotations

import polars as pl

from drynpu.analysis import OVERLAP_KINDS, overlap
from drynpu.deliverables._db_columns import GLOBAL_TID_BITS, Rows
from drynpu.deliverables.tasks._db_enums import ENUMS, enum_number, enum_rows
from drynpu.deliverables.tasks._db_tasks import mark_connection
from drynpu.tables import Profile, call_name
from drynpu.writers._numbers import UNKNOWN
from drynpu.writers._text_table import TextTable
from drynpu.writers.db._schema import SCHEMA_VERSION

_NO_DEVICE, _NO_RANK = -1, -1
_NO_NAME = "UNKNOWN"
NO_HOST_UID = "0"
"""The toolkit's host number where info.json has none (Ascend/msprof, context.cpp)."""

_NO_RANGE = 4_294_967_295


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


def call_rows(profile: Profile) -> Rows:
    """Yield the host's calls."""
    yield "CANN_API", _calls(profile.compact("api"))


def mark_rows(profile: Profile) -> Rows:
    """Yield marks and overlap; tables without rows are empty frames."""
    yield "MSTX_EVENTS", _marks(profile.frame("tx_marks"))
    yield "OVERLAP_ANALYSIS", _overlap(overlap(profile))


def _calls(api: pl.DataFrame) -> TextTable:
    columns = [
        pl.col("start_ns").alias("startNs"),
        pl.col("end_ns").alias("endNs"),
        enum_number(pl.col("level"), "ENUM_API_TYPE").alias("type"),
        (pl.col("pid") * GLOBAL_TID_BITS + pl.col("tid")).alias("globalTid"),
        pl.col("connection_id").alias("connectionId"),
        call_name().replace("", UNKNOWN),
    ]
    return TextTable.of(api, columns)


def _marks(marks: pl.DataFrame) -> pl.DataFrame:
    """Return the user's marks; the toolkit knows no ids of ranges, and a range ends on the thread that began it."""
    thread = pl.col("pid") * GLOBAL_TID_BITS + pl.col("tid")
    return marks.select(
        pl.col("start_ns").alias("startNs"),
        pl.col("end_ns").alias("endNs"),
        enum_number(pl.col("event_type"), "ENUM_MSTX_EVENT_TYPE").alias("eventType"),
        pl.lit(_NO_RANGE, pl.Int64).alias("rangeId"),
        "category",
        "message",
        thread.alias("globalTid"),
        thread.alias("endGlobalTid"),
        pl.col("domain").fill_null(UNKNOWN).alias("domainId"),
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
