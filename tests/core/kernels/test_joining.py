"""Operator tables put together."""

from __future__ import annotations

import numpy as np
from attrs import evolve

from drynpu.kernels import Call, Operators, Signature, TensorDesc, concatenate, merge_equal, used_entries

ADD = Signature("Add", (TensorDesc((2, 3), "FLOAT"),))
MUL = Signature("Mul", (TensorDesc((4,), "FLOAT16"),))


def table(*calls: tuple[Signature | str, int, int]) -> Operators:
    return Operators.from_calls([Call(call, start, end, 7) for call, start, end in calls])


def told(operators: Operators) -> list[tuple[str, int, str, tuple[str, str] | None, str]]:
    rows = []
    for row in range(len(operators)):
        code, stack = int(operators.signature[row]), int(operators.stack[row])
        signature = operators.signatures[code].name if code >= 0 else ""
        texts = operators.texts[code] if code >= 0 else None
        frames = operators.stacks[stack] if stack >= 0 else ""
        rows.append((operators.names[operators.name[row]], int(operators.start_ns[row]), signature, texts, frames))
    return rows


def test_rows_come_in_order_of_time_with_what_was_theirs() -> None:
    first = table((ADD, 10, 20), ("step", 5, 60), (MUL, 40, 50))
    second = evolve(table((MUL, 30, 35)), stack=np.zeros(1, np.int32), stacks=("f.py:1",))
    joined = concatenate([first, second])
    assert told(joined) == [
        ("step", 5, "", None, ""),
        ("Add", 10, "Add", ("FLOAT", "2,3"), ""),
        ("Mul", 30, "Mul", ("FLOAT16", "4"), "f.py:1"),
        ("Mul", 40, "Mul", ("FLOAT16", "4"), ""),
    ]


def test_an_enclosing_event_stands_before_what_begins_with_it() -> None:
    joined = concatenate([table((ADD, 10, 20)), table(("all", 10, 90))])
    assert [row[0] for row in told(joined)] == ["all", "Add"]


def test_what_parts_share_is_taken_once_and_texts_may_be_missing() -> None:
    part = table((ADD, 10, 20), (MUL, 30, 40))
    later = evolve(part, start_ns=part.start_ns + 100, end_ns=part.end_ns + 100)
    joined = concatenate([part, later])
    assert joined.signatures == part.signatures
    assert joined.names == part.names
    bare = concatenate([evolve(part, texts=())])
    assert bare.texts == (("", ""),) * 2
    assert len(concatenate([])) == 0


def test_equal_names_and_signatures_become_one() -> None:
    same = Signature("Add", (TensorDesc((2, 3), "FLOAT"),))
    other = evolve(ADD, attributes=(1,))
    true = evolve(ADD, attributes=(True,))  # equal to Python, not to an operator
    joined = concatenate(
        [table((MUL, 1, 2), (ADD, 10, 20)), table((same, 30, 40), (other, 50, 60)), table((true, 70, 80))]
    )
    merged = merge_equal(joined)
    assert told(merged) == told(joined)
    assert merged.names == ("Mul", "Add")
    assert merged.signatures == (MUL, ADD, other, true)
    assert merged.signature.tolist() == [0, 1, 1, 2, 3]
    assert merge_equal(Operators.from_calls(())).names == ()


def test_selected_rows_keep_their_columns_but_for_those_given() -> None:
    chosen = table((ADD, 10, 20), ("step", 25, 60), (MUL, 40, 50)).select(np.array([0, 2]), end_ns=np.array([21, 51]))
    assert told(chosen) == [("Add", 10, "Add", ("FLOAT", "2,3"), ""), ("Mul", 40, "Mul", ("FLOAT16", "4"), "")]
    assert chosen.end_ns.tolist() == [21, 51]
    assert chosen.thread.tolist() == [7, 7]


def test_a_part_keeps_the_entries_that_its_rows_have() -> None:
    whole = evolve(
        table(("step", 5, 60), (ADD, 10, 20), (MUL, 40, 50), ("step", 70, 80)),
        stack=np.array([-1, 2, 0, 0], np.int32),
        stacks=("f.py:1", "g.py:1", "h.py:1"),
    )
    part = used_entries(whole.select(np.array([0, 2, 3])))
    assert told(part) == [
        ("step", 5, "", None, ""),
        ("Mul", 40, "Mul", ("FLOAT16", "4"), "f.py:1"),
        ("step", 70, "", None, "f.py:1"),
    ]
    assert (sorted(part.names), part.signatures, part.stacks) == (["Mul", "step"], (MUL,), ("f.py:1",))
    both = used_entries(whole.select(np.array([1, 2])))
    assert [row[2:] for row in told(both)] == [
        ("Add", ("FLOAT", "2,3"), "h.py:1"), ("Mul", ("FLOAT16", "4"), "f.py:1"),
    ]  # fmt: skip
    assert used_entries(evolve(whole, texts=())).texts == ()
