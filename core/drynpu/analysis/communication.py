"""
How long communication operators took, waited and moved what over which links (cann_msprof.md 4.7).

The tasks of an operator's main plane give its time: transit (transfers to other ranks), wait
(``Notify_Wait``), of which synchronisation is what lies before the first transfer, and idle, which is the rest.
Sizes and links come from the tasks of all planes (Ascend/msprof, msparser/cluster).
"""

from __future__ import annotations

import polars as pl

from drynpu.analysis._steps import launched_ranges, step_ranges, steps_at
from drynpu.tables import Profile

COMMUNICATION_TIME = pl.Schema(
    {
        "device_id": pl.Int64,
        "connection_id": pl.Int64,
        "name": pl.String,
        "group": pl.String,
        "start_ns": pl.Int64,
        "elapse_ns": pl.Int64,
        "transit_ns": pl.Int64,
        "wait_ns": pl.Int64,
        "synchronization_ns": pl.Int64,
        "idle_ns": pl.Int64,
    }
)
"""One row per operator whose tasks are known, in order of device and start."""

COMMUNICATION_TRANSFERS = pl.Schema(
    {
        "device_id": pl.Int64,
        "connection_id": pl.Int64,
        "src_rank": pl.Int64,
        "dst_rank": pl.Int64,
        "transport": pl.String,  # LOCAL, HCCS, PCIE, SIO, RDMA; SDMA for links that have no entry of their own
        "is_master": pl.Boolean,
        "start_ns": pl.Int64,
        "time_ns": pl.Int64,
        "size_bytes": pl.Int64,
    }
)
"""One row per transfer, in the order of the tasks."""

COMMUNICATION_STATISTIC = pl.Schema(
    {
        "device_id": pl.Int64,
        "op_type": pl.String,
        "count": pl.Int64,
        "total_us": pl.Float64,
        "min_us": pl.Float64,
        "avg_us": pl.Float64,
        "max_us": pl.Float64,
        "ratio_pct": pl.Float64,
    }
)

# What the records hold as the other end where a rank copies within itself (cann_msprof.md 4.7).
_THIS_RANK = 4294967295
OPERATOR_KEY = ["device_id", "connection_id"]
# What the analyses call the links of the records; any other link is shown as SDMA.
_TRANSPORTS = {"ON_CHIP": "LOCAL", "HCCS_SW": "HCCS", "HCCS": "HCCS", "PCIE": "PCIE", "SIO": "SIO"}


def communication_transfers(profile: Profile) -> pl.DataFrame:
    """Return table :data:`COMMUNICATION_TRANSFERS`; a rank is the other end of its own local copies."""
    return transfers_of(profile.frame("communication_tasks"))


def transfers_of(tasks: pl.DataFrame) -> pl.DataFrame:
    """Return table :data:`COMMUNICATION_TRANSFERS` of rows of the table ``communication_tasks``."""
    tasks = tasks.filter(pl.col("transfer_ns").is_not_null())
    link = pl.col("link").replace_strict(_TRANSPORTS, default="SDMA", return_dtype=pl.String)
    return tasks.with_columns(
        pl.when(pl.col("transport") == "RDMA").then(pl.lit("RDMA")).otherwise(link).alias("transport"),
        pl.when(pl.col("dst_rank") == _THIS_RANK).then("src_rank").otherwise("dst_rank").alias("dst_rank"),
        pl.col("transfer_ns").alias("time_ns"),
        pl.col("transfer_bytes").alias("size_bytes"),
    ).select(pl.col(name).cast(dtype) for name, dtype in COMMUNICATION_TRANSFERS.items())


