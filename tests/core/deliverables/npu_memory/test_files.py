"""npu_mem and npu_module_mem as text (cann_msprof.md 4.3, torch_npu_profiler.md 4.10)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl

from drynpu.deliverables.npu_memory.files import csv_files, torch_csv_files
from drynpu.tables import NPU_MEM, NPU_MODULE_MEM
from drynpu.writers._numbers import Writer

NS = 1_736_408_883_704_643_212


def test_memory_samples() -> None:
    samples = pl.DataFrame([(0, 0, NS, 1536, 2048), (0, 1, NS, 0, 1024)], schema=NPU_MEM, orient="row")
    rows = [(0, 5000, NS, 1024), (0, 33, NS + 1000, 2 * 1024**2), (0, 33, NS, 0)]
    profile: Any = SimpleNamespace(
        npu_mem=samples, npu_module_mem=pl.DataFrame(rows, schema=NPU_MODULE_MEM, orient="row")
    )
    files = csv_files(profile, Writer.NATIVE)
    assert files["npu_mem"].write_csv() == (
        "Device_id,event,ddr(KB),hbm(KB),memory(KB),timestamp(us)\n"
        "0,app,1.5,2,3.5,1736408883704643.212\t\n"
        "0,device,0,1,1,1736408883704643.212\t\n"
    )
    assert files["npu_module_mem"].write_csv() == (
        "Device_id,Component,Timestamp(us),Total Reserved(KB),Device\n"
        "0,APP,1736408883704643.212\t,0,NPU:0\n"
        "0,APP,1736408883704644.212\t,2048,NPU:0\n"
        "0,Unknown,1736408883704643.212\t,1,NPU:0\n"
    )
    assert torch_csv_files(profile, Writer.NATIVE)["npu_module_mem.csv"].write_csv() == (
        "Device_id,Component,Timestamp(us),Total Reserved(MB),Device\n"
        "0,APP,1736408883704643.212\t,0.0,NPU:0\n"
        "0,APP,1736408883704644.212\t,2.0,NPU:0\n"
        "0,Unknown,1736408883704643.212\t,0.0009765625,NPU:0\n"
    )
