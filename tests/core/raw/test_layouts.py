"""Record layouts against the byte offsets of the reference (cann_msprof.md 7.3, 7.4; torch_npu_profiler.md 3.7)."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from drynpu import RawFormatError
from drynpu.deliverables.framework_torch import facts as torch_facts
from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.deliverables.tasks.facts import GeTaskType, SqeType, StarsFunction
from drynpu.raw import HostLevel, pack_stars_header

SIZES = {
    "API_EVENT": 40,
    "NODE_BASIC_INFO": 64,
    "TASK_TRACK": 64,
    "MEMCPY_INFO": 64,
    "HCCL_OP_INFO": 64,
    "TENSOR_INFO": 256,
    "TASK_MEMORY_INFO": 256,
    "STARS_SOC": 64,
    "FFTS_PROFILE": 128,
    "FFTS_PROFILE_V6": 128,
    "TS_TRACK_STEP": 40,
    "TS_TRACK_FLIP": 40,
    "NPU_MEM": 32,
    "NPU_MODULE_MEM": 24,
    "LPM_FREQ": 888,
    "NODE_ATTR_INFO": 64,
    "CONTEXT_ID_INFO": 256,
    "FUSION_OP_INFO": 256,
    "GRAPH_ID_MAP": 256,
    "HCCL_INFO": 256,
    "STATIC_OP_MEM": 256,
    "MSPROFTX": 256,
    "AICPU_NODE": 256,
    "AICPU_DATA_PREPARATION": 256,
    "AICPU_MODEL": 256,
    "AICPU_QUEUE": 256,
    "TS_TRACK_MEMCPY": 40,
    "TS_TRACK_TASK_TYPE": 40,
    "TS_TRACK_BLOCK_NUMBER": 40,
    "AI_CORE_SAMPLE": 96,
    "L2_CACHE": 72,
    "SOC_PMU": 80,
    "LPM_INFO": 888,
    "HBM": 24,
    "DDR": 20,
    "LLC": 24,
    "PCIE": 96,
    "QOS": 64,
    "SIO": 64,
    "ACC_PMU": 64,
    "CHIP_TRANS": 64,
    "SOC_BANDWIDTH": 64,
    "OP_RANGE": 58,
    "OP_MARK": 40,
    "MEMORY_USAGE": 77,
    "PYTHON_TRACER_FUNC": 33,
    "GC_RECORD": 24,
}


def layout(name: str) -> np.dtype[np.void]:
    kinds = RECORD_KINDS.records
    return kinds[name.lower()].dtype if name.lower() in kinds else getattr(torch_facts, name)


@pytest.mark.parametrize(("name", "size"), SIZES.items())
def test_record_sizes(name: str, size: int) -> None:
    assert layout(name).itemsize == size


def test_fields_are_little_endian_and_inside_the_record() -> None:
    for name in SIZES:
        dtype = layout(name)
        ends = 0
        for field_type, offset in dtype.fields.values():
            assert offset >= ends, name
            assert field_type.base.newbyteorder("<") == field_type.base
            ends = offset + field_type.itemsize
        assert ends <= dtype.itemsize


def test_api_event_bytes() -> None:
    record = RECORD_KINDS.record("api_event").new(1)
    record["level"] = HostLevel.NODE
    record["type"] = 5
    record["thread_id"] = 0x01020304
    record["request_id"] = 7
    record["begin"] = 0x1122334455667788
    record["end"] = 0x1122334455667799
    record["item_id"] = 0xDEADBEEF00000001
    assert record.tobytes() == (
        b"\x5a\x5a"  # magic
        b"\x10\x27"  # level 10000
        b"\x05\x00\x00\x00"
        b"\x04\x03\x02\x01"
        b"\x07\x00\x00\x00"
        b"\x88\x77\x66\x55\x44\x33\x22\x11"
        b"\x99\x77\x66\x55\x44\x33\x22\x11"
        b"\x01\x00\x00\x00\xef\xbe\xad\xde"
    )


def test_stars_soc_bytes() -> None:
    record = RECORD_KINDS.record("stars_soc").new(1)
    # function 1, counter 5, SQE type 2: 0b000010_0101_000001 = 0x0941.
    record["header"] = pack_stars_header([StarsFunction.TASK_END], [5], [SqeType.AIV])
    record["stream_id"] = 3
    record["task_id"] = 0x0102
    record["tick"] = 0x0A0B0C0D0E0F
    expected = b"\x41\x09\xd3\x6b\x03\x00\x02\x01\x0f\x0e\x0d\x0c\x0b\x0a\x00\x00" + bytes(48)
    assert record.tobytes() == expected


def test_node_basic_info_is_packed() -> None:
    record = RECORD_KINDS.record("node_basic_info").new(1)
    record["thread_id"] = 9
    record["timestamp"] = 11
    record["op_name"] = 21
    record["task_type"] = GeTaskType.MIX_AIC
    record["op_type"] = 22
    record["block_dim"] = 24 | 48 << 16
    record["op_flag"] = 1
    expected = struct.pack("<HHIIIQQIQII", 0x5A5A, 10000, 0, 9, 28, 11, 21, 4, 22, 24 | 48 << 16, 1)
    assert record.tobytes() == expected.ljust(64, b"\0")


def test_task_track_keeps_batch_above_task() -> None:
    record = RECORD_KINDS.record("task_track").new(1)
    record["device_id"], record["stream_id"], record["task_id"], record["batch_id"] = 1, 2, 0xABCD, 3
    record["task_type"], record["kernel_name"], record["num_blocks"], record["args_size"] = 66, 77, 24, 8
    head = struct.pack("<HHIIIQ", 0x5A5A, 5000, 802, 0, 28, 0)
    data = struct.pack("<HHIQQHH", 1, 2, 3 << 16 | 0xABCD, 66, 77, 24, 8)
    assert record.tobytes() == (head + data).ljust(64, b"\0")


def test_hccl_op_info_memcpy_and_memory_offsets() -> None:
    hccl = RECORD_KINDS.record("hccl_op_info").new(1)
    hccl["flags"], hccl["data_type"], hccl["alg_type"], hccl["count"], hccl["group_name"] = 2, 27, 5, 6, 7
    assert hccl.tobytes()[24:50] == struct.pack("<BBQQQ", 2, 27, 5, 6, 7)
    copy = RECORD_KINDS.record("memcpy_info").new(1)
    copy["size_bytes"], copy["copy_kind"], copy["device_id"], copy["stream_id"] = 4096, 1, 2, 3
    assert copy.tobytes()[24:40] == struct.pack("<QHHI", 4096, 1, 2, 3)
    memory = RECORD_KINDS.record("task_memory_info").new(1)
    memory["address"], memory["size_bytes"], memory["node_id"] = 1, -2, 3
    memory["total_allocated_bytes"], memory["total_reserved_bytes"] = 4, 5
    memory["device_id"], memory["device_type"] = 6, 7
    assert memory.tobytes()[24:72] == struct.pack("<QqQQQII", 1, -2, 3, 4, 5, 6, 7)


def test_tensor_info_offsets() -> None:
    record = RECORD_KINDS.record("tensor_info").new(1)
    record["op_name"], record["tensor_num"] = 8, 2
    record["tensors"]["direction"][0, 1] = 1
    record["tensors"]["format"][0, 1] = 2
    record["tensors"]["data_type"][0, 1] = 27
    record["tensors"]["shape"][0, 1, :2] = (16, 32)
    expected = struct.pack("<QI", 8, 2) + bytes(44) + struct.pack("<3I8I", 1, 2, 27, 16, 32, *[0] * 6)
    assert record.tobytes()[24:124] == expected


def test_ffts_profile_offsets() -> None:
    record = RECORD_KINDS.record("ffts_profile").new(1)
    record["stream_id"], record["task_id"], record["total_cycles"] = 1, 2, 3
    record["pmu"] = np.arange(10, 18)
    record["start_tick"], record["end_tick"] = 100, 200
    expected = struct.pack("<4HQ4HQQQ8QQQ", 0x28, 0x6BD3, 1, 2, 0, 0, 0, 0, 0, 0, 3, 0, *range(10, 18), 100, 200)
    assert record.tobytes() == expected


def test_ts_track_offsets() -> None:
    step = RECORD_KINDS.record("ts_track_step").new(1)
    step["tick"], step["index_id"], step["model_id"] = 1, 2, 3
    step["stream_id"], step["task_id"], step["tag_id"] = 4, 5, 6
    assert step.tobytes() == struct.pack("<BBHIQQQHHHH", 0, 0x0A, 40, 0, 1, 2, 3, 4, 5, 6, 0)
    flip = RECORD_KINDS.record("ts_track_flip").new(1)
    flip["tick"], flip["stream_id"], flip["flip_number"], flip["task_id"] = 1, 2, 3, 4
    assert flip.tobytes() == struct.pack("<BBHIQHHHH16x", 0, 0x0E, 40, 0, 1, 2, 3, 0, 4)


def test_sampler_offsets() -> None:
    memory = RECORD_KINDS.record("npu_mem").new(1)
    memory["event"], memory["ddr_bytes"], memory["hbm_bytes"], memory["tick"] = 1, 2, 3, 4
    assert memory.tobytes() == struct.pack("<IIQQQ", 1, 0, 2, 3, 4)
    module = RECORD_KINDS.record("npu_module_mem").new(1)
    module["module_id"], module["tick"], module["reserved_bytes"] = 1, 2, 3
    assert module.tobytes() == struct.pack("<IIQQ", 1, 0, 2, 3)
    frequency = RECORD_KINDS.record("lpm_freq").new(1)
    frequency["count"] = 2
    frequency["points"]["tick"][0, :2] = (5, 6)
    frequency["points"]["mhz"][0, :2] = (1800, 800)
    expected = struct.pack("<IIQIIQII", 2, 0, 5, 1800, 0, 6, 800, 0)
    assert frequency.tobytes() == expected.ljust(888, b"\0")


@pytest.mark.parametrize(
    ("dtype", "text"),
    [
        (torch_facts.OP_RANGE, "<3q4QB?"),
        (torch_facts.OP_MARK, "<q4Q"),
        (torch_facts.MEMORY_USAGE, "<7q2b3B2Q"),
        (torch_facts.PYTHON_TRACER_FUNC, "<4QB"),
        (torch_facts.GC_RECORD, "<3Q"),
        (torch_facts.HASH_KEY, "<Q"),
    ],
)
def test_framework_layouts_follow_their_struct_formats(dtype: np.dtype[np.void], text: str) -> None:
    assert struct.calcsize(text) == dtype.itemsize
    values = [bool(i % 2) if dtype[name] == np.bool_ else i + 1 for i, name in enumerate(dtype.names or ())]
    record = np.zeros(1, dtype)
    for name, value in zip(dtype.names or (), values, strict=True):
        record[name] = value
    assert record.tobytes() == struct.pack(text, *values)


def test_families_are_the_agreed_ones() -> None:
    assert {name: entry.stem for name, entry in RECORD_KINDS.records.items() if entry.side == "host"} == {
        "api_event": "unaging.api_event.data",
        "node_basic_info": "unaging.compact.node_basic_info",
        "node_attr_info": "unaging.compact.node_attr_info",
        "tensor_info": "unaging.additional.tensor_info",
        "context_id_info": "unaging.additional.context_id_info",
        "fusion_op_info": "unaging.additional.fusion_op_info",
        "task_track": "unaging.compact.task_track",
        "memcpy_info": "unaging.compact.memcpy_info",
        "hccl_op_info": "unaging.compact.hccl_op_info",
        "hccl_info": "unaging.additional.hccl_info",
        "task_memory_info": "unaging.additional.task_memory_info",
        "static_op_mem": "unaging.additional.static_op_mem",
        "graph_id_map": "unaging.additional.graph_id_map",
        "msproftx": "unaging.additional.msproftx",
    }
    assert {entry.stem for entry in RECORD_KINDS.records.values() if entry.side == "device"} == {
        "stars_soc.data",
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


def test_unknown_family_names_the_nearest() -> None:
    with pytest.raises(RawFormatError, match="Did you mean 'stars_soc'"):
        RECORD_KINDS.record("stars_sock")
