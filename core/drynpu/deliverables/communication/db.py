"""COMMUNICATION_OP and COMMUNICATION_TASK_INFO of the database (cann_msprof.md 4.6)."""

from __future__ import annotations

import polars as pl

from drynpu.deliverables.db_columns import Rows, text_or_unknown
from drynpu.deliverables.db_enums import enum_number
from drynpu.deliverables.tasks._task_ids import TASK_ID, find_task_ids, numbered_tasks
from drynpu.tables import Profile

_NO_NUMBER = -1
_BYTES_PER_GB = 1e9
"""A bandwidth of the timeline counts 10^9 bytes per second, unlike other rates of the toolkit."""


def db_rows(profile: Profile) -> Rows:
    """Yield communication operators, and their tasks."""
    operations = profile.communication_ops.with_row_index("opId").with_columns(pl.col("opId").cast(pl.Int64))
    if profile.level == "level0":
        # Only the name of the operator tells its type there, and the toolkit does not ask it.
        operations = operations.with_columns(pl.lit("").alias("op_type"))
    yield "COMMUNICATION_OP", _operations(operations)
    rows = profile.frame("communication_tasks")
    if rows.height:
        ids = find_task_ids(rows, numbered_tasks(profile))
        yield "COMMUNICATION_TASK_INFO", _tasks(rows.with_columns(ids.cast(pl.Int64)), operations)


def _operations(operations: pl.DataFrame) -> pl.DataFrame:
    start = pl.col("start_ns")
    return operations.select(
        text_or_unknown("name").alias("opName"),
        start.alias("startNs"),
        (start + pl.col("duration_ns")).alias("endNs"),
        pl.col("connection_id").alias("connectionId"),
        text_or_unknown("group").alias("groupName"),
        "opId",
        pl.col("relay").cast(pl.Int64),
        pl.col("retry").cast(pl.Int64),
        enum_number(pl.col("dtype"), "ENUM_HCCL_DATA_TYPE").alias("dataType"),
        text_or_unknown("algorithm").alias("algType"),
        "count",
        text_or_unknown("op_type").alias("opType"),
        pl.col("device_id").alias("deviceId"),
        pl.col("rank_size").fill_null(0).alias("rankSize"),
    )


def _tasks(rows: pl.DataFrame, operations: pl.DataFrame) -> pl.DataFrame:
    names = operations.select("device_id", "connection_id", "opId", pl.col("name").alias("operation"))
    # All bits set, as the toolkit has it, is -1 in a column of signed numbers.
    notify = pl.col("notify_id").cast(pl.UInt64, strict=False).reinterpret(signed=True).fill_null(_NO_NUMBER)
    return rows.join(names, on=["device_id", "connection_id"], how="left", maintain_order="left").select(
        text_or_unknown("operation").alias("name"),
        TASK_ID,
        text_or_unknown("name").alias("taskType"),
        pl.col("plane_id").alias("planeId"),
        text_or_unknown("group").alias("groupName"),
        notify.alias("notifyId"),
        enum_number(pl.col("rdma"), "ENUM_HCCL_RDMA_TYPE").alias("rdmaType"),
        pl.col("src_rank").alias("srcRank"),
        pl.col("dst_rank").alias("dstRank"),
        enum_number(pl.col("transport"), "ENUM_HCCL_TRANSPORT_TYPE").alias("transportType"),
        pl.col("size_bytes").alias("size"),
        enum_number(pl.col("dtype"), "ENUM_HCCL_DATA_TYPE").alias("dataType"),
        enum_number(pl.col("link"), "ENUM_HCCL_LINK_TYPE").alias("linkType"),
        "opId",
        pl.col("is_master").cast(pl.Int64).alias("isMaster"),
        (pl.col("bandwidth_gbs") * _BYTES_PER_GB).alias("bandwidth"),
    )