def communication_time(profile: Profile, transfers: pl.DataFrame) -> pl.DataFrame:
    """Return table :data:`COMMUNICATION_TIME`; *transfers* come from :func:`communication_transfers`."""
    tasks = profile.frame("communication_tasks")
    master = tasks.filter("is_master").sort(*OPERATOR_KEY, "plane_id", "start_ns", maintain_order=True)
    remote = transfers.filter(pl.col("is_master") & (pl.col("transport") != "LOCAL"))
    transit = remote.group_by(OPERATOR_KEY).agg(
        pl.col("time_ns").sum().alias("transit_ns"), pl.col("start_ns").min().alias("first_ns")
    )
    # What waits for the end of an RDMA transfer is part of it.
    window = pl.when(pl.col("rdma") == "RDMA_SEND_PAYLOAD").then(pl.col("start_ns") + pl.col("transfer_ns"))
    covered = window.fill_null(0).cum_max().over(*OPERATOR_KEY, "plane_id")
    waits = master.filter((pl.col("name") == "Notify_Wait") & (pl.col("start_ns") >= covered))
    waited = (
        waits.join(transit, on=OPERATOR_KEY, how="left")
        .group_by(OPERATOR_KEY)
        .agg(
            pl.col("duration_ns").sum().alias("wait_ns"),
            pl.col("duration_ns")
            .filter(pl.col("first_ns").is_null() | (pl.col("start_ns") < pl.col("first_ns")))
            .sum()
            .alias("synchronization_ns"),
        )
    )
    operators = profile.communication_ops.join(tasks.select(OPERATOR_KEY).unique(), on=OPERATOR_KEY, how="semi")
    counted = ["transit_ns", "wait_ns", "synchronization_ns"]
    return (
        operators.join(transit, on=OPERATOR_KEY, how="left")
        .join(waited, on=OPERATOR_KEY, how="left")
        .with_columns(pl.col(counted).fill_null(0), pl.col("duration_ns").alias("elapse_ns"))
        .with_columns((pl.col("elapse_ns") - pl.col("transit_ns") - pl.col("wait_ns")).alias("idle_ns"))
        .sort("device_id", "start_ns", maintain_order=True)
        .select(pl.col(name).cast(dtype) for name, dtype in COMMUNICATION_TIME.items())
    )


def communication_steps(profile: Profile, times: pl.DataFrame) -> tuple[tuple[int, ...], pl.Series]:
    """
    Return the steps of a profile in order, and the step of each row of *times*; no steps where there are none.

    With one step everything belongs to it; else an operator belongs to the step whose device range holds its start,
    both ends included, and to none (null) outside.
    """
    ranges = step_ranges(profile)
    steps = tuple(ranges["step_id"].to_list())
    if len(steps) == 1:
        return steps, pl.Series("step_id", [steps[0]] * times.height, dtype=pl.Int64)
    return steps, steps_at(times["start_ns"], ranges, with_end=True)


def launched_communication_steps(profile: Profile, times: pl.DataFrame) -> tuple[tuple[int, ...], pl.Series]:
    """
    Return the same by the rule of the vendor's databases, where a single step does not have everything.

    The ranges come from ``launched_ranges``.
    """
    ranges = launched_ranges(profile).drop_nulls("step_id")
    return tuple(ranges["step_id"].to_list()), steps_at(times["start_ns"], ranges, with_end=True)


def communication_statistic(profile: Profile) -> pl.DataFrame:
    """Return table :data:`COMMUNICATION_STATISTIC`: per device and type, longest total first."""
    us = pl.col("duration_ns") / 1000
    return (
        profile.communication_ops.group_by("device_id", "op_type", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("count"),
            us.sum().alias("total_us"),
            us.min().alias("min_us"),
            us.mean().alias("avg_us"),
            us.max().alias("max_us"),
        )
        .with_columns((100 * pl.col("total_us") / pl.col("total_us").sum().over("device_id")).alias("ratio_pct"))
        .sort("device_id", "total_us", descending=[False, True], maintain_order=True)
        .select(pl.col(name).cast(dtype) for name, dtype in COMMUNICATION_STATISTIC.items())
    )
