"""Reading traces as the format says it, without drynpu's writer."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest

Message = dict[int, list[Any]]


def varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place


def message(data: bytes) -> Message:
    """Return the fields of a protocol buffer: numbers as they are, everything with a length as bytes."""
    fields: Message = {}
    place = 0
    while place < len(data):
        key, place = varint(data, place)
        if key & 7 == 0:
            value, place = varint(data, place)
        elif key & 7 == 1:
            value, place = data[place : place + 8], place + 8
        else:
            assert key & 7 == 2
            length, place = varint(data, place)
            value, place = data[place : place + length], place + length
        fields.setdefault(key >> 3, []).append(value)
    assert place == len(data)
    return fields


class Trace:
    """What a viewer makes of a trace: events of tracks with their names, arguments and arrows, and counters."""

    def __init__(self, data: bytes) -> None:
        self.titles: dict[int, tuple[str, int]] = {}
        self.events: list[dict[str, Any]] = []
        self.counters: dict[str, list[tuple[int, float]]] = {}
        words: dict[int, str] = {}
        moments = []
        first, *packets = map(message, message(data)[1])
        assert first[13] == [1], "what needs texts means nothing before this flag"
        for packet in packets:
            for interned in map(message, packet.get(12, [])):
                entries = [message(entry) for kind in interned.values() for entry in kind]
                words |= {entry[1][0]: entry[2][0].decode() for entry in entries}
            for track in map(message, packet.get(60, [])):
                self.titles[track[1][0]] = (track[2][0].decode(), track.get(5, [0])[0])
            if 11 in packet:
                moments.append((packet[8][0], message(packet[11][0])))
        for time, event in sorted(moments, key=lambda moment: moment[0]):
            self._happened(time, event, words)
        assert not self._open

    _open: dict[int, list[dict[str, Any]]]

    def _happened(self, time: int, event: Message, words: dict[int, str]) -> None:
        self._open = self.__dict__.setdefault("_open", {})
        kind, track = event[9][0], event[11][0]
        if kind == 4:
            (value,) = struct.unpack("<d", event[44][0])
            self.counters.setdefault(self.title(track), []).append((time, value))
            return
        if kind == 2:
            last = self._open[track].pop()
            last["end"] = time
            if not self._open[track]:
                del self._open[track]
            return
        found = {
            "track": self.title(track), "name": words[event[10][0]], "kind": words[event[3][0]], "start": time,
            "end": time, "depth": len(self._open.get(track, ())),
            "arrows": [int.from_bytes(each, "little") for each in event.get(47, [])],
            "arguments": dict(argument(message(each), words) for each in event.get(4, [])),
        }  # fmt: skip
        self.events.append(found)
        if kind == 1:
            self._open.setdefault(track, []).append(found)

    def title(self, track: int) -> str:
        """The names of a track and of what it lies in, the outermost first."""
        name, parent = self.titles[track]
        return f"{self.title(parent)}/{name}" if parent else name

    def named(self, name: str, section: str = "") -> dict[str, Any]:
        (event,) = (each for each in self.events if each["name"] == name and section in each["track"])
        return event

    def way(self, event: dict[str, Any]) -> list[str]:
        """The names of all events on the arrows of one, in order of time."""
        return [each["name"] for each in self.events if set(each["arrows"]) & set(event["arrows"])]


def argument(fields: Message, words: dict[int, str]) -> tuple[str, Any]:
    name = words[fields[1][0]]
    if 17 in fields:
        return name, words[fields[17][0]]
    return name, fields[4][0] if 4 in fields else struct.unpack("<d", fields[5][0])[0]


@pytest.fixture
def read_trace() -> Callable[[bytes], Trace]:
    return Trace
