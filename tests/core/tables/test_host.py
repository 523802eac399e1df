"""Calls of the host: their order, their pairs of events, and which of them is around a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.raw import EVENT_FLAG, HostLevel
from drynpu.tables import NO_MODEL
from drynpu.tables.host import Codes, Dictionaries, build_calls

MODEL, NODE, RUNTIME = HostLevel.MODEL.value, HostLevel.NODE.value, HostLevel.RUNTIME.value
WORDS = Dictionaries(hashes={70: "MatMul", 71: "Add"}, types={(NODE, 5): "launch", (MODEL, 9): "ModelExecute"})


def records(*rows: dict[str, int]) -> Any:
    found = RECORD_KINDS.record("api_event").new(len(rows))
    for record, row in zip(found, rows, strict=True):
        for name, value in row.items():
            record[name] = value
    return found


def node(begin: int, end: int, item: int = 70, tid: int = 8) -> dict[str, int]:
    return {"level": NODE, "type": 5, "thread_id": tid, "item_id": item, "begin": begin, "end": end}


def model(begin: int, end: int, number: int, tid: int = 8) -> dict[str, int]:
    return {"level": MODEL, "type": 9, "thread_id": tid, "item_id": number, "begin": begin, "end": end}


def calls(*parts: Any) -> Any:
    return build_calls(parts, WORDS, lambda ticks: ticks + 1000, 77)


def test_calls_come_by_time_an_enclosing_one_first_and_are_counted_from_1() -> None:
    found = calls(records(node(50, 60), node(10, 20, 71)), records(model(10, 90, 3), node(5, 4)))
    rows = found.table.frame().select("connection_id", "level", "name", "item", "start_ns", "end_ns", "tid", "pid")
    assert rows.rows() == [
        (1, "node", "launch", "MatMul", 1005, 1005, 8, 77),  # one that ends before it begins ends as it begins
        (2, "model", "ModelExecute", "3", 1010, 1090, 8, 77),
        (3, "node", "launch", "Add", 1010, 1020, 8, 77),
        (4, "node", "launch", "MatMul", 1050, 1060, 8, 77),
    ]
    assert found.connection_id(np.array([-1, 0, 3])).tolist() == [-1, 1, 4]


def test_the_innermost_call_of_a_level_on_the_thread_is_around_a_time() -> None:
    found = calls(records(node(10, 90), node(20, 40, 71), node(20, 30, tid=9), {**node(22, 24), "level": RUNTIME}))
    times, threads = np.array([1010, 1023, 1041, 1023, 1035, 1009]), np.array([8, 8, 8, 9, 9, 8])
    rows = found.around(HostLevel.NODE, times, threads)
    kept = found.table.frame()
    assert [None if row < 0 else kept["end_ns"][int(row)] for row in rows] == [1090, 1040, 1090, 1030, None, None]
    assert found.around(HostLevel.MODEL, times, threads).tolist() == [-1] * 6
    found.forget()
    assert found.around(HostLevel.NODE, times, threads).tolist() == rows.tolist()


def test_a_model_is_known_while_it_executes() -> None:
    found = calls(records(model(10, 30, 0), model(40, 60, 12), node(5, 80), model(40, 60, 6, tid=9)))
    times, threads = np.array([1009, 1010, 1035, 1050, 1050, 1061]), np.array([8, 8, 8, 8, 9, 8])
    assert found.model_id(times, threads).tolist() == [NO_MODEL, 0, NO_MODEL, 12, 6, NO_MODEL]
    assert calls(records(node(5, 80))).model_id(times, threads).tolist() == [NO_MODEL] * 6


def test_events_become_a_call_with_the_next_of_their_like() -> None:
    def event(time: int, item: int = 70, request: int = 1) -> dict[str, int]:
        return {**node(time, 0, item), "end": EVENT_FLAG, "request_id": request}

    fields = records(
        *(event(time) for time in (40, 10, 25, 30, 55)), event(12, 71), event(18, 71), event(20, request=2)
    )
    fields["end"] = np.uint64(EVENT_FLAG)
    found = calls(fields).table.frame().select("item", "start_ns", "end_ns").rows()
    # 10 to 25 and 30 to 40; 55 has no end, nor has the one of the other request.
    assert found == [("MatMul", 1010, 1025), ("Add", 1012, 1018), ("MatMul", 1030, 1040)]


def test_values_of_two_kinds_are_numbered_apart() -> None:
    codes = Codes()
    first = codes.add(np.array([9, 5, 9], np.uint64))
    second = codes.add(np.array([5, 9, 7], np.uint64), np.array([False, True, False]))
    assert first[0] == first[2] != first[1]
    assert second[0] == first[1]
    texts = codes.texts(lambda value, special: f"{value}{'*' * special}")
    assert [texts[int(code)] for code in [*first, *second]] == ["9", "5", "9", "5", "9*", "7"]
    assert codes.numbers()[first.astype(np.int64)].tolist() == [9, 5, 9]
    assert len(codes.add(np.zeros(0, np.uint64))) == 0
