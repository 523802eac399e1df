"""Rows about tasks: TASK and what belongs to one by ``globalTaskId`` (cann_msprof.md 4.6)."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
from polars.selectors import categorical

from drynpu.deliverables.tasks._db_enums import ENUMS, OTHER, enum_number
from drynpu.tables import NO_CONTEXT, NO_MODEL, Profile
from drynpu.writers._numbers import UNKNOWN
from drynpu.writers._text_table import Table, TextTable

_LEVEL0 = "level0"
_KEY = ["device_id", "stream_id", "task_id", "batch_id", "context_id"]
_ID = "globalTaskId"
_SCHEDULING_SUFFIX = "AicpuKernel"
_TENSORS = ("formats", "dtypes", "shapes")
_TITLES = ("Formats", "DataTypes", "Shapes")
_CORE_TIMES = {"aicore_time(us)": "total_time", "aiv_time(us)": "aiv_total_time"}
_NS_PER_US, _GB = 1000.0, 2.0**30
_NO_NUMBER = -1
_HOST_ONLY = 4_000_000_000
"""Connection id of marks of the host alone (torch_npu_profiler.md 4.16, MSTX_EVENTS)."""

_LARGEST_KEY = 2**62
_TASK_COLUMNS = (
    *_KEY,
    "start_ns",
    "duration_ns",
    "connection_id",
    "launch_type",
    "model_id",
    "copy_bytes",
    "copy_kind",
)
_KERNEL_COLUMNS = (
    *("name", "op_type", "op_state", "task_type", "block_num", "mix_block_num", "hf32"),
    *(f"{side}_{part}" for side in ("input", "output") for part in _TENSORS),
)

Rows = Iterator[tuple[str, Table]]


def task_rows(profile: Profile) -> Rows:
    """
    Yield table names with their rows; a table may come several times.

    ``globalTaskId`` is the number of the task in order of device and start.
    """
    tasks = profile.compact("tasks", *_TASK_COLUMNS).sort("device_id", "start_ns", maintain_order=True)
    tasks = tasks.with_row_index(_ID).with_columns(pl.col(_ID).cast(pl.Int64))
    yield "TASK", _tasks(tasks, profile.pid)
    yield "TASK", _tasks(_marks(profile, tasks.height), profile.pid)
    ids = _global_ids(profile.compact("kernels", *_KEY, "start_ns"), tasks)
    yield from _kernel_rows(profile, ids)
    yield "MEMCPY_INFO", _copies(tasks)
    if profile.level != _LEVEL0 and profile.platform.stars:
        for name in profile.pmu_columns:
            yield "TASK_PMU_INFO", _counter(profile, name, ids)
    operations = profile.communication_ops.with_row_index("opId").with_columns(pl.col("opId").cast(pl.Int64))
    yield "COMMUNICATION_OP", _operations(operations)
    yield "COMMUNICATION_TASK_INFO", _transfers(profile.frame("communication_tasks"), operations, tasks)


def _kernel_rows(profile: Profile, ids: pl.Series) -> Rows:
    """Yield what is known of kernels, and of tasks that only schedule communication."""
    detailed = profile.level != _LEVEL0
    kernels = profile.compact("kernels", *_KERNEL_COLUMNS).with_columns(ids.alias(_ID))
    schedules = kernels.select(pl.col("name").cast(pl.String).str.ends_with(_SCHEDULING_SUFFIX)).to_series()
    computing = kernels if not schedules.any() else kernels.filter(~schedules)
    yield "COMPUTE_TASK_INFO", _compute(computing, detailed=detailed)
    yield "COMMUNICATION_SCHEDULE_TASK_INFO", _schedules(kernels.filter(schedules), detailed=detailed)


def _text(name: str) -> pl.Expr:
    return pl.col(name).replace("", UNKNOWN).fill_null(UNKNOWN)


def _tasks(tasks: pl.DataFrame, pid: int) -> TextTable:
    start = pl.col("start_ns")
    columns = [
        start.alias("startNs"),
        (start + pl.col("duration_ns")).alias("endNs"),
        pl.col("device_id").alias("deviceId"),
        pl.col("connection_id").alias("connectionId"),
        pl.col(_ID),
        pl.lit(pid, pl.Int64).alias("globalPid"),
        _text("launch_type").alias("taskType"),
        pl.col("context_id").alias("contextId"),
        pl.col("stream_id").alias("streamId"),
        pl.col("task_id").alias("taskId"),
        pl.col("model_id").alias("modelId"),
    ]
    return TextTable.of(tasks, columns)


def _marks(profile: Profile, first_id: int) -> pl.DataFrame:
    """Return what marks of the user left on streams, as tasks of no type; MSTX_EVENTS has the same connection ids."""
    seen = profile.frame("tx_marks").filter(pl.col("device_id").is_not_null()).with_row_index(_ID, offset=first_id)
    start = pl.col("device_start_ns")
    return seen.with_columns(
        pl.col(_ID).cast(pl.Int64),
        start.alias("start_ns"),
        (pl.col("device_end_ns") - start).alias("duration_ns"),
        mark_connection().alias("connection_id"),
        pl.lit("").alias("launch_type"),
        pl.lit(NO_CONTEXT, pl.Int64).alias("context_id"),
        pl.lit(NO_MODEL, pl.Int64).alias("model_id"),
    )


def mark_connection() -> pl.Expr:
    """Return the connection id of a mark: of those that reached no stream 4000000000, of the others above that."""
    on_stream = pl.col("device_id").is_not_null()
    return pl.when(on_stream).then(pl.col("mark_id") + _HOST_ONLY + 1).otherwise(_HOST_ONLY)


def _global_ids(rows: pl.DataFrame, tasks: pl.DataFrame) -> pl.Series:
    """
    Return the global id of the task of each row.

    Ids of tasks come round again in a long run: of several tasks with the same ones it is the nearest in time.
    """
    wanted, own = _keys(rows.select(_KEY), tasks.select(_KEY))
    known = tasks.select(own.alias("key"), "start_ns", _ID)
    asked = rows.select(wanted.alias("key"), "start_ns").with_row_index("row")
    if own.n_unique() < own.len():
        found = asked.sort("start_ns").join_asof(
            known.sort("start_ns"), on="start_ns", by="key", strategy="nearest", check_sortedness=False
        )
        return found.sort("row")[_ID]
    return asked.join(known.drop("start_ns"), on="key", how="left", maintain_order="left")[_ID]


def _keys(*frames: pl.DataFrame) -> list[pl.Series]:
    """Return one number per row that is the same where all columns are; joins by one number take far less room."""
    keys = [pl.repeat(0, frame.height, dtype=pl.Int64, eager=True) for frame in frames]
    most = 1
    for name in frames[0].columns:
        distinct = pl.concat([frame[name].unique() for frame in frames]).unique().sort()
        if most * distinct.len() >= _LARGEST_KEY:
            numbers = pl.concat([key.unique() for key in keys]).unique().sort()
            keys, most = [numbers.search_sorted(key).cast(pl.Int64) for key in keys], numbers.len()
        places = [distinct.search_sorted(frame[name]).cast(pl.Int64) for frame in frames]
        keys = [key * distinct.len() + place for key, place in zip(keys, places, strict=True)]
        most *= distinct.len()
    return keys


def _compute(kernels: pl.DataFrame, *, detailed: bool) -> TextTable:
    """Return the kernels; without operator information (level0) everything it would tell is ``N/A``."""
    unknown = pl.lit(UNKNOWN)
    described = [
        _shape(f"{side}_{part}") if part == "shapes" else _text(f"{side}_{part}")
        for side in ("input", "output")
        for part in _TENSORS
    ]
    titles = [f"{side}{title}" for side in ("input", "output") for title in _TITLES]
    hf32 = pl.when(pl.col("hf32")).then(pl.lit("YES")).otherwise(pl.lit("NO"))
    numbers = [pl.col(name) if detailed else pl.lit(0, pl.Int64) for name in ("block_num", "mix_block_num")]
    texts = {"taskType": _text("task_type"), "opType": _text("op_type")}
    texts |= dict(zip(titles, described, strict=True))
    texts |= {"opState": _text("op_state"), "hf32Eligible": hf32}
    columns: list[pl.Expr] = [
        _text("name").alias("name"),
        pl.col(_ID),
        *(value.alias(name) for value, name in zip(numbers, ("blockNum", "mixBlockNum"), strict=True)),
        *((value if detailed else unknown).alias(name) for name, value in texts.items()),
        *(unknown.alias(name) for name in ("attrInfo", "gridDim", "blockDim")),
    ]
    return TextTable.of(_identified(kernels), columns)


def _identified(kernels: pl.DataFrame) -> pl.DataFrame:
    return kernels.filter(pl.col(_ID).is_not_null()) if kernels[_ID].null_count() else kernels


def _shape(name: str) -> pl.Expr:
    """Return shapes in the quotes that op_summary shows around them."""
    absent = pl.col(name.replace("shapes", "dtypes")).fill_null("") == ""
    quoted = pl.concat_str([pl.lit('"'), pl.col(name), pl.lit('"')])
    return pl.when(absent).then(pl.lit(UNKNOWN)).otherwise(quoted)


def _schedules(kernels: pl.DataFrame, *, detailed: bool) -> pl.DataFrame:
    unknown = pl.lit(UNKNOWN)
    return (
        _identified(kernels)
        .with_columns(categorical().cast(pl.String))
        .select(
            _text("name").alias("name"),
            _ID,
            (_text("task_type") if detailed else unknown).alias("taskType"),
            (_text("op_type") if detailed else unknown).alias("opType"),
        )
    )


def _copies(tasks: pl.DataFrame) -> pl.DataFrame:
    kinds = ENUMS["ENUM_MEMCPY_OPERATION"]
    return tasks.filter(pl.col("copy_bytes").is_not_null()).select(
        _ID,
        pl.col("copy_bytes").alias("size"),
        pl.when(pl.col("copy_kind").is_in(list(kinds))).then("copy_kind").otherwise(OTHER).alias("memcpyOperation"),
    )


def _counter(profile: Profile, column: str, ids: pl.Series) -> Table:
    """
    Return the values of one counter column of op_summary; kernels that do not have it give no row.

    Times are ns, bandwidths bytes/s; names are those of the toolkit's own tables (Ascend/msprof,
    unified_pmu_processor.cpp). What is worked out from the task's duration is not kept there.
    """
    if column in ("cube_utilization(%)", "memory_bound"):
        return pl.DataFrame()
    name, scale = _counter_name(column, split="aiv_time(us)" in profile.pmu_columns)
    value = pl.col(column).cast(pl.Float64).fill_nan(None).alias("value")
    rows = profile.compact("kernels", column).select(ids.alias(_ID), value).drop_nulls()
    return TextTable.of(rows, [pl.col(_ID), pl.lit(name).alias("name"), pl.col("value") * scale])


def _counter_name(column: str, *, split: bool) -> tuple[str, float]:
    """Return the name of a counter in the database and the factor to its unit."""
    if column in _CORE_TIMES:
        name = _CORE_TIMES[column]
        return (f"aic_{name}" if split and name == "total_time" else name), _NS_PER_US
    for unit, scale in (("(us)", _NS_PER_US), ("(GB/s)", _GB)):
        if column.endswith(unit):
            return column.removesuffix(unit), scale
    return column, 1.0


def _operations(operations: pl.DataFrame) -> pl.DataFrame:
    start = pl.col("start_ns")
    return operations.select(
        _text("name").alias("opName"),
        start.alias("startNs"),
        (start + pl.col("duration_ns")).alias("endNs"),
        pl.col("connection_id").alias("connectionId"),
        _text("group").alias("groupName"),
        "opId",
        pl.col("relay").cast(pl.Int64),
        pl.col("retry").cast(pl.Int64),
        enum_number(pl.col("dtype"), "ENUM_HCCL_DATA_TYPE").alias("dataType"),
        _text("algorithm").alias("algType"),
        "count",
        _text("op_type").alias("opType"),
        pl.col("device_id").alias("deviceId"),
        pl.col("rank_size").alias("rankSize"),
    )


def _transfers(rows: pl.DataFrame, operations: pl.DataFrame, tasks: pl.DataFrame) -> pl.DataFrame:
    """Return the tasks of communication operators; their tables have bandwidths in 10^9 bytes/s."""
    if rows.is_empty():
        return pl.DataFrame()
    of = operations.select("device_id", "connection_id", "opId", pl.col("name").alias("operation"))
    notify = pl.col("notify_id").cast(pl.UInt64, strict=False)
    # All bits set, as the toolkit has it, is -1 in a column of signed numbers.
    notify = notify.reinterpret(signed=True).fill_null(_NO_NUMBER)
    found = rows.with_columns(_global_ids(rows, tasks)).join(
        of, on=["device_id", "connection_id"], how="left", maintain_order="left"
    )
    return found.select(
        _text("operation").alias("name"),
        _ID,
        _text("name").alias("taskType"),
        pl.col("plane_id").alias("planeId"),
        _text("group").alias("groupName"),
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
        (pl.col("bandwidth_gbs") * 1e9).alias("bandwidth"),
    )
