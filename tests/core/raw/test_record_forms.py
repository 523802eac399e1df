"""What stands in front of records, against the bytes of cann_msprof.md 7.2 to 7.4."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from drynpu.raw import (
    DATA_BYTES,
    HostLevel,
    RecordKind,
    additional_info,
    aicpu_record,
    compact_info,
    soc_profile_record,
    ts_track_record,
)


def places(kind: RecordKind) -> list[tuple[int, int]]:
    """Offset and size of each field but the last, which is the test's own."""
    return [(offset, part.itemsize) for part, offset, *_ in (kind.dtype.fields or {}).values()][:-1]


def packed(kind: RecordKind, **values: int) -> bytes:
    """One record of a kind, as it stands in a file."""
    record = kind.new(1)
    for name, value in values.items():
        record[name] = value
    return record.tobytes()


def test_levels_are_those_of_the_page() -> None:
    """7.2: "20000 ACL, 15000 model, 10000 node, 5500 communication, 5000 runtime"; hicann/runtime for the others."""
    levels = {level.name: int(level) for level in HostLevel}
    assert levels == {
        "RUNTIME": 5000,
        "COMMUNICATION": 5500,
        "AICPU": 6000,
        "NODE": 10000,
        "MODEL": 15000,
        "ACL": 20000,
        "TX": 20500,
    }


HEAD = {"thread_id": 0x01020304, "timestamp": 0x1122334455667788}


@pytest.mark.parametrize(("form", "size"), [(compact_info, 64), (additional_info, 256), (aicpu_record, 256)])
def test_host_header(form: object, size: int) -> None:
    """7.3: u16 magic, u16 level, u32 type, u32 threadId, u32 dataLen, u64 timestamp, then data at offset 24."""
    field = ("value", "<u4", 24)
    aicpu = form is aicpu_record
    kind = form("x", *(() if aicpu else (10000,)), 0x0A0B, 17, field)
    expected = struct.pack("<HHIIIQI", 0x5A5A, 6000 if aicpu else 10000, 0x0A0B, 0x01020304, 17, HEAD["timestamp"], 9)
    assert packed(kind, **HEAD, value=9) == expected.ljust(size, b"\0")
    assert places(kind) == [(0, 2), (2, 2), (4, 4), (8, 4), (12, 4), (16, 8)]
    assert kind.side == ("device" if aicpu else "host")


def test_additional_information_has_232_bytes_of_data() -> None:
    assert DATA_BYTES == 232


def test_type_of_an_aicpu_record_has_32_bits() -> None:
    kind = aicpu_record("x", 3, 8)
    records = kind.new(3)
    records["type"] = [3, 0x8000_0003, 0x0001_0003]
    assert kind.members(records).tolist() == [True, False, False]


def test_track_record() -> None:
    """7.4: 40 bytes: u8 mode, u8 function, u16 40, u32, u64 device tick."""
    kind = ts_track_record("x", 0x0B, ("value", "<u2", 16))
    found = packed(kind, mode=2, tick=0x0102030405060708, value=7)
    assert places(kind) == [(0, 1), (1, 1), (2, 2), (8, 8)]
    assert found == struct.pack("<BBHIQH", 2, 0x0B, 40, 0, 0x0102030405060708, 7).ljust(40, b"\0")
    records = kind.new(3)
    records["size"] = [40, 41, 0]
    assert kind.plausible(records).tolist() == [True, False, False]


def test_soc_profile_record() -> None:
    """7.4: 64 bytes: u16 header, of which 6 bits are the function, u16 magic 0x6bd3, 8 u64 tick."""
    kind = soc_profile_record("x", 0x1B, ("value", "<u2", 18))
    found = packed(kind, tick=0x0102030405060708, value=7)
    assert places(kind) == [(0, 2), (2, 2), (8, 8)]
    assert found == struct.pack("<HHIQHH", 0x1B, 0x6BD3, 0, 0x0102030405060708, 0, 7).ljust(64, b"\0")
    records = kind.new(4)
    records["header"] = np.array([0x1B | 0xFFC0, 0x1A, 0x3B, 0x0B])
    assert kind.members(records).tolist() == [True, False, False, False]


def test_records_of_the_task_scheduler_say_how_long_they_are() -> None:
    """A file holds records of several lengths: a reader finds the next one by the length behind the function."""
    assert ts_track_record("x", 0x0B).sized
    assert not soc_profile_record("y", 0x1B).sized
