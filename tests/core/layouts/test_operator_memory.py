"""Memory of operators against cann_msprof.md 7.2 and 7.3."""

from __future__ import annotations

import struct
from collections.abc import Callable

from drynpu.layouts import operator_memory as facts


def test_allocations(pack: Callable[..., bytes], host_head: Callable[..., bytes]) -> None:
    values = {"address": 1, "size_bytes": -2, "node_id": 3, "total_allocated_bytes": 4, "total_reserved_bytes": 5}
    found = pack(facts.TASK_MEMORY_INFO, **values, device_id=6, device_type=facts.NPU_DEVICE_TYPE)
    expected = host_head(10000, 6, 48) + struct.pack("<QqQQQII", 1, -2, 3, 4, 5, 6, 20)
    assert found == expected.ljust(256, b"\0")


def test_planned_memory(pack: Callable[..., bytes], number: Callable[..., tuple[dict[str, object], list[int]]],
                        host_head: Callable[..., bytes]) -> None:  # fmt: skip
    values, numbers = number(facts.STATIC_OP_MEM)
    expected = host_head(10000, 11, 52) + struct.pack("<qQQQQQI", *numbers)
    assert pack(facts.STATIC_OP_MEM, **values) == expected.ljust(256, b"\0")
    assert [kind.stem for kind in facts.KINDS] == [
        "unaging.additional.task_memory_info",
        "unaging.additional.static_op_mem",
    ]


def test_places_and_sizes(fits: Callable[..., bool]) -> None:
    assert fits(facts.TASK_MEMORY_INFO.dtype, "<HHIIIQ" + "QqQQQII184s")
    assert fits(facts.STATIC_OP_MEM.dtype, "<HHIIIQ" + "qQQQQQI180s")
