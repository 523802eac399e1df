"""Samples of the device memory in use."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from drynpu.arrays import I64, Records
from drynpu.deliverables._sample_times import sampled_unix_ns
from drynpu.deliverables.load_context import LoadContext
from drynpu.layouts.npu_memory import NPU_MEM as NPU_MEM_RECORD
from drynpu.layouts.npu_memory import NPU_MEM_BY_VERSION
from drynpu.raw import ClockAnchors

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
    memory = NPU_MEM_BY_VERSION.get(context.reader.host_info.version, NPU_MEM_RECORD).name
    return context.each_device(
        SCHEMAS,
        lambda side: {
            "npu_mem": context.samples(memory, side, NPU_MEM, _sampled),
            "npu_module_mem": context.samples("npu_module_mem", side, NPU_MODULE_MEM, _of_host),
        },
    )


def _sampled(clock: ClockAnchors, records: Records) -> I64:
    return sampled_unix_ns(clock, records["time_us"])


def _of_host(clock: ClockAnchors, records: Records) -> I64:
    return clock.host_to_unix(records["host_time"])
