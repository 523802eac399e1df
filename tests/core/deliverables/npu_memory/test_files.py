"""npu_mem and npu_module_mem as text (cann_msprof.md 4.3, torch_npu_profiler.md 4.10)."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl

from drynpu.deliverables.npu_memory.files import csv_files, layers, torch_csv_files
from drynpu.deliverables.npu_memory.tables import NPU_MEM, NPU_MODULE_MEM
from drynpu.platforms._platform import PlatformFiles
from drynpu.writers.number_text import Writer
from drynpu.writers.trace_json import COMPACT, write_trace

NS = 1_736_408_883_704_643_212


def test_memory_samples() -> None:
    samples = pl.DataFrame([(0, 0, NS, 1536, 2048), (0, 1, NS, 0, 1024)], schema=NPU_MEM, orient="row")
    rows = [(0, 5000, NS, 1024), (0, 33, NS + 1000, 2 * 1024**2), (0, 33, NS, 0)]
    tables = {"npu_mem": samples, "npu_module_mem": pl.DataFrame(rows, schema=NPU_MODULE_MEM, orient="row")}
    platform = SimpleNamespace(files=PlatformFiles())
    profile: Any = SimpleNamespace(frame=tables.__getitem__, platform=platform)
    files = csv_files(profile, Writer.NATIVE)
    assert files["npu_mem"].write_csv() == (
        "Device_id,event,ddr(KB),hbm(KB),memory(KB),timestamp(us)\n"
        "0,APP,1.5,2,3.5,1736408883704643.212\t\n"
        "0,Device,0,1,1,1736408883704643.212\t\n"
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
    platform.files = PlatformFiles(module_memory=False)
    assert csv_files(profile, Writer.PYTHON).keys() == {"npu_mem"}


def test_memory_counters(tmp_path: Path) -> None:
    rows = [(1, 0, 1_000_000, 1024, 512), (1, 1, 2_000_000, 0, 2048)]
    samples = pl.DataFrame(rows, schema=NPU_MEM, orient="row")
    profile: Any = SimpleNamespace(pid=4321, frame=lambda name: {"npu_mem": samples}[name])
    assert write_trace(tmp_path / "t.json", layers(profile, COMPACT, Writer.NATIVE), COMPACT)
    events = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert {event["pid"] for event in events} == {4321 << 10 | 17 << 5 | 1}
    counters = [(event["name"], event["ts"], event["args"]) for event in events if event["ph"] == "C"]
    assert counters == [
        ("APP/DDR", "1000.000", {"KB": 1.0}),
        ("APP/HBM", "1000.000", {"KB": 0.5}),
        ("APP/Memory", "1000.000", {"KB": 1.5}),
        ("Device/DDR", "2000.000", {"KB": 0.0}),
        ("Device/HBM", "2000.000", {"KB": 2.0}),
        ("Device/Memory", "2000.000", {"KB": 2.0}),
    ]
    assert next(list(event) for event in events if event["ph"] == "C") == ["name", "pid", "tid", "ts", "ph", "args"]
