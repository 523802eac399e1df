"""``torch.npu.mstx``: what its calls return, keep and refuse."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from drynpu.simulate import DEFAULT_STREAM, MarkKind
from drynpu_torch.device import DeviceState, ScriptMarks
from drynpu_torch.device.npu import mstx


@pytest.fixture
def marks(npu: DeviceState) -> Iterator[ScriptMarks]:
    npu.script_marks = ScriptMarks(npu.range_ids)
    yield npu.script_marks
    npu.script_marks = None


def messages(marks: ScriptMarks) -> list[str]:
    return [mark.message for mark in marks.marks]


def elsewhere(work: Callable[[], object]) -> object:
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def test_both_spellings_mark_an_instant(marks: ScriptMarks) -> None:
    assert mstx.mark("class") is None
    assert torch.npu.mstx().mark("object", domain="own") is None
    first, second = marks.marks
    assert (first.message, first.domain, first.stream) == ("class", "default", None)
    assert (second.message, second.domain) == ("object", "own")
    assert first.kind is MarkKind.POINT
    assert first.start_ns == first.end_ns <= second.start_ns
    assert first.extended
    assert first.thread == threading.get_native_id()


def test_a_stream_is_counted_from_the_devices_default(marks: ScriptMarks) -> None:
    side = torch.npu.Stream()
    mstx.mark("default", torch.npu.current_stream())
    mstx.range_end(mstx.range_start("side", side))
    assert [mark.stream for mark in marks.marks] == [DEFAULT_STREAM, DEFAULT_STREAM + side.stream_id]


def test_ids_of_ranges_go_on_over_recordings(npu: DeviceState, marks: ScriptMarks) -> None:
    first = mstx.range_start("left open")
    npu.script_marks = ScriptMarks(npu.range_ids)
    assert mstx.range_start("next recording") == first + 1
    mstx.range_end(first)
    assert marks.marks == npu.script_marks.marks == []


def test_ranges_end_in_any_order_and_on_any_thread(marks: ScriptMarks) -> None:
    outer, crossing = mstx.range_start("outer"), mstx.range_start("crossing")
    mstx.range_end(outer)
    ended_by = elsewhere(lambda: (mstx.range_end(crossing), threading.get_native_id())[1])
    mstx.range_end(crossing)
    mstx.range_end(0)
    mstx.range_end(10**9)
    first, second = marks.marks
    assert [first.message, second.message] == ["outer", "crossing"]
    assert second.start_ns <= first.end_ns <= second.end_ns
    assert second.thread == threading.get_native_id()
    assert second.end_thread == ended_by != second.thread
    assert {first.kind, second.kind} == {MarkKind.START_END}


def test_stacks_are_those_of_a_thread_and_a_domain(marks: ScriptMarks) -> None:
    assert [mstx.range_push("a"), mstx.range_push("b"), mstx.range_push("c", domain="own")] == [0, 1, 0]
    assert elsewhere(lambda: (mstx.range_pop(), mstx.range_push("there"), mstx.range_pop())) == (-1, 0, 0)
    assert [mstx.range_pop(), mstx.range_pop("own"), mstx.range_pop(), mstx.range_pop()] == [1, 0, 0, -1]
    assert messages(marks) == ["there", "b", "c", "a"]


@pytest.mark.parametrize(
    ("limits", "kept"), [({"include": {"data"}}, ["data"]), ({"exclude": {"data"}}, ["default", "own"])]
)
def test_domains_limit_what_is_kept(npu: DeviceState, limits: dict[str, Any], kept: list[str]) -> None:
    npu.script_marks = marks = ScriptMarks(npu.range_ids, **limits)
    try:
        for domain in ("default", "data", "own"):
            mstx.mark("mark", domain=domain)
            number = mstx.range_start("range", domain=domain)
            assert (number > 0) == (domain in kept)
            mstx.range_end(number, domain)
            assert mstx.range_push("push", domain=domain) == mstx.range_pop(domain) == (0 if domain in kept else -1)
    finally:
        npu.script_marks = None
    assert [mark.domain for mark in marks.marks] == [domain for domain in kept for _ in range(3)]


def test_a_decorated_function_keeps_its_name_result_and_errors(marks: ScriptMarks) -> None:
    @mstx.mstx_range("whole", domain="own")
    def halve(value: int) -> int:
        """Halve."""
        if value % 2:
            raise ValueError(value)
        return value // 2

    assert (halve.__name__, halve.__doc__, halve(6)) == ("halve", "Halve.", 3)
    with pytest.raises(ValueError, match="7"):
        halve(7)
    assert [(mark.message, mark.domain) for mark in marks.marks] == [("whole", "own")] * 2


def test_annotate_is_a_block_and_a_decorator(marks: ScriptMarks) -> None:
    @mstx.annotate()
    def nameless(depth: int) -> None:
        if depth:
            nameless(depth - 1)

    @mstx.annotate("named")
    def other() -> None:
        pass

    nameless(1)
    other()
    again = mstx.annotate("block", torch.npu.current_stream(), "own")
    with again, again:
        pass
    assert messages(marks) == ["nameless", "nameless", "named", "block", "block"]
    assert marks.marks[-1].domain == "own"


def test_nothing_is_kept_while_nobody_records() -> None:
    assert mstx.mark("x") is None
    assert (mstx.range_start("x"), mstx.range_push("x"), mstx.range_pop()) == (0, -1, -1)
    mstx.range_end(0)
    with mstx.annotate("x"):
        pass


@pytest.mark.parametrize(
    ("call", "given", "returned", "about"),
    [
        ("mark", ("",), None, "message string"),
        ("mark", (7,), None, "message string"),
        ("mark", ("x", None, ""), None, "domain string"),
        ("mark", ("x", "stream"), None, "stream"),
        ("range_start", (None,), 0, "message string"),
        ("range_start", ("x", 3), 0, "stream"),
        ("range_start", ("x", None, 5), 0, "domain string"),
        ("range_push", ("",), -1, "message string"),
        ("range_pop", (None,), -1, "domain string"),
        ("range_end", (1, ""), None, "domain string"),
        ("range_end", ("1",), None, "range id, which mstx.range_start returns"),
    ],
)
def test_a_bad_argument_is_warned_about_at_the_caller(
    marks: ScriptMarks, call: str, given: tuple[Any, ...], returned: object, about: str
) -> None:
    with pytest.warns(UserWarning, match=rf"for mstx\.{call} function\. Please provide a valid {about}\.$") as seen:
        assert getattr(mstx, call)(*given) == returned
    assert [warning.filename for warning in seen] == [__file__]
    assert marks.marks == []


def test_a_program_sees_the_calls_where_it_puts_its_own_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch_npu

    private = torch_npu._C._mstx
    seen: list[tuple[object, ...]] = []
    for name in ("_mark", "_mark_on_host", "_range_start", "_range_end", "_range_pop"):
        monkeypatch.setattr(private, name, lambda *given, name=name: seen.append((name, *given)))
    stream = torch.npu.current_stream()
    torch.npu.mstx.mark("one")
    torch.npu.mstx.mark("two", stream, "mine")
    torch.npu.mstx.range_start("three", stream)
    torch.npu.mstx.range_end(4)
    torch.npu.mstx.range_pop(domain="mine")
    numbers = (stream.stream_id, stream.device_index, stream.device_type)
    assert seen == [
        ("_mark_on_host", "one", "default"),
        ("_mark", "two", *numbers, "mine"),
        ("_range_start", "three", *numbers, "default"),
        ("_range_end", 4, "default"),
        ("_range_pop", "mine"),
    ]
