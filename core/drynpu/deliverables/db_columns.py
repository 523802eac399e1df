"""Columns that many database tables have (cann_msprof.md 4.6); rates are in bytes per second."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from drynpu.deliverables.units import MB
from drynpu.writers.number_text import UNKNOWN
from drynpu.writers.text_table import Table

_TIDS = 2**32

Rows = Iterator[tuple[str, Table]]
"""Names of tables with rows; a table may come several times."""


def place_and_time(samples: pl.DataFrame) -> list[pl.Series]:
    """Return the device and the time of each sample."""
    return [samples["device_id"].alias("deviceId"), samples["time_ns"].alias("timestampNs")]


def global_tid(pid: pl.Expr | int) -> pl.Expr:
    """Return the number of each row's thread ``tid`` in the database: its process times 2^32, plus its own id."""
    return pid * _TIDS + pl.col("tid")


def bytes_per_s(mb_s: pl.Expr) -> pl.Expr:
    """Return MB/s as whole bytes per second; null where a rate of damaged records does not fit."""
    return (mb_s * MB).cast(pl.Int64, strict=False)


def text_or_unknown(name: str) -> pl.Expr:
    """Return a column of texts, ``N/A`` where there is none."""
    return pl.col(name).replace("", UNKNOWN).fill_null(UNKNOWN)
