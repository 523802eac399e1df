"""Columns that many database tables of samples have (cann_msprof.md 4.6); rates are in bytes per second."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from drynpu.deliverables._units import MB
from drynpu.writers._text_table import Table

GLOBAL_TID_BITS = 2**32
"""A thread of the database is its process times this, plus its own id."""

Rows = Iterator[tuple[str, Table]]
TIME = pl.col("time_ns").alias("timestampNs")


def place_and_time(samples: pl.DataFrame) -> list[pl.Series]:
    """Return the device and the time of each sample."""
    return [samples["device_id"].alias("deviceId"), samples["time_ns"].alias("timestampNs")]


def bytes_per_s(mb_s: pl.Expr) -> pl.Expr:
    """Return MB/s as whole bytes per second; null where a rate of damaged records does not fit."""
    return (mb_s * MB).cast(pl.Int64, strict=False)
