"""The record kinds of this release: their files, and how they are asked for."""

from __future__ import annotations

import pytest

from drynpu import RawFormatError
from drynpu.deliverables.bandwidth.facts import HBM
from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.raw import RecordKinds


def test_fields_are_little_endian_and_inside_the_record() -> None:
    for name, kind in RECORD_KINDS.records.items():
        ends = 0
        for field_type, offset, *_ in (kind.dtype.fields or {}).values():
            assert offset >= ends, name
            assert field_type.base.newbyteorder("<") == field_type.base
            ends = offset + field_type.itemsize
        assert ends <= kind.dtype.itemsize


def test_kinds_are_the_agreed_ones() -> None:
    assert {name: entry.stem for name, entry in RECORD_KINDS.records.items() if entry.side == "host"} == {
        "api_event": "unaging.api_event.data",
        "node_basic_info": "unaging.compact.node_basic_info",
        "node_attr_info": "unaging.compact.node_attr_info",
        "tensor_info": "unaging.additional.tensor_info",
        "context_id_info": "unaging.additional.context_id_info",
        "fusion_op_info": "unaging.additional.fusion_op_info",
        "task_track": "unaging.compact.task_track",
        "memcpy_info": "unaging.compact.memcpy_info",
        "capture_stream_info": "unaging.compact.capture_stream_info",
        "hccl_op_info": "unaging.compact.hccl_op_info",
        "hccl_info": "unaging.additional.hccl_info",
        "task_memory_info": "unaging.additional.task_memory_info",
        "static_op_mem": "unaging.additional.static_op_mem",
        "graph_id_map": "unaging.additional.graph_id_map",
        "msproftx": "unaging.additional.msproftx",
    }
    assert {entry.stem for entry in RECORD_KINDS.records.values() if entry.side == "device"} == {
        "stars_soc.data",
        "hwts.data",
        "stars_soc_profile.data",
        "ffts_profile.data",
        "ts_track.data",
        "aicpu.data",
        "aicore.data",
        "aiVectorCore.data",
        "l2_cache.data",
        "socpmu.data",
        "npu_mem.data",
        "npu_module_mem.data",
        "lpmFreqConv.data",
        "lpmInfoConv.data",
        "hbm.data",
        "ddr.data",
        "llc.data",
        "pcie.data",
        "qos.data",
    }


def test_unknown_kinds_name_the_nearest() -> None:
    with pytest.raises(RawFormatError, match="No record kind is called 'stars_sock'. Did you mean 'stars_soc'"):
        RECORD_KINDS.record("stars_sock")
    with pytest.raises(RawFormatError, match="No text kind is called 'hbm'"):
        RECORD_KINDS.text("hbm")


def test_a_name_is_taken_once() -> None:
    with pytest.raises(RawFormatError, match="Two record kinds are called 'hbm'"):
        RecordKinds.from_kinds([HBM, HBM])
