"""How the data of a training is prepared: waits, queues, operators of the pipeline (mindinsight_dashboard.md 6)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import polars as pl

from drynpu.analysis import host_steps, once_per_profile
from drynpu.tables import Profile

LOADER_WAITS = pl.Schema(
    {
        "step": pl.String,
        "calls": pl.Int64,
        "wait_ns": pl.Int64,  # of the script for its next batch
        "step_ns": pl.Int64,  # of the whole step on the host
    }
)
"""One row per step of a PyTorch training, in host order."""

QUEUE_RECORDS = pl.Schema(
    {
        "queue": pl.String,  # HOST_QUEUE or DEVICE_QUEUE
        "batch": pl.Int64,  # from 1
        "size": pl.Int64,  # batches waiting; null if nobody counted them
        "capacity": pl.Int64,  # null if unknown
        "wait_ns": pl.Int64,  # of who takes the batch; null if unknown
    }
)
"""One row per batch that was taken from a queue."""

PIPELINE_QUEUES = pl.Schema(
    {
        "op_id": pl.Int64,
        "name": pl.String,  # Batch
        "workers": pl.Int64,
        "parent_id": pl.Int64,  # takes what the operator puts; null of the root
        "average_size": pl.Float64,  # null without an output queue
        "capacity": pl.Int64,
        "usage": pl.Float64,  # 0 to 1
        "empty": pl.Float64,  # share of samples that found nothing
        "cpu_pct": pl.Float64,  # mean over the samples, of one core
    }
)
"""One row per operator of MindSpore's data pipeline, by number."""

HOST_QUEUE, DEVICE_QUEUE = "host", "device"
_LOADER_NAME = r"^enumerate\(DataLoader\)"
"""Name of the range that PyTorch's DataLoader opens while a script waits for a batch."""

EMPTY_LIMIT = 0.3
"""Share of empty batches from which a queue is too slow (mindinsight_dashboard.md 6.2)."""
USAGE_HIGH, USAGE_LOW, USAGE_GAP = 0.8, 0.6, 0.1
"""Thresholds of the filter of pipeline operators (mindinsight_dashboard.md 6.3)."""


@once_per_profile
def loader_waits(profile: Profile) -> pl.DataFrame:
    """Return table :data:`LOADER_WAITS`; a row without a step where the script has none; empty without a DataLoader."""
    waits = profile.host_ops.filter(pl.col("name").str.contains(_LOADER_NAME)).select("start_ns", "end_ns", "tid")
    if waits.is_empty():
        return pl.DataFrame(schema=LOADER_WAITS)
    wait = (pl.col("end_ns") - pl.col("start_ns")).sum().alias("wait_ns")
    steps = host_steps(profile).sort("host_start_ns")
    if steps.is_empty():
        ops = profile.host_ops
        span = int(ops["end_ns"].max()) - int(ops["start_ns"].min())  # type: ignore[arg-type]
        rows = waits.select(pl.lit("").alias("step"), pl.len().alias("calls"), wait, pl.lit(span).alias("step_ns"))
    else:
        placed = waits.sort("start_ns").join_asof(
            steps.select("step_id", "host_start_ns", "host_end_ns"),
            left_on="start_ns",
            right_on="host_start_ns",
            check_sortedness=False,
        )
        inside = placed.filter(pl.col("start_ns") <= pl.col("host_end_ns")).group_by("step_id")
        rows = steps.join(inside.agg(pl.len().alias("calls"), wait), on="step_id", how="left").select(
            pl.col("step_id").cast(pl.String).alias("step"),
            pl.col("calls", "wait_ns").fill_null(0),
            (pl.col("host_end_ns") - pl.col("host_start_ns")).alias("step_ns"),
        )
    return rows.head(rows.height if steps.height else 1).select(
        pl.col(name).cast(dtype) for name, dtype in LOADER_WAITS.items()
    )


