"""What is kept while calls are made: how long their threads waited for a processor is told apart from the calls."""

from __future__ import annotations

from drynpu_acl.recording import ApiCall, CapturedCalls


def call(start_ns: int, end_ns: int, thread: int) -> ApiCall:
    return ApiCall("aclrtRecordEvent", start_ns, end_ns, thread)


def test_waits_before_a_call_and_in_it_are_those_of_its_thread() -> None:
    captured = CapturedCalls()
    captured.note_call(call(1000, 1010, 7), 500, 500)
    captured.note_call(call(2000, 2010, 8), 90_000, 90_004)
    captured.note_call(call(3000, 3010, 7), 700, 703)
    # What a thread had waited before its first call is nobody's.
    assert captured.waits == [(2010, 4), (3000, 200), (3010, 3)]
    first, second = captured.between((0,) * 6, captured.counts), captured.between(captured.counts, captured.counts)
    assert (first.calls, first.waits) == (captured.calls, captured.waits)
    assert (second.calls, second.waits) == ([], [])
    assert [part.waits for part in captured.by_device([0, 1]).values()] == [captured.waits] * 2


def test_what_recording_a_call_takes_is_no_wait_twice() -> None:
    captured = CapturedCalls()
    first, second = call(1000, 1010, 7), call(2000, 2010, 7)
    captured.note_call(first, before=5, after=5)
    captured.note_recording(first, end_ns=1500, waited=300)
    captured.note_call(second, before=304, after=304)
    assert captured.waits == [(1500, 490), (2000, 4)]
