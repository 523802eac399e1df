"""Communication operations, put together from the tasks of one API call."""

from __future__ import annotations

import numpy as np
import polars as pl

from drynpu.raw import Level
from drynpu.tables._columns import empty, gather_text, texts
from drynpu.tables._schemas import COMMUNICATION_OPS
from drynpu.tables._sides import HostSide

__all__ = ["communication_ops"]

_HCCL_DTYPES = (
    "INT8", "INT16", "INT32", "FP16", "FP32", "INT64", "UINT64", "UINT8", "UINT16", "UINT32", "FP64", "BFP16", "INT128",
)  # fmt: skip
"""ENUM_HCCL_DATA_TYPE (torch_npu_profiler.md 4.16)."""


def communication_ops(joined: pl.DataFrame, host: HostSide) -> pl.DataFrame:
    """Return one row per communication API that put tasks on a device: from its first start to its last end."""
    if not (joined["collective"] >= 0).any():
        return empty(COMMUNICATION_OPS)
    calls, rows = host.calls, host.collectives
    told = pl.DataFrame(
        {
            "collective": host.around(Level.COMMUNICATION, rows),
            "group": gather_text(host.words.hashes, rows["group_name"]),
            "algorithm": gather_text(host.words.hashes, rows["alg_type"]),
            "dtype": texts(rows["data_type"], lambda v: _HCCL_DTYPES[v] if v < len(_HCCL_DTYPES) else str(v)),
            "count": rows["count"].astype(np.int64),
        }
    ).unique("collective", keep="first", maintain_order=True)
    ran = (
        joined.filter(pl.col("collective") >= 0)
        .group_by("device_id", "collective", maintain_order=True)
        .agg(pl.col("start_ns").min(), (pl.col("start_ns") + pl.col("duration_ns")).max().alias("end_ns"))
        .join(told, on="collective", how="left", maintain_order="left")
    )
    call = ran["collective"].to_numpy()
    items = calls.table["item"][call]
    names = pl.select(pl.when(items != "").then(items).otherwise(calls.table["name"][call])).to_series()
    return ran.with_columns(
        names.alias("name"),
        pl.Series("connection_id", calls.connection_id[call]),
        (pl.col("end_ns") - pl.col("start_ns")).alias("duration_ns"),
        pl.lit(None, pl.Int64).alias("rank_size"),
        pl.col("group", "algorithm", "dtype").fill_null(""),
    ).select(pl.col(name).cast(dtype) for name, dtype in COMMUNICATION_OPS.items())
