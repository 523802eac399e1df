"""Calls against the bytes of cann_msprof.md 7.2."""

from __future__ import annotations

from collections.abc import Callable

from drynpu.layouts import calls as facts
from drynpu.raw import HostLevel


def test_api_event_bytes(pack: Callable[..., bytes]) -> None:
    values = {"level": HostLevel.NODE, "type": 5, "thread_id": 0x01020304, "request_id": 7}
    times = {"begin": 0x1122334455667788, "end": 0x1122334455667799, "item_id": 0xDEADBEEF00000001}
    assert pack(facts.API_EVENT, **values, **times) == (
        b"\x5a\x5a"  # magic
        b"\x10\x27"  # level 10000
        b"\x05\x00\x00\x00"
        b"\x04\x03\x02\x01"
        b"\x07\x00\x00\x00"
        b"\x88\x77\x66\x55\x44\x33\x22\x11"
        b"\x99\x77\x66\x55\x44\x33\x22\x11"
        b"\x01\x00\x00\x00\xef\xbe\xad\xde"
    )


def test_places_and_sizes(fits: Callable[..., bool]) -> None:
    assert fits(facts.API_EVENT.dtype, "<HHIIIQQQ")
