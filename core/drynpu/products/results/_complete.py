"""What one source leaves open and another knows: launches of kernels, kernels and tasks of each other, groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from drynpu.layouts.communication_files import ELAPSE, START_TIME, TIME_INFO
from drynpu.products.results._spellings import spellings, typed
from drynpu.tables import COMMUNICATION_OPS, KERNELS, NO_CONTEXT, NO_MODEL, TASKS

_NEAREST_NS = 1_000_000
"""A kernel of op_summary and its task differ by what the counters of the kernel do not cover."""


def complete(tables: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return *tables* with kernels and tasks, if one of them is known, and with the launch of each kernel."""
    completed = dict(tables)
    if "kernels" not in completed and "tasks" in completed:
        completed["kernels"] = _kernels_of(completed["tasks"])
    elif "kernels" in completed and "tasks" not in completed:
        completed["tasks"] = _tasks_of(completed["kernels"])
    elif "kernels" in completed:
        completed["kernels"] = _launched(completed["kernels"], completed["tasks"])
    if "kernels" in completed and "api" in completed:
        completed["kernels"] = _nodes(completed["kernels"], completed["api"])
    return completed


def _kernels_of(tasks: pl.DataFrame) -> pl.DataFrame:
    """Return the kernels that a timeline or task_time.csv names, of which it does not tell the shapes."""
    kinds = spellings()["task_types"]["kernel"]
    named = tasks.filter((pl.col("kernel_name") != "") & (pl.col("kernel_type").is_in(kinds)))
    return typed(
        named,
        KERNELS,
        name=pl.col("kernel_name"),
        task_type=pl.col("kernel_type"),
        block_num=pl.lit(0),
        mix_block_num=pl.lit(0),
        hf32=pl.lit(False),
        node_start_ns=pl.lit(-1),
        node_tid=pl.lit(-1),
    )


def _tasks_of(kernels: pl.DataFrame) -> pl.DataFrame:
    return typed(
        kernels,
        TASKS,
        kernel_name=pl.col("name"),
        kernel_type=pl.col("task_type"),
        launch_type=pl.col("task_type"),
        context_id=pl.col("context_id").fill_null(NO_CONTEXT),
    )


def _launched(kernels: pl.DataFrame, tasks: pl.DataFrame) -> pl.DataFrame:
    """
    Give each kernel without a launch the launch of its task: same ids, else same name; nearest in time.

    It gets the name of its task, too: MindSpore's kernel_details.csv puts the operator before it.
    """
    if (kernels["connection_id"] >= 0).all():
        return kernels
    by_id = (kernels["task_id"] >= 0).all()
    key = ["device_id", "stream_id", "task_id"] if by_id else ["device_id", "name"]
    known = tasks.with_columns(pl.col("kernel_name").alias("name")).select(
        *key, "start_ns", "connection_id", "batch_id", "kernel_name"
    )
    placed = (
        kernels.drop("connection_id", "batch_id")
        .with_row_index("row")
        .sort("start_ns")
        .join_asof(
            known.sort("start_ns"),
            on="start_ns",
            by=key,
            strategy="nearest",
            tolerance=_NEAREST_NS,
            check_sortedness=False,
        )
        .sort("row")
    )
    named = pl.when(pl.col("kernel_name").fill_null("") != "").then("kernel_name").otherwise("name")
    filled = (pl.col("connection_id").fill_null(-1), pl.col("batch_id").fill_null(0), named.alias("name"))
    return placed.with_columns(filled).select(kernels.columns)


def _nodes(kernels: pl.DataFrame, api: pl.DataFrame) -> pl.DataFrame:
    """Add start and thread of the call that launched each kernel."""
    nodes = api.filter((pl.col("level") == "node") & (pl.col("connection_id") >= 0)).select(
        "connection_id", pl.col("start_ns").alias("node_start"), pl.col("tid").alias("node_thread")
    )
    joined = kernels.join(nodes.unique("connection_id"), on="connection_id", how="left", maintain_order="left")
    return joined.with_columns(
        pl.col("node_start").fill_null(-1).alias("node_start_ns"), pl.col("node_thread").fill_null(-1).alias("node_tid")
    ).select(kernels.columns)


def with_groups(tables: dict[str, pl.DataFrame], groups: Mapping[str, str]) -> dict[str, pl.DataFrame]:
    """Return *tables* with the groups of collectives that communication.json names; older timelines number them."""
    if not groups or "communication_ops" not in tables:
        return tables
    named = pl.col("name").replace_strict(dict(groups), default=None, return_dtype=pl.String)
    operations = tables["communication_ops"].with_columns(pl.coalesce(named, "group").alias("group"))
    changed = {"communication_ops": operations}
    if "communication_tasks" in tables:
        key = ["device_id", "connection_id"]
        named_groups = operations.select(*key, pl.col("group").alias("named")).unique(key, keep="first")
        parts = tables["communication_tasks"]
        with_names = parts.join(named_groups, on=key, how="left", maintain_order="left")
        changed["communication_tasks"] = with_names.with_columns(pl.coalesce("named", "group").alias("group")).select(
            parts.columns
        )
    return tables | changed


def stated_collectives(document: Mapping[str, Any], device_id: int) -> pl.DataFrame:
    """Return the collectives of communication.json: names, groups and times; its starts have a quarter microsecond."""
    rows = [
        (*key.partition("@")[::2], _whole_ns(times[START_TIME]), round(times[ELAPSE] * 1e6))
        for step in document.values()
        for operators in step.values()
        for key, entry in operators.items()
        if "@" in key and (times := entry[TIME_INFO])[START_TIME]
    ]
    schema = {"name": pl.String, "group": pl.String, "start_ns": pl.Int64, "duration_ns": pl.Int64}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return typed(
        table.sort("start_ns", maintain_order=True),
        COMMUNICATION_OPS,
        device_id=pl.lit(device_id),
        connection_id=pl.lit(-1),
        model_id=pl.lit(NO_MODEL),
        op_type=pl.col("name").str.extract(r"^(.+?_)_\d"),
    )


def _whole_ns(time_us: float) -> int:
    # A product would have fewer digits than the number has.
    return int(time_us) * 1000 + round(time_us % 1 * 1000)


def with_file_times(operations: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """
    Return collectives of a timeline with the times of op_summary or kernel_details, if both name the same ones.

    A timeline rounds them twice, so that they are a nanosecond off.
    """
    key = ["device_id", "name"]
    once = not operations.select(key).is_duplicated().any() and not rows.select(key).is_duplicated().any()
    if not once:
        return operations
    exact = rows.select(*key, pl.col("start_ns").alias("start"), pl.col("duration_ns").alias("duration"))
    return (
        operations.join(exact, on=key, how="left", maintain_order="left")
        .with_columns(
            pl.coalesce("start", "start_ns").alias("start_ns"),
            pl.coalesce("duration", "duration_ns").alias("duration_ns"),
        )
        .select(operations.columns)
    )
