"""Samples of the device memory in use."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from drynpu.deliverables.load_context import LoadContext

NPU_MEM = pl.Schema(
    {
        "device_id": pl.Int64,
        "event": pl.Int64,  # facts.APP or facts.DEVICE
        "time_ns": pl.Int64,
        "ddr_bytes": pl.Int64,
        "hbm_bytes": pl.Int64,
    }
)
"""Memory that the process and the device use, by device and time."""

NPU_MODULE_MEM = pl.Schema(
    {"device_id": pl.Int64, "module_id": pl.Int64, "time_ns": pl.Int64, "reserved_bytes": pl.Int64}
)
"""Memory that each component of the device software reserves, by device and time."""

SCHEMAS: Mapping[str, pl.Schema] = {"npu_mem": NPU_MEM, "npu_module_mem": NPU_MODULE_MEM}


def load(context: LoadContext) -> Mapping[str, pl.DataFrame]:
    """Return the samples of all devices."""
    return context.each_device(
        SCHEMAS, lambda side: {name: context.samples(name, side, schema) for name, schema in SCHEMAS.items()}
    )
