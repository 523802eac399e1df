"""Frames out of calls and returns."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from drynpu.analysis.python_frames import python_frames
from drynpu.tables import PYTHON_CALLS

CALL, RETURN, C_CALL, C_RETURN = range(4)


def calls(rows: list[tuple[int, int, str, int]]) -> pl.DataFrame:
    return pl.DataFrame([(time, 1, tid, name, tag) for time, tid, name, tag in rows], schema=PYTHON_CALLS, orient="row")


def test_nesting_modules_and_open_ends() -> None:
    frames = python_frames(
        calls(
            [
                (0, 1, "stray", RETURN),
                (1, 1, "main", CALL),
                (2, 1, "Linear######77", CALL),
                (3, 1, "built-in", C_CALL),
                (4, 1, "", C_RETURN),
                (5, 1, "", RETURN),
                (6, 1, "Linear######78", CALL),
                (7, 1, "", RETURN),
                (8, 1, "open", CALL),
                (3, 2, "other thread", CALL),
            ]
        )
    )
    assert frames.select("id", "parent_id", "name", "module_id", "start_ns", "end_ns").rows() == [
        (3, 2, "built-in", None, 3, 4),
        (2, 1, "nn.Module: Linear_0", 0, 2, 5),
        (6, 1, "nn.Module: Linear_1", 1, 6, 7),
        (8, 1, "open", None, 8, 8),
        (1, 0, "main", None, 1, 8),
        (0, 0, "other thread", None, 3, 3),
    ]


def test_an_object_keeps_the_number_of_its_first_call() -> None:
    """The vendor counts objects in each class and knows an object by its number alone, whatever class a call names."""
    names = ("Linear######5", "Dropout######6", "Linear######9", "Dropout######5", "Dropout######8", "Linear######5")
    rows = [(10 * i + tag, 1, name, tag) for i, name in enumerate(names) for tag in (CALL, RETURN)]
    frames = python_frames(calls([*rows, (0, 2, "Linear######9", CALL)]))
    assert frames["name"].to_list() == [
        *("nn.Module: Linear_0", "nn.Module: Dropout_0", "nn.Module: Linear_1"),
        *("nn.Module: Dropout_0", "nn.Module: Dropout_1", "nn.Module: Linear_0"),
        "nn.Module: Linear_0",
    ]
    assert frames["module_id"].to_list() == [0, 0, 1, 0, 1, 0, 0]


def replay(tags: list[int]) -> list[tuple[int, int, int, int]]:
    """The same by a stack: (id, parent_id, start, end) in order of return."""
    stack: list[tuple[int, int]] = []
    frames = []
    for number, tag in enumerate(tags):
        if tag in (CALL, C_CALL):
            stack.append((number, stack[-1][0] if stack else 0))
        elif stack:
            opened, parent = stack.pop()
            frames.append((opened, parent, opened * 10, number * 10))
    end = (len(tags) - 1) * 10
    while stack:
        opened, parent = stack.pop()
        frames.append((opened, parent, opened * 10, end))
    return frames


@given(st.lists(st.integers(0, 3), max_size=40))
def test_columns_do_what_a_stack_does(tags: list[int]) -> None:
    found = python_frames(calls([(number * 10, 1, f"f{number}", tag) for number, tag in enumerate(tags)]))
    assert found.select("id", "parent_id", "start_ns", "end_ns").rows() == replay(tags)
