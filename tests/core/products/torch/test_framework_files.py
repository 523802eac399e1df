"""The records of the task queue and of operators, read with struct alone as the vendor's analysis reads them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve

from drynpu.recorder import Outcome
from drynpu.simulate import Collective

Write = Callable[..., Outcome]
ENQUEUE_START, ENQUEUE_END, DEQUEUE_START, DEQUEUE_END = range(4)


def records(path: Path, fixed: str) -> Iterator[tuple[tuple[int, ...], dict[int, str]]]:
    """Give the fixed part and the texts of each record: type (2 bytes), length (4), content; texts likewise."""

    def fields(data: bytes) -> Iterator[tuple[int, bytes]]:
        while data:
            kind, length = struct.unpack_from("<HI", data)
            yield kind, data[6 : 6 + length]
            data = data[6 + length :]

    size = struct.calcsize(fixed)
    for _, content in fields(path.read_bytes()):
        yield struct.unpack(fixed, content[:size]), {kind: text.decode() for kind, text in fields(content[size:])}


def queue(outcome: Outcome) -> list[tuple[int, int, int, str]]:
    found = records(outcome.directory / "FRAMEWORK" / "torch.op_mark", "<q4Q")
    return [(time, category, correlation, texts[1]) for (time, category, correlation, _, _), texts in found]


def collective(tools: Any, start: int) -> Collective:
    return Collective(
        kind="allReduce",
        ranks=(0, 1),
        thread=tools.pid,
        rank=0,
        size_bytes=1 << 20,
        dtype="FLOAT16",
        count=1 << 19,
        group="group",
        start_ns=tools.begin_ns + start,
    )


def test_correlation_ids_count_what_was_put_into_the_queue(tools: Any, write: Write) -> None:
    rows = [tools.Row(name, 100_000 * i, 100_000 * i + 50_000) for i, name in enumerate(("add", "mm", "two"))]
    marks = queue(write(tools.operators(rows), collectives=(collective(tools, 60_000), collective(tools, 170_000))))
    put = [(correlation, name) for _, category, correlation, name in marks if category == ENQUEUE_START]
    assert put == [
        (1, "aclnnAdd"),
        (2, "HcclAllreduce"),
        (3, "aclnnMm"),
        (4, "HcclAllreduce"),
        (5, "aclnnTwo"),
    ]


def test_entries_lie_within_their_operators_and_never_touch(tools: Any, write: Write) -> None:
    """Operators that follow each other at once: the vendor pairs times of one thread and name by their order alone."""
    outcome = write(tools.operators([tools.Row("add", 100 * i, 100 * i + 100) for i in range(40)]))
    times = np.array([(time, category, correlation) for time, category, correlation, _ in queue(outcome)])
    sides = [times[times[:, 1] == category] for category in range(4)]
    assert [side[:, 2].tolist() for side in sides] == [list(range(1, 41))] * 4
    start, end, taken, done = (side[:, 0] for side in sides)
    assert (taken > end).all()
    for first, last in ((start, end), (taken, done)):
        assert (first < last).all()
        assert (last[:-1] < first[1:]).all()
    operators = [fixed[:2] for fixed, _ in records(outcome.directory / "FRAMEWORK" / "torch.op_range", "<3q4QB?")]
    begin, finish = np.array(operators).T
    assert (begin < start).all()
    assert (end < finish).all()


def test_an_operator_without_inputs_has_no_fields_of_them(tools: Any, write: Write) -> None:
    table = tools.operators([tools.Row("add", 0, 50_000), tools.Row("mm", 100_000, 150_000)])
    table = evolve(table, texts=(("Scalar", ""), ("", "")))
    found = records(write(table).directory / "FRAMEWORK" / "torch.op_range", "<3q4QB?")
    assert [texts for _, texts in found] == [{2: "add", 3: "Scalar", 4: ""}, {2: "mm"}]
