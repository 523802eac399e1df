"""Collectives against the bytes of cann_msprof.md 7.3."""

from __future__ import annotations

import struct
from collections.abc import Callable

from drynpu.layouts import communication as facts


def test_operators(pack: Callable[..., bytes], host_head: Callable[..., bytes]) -> None:
    found = pack(facts.HCCL_OP_INFO, flags=2, data_type=27, alg_type=5, count=6, group_name=7)
    text = "<BBQQQ"
    assert struct.calcsize(text) == 26
    assert found == (host_head(10000, 10, 26) + struct.pack(text, 2, 27, 5, 6, 7)).ljust(64, b"\0")


def test_tasks(
    pack: Callable[..., bytes],
    number: Callable[..., tuple[dict[str, object], list[int]]],
    host_head: Callable[..., bytes],
) -> None:
    values, numbers = number(facts.HCCL_INFO)
    text = "<QQQIIIIIIQIIdQQQIIIII"
    assert struct.calcsize(text) == 116
    assert pack(facts.HCCL_INFO, **values) == (host_head(5500, 0, 116) + struct.pack(text, *numbers)).ljust(256, b"\0")
    assert list(values)[3:9] == ["local_rank", "remote_rank", "rank_size", "work_flow_mode", "plane_id", "context_id"]
    assert list(values)[13:16] == ["src_address", "dst_address", "size_bytes"]


def test_places_and_sizes(fits: Callable[..., bool]) -> None:
    assert fits(facts.HCCL_OP_INFO.dtype, "<HHIIIQ" + "BBQQQ14s")
    assert fits(facts.HCCL_INFO.dtype, "<HHIIIQ" + "QQQIIIIIIQIIdQQQIIIII116s")
