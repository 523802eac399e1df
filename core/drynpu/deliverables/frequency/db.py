"""AICORE_FREQ of the database (cann_msprof.md 4.6)."""

from __future__ import annotations

import polars as pl

from drynpu.deliverables._db_columns import Rows, place_and_time
from drynpu.tables import Profile

_NO_DIE = -1


def db_rows(profile: Profile) -> Rows:
    """Yield one row per change of the clock; which die it belongs to is not recorded."""
    changes = profile.frequencies
    die = pl.lit(_NO_DIE, pl.Int64).alias("dieId")
    yield "AICORE_FREQ", changes.select(*place_and_time(changes), pl.col("mhz").alias("freq"), die)
