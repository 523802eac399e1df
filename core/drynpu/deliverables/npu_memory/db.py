"""NPU_MEM and NPU_MODULE_MEM of the database (cann_msprof.md 4.6)."""

from __future__ import annotations

import polars as pl

from drynpu.deliverables._db_columns import Rows, place_and_time
from drynpu.deliverables.npu_memory.facts import APP, DEVICE
from drynpu.tables import Profile

_KINDS = {APP: "app", DEVICE: "device"}


def db_rows(profile: Profile) -> Rows:
    """Yield the samples, sizes in bytes."""
    memory, modules = profile.npu_mem, profile.npu_module_mem
    kind = pl.col("event").replace_strict(_KINDS, default="N/A", return_dtype=pl.String).alias("type")
    sizes = [pl.col("ddr_bytes").alias("ddr"), pl.col("hbm_bytes").alias("hbm")]
    yield "NPU_MEM", memory.select(kind, *sizes, *place_and_time(memory))
    columns = [pl.col("module_id").alias("moduleId"), pl.col("reserved_bytes").alias("totalReserved")]
    yield "NPU_MODULE_MEM", modules.select(*columns, *place_and_time(modules))
