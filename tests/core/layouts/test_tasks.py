"""Tasks against the bytes and numbers of cann_msprof.md 7.2 to 7.4."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np

from drynpu.layouts import schedulers
from drynpu.layouts import tasks as facts
from drynpu.raw import HostLevel, RecordKind, pack_stars_header

PAGE = (Path(__file__).parents[3] / "docs" / "formats" / "cann_msprof.md").read_text(encoding="utf-8")


def test_node_basic_info_is_packed(pack: Callable[..., bytes]) -> None:
    values = {"thread_id": 9, "timestamp": 11, "op_name": 21, "task_type": facts.GeTaskType.MIX_AIC, "op_type": 22}
    expected = struct.pack("<HHIIIQQIQII", 0x5A5A, 10000, 0, 9, 28, 11, 21, 4, 22, 24 | 48 << 16, 1)
    found = pack(facts.NODE_BASIC_INFO, **values, block_dim=24 | 48 << 16, op_flag=1)
    assert found == expected.ljust(64, b"\0")
    # msparser/compact_info/node_basic_info_bean.py: "(self._block_num & 65535) * (self._block_num >> 16)".
    assert 2 << facts.MIX_RATIO_SHIFT == 2 * 65536


def test_task_track_keeps_batch_above_task(pack: Callable[..., bytes], host_head: Callable[..., bytes]) -> None:
    values = {"device_id": 1, "stream_id": 2, "task_id": 0xABCD, "batch_id": 3, "task_type": 66, "kernel_name": 77}
    data = struct.pack("<HHIQQHH", 1, 2, 3 << 16 | 0xABCD, 66, 77, 24, 8)
    found = pack(facts.TASK_TRACK, **values, num_blocks=24, args_size=8)
    assert found == (host_head(5000, 802, 28) + data).ljust(64, b"\0")


def test_other_host_records(pack: Callable[..., bytes], host_head: Callable[..., bytes]) -> None:
    # MsprofMemcpyInfo (Ascend/msprof analysis/csrc/infrastructure/utils/prof_common.h)
    copy = pack(facts.MEMCPY_INFO, size_bytes=4096, largest_bytes=1024, copy_kind=1)
    assert copy == (host_head(5000, 801, 18) + struct.pack("<QQH", 4096, 1024, 1)).ljust(64, b"\0")
    attributes = pack(facts.NODE_ATTR_INFO, op_name=1, attr_type=2, hash_id=3)
    assert attributes == (host_head(10000, 9, 20) + struct.pack("<QIQ", 1, 2, 3)).ljust(64, b"\0")
    ids = np.arange(55) + 100
    contexts = pack(facts.CONTEXT_ID_INFO, op_name=7, count=55, ids=ids)
    assert contexts == host_head(10000, 4, 232) + struct.pack("<QI55I", 7, 55, *ids)


def test_tensors(host_head: Callable[..., bytes]) -> None:
    record = facts.TENSOR_INFO.new(1)
    record["op_name"], record["tensor_num"] = 8, 2
    second = record["tensors"][0, 1:2]
    second["direction"], second["format"], second["data_type"], second["shape"][0, :2] = 1, 2, 27, (16, 32)
    data = struct.pack("<QI", 8, 2) + bytes(44) + struct.pack("<3I8I", 1, 2, 27, 16, 32, *[0] * 6)
    assert record.tobytes() == (host_head(10000, 1, 232) + data).ljust(256, b"\0")


def test_stars_soc_bytes(pack: Callable[..., bytes]) -> None:
    # Function 1, counter 5, SQE type 2: 0b000010_0101_000001 = 0x0941.
    header = pack_stars_header([schedulers.StarsFunction.TASK_END], [5], [schedulers.SqeType.AIV])
    found = pack(schedulers.STARS_SOC, header=header, stream_id=3, task_id=0x0102, tick=0x0A0B0C0D0E0F)
    assert found == b"\x41\x09\xd3\x6b\x03\x00\x02\x01\x0f\x0e\x0d\x0c\x0b\x0a\x00\x00" + bytes(48)


def test_sub_tasks_name_their_context_and_thread(pack: Callable[..., bytes]) -> None:
    """7.4, 0x22 and 0x23: 16 subTaskType (8 bits), 18 subTaskId, 20 (13 reserved bits, 3 of fftsType), 22 threadId."""
    values = {"sub_task_type": 0x81, "sub_task_id": 0x8283, "ffts": 4 << 13, "thread_id": 0x8485}
    expected = struct.pack("<HHHHQBBHHH", 0, 0x6BD3, 0, 0, 0, 0x81, 0, 0x8283, 0x8000, 0x8485)
    assert pack(schedulers.STARS_SOC, **values) == expected.ljust(64, b"\0")


def test_families_of_acl_calls_are_those_of_the_page() -> None:
    """7.2: "type = (tag << 16) | api number", and the tags by number."""
    text = " ".join(PAGE.split()).split("Tags: ", 1)[1].split(" [", 1)[0]
    expected = {name: int(number) for number, name in (entry.split() for entry in text.split(", "))}
    assert len(expected) == 10
    assert {tag.name: int(tag) for tag in facts.AclTag} == expected
    assert "`20000_327681:aclnnAdd`" in PAGE
    assert facts.AclTag.ACL_NN << facts.ACL_TAG_SHIFT | 1 == 327681


def test_track_records(pack: Callable[..., bytes]) -> None:
    def track(kind: RecordKind, function: int, text: str, **values: int) -> None:
        expected = struct.pack("<BBHIQ", 0, function, 40, 0, 1) + struct.pack(text, *values.values())
        assert pack(kind, tick=1, **values) == expected.ljust(40, b"\0")

    track(schedulers.TS_TRACK_MEMCPY, 0x0B, "<HHB", stream_id=2, task_id=3, state=4)
    track(schedulers.TS_TRACK_TASK_TYPE, 0x0C, "<HHHB", stream_id=2, task_id=3, task_type=4, state=5)
    track(schedulers.TS_TRACK_FLIP, 0x0E, "<HHxxH", stream_id=2, flip_number=3, task_id=4)
    track(schedulers.TS_TRACK_BLOCK_NUMBER, 0x0F, "<HHI", stream_id=2, task_id=3, num_blocks=4)


def test_levels_and_types() -> None:
    assert {level.name: int(level) for level in HostLevel} == {
        "ACL": 20000,
        "MODEL": 15000,
        "NODE": 10000,
        "COMMUNICATION": 5500,
        "RUNTIME": 5000,
        "AICPU": 6000,
        "TX": 20500,
    }
    assert {kind.name: int(kind) for kind in facts.NodeType} == {
        "BASIC_INFO": 0,
        "TENSOR_INFO": 1,
        "FUSION_OP_INFO": 2,
        "CONTEXT_ID_INFO": 4,
        "LAUNCH": 5,
        "TASK_MEMORY_INFO": 6,
        "ATTR_INFO": 9,
        "HCCL_OP_INFO": 10,
        "STATIC_OP_MEM": 11,
    }
    assert {kind.name: int(kind) for kind in facts.RuntimeType} == {
        "MEMCPY_INFO": 801,
        "TASK_TRACK": 802,
        "CAPTURE_STREAM_INFO": 803,
        "FIRST_API": 1000,
    }


def test_numbers_that_parsers_know() -> None:
    """cann_msprof.md 7.2: numbers that count whatever the dictionary says, public ones, and the model level."""
    text = " ".join(PAGE.split())
    for sentence in (
        "are 0 (kernel AI core task), 1 (kernel AI cpu task) and 66 (AI vector task)",
        "drops every task_track of type 6 (MAINTENANCE) and takes type 98 for a flip",
    ):
        assert sentence in text
    expected = {"KERNEL_AICORE": 0, "KERNEL_AICPU": 1, "KERNEL_AIVEC": 66, "MAINTENANCE": 6, "FLIP_TASK": 98}
    assert expected == facts.RUNTIME_TASK_TYPES
    sentence = text.split("Model types: ", 1)[1].split(";", 1)[0]
    model = {name: int(number) for number, name in (entry.split() for entry in sentence.split(", "))}
    assert len(model) == 4
    assert model == facts.MODEL_API_TYPES


def test_task_types() -> None:
    ge = "AI_CORE AI_CPU AIV WRITE_BACK MIX_AIC MIX_AIV FFTS_PLUS DSA DVPP HCCL FUSION INVALID"
    assert {kind.name: int(kind) for kind in facts.GeTaskType} == {name: at for at, name in enumerate(ge.split())}
    sqe = "AI_CORE AI_CPU AIV PLACE_HOLDER EVENT_RECORD EVENT_WAIT NOTIFY_RECORD NOTIFY_WAIT WRITE_VALUE VQ6 TOF SDMA "
    sqe += "VPC JPEGE JPEGD DSA ROCCE PCIE_DMA HOST_CPU CDQM C_CORE"
    numbers = {name: at for at, name in enumerate(sqe.split()) if name not in ("VQ6", "TOF")}
    of_stars = {kind.name: number for kind, number in schedulers.STARS_TYPES.items()}
    assert of_stars == numbers
    assert {kind.name: int(kind) for kind in schedulers.StarsFunction} == {
        "TASK_START": 0,
        "TASK_END": 1,
        "SUB_TASK_START": 0x22,
        "SUB_TASK_END": 0x23,
    }


def test_places_and_sizes(fits: Callable[..., bool]) -> None:
    head = "<HHIIIQ"
    for kind, text in (
        (facts.NODE_BASIC_INFO, f"{head}QIQII12s"),
        (facts.NODE_ATTR_INFO, f"{head}QIQ20s"),
        (facts.TENSOR_INFO, f"{head}QI{'III8I' * 5}"),
        (facts.CONTEXT_ID_INFO, f"{head}QI55I"),
        (facts.TASK_TRACK, f"{head}HHHHQQHH12s"),
        (facts.MEMCPY_INFO, f"{head}QQH22s"),
        (schedulers.STARS_SOC, "<HHHHQBBHHH40s"),
        (schedulers.TS_TRACK_MEMCPY, "<BBHIQHHB19s"),
        (schedulers.TS_TRACK_TASK_TYPE, "<BBHIQHHHB17s"),
        (schedulers.TS_TRACK_FLIP, "<BBHIQHHHH16s"),
        (schedulers.TS_TRACK_BLOCK_NUMBER, "<BBHIQHHI16s"),
    ):
        assert fits(kind.dtype, text), kind.name
    assert (facts.TENSORS_PER_RECORD, facts.CONTEXT_IDS_PER_RECORD) == (5, 55)


def test_states_of_tasks_on_the_310() -> None:
    """CalculateRtsDataConst of Ascend/msprof, viewer/calculate_rts_data.py."""
    states = schedulers.TsState
    assert {state.name: int(state) for state in states} == {"WAITING": 1, "RUNNING": 2, "COMPLETE": 3, "PENDING": 4}
