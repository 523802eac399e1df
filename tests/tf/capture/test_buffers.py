"""How full a pipeline's last buffer was, from the numbers of the elements that went in and came out."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drynpu_tf.capture._dataset_reads import UNKNOWN, buffered_elements
from drynpu_tf.capture._planes import Kind, Planes

_GETTER, _FILLER = 1, 100


def planes(rows: list[tuple[int, int, int, int, int]]) -> Planes:
    """Rows ``(kind, number, thread, start, end)``."""
    table = np.array(sorted(rows, key=lambda row: (row[3], -row[4])), np.int64)
    kind, number, thread, start, end = table.T
    none = np.full(len(table), -1, np.int32)
    return Planes(
        kind=kind.astype(np.int8),
        text=none,
        op_type=none,
        extra=none,
        number=number,
        thread=thread,
        start_ns=start,
        end_ns=end,
        texts=(),
    )


def asked(start: int, element: int, thread: int = _GETTER, stage: int = Kind.PREFETCH) -> list[tuple[int, ...]]:
    """Return the rows of a run that asks at *start* and is given *element*."""
    return [
        (Kind.DATA, 7, thread, start, start + 9),
        (stage, 0, thread, start + 1, start + 8),
        (Kind.CONSUME, element, thread, start + 6, start + 7),
    ]


def counts(rows: list[tuple[int, ...]]) -> list[int]:
    found = planes(rows)  # type: ignore[arg-type]
    return buffered_elements(found)[found.kind == Kind.DATA].tolist()


def made(element: int, end: int, thread: int = _FILLER) -> tuple[int, ...]:
    return (Kind.PRODUCE, element, thread, end - 2, end)


def test_what_was_made_and_not_yet_taken_was_ready() -> None:
    rows = [made(11, 10), made(12, 20), made(13, 30), made(14, 130)]
    assert counts([*rows, *asked(100, 11), *asked(120, 12), *asked(140, 13)]) == [3, 2, 2]


def test_who_had_to_wait_found_nothing() -> None:
    assert counts([made(11, 104), *asked(100, 11)]) == [0]


def test_what_an_earlier_iterator_left_in_its_buffer_does_not_count() -> None:
    rows = [made(11, 10), made(12, 20), *asked(40, 11), made(21, 60), *asked(70, 21)]
    assert counts(rows) == [2, 1]


def test_buffers_of_other_threads_are_others() -> None:
    rows = [made(11, 10), made(12, 20), made(21, 15, thread=200), *asked(50, 21), *asked(70, 11)]
    assert counts(rows) == [1, 2]


def test_elements_from_before_the_trace_and_other_pipelines_are_unknown() -> None:
    assert counts([made(12, 20), *asked(50, 11), *asked(70, 12)]) == [UNKNOWN, 1]
    assert counts([made(11, 20), *asked(50, 11, stage=Kind.SPAN)]) == [UNKNOWN]
    assert counts([*asked(50, 11)]) == [UNKNOWN]


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_counts_are_those_of_a_queue(steps: list[bool]) -> None:
    """Fill (True) or take (False) in turn, against a list."""
    rows: list[tuple[int, ...]] = []
    queue: list[int] = []
    expected = []
    for number, fills in enumerate(steps, start=1):
        at = number * 100
        if fills:
            rows.append(made(number, at))
            queue.append(number)
        elif queue:
            expected.append(len(queue))
            rows += asked(at, queue.pop(0))
    assert counts(rows or [made(1, 10)]) == expected
