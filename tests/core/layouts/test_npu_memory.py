"""Sampled device memory against cann_msprof.md 4.6 and 7.4."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from drynpu.layouts import npu_memory as facts


def test_records(pack: Callable[..., bytes]) -> None:
    # NPU_MEM_FMT; NpuMemDataBean takes time, event, ddr and hbm from places 0, 1, 3 and 4, NpuMemDataBeanV2 the time
    # from place 2 (Ascend/msprof analysis/msparser/npu_mem/npu_mem_bean.py).
    values = {"event": facts.DEVICE, "ddr_bytes": 2, "hbm_bytes": 3, "time_us": 4}
    assert pack(facts.NPU_MEM, **values) == struct.pack("<IIQQQ", 4, 1, 0, 2, 3)
    assert pack(facts.NPU_MEM_2, **values) == struct.pack("<IIQQQ", 0, 1, 4, 2, 3)
    assert pack(facts.NPU_MODULE_MEM, module_id=1, host_time=2, reserved_bytes=3) == struct.pack("<IIQQ", 1, 0, 2, 3)
    assert [(kind.stem, kind.also) for kind in facts.KINDS] == [
        ("npu_mem.data", ("npu_mem.app",)),
        ("npu_mem.data", ("npu_mem.app",)),
        ("npu_module_mem.data", ()),
    ]


def test_components() -> None:
    names = "SLOG 0, IDEDD 1, SCC 2, HCCL 3, FMK 4, DVPP 6, RUNTIME 7, CCE 8, HDC 9, DRV 10, DEVMM 22, KERNEL 23, "
    names += "HCCP 28, ROCE 29, TEFUSION 30, PROFILING 31, DP 32, APP 33, TS 34, AICPU 36, TDT 38, FE 39, GE 45, "
    names += "ASCENDCL 48, AIVECTOR 56, TBE 57, FFTS 62, OP 63, TPRT 68, MBUFF 76, CUSTOM 77"
    for entry in names.split(", "):
        name, number = entry.split()
        assert facts.MODULE_NAMES[int(number)] == name


def test_places_and_sizes(fits: Callable[..., bool]) -> None:
    assert fits(facts.NPU_MEM.dtype, "<IIQQQ")
    assert fits(facts.NPU_MEM_2.dtype, "<IIQQQ")
    assert fits(facts.NPU_MODULE_MEM.dtype, "<IIQQ")


def test_values_that_can_be(plausible: Callable[..., bool]) -> None:
    for kind in (facts.NPU_MEM, facts.NPU_MEM_2):
        assert [plausible(kind, event=event) for event in (0, 1, 2)] == [True, True, False]
    # NpuMemDataBeanV2 reads its time from where the other has nothing, and leaves out where the other has its time.
    for place, good in ((0, False), (3, False), (4, True), (8, True), (15, True), (16, True)):
        raw = bytearray(32)
        raw[place] = 1
        assert bool(facts.NPU_MEM_2.plausible(np.frombuffer(bytes(raw), facts.NPU_MEM_2.dtype))[0]) == good
    for kind, places in ((facts.NPU_MEM, (7, 8, 15, 16)), (facts.NPU_MODULE_MEM, (3, 4, 7, 8))):
        for place, good in zip(places, (True, False, False, True), strict=True):
            raw = bytearray(kind.dtype.itemsize)
            raw[place] = not good or place == places[-1]
            assert bool(kind.plausible(np.frombuffer(bytes(raw), kind.dtype))[0]) == good
