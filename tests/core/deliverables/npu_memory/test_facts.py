"""Sampled device memory against cann_msprof.md 4.6 and 7.4."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from drynpu.deliverables.npu_memory import facts


def test_records(pack: Callable[..., bytes]) -> None:
    memory = pack(facts.NPU_MEM, event=facts.DEVICE, ddr_bytes=2, hbm_bytes=3, tick=4)
    assert memory == struct.pack("<IIQQQ", 1, 0, 2, 3, 4)
    assert pack(facts.NPU_MODULE_MEM, module_id=1, tick=2, reserved_bytes=3) == struct.pack("<IIQQ", 1, 0, 2, 3)
    assert [(kind.stem, kind.also) for kind in facts.KINDS] == [
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


def test_layer() -> None:
    """cann_msprof.md 4.5: "17 NPU MEM"."""
    assert (facts.NPU_MEM_LAYER.name, facts.NPU_MEM_LAYER.sort_index) == ("NPU MEM", 17)


def test_places_and_sizes(fits: Callable[..., bool]) -> None:
    assert fits(facts.NPU_MEM.dtype, "<IIQQQ")
    assert fits(facts.NPU_MODULE_MEM.dtype, "<IIQQ")


def test_values_that_can_be(plausible: Callable[..., bool]) -> None:
    assert plausible(facts.NPU_MEM, event=0)
    assert plausible(facts.NPU_MEM, event=1)
    assert not plausible(facts.NPU_MEM, event=2)
    for kind in facts.KINDS:
        for place, good in ((3, True), (4, False), (7, False), (8, True)):
            raw = bytearray(kind.dtype.itemsize)
            raw[place] = place > 3
            assert bool(kind.plausible(np.frombuffer(bytes(raw), kind.dtype))[0]) == good
