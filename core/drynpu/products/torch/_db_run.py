"""Rows that torch's profiler adds about the run, its steps and its memory (torch_npu_profiler.md 4.16)."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping

import polars as pl

from drynpu.analysis import host_steps, memory_record, operator_memory
from drynpu.products.toolkit._db import NO_HOST_UID
from drynpu.products.torch._db_api import API_TYPES, TID_BITS
from drynpu.tables import Profile

_ENVIRONMENT = "ENV_VARIABLES"
# The vendor's number where there is no rank, or not exactly one device.
_NOTHING = -1
# operator_memory.csv has this in front of the toolkit's names, the database has not.
TOOLKIT_NAME = "cann::"
_ALLOCATION = {
    "size": "size_bytes",
    "allocationTime": "allocation_ns",
    "releaseTime": "release_ns",
    "activeReleaseTime": "active_release_ns",
    "duration": "duration_ns",
    "activeDuration": "active_duration_ns",
    "allocationTotalAllocated": "allocation_total_allocated_bytes",
    "allocationTotalReserved": "allocation_total_reserved_bytes",
    "allocationTotalActive": "allocation_total_active_bytes",
    "releaseTotalAllocated": "release_total_allocated_bytes",
    "releaseTotalReserved": "release_total_reserved_bytes",
    "releaseTotalActive": "release_total_active_bytes",
    "streamPtr": "stream",
    "deviceId": "device_id",
}

Rows = Iterator[tuple[str, pl.DataFrame]]


def rank_of(profile: Profile) -> int | None:
    """Return the rank that the recording was made with; ``None`` if it had none."""
    rank = str(profile.profiler_info.get("rank_id", ""))
    return int(rank) if rank.isdecimal() else None


def own_rows(profile: Profile, environment: Mapping[str, str]) -> Rows:
    """
    Yield what every database of torch has: the rank, kinds of calls, metadata.

    *environment* is the environment that the recording noted, or the environment of the analysis where it noted
    nothing. Metadata are JSON texts; the toolkit's entries (SCHEMA_VERSION) come first.
    """
    rank = rank_of(profile)
    (device,) = profile.device_ids if len(profile.device_ids) == 1 else (_NOTHING,)
    yield "RANK_DEVICE_MAP", pl.DataFrame({"rankId": [_NOTHING if rank is None else rank], "deviceId": [device]})
    yield "ENUM_API_TYPE", pl.DataFrame({"id": list(API_TYPES), "name": list(API_TYPES.values())})
    noted = profile.metadata.get(_ENVIRONMENT, environment)
    pairs = [(_ENVIRONMENT, noted), *profile.metadata.items()]
    texts = {"name": [name for name, _ in pairs], "value": [json.dumps(value) for _, value in pairs]}
    yield "META_DATA", pl.DataFrame(texts)


def host_row() -> pl.DataFrame:
    """Return HOST_INFO where the toolkit recorded nothing: like the vendor's profiler, this host."""
    return pl.DataFrame({"hostUid": [NO_HOST_UID], "hostName": [socket.gethostname()]})


def step_rows(profile: Profile) -> pl.DataFrame:
    """Return STEP_TIME: the steps of the schedule on the host."""
    return host_steps(profile).select(
        pl.col("step_id").alias("id"), pl.col("host_start_ns").alias("startNs"), pl.col("host_end_ns").alias("endNs")
    )


def collection_rows(profile: Profile) -> pl.DataFrame:
    """Return GC_RECORD; the records hold no thread, so it is 0."""
    return profile.gc.select(
        pl.col("start_ns").alias("startNs"),
        pl.col("end_ns").alias("endNs"),
        (pl.col("pid") * TID_BITS).alias("globalTid"),
    )


def memory_rows(profile: Profile) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return MEMORY_RECORD, without the samples of the device (NPU_MEM has them), and the framework's OP_MEMORY."""
    records = memory_record(profile).filter(pl.col("component") != "APP")
    # The toolkit's allocator does not record what is active, and the vendor's table has 0 there.
    active = pl.when(pl.col("component") == "GE").then(pl.col("active_bytes").fill_null(0)).otherwise("active_bytes")
    totals = records.select(
        "component",
        pl.col("time_ns").alias("timestamp"),
        pl.col("allocated_bytes").alias("totalAllocated"),
        pl.col("reserved_bytes").alias("totalReserved"),
        active.alias("totalActive"),
        pl.col("stream").alias("streamPtr"),
        pl.col("device_id").alias("deviceId"),
    )
    return totals, _allocations(operator_memory(profile).filter(pl.col("component") != "GE"))


def component_texts(records: pl.DataFrame) -> list[str]:
    """Return the texts that MEMORY_RECORD gives numbers to, in the vendor's order: WORKSPACE also if no row has it."""
    components = records["component"].unique(maintain_order=True).to_list()
    first, last = [name for name in components if name == "GE"], [name for name in components if name == "PTA+GE"]
    between = [name for name in components if name not in (*first, *last)]
    return list(dict.fromkeys([*first, *between, "WORKSPACE", *last])) if components else []


def toolkit_memory_rows(profile: Profile) -> pl.DataFrame:
    """Return the toolkit's rows of OP_MEMORY, under the names that the toolkit's own tables have."""
    rows = operator_memory(profile).filter(pl.col("component") == "GE")
    return _allocations(rows.with_columns(pl.col("name").str.strip_prefix(TOOLKIT_NAME)))


def _allocations(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select("name", *(pl.col(name).alias(title) for title, name in _ALLOCATION.items()))
