"""Marks against the bytes of cann_msprof.md 7.3 and the numbers of 4.6."""

from __future__ import annotations

import struct
from collections.abc import Callable

from drynpu.layouts import marks as facts


def test_a_mark_is_a_record_inside_additional_information(
    pack: Callable[..., bytes],
    number: Callable[..., tuple[dict[str, object], list[int]]],
    host_head: Callable[..., bytes],
) -> None:
    values, numbers = number(facts.MSPROFTX, skip=("message", "event_type"))
    found = pack(facts.MSPROFTX, **values, event_type=facts.MarkKind.START_END, message="größe".encode())
    info, segment, tag, pid, tid, category, payload_type, payload, start, end, mark, domain, message_type = numbers
    expected = struct.pack(
        "<HHIHHIIIIiQQQQQi156s",
        *(info, segment, 0, 0x5A5A, tag, pid, tid, category, 2, payload_type),
        *(payload, start, end, mark, domain, message_type, "größe".encode()),
    )
    assert found == host_head(20500, 0, 232) + expected


def test_numbers() -> None:
    assert {kind.name: int(kind) for kind in facts.MarkKind} == {
        "POINT": 0,
        "PUSH_POP": 1,
        "START_END": 2,
        "EXTENDED_POINT": 3,
    }
    assert {part.name: int(part) for part in facts.MarkPart} == {"MARK": 0, "EXTENDED_MARK": 1}
    assert facts.MESSAGE_BYTES == 156


def test_places_and_sizes(fits: Callable[..., bool]) -> None:
    assert fits(facts.MSPROFTX.dtype, "<HHIIIQ" + "HHIHHIIIIiQQQQQi156s")
