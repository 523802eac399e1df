"""Communication operations, put together from the tasks of one call."""

from __future__ import annotations

import numpy as np
import polars as pl

from drynpu.arrays import I64, Records
from drynpu.raw import HostLevel
from drynpu.tables._schemas import COMMUNICATION_OPS
from drynpu.tables.columns import empty, texts
from drynpu.tables.host import Dictionaries
from drynpu.tables.sides import HostSide

HCCL_DTYPES = (
    "INT8", "INT16", "INT32", "FP16", "FP32", "INT64", "UINT64", "UINT8", "UINT16", "UINT32", "FP64", "BFP16", "INT128",
)  # fmt: skip
"""ENUM_HCCL_DATA_TYPE (torch_npu_profiler.md 4.16)."""

COLLECTIVE_COLUMNS = ("device_id", "start_ns", "duration_ns", "node", "collective", "model_id", "execution")
"""What has to be known of the tasks of communication operators."""

_RELAY, _RETRY = 1, 2
_SUFFIX = 3
"""Characters of the group's name in the name of an operator."""


def group_texts(words: Dictionaries, values: Records) -> pl.Series:
    """Return names of groups; one that the dictionary lacks is shown as its number, as the vendor's parser does."""
    return texts(values, lambda value: words.hashes.get(value, str(value)) if value else "")


def communication_ops(tasks: pl.DataFrame, host: HostSide) -> pl.DataFrame:
    """
    Return one row per communication operator that put *tasks* on a device: from its first start to its last end.

    An operator is the node call around the communication calls of its tasks; calls without one are operators of
    their own. One in a loaded graph has a row for each execution. Its name is ``<item>_<end of the group>_<number in
    the group>_<execution>``, counted in order of start (Ascend/msprof, hccl_calculator); an item that ends in a number
    is such a name already.
    """
    if tasks.is_empty():
        return empty(COMMUNICATION_OPS)
    ran = (
        tasks.with_columns(pl.when(pl.col("node") >= 0).then("node").otherwise("collective").alias("of"))
        .group_by("device_id", "of", "execution", maintain_order=True)
        .agg(
            pl.col("start_ns").min(),
            (pl.col("start_ns") + pl.col("duration_ns")).max().alias("end_ns"),
            pl.col("model_id").first(),
        )
        .join(_described(host), on="of", how="left", maintain_order="left")
        .join(_sizes(host), on="of", how="left", maintain_order="left")
        .sort("device_id", "start_ns", "end_ns", maintain_order=True)
    )
    call = ran["of"].to_numpy()
    items, names = (host.calls.table.texts(name).gather(pl.Series(call)) for name in ("item", "name"))
    kinds = pl.select(pl.when(items != "").then(items).otherwise(names)).to_series()
    return (
        ran.with_columns(
            kinds.alias("op_type"),
            pl.Series("connection_id", host.calls.connection_id(call)),
            (pl.col("end_ns") - pl.col("start_ns")).alias("duration_ns"),
            pl.col("group", "algorithm", "dtype").fill_null(""),
        )
        # All executions of an operator have its number.
        .with_columns((pl.int_range(pl.len()).over("device_id", "of") == 0).alias("first"))
        .with_columns(pl.col("first").cast(pl.Int64).cum_sum().over("device_id", "group").alias("number"))
        .with_columns(pl.col("number").first().over("device_id", "of"))
        .with_columns(_name())
        .with_columns(pl.col("op_type").str.replace(r"_\w{0,3}_\d+_\d+$", ""))
        .select(pl.col(name).cast(dtype) for name, dtype in COMMUNICATION_OPS.items())
    )


def _name() -> pl.Expr:
    number, execution = (pl.col("number") - 1).cast(pl.String), (pl.col("execution") + 1).cast(pl.String)
    whole = pl.concat_str(
        ["op_type", pl.lit("_"), pl.col("group").str.tail(_SUFFIX), pl.lit("_"), number, pl.lit("_"), execution]
    )
    return pl.when(pl.col("op_type").str.contains(r"\d$")).then("op_type").otherwise(whole).alias("name")


def _described(host: HostSide) -> pl.DataFrame:
    """Return what hccl_op_info tells of each operator."""
    rows = host.collectives
    return pl.DataFrame(
        {
            "of": _operator_around(host, rows),
            "group": group_texts(host.words, rows["group_name"]),
            "algorithm": texts(rows["alg_type"], lambda value: host.words.hashes.get(value, "")),
            "dtype": texts(rows["data_type"], lambda v: HCCL_DTYPES[v] if v < len(HCCL_DTYPES) else str(v)),
            "count": rows["count"].astype(np.int64),
            "relay": (rows["flags"] & _RELAY) > 0,
            "retry": (rows["flags"] & _RETRY) > 0,
        }
    ).unique("of", keep="first", maintain_order=True)


def _sizes(host: HostSide) -> pl.DataFrame:
    """Return the size of the group of each operator, which only its tasks tell."""
    rows = host.collective_tasks
    table = pl.DataFrame({"of": _operator_around(host, rows), "rank_size": rows["rank_size"].astype(np.int64)})
    return table.unique("of", keep="first", maintain_order=True)


def _operator_around(host: HostSide, rows: Records) -> I64:
    """Return the node call around each record, or the communication call where there is no node call."""
    node = host.around(HostLevel.NODE, rows)
    return np.where(node >= 0, node, host.around(HostLevel.COMMUNICATION, rows))