@once_per_profile
def queue_records(profile: Profile) -> pl.DataFrame:
    """Return table :data:`QUEUE_RECORDS`: the queue on the host, as MindSpore reports it, then the device's queue."""
    times, waits = profile.frame("pipeline_times"), profile.frame("queue_waits")
    sizes = times.filter(pl.col("record") == 1)
    obtained = times.filter((pl.col("record") == 0) & (pl.col("part") == 0)).unique("batch", keep="first")
    host = sizes.join(obtained.select("batch", pl.col("value").alias("wait_ms")), on="batch", how="left").select(
        pl.lit(HOST_QUEUE).alias("queue"),
        "batch",
        pl.col("value").alias("size"),
        pl.col("part").alias("capacity"),
        (pl.col("wait_ms") * 1_000_000).alias("wait_ns"),
    )
    device = waits.sort("device_id", "start_us", maintain_order=True).select(
        pl.lit(DEVICE_QUEUE).alias("queue"),
        (pl.int_range(pl.len(), dtype=pl.Int64).over("device_id") + 1).alias("batch"),
        pl.col("queue_size").alias("size"),
        pl.lit(None, pl.Int64).alias("capacity"),
        ((pl.col("end_us") - pl.col("start_us")) * 1000).alias("wait_ns"),
    )
    return pl.concat(
        [part.select(pl.col(name).cast(dtype) for name, dtype in QUEUE_RECORDS.items()) for part in (host, device)]
    )


def queue_status(records: pl.DataFrame) -> Mapping[str, bool]:
    """
    Return which parts of data preparation are suspect, by the vendor's rules; nothing where both queues lack sizes.

    Keys are ``data processing``, ``host queue``, ``data transmission``, in the order of the data. With more empty
    batches on the host than `EMPTY_LIMIT` it is data processing, else with any on the device the transmission, else the
    queue on the host; the last two need the sizes of the device's queue.

    Parameters
    ----------
    records:
        Table :data:`QUEUE_RECORDS`.
    """
    known = records.drop_nulls("size")
    host, device = (known.filter(pl.col("queue") == name)["size"] for name in (HOST_QUEUE, DEVICE_QUEUE))
    if host.is_empty():
        return MappingProxyType({})
    slow = int((host == 0).sum()) > EMPTY_LIMIT * host.len()
    status = {"data processing": slow}
    if device.len():
        starved = bool((device == 0).any())
        status |= {"host queue": not slow and not starved, "data transmission": not slow and starved}
    return MappingProxyType(status)


@once_per_profile
def pipeline_queues(profile: Profile) -> pl.DataFrame:
    """Return table :data:`PIPELINE_QUEUES`; empty where MindSpore's pipeline was not recorded."""
    ops = profile.frame("pipeline_ops").sort("op_id")
    parents = (
        ops.select(pl.col("op_id").alias("parent_id"), pl.col("children").alias("op_id"))
        .explode("op_id")
        .drop_nulls("op_id")
        .unique("op_id", keep="first", maintain_order=True)
    )
    sizes = pl.col("queue_sizes")
    count = sizes.list.len()
    average = pl.when(count > 0).then(sizes.list.mean())
    cpu = pl.col("cpu_pct")
    return ops.join(parents, on="op_id", how="left", maintain_order="left").select(
        "op_id",
        pl.col("op_type").str.strip_suffix("Op").alias("name"),
        pl.col("num_workers").alias("workers"),
        "parent_id",
        average.alias("average_size"),
        pl.col("queue_length").alias("capacity"),
        pl.when(pl.col("queue_length") > 0).then(average / pl.col("queue_length")).alias("usage"),
        pl.when(count > 0).then(sizes.list.count_matches(0) / count).alias("empty"),
        pl.when(cpu.list.len() > 0).then(cpu.list.mean()).alias("cpu_pct"),
    ).select(pl.col(name).cast(dtype) for name, dtype in PIPELINE_QUEUES.items())  # fmt: skip


def suspect_operators(queues: pl.DataFrame) -> list[int]:
    """
    Return the numbers of operators that may hold up the pipeline, by the vendor's filter.

    An inner operator where the queue of a child is fuller than its own by more than `USAGE_GAP`, a leaf whose queue is
    used less than `USAGE_LOW`; the root alone where every queue is used at least `USAGE_HIGH`.

    Parameters
    ----------
    queues:
        Table :data:`PIPELINE_QUEUES`.
    """
    used = queues.drop_nulls("usage")
    if used.is_empty():
        return []
    if (used["usage"] >= USAGE_HIGH).all():
        return queues.filter(pl.col("parent_id").is_null())["op_id"].head(1).to_list()
    fullest = used.group_by("parent_id").agg(pl.col("usage").max().alias("input"))
    joined = used.join(fullest, left_on="op_id", right_on="parent_id", how="left", maintain_order="left")
    leaf = pl.col("input").is_null() & (pl.col("usage") < USAGE_LOW)
    inner = (pl.col("input") - pl.col("usage")) > USAGE_GAP
    return joined.filter(leaf | inner.fill_null(value=False))["op_id"].to_list()
