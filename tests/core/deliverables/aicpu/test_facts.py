"""What the AI CPU reports, against the struct formats of Ascend/msprof (AicpuAddInfo beans)."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from drynpu.deliverables.aicpu import facts
from drynpu.raw import RecordKind

FORMATS = [
    (facts.AICPU_NODE, 0, 119, "<HHxxxxQQQQQQQIIQQQQIIIHB"),
    (facts.AICPU_MODEL, 2, 24, "<QIHxxQ"),
    (facts.AICPU_QUEUE, 3, 32, "<IxxxxQQQ"),
]


@pytest.mark.parametrize(("kind", "type_id", "data_len", "text"), FORMATS, ids=lambda value: getattr(value, "name", ""))
def test_records(
    pack: Callable[..., bytes],
    number: Callable[..., tuple[dict[str, object], list[int]]],
    host_head: Callable[..., bytes],
    kind: RecordKind,
    type_id: int,
    data_len: int,
    text: str,
) -> None:
    values, numbers = number(kind)
    assert struct.calcsize(text) == data_len
    assert pack(kind, **values) == (host_head(6000, type_id, data_len) + struct.pack(text, *numbers)).ljust(256, b"\0")
    assert kind.stem == "aicpu.data"


def test_data_preparation(pack: Callable[..., bytes], host_head: Callable[..., bytes]) -> None:
    found = pack(facts.AICPU_DATA_PREPARATION, action=b"Last dequeue", source=b"queue", index=3, size=4)
    expected = host_head(6000, 1, 96) + struct.pack("<16s64sQQ", b"Last dequeue", b"queue", 3, 4)
    assert found == expected.ljust(256, b"\0")


def test_numbers() -> None:
    assert facts.QUEUE_NODES == {1: "GetNext_dequeue_wait"}
    assert facts.UNKNOWN_SIZE == 4_294_967_295


def test_places_and_sizes(fits: Callable[..., bool]) -> None:
    for kind, _, data_len, text in FORMATS:
        assert fits(kind.dtype, f"<HHIIIQ{text[1:]}{232 - data_len}s")
    assert fits(facts.AICPU_DATA_PREPARATION.dtype, "<HHIIIQ16s64sQQ136s")
