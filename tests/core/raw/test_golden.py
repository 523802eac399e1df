"""Bytes of records against the struct formats that the vendor's parsers unpack (Ascend/msprof profiling_bean)."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from drynpu import RawFormatError
from drynpu.deliverables.marks.facts import MarkKind
from drynpu.deliverables.monitors.facts import ChipLinkType
from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.deliverables.soc_pmu.facts import SocPmuType
from drynpu.deliverables.tasks.facts import NodeType
from drynpu.raw import HostLevel, ProfReader, ProfWriter, pack_stars_header


def record(name: str, values: Mapping[str, object]) -> bytes:
    rows = RECORD_KINDS.record(name).new(1)
    for field, value in values.items():
        rows[field] = value
    return rows.tobytes()


def host_head(level: int, type_id: int, data_len: int) -> bytes:
    return struct.pack("<HHIIIQ", 0x5A5A, level, type_id, 0, data_len, 0)


def counted(name: str, *, skip: tuple[str, ...] = (), start: int = 1) -> tuple[dict[str, object], list[int]]:
    """A different value for every field that is not constant, in order."""
    entry = RECORD_KINDS.record(name)
    fields = [
        field
        for field in entry.dtype.names or ()
        if field not in entry.constants and field not in (*skip, "thread_id", "timestamp")
    ]
    return dict(zip(fields, range(start, start + len(fields)), strict=True)), list(range(start, start + len(fields)))


HOST = {
    "node_attr_info": (HostLevel.NODE, NodeType.ATTR_INFO, 20, "<QIQ"),
    "graph_id_map": (HostLevel.MODEL, 0, 16, "<QII"),
    "static_op_mem": (HostLevel.NODE, NodeType.STATIC_OP_MEM, 52, "<qQQQQQI"),
    "hccl_info": (HostLevel.COMMUNICATION, 0, 116, "<QQQIIIIIIQIIdQQQIIIII"),
    "aicpu_node": (HostLevel.AICPU, 0, 119, "<HHxxxxQQQQQQQIIQQQQIIIHB"),
    "aicpu_model": (HostLevel.AICPU, 2, 24, "<QIHxxQ"),
    "aicpu_queue": (HostLevel.AICPU, 3, 32, "<IxxxxQQQ"),
}


@pytest.mark.parametrize("name", HOST)
def test_information_records(name: str) -> None:
    level, type_id, data_len, text = HOST[name]
    values, numbers = counted(name)
    found = record(name, values)
    assert struct.calcsize(text) == data_len
    assert found == (host_head(level, type_id, data_len) + struct.pack(text, *numbers)).ljust(len(found), b"\0")


def test_context_ids_and_fused_operators() -> None:
    ids = np.arange(55) + 100
    found = record("context_id_info", {"op_name": 7, "count": 55, "ids": ids})
    assert found == host_head(HostLevel.NODE, NodeType.CONTEXT_ID_INFO, 232) + struct.pack("<QI55I", 7, 55, *ids)
    fused = {"op_name": 7, "count": 2, "input_bytes": 1, "output_bytes": 2, "weight_bytes": 3, "workspace_bytes": 4}
    found = record("fusion_op_info", {**fused, "total_bytes": 10, "fusion_op_names": [8, 9, 0, 0, 0, 0, 0, 0]})
    expected = struct.pack("<QI5Q8Q", 7, 2, 1, 2, 3, 4, 10, 8, 9, *[0] * 6)
    assert found == (host_head(HostLevel.NODE, NodeType.FUSION_OP_INFO, 116) + expected).ljust(256, b"\0")


def test_msproftx_is_a_stamp_inside_additional_information() -> None:
    values, numbers = counted("msproftx", skip=("message", "event_type"))
    found = record("msproftx", {**values, "event_type": MarkKind.START_END, "message": "größe".encode()})
    info, segment, tag, pid, tid, category, payload_type, payload, start, end, mark, domain, message_type = numbers
    expected = struct.pack(
        "<HHIHHIIIIiQQQQQi156s",
        *(info, segment, 0, 0x5A5A, tag, pid, tid, category, 2, payload_type),
        *(payload, start, end, mark, domain, message_type, "größe".encode()),
    )
    assert found == host_head(HostLevel.TX, 0, 232) + expected


def test_data_preparation() -> None:
    found = record("aicpu_data_preparation", {"action": b"Last dequeue", "source": b"queue", "index": 3, "size": 4})
    expected = struct.pack("<16s64sQQ", b"Last dequeue", b"queue", 3, 4)
    assert found == (host_head(HostLevel.AICPU, 1, 96) + expected).ljust(256, b"\0")


TRACKS = {
    "ts_track_memcpy": (0x0B, "<HHB"),
    "ts_track_task_type": (0x0C, "<HHHB"),
    "ts_track_block_number": (0x0F, "<HHI"),
}


@pytest.mark.parametrize("name", TRACKS)
def test_track_records(name: str) -> None:
    function, text = TRACKS[name]
    values, numbers = counted(name)
    mode, tick, *rest = numbers
    expected = struct.pack("<BBHIQ", mode, function, 40, 0, tick) + struct.pack(text, *rest)
    assert record(name, values) == expected.ljust(40, b"\0")


@pytest.mark.parametrize("name", ["ai_core_sample", "ai_vector_core_sample", "ffts_core_sample"])
def test_core_samples(name: str) -> None:
    values = {"events": np.arange(10, 18), "task_cycles": 1, "time_ns": 2, "event_count": 8, "core_id": 4}
    expected = struct.pack("<BBHHH8QQQBB6B", 1, 0, 0, 0, 0, *range(10, 18), 1, 2, 8, 4, *[0] * 6)
    assert record(name, values) == expected


def test_core_samples_of_the_950() -> None:
    values = {"events": np.arange(10, 20), "task_cycles": 1, "tick": 2, "event_count": 10, "core_id": 40}
    expected = struct.pack("<BBHHH10QQQBB6B", 1, 0, 0, 0, 0, *range(10, 20), 1, 2, 10, 40, *[0] * 6)
    assert record("ffts_core_sample_v6", values) == expected


def test_counters_of_tasks() -> None:
    events = np.arange(10, 18)
    cache = record("l2_cache", {"task_type": 1, "stream_id": 2, "task_id": 3, "events": events})
    assert cache == struct.pack("<4H8Q", 1, 2, 3, 0, *events)
    values = {"task_type": 1, "stream_id": 2, "task_id": 3, "data_type": SocPmuType.SMMU, "events": events}
    assert record("soc_pmu", values) == struct.pack("<2I4H8Q", 0, 0, 1, 2, 3, 2, *events)
    newer = struct.pack("<6B3HI8Q", *[0] * 6, SocPmuType.SMMU, 1, 2, 3, *events)
    assert record("soc_pmu_v6", values) == newer


def test_counters_of_the_950() -> None:
    # The record of the vendor's own unit test of PmuBeanV6, with a vector core and the overflow bit besides.
    values = {
        "stream_id": 1, "task_id": 0, "total_cycles": 642379, "context_type": 6, "flags": 3, "core_type": 128,
        "core_id": 15, "sub_block_id": 17, "block_id": 18, "pmu": np.arange(10, 20), "start_tick": 2201803260082,
        "end_tick": 2201803277549,
    }  # fmt: skip
    text = "<4HQ2BH2B3HI10Q2Q"
    assert struct.calcsize(text) == 128
    head = (0x2A, 0x6BD3, 1, 0, 642379, 6)
    tail = (0, 17, 18, 0, *range(10, 20), 2201803260082, 2201803277549)
    assert record("ffts_profile_v6", values) == struct.pack(text, *head, 3, 0, 128, 15, *tail)
    other = record("ffts_profile_v6", {**values, "flags": 7, "core_type": 1})
    assert other == struct.pack(text, *head, 7, 0, 1, 15, *tail)


def test_counters_of_the_950_survive_the_disk(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    rows = RECORD_KINDS.record("ffts_profile_v6").new(5)
    rows["pmu"], rows["end_tick"], rows["core_type"] = np.arange(50).reshape(5, 10), 7, [0, 1, 0, 1, 0]
    rows["header"][1::2] = 0x29
    ProfWriter(tmp_path, RECORD_KINDS).write("ffts_profile_v6", rows, 0)
    reader = ProfReader(tmp_path, RECORD_KINDS)
    assert (reader.read("ffts_profile_v6", 0) == rows).all()
    assert reader.notes == []


SAMPLES = {"hbm": "<QQII", "llc": "<QQII", "ddr": "<5I", "pcie": "<Q22I"}


@pytest.mark.parametrize("name", SAMPLES)
def test_samples(name: str) -> None:
    values, numbers = counted(name, start=0)
    assert record(name, values) == struct.pack(SAMPLES[name], *numbers)


def test_pcie_order() -> None:
    values = {"rx_cpl_avg": 21, "tx_p_min": 1, "tx_np_latency_max": 11}
    expected = [0] * 22
    expected[1], expected[11], expected[21] = 1, 11, 21
    assert struct.unpack("<Q22I", record("pcie", values))[1:] == tuple(expected)


def test_qos_and_low_power() -> None:
    assert record("qos", {"tick": 5, "bandwidth": np.arange(10)}) == struct.pack("<2I2Q10I", 0, 0, 0, 5, *range(10))
    rows = RECORD_KINDS.record("lpm_info").new(1)
    rows["count"], rows["type"] = 1, 2
    rows["points"]["tick"][0, 0], rows["points"]["value"][0, 0] = 7, 900
    assert rows.tobytes() == struct.pack("<IIQII", 1, 2, 7, 900, 0).ljust(888, b"\0")


SOC = {
    "sio": (0x19, "<HHIQHHIQ8I", 3),
    "acc_pmu": (0x1A, "<HHIQHHIQ4Q", 3),
    "chip_trans": (0x1B, "<HHIQHHIQQQ", 3),
    "soc_bandwidth": (0x1C, "<HHIQQQH", None),
}


@pytest.mark.parametrize("name", SOC)
def test_records_of_the_soc(name: str) -> None:
    function, text, accelerator = SOC[name]
    values, numbers = counted(name)
    tick, *rest = numbers
    head = [function, 0x6BD3, 0, tick]
    middle = [0, 0] if accelerator is None else [0, rest.pop(0), 0, 0]
    found = record(name, values)
    assert found == struct.pack(text, *head, *middle, *rest).ljust(64, b"\0")


def test_records_of_the_soc_of_the_950() -> None:
    links = record("chip_trans_v6", {"tick": 5, "write": 6, "read": 7})
    assert links == struct.pack("<2HI3Q8I", 0x1B, 0x6BD3, 0, 5, 6, 7, *[0] * 8)
    partitions = record("stars_qos", {"tick": 5, "bandwidth": np.arange(10)})
    assert partitions == struct.pack("<HHIQQ10I", 0x18, 0x6BD3, 0, 5, 0, *range(10))


def test_families_in_one_file_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    writer = ProfWriter(tmp_path, RECORD_KINDS)
    links = RECORD_KINDS.record("chip_trans").new(2)
    links["header"] = pack_stars_header(0x1B, [1, 2], [ChipLinkType.PA, ChipLinkType.PCIE])
    dies = RECORD_KINDS.record("sio").new(1)
    nodes, waits = RECORD_KINDS.record("aicpu_node").new(3), RECORD_KINDS.record("aicpu_queue").new(2)
    for name, rows in (("chip_trans", links), ("sio", dies), ("aicpu_node", nodes), ("aicpu_queue", waits)):
        writer.write(name, rows, 0)
    reader = ProfReader(tmp_path, RECORD_KINDS)
    assert (reader.read("chip_trans", 0) == links).all()
    assert [len(reader.read(name, 0)) for name in ("sio", "acc_pmu", "aicpu_node", "aicpu_model", "aicpu_queue")] == [
        *(1, 0, 3, 0, 2)
    ]
    assert reader.notes == []
    links["header"][1] = 0x19
    with pytest.raises(RawFormatError, match="Record 1 is none of chip_trans"):
        writer.write("chip_trans", links, 0)


def test_task_counters_and_samples_in_one_file_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    ProfWriter(tmp_path, RECORD_KINDS).write("ffts_profile", RECORD_KINDS.record("ffts_profile").new(6), 0)
    reader = ProfReader(tmp_path, RECORD_KINDS)
    assert len(reader.read("ffts_core_sample", 0)) == 0
    assert len(reader.read("ffts_profile", 0)) == 6
    assert len(reader.notes) == 1
