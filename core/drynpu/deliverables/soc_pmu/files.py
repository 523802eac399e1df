"""soc_pmu: hits and misses of the translation buffers by task (cann_msprof.md 4.4)."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from drynpu.tables import Profile
from drynpu.writers._numbers import UNKNOWN, Writer, floats_text

READ_TABLES = ("soc_pmu_tasks",)


def csv_files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
    """Return the table; the Python writer makes it on every chip."""
    del writer
    return {"soc_pmu": _table(profile)}


def torch_csv_files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
    """Return what torch_npu.profiler copies (torch_npu_profiler.md 3.6)."""
    del writer
    return {"soc_pmu.csv": _table(profile)}


def _table(profile: Profile) -> pl.DataFrame:
    """Return rates per task; the operator column is left out where no operator is known, as the toolkit does."""
    tasks = profile.frame("soc_pmu_tasks")

    def share(name: str) -> pl.Series:
        rate = pl.when(pl.col("requests") > 0).then(pl.col(name) / pl.col("requests")).otherwise(0.0)
        return floats_text(tasks.select(rate.round(6)).to_series())

    table = tasks.select(
        pl.col("device_id").cast(pl.String).alias("Device_id"),
        pl.col("stream_id").cast(pl.String).alias("Stream Id"),
        pl.col("task_id").cast(pl.String).alias("Task Id"),
        share("hits").alias("TLB Hit Rate"),
        share("misses").alias("TLB Miss Rate"),
        pl.col("name").replace("", UNKNOWN).alias("Op Name"),
    )
    return table if (tasks["name"] != "").any() else table.drop("Op Name")
