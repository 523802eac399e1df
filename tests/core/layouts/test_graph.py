"""Graphs against the bytes of cann_msprof.md 7.3 and 7.4."""

from __future__ import annotations

import struct
from collections.abc import Callable

from drynpu.layouts import graph as facts


def test_fused_operators(pack: Callable[..., bytes], host_head: Callable[..., bytes]) -> None:
    sizes = {"input_bytes": 1, "output_bytes": 2, "weight_bytes": 3, "workspace_bytes": 4, "total_bytes": 10}
    found = pack(facts.FUSION_OP_INFO, op_name=7, count=2, **sizes, fusion_op_names=[8, 9, 0, 0, 0, 0, 0, 0])
    expected = struct.pack("<QI5Q8Q", 7, 2, 1, 2, 3, 4, 10, 8, 9, *[0] * 6)
    assert found == (host_head(10000, 2, 116) + expected).ljust(256, b"\0")


def test_models(pack: Callable[..., bytes], host_head: Callable[..., bytes]) -> None:
    found = pack(facts.GRAPH_ID_MAP, model_name=1, graph_id=2, model_id=3)
    assert found == (host_head(15000, 0, 16) + struct.pack("<QII", 1, 2, 3)).ljust(256, b"\0")


def test_streams_of_captured_graphs(pack: Callable[..., bytes], host_head: Callable[..., bytes]) -> None:
    """7.3: u16 status, u16 model stream, u16 original stream, u16 model id, u16 device id."""
    found = pack(facts.CAPTURE_STREAM_INFO, status=1, model_stream=2, original_stream=3, model_id=4, device_id=5)
    assert found == (host_head(5000, 803, 10) + struct.pack("<5H", 1, 2, 3, 4, 5)).ljust(64, b"\0")


def test_step_trace(pack: Callable[..., bytes]) -> None:
    values = {"tick": 1, "index_id": 2, "model_id": 3, "stream_id": 4, "task_id": 5, "tag_id": 6}
    found = pack(facts.TS_TRACK_STEP, **values)
    assert found == struct.pack("<BBHIQQQHHHH", 0, 0x0A, 40, 0, 1, 2, 3, 4, 5, 6, 0)


def test_step_trace_of_the_950(pack: Callable[..., bytes]) -> None:
    """7.4, 0x0a on 15 and 16: u64 indexId, u64 modelId, u16 tagId, u16 stream, u32 taskId (``BBHLQQQHHI``)."""
    values = {"tick": 1, "index_id": 2, "model_id": 3, "tag_id": 4, "stream_id": 5, "task_id": 0x0006_0007}
    found = pack(facts.TS_TRACK_STEP_V6, **values)
    assert found == struct.pack("<BBHIQQQHHI", 0, 0x0A, 40, 0, 1, 2, 3, 4, 5, 0x0006_0007)
    assert facts.TS_TRACK_STEP_V6.function == 0x0A


def test_places_and_sizes(fits: Callable[..., bool]) -> None:
    assert fits(facts.FUSION_OP_INFO.dtype, "<HHIIIQ" + "QI5Q8Q116s")
    assert fits(facts.GRAPH_ID_MAP.dtype, "<HHIIIQ" + "QII216s")
    assert fits(facts.CAPTURE_STREAM_INFO.dtype, "<HHIIIQ" + "HHHHH30s")
    assert fits(facts.TS_TRACK_STEP.dtype, "<BBHIQQQHHHH")
    assert fits(facts.TS_TRACK_STEP_V6.dtype, "<BBHIQQQHHI")
    assert facts.FUSION_OPS_PER_RECORD == 8


def test_tags_of_the_step_trace() -> None:
    """cann_msprof.md 5: "10000 + 2k", "20000 + 2k / 20001 + 2k get-next", "60000/60001 explicit step start/end"."""
    assert (facts.REDUCE_TAG, facts.GET_NEXT_TAG) == (10000, 20000)
    assert (facts.STEP_START_TAG, facts.STEP_END_TAG) == (60000, 60001)
