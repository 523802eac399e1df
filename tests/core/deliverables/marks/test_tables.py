"""Messages that came in parts: each is put together in the order of its parts, and a missing one is told."""

from __future__ import annotations

import numpy as np
import pytest

from drynpu.deliverables.marks.tables import _joined
from drynpu.layouts.marks import MSPROFTX

PARTS = [  # extended, mark, part, text
    (True, 9, 2, "c9"), (False, 5, 0, "plain"), (True, 4, 0, "a4"), (True, 9, 0, "a9"), (False, 5, 0, "other"),
    (True, 9, 1, "b9"),
]  # fmt: skip


def joined(parts: list[tuple[bool, int, int, str]]) -> tuple[dict[str, int], list[str]]:
    """The messages with the rows of their first parts, and the notes."""
    records = MSPROFTX.new(len(parts))
    for record, (_, mark, part, text) in zip(records, parts, strict=True):
        record["mark_id"], record["segment"], record["message"] = mark, part, text.encode()
    notes: list[str] = []
    first, messages = _joined(records, np.array([part[0] for part in parts]), notes)
    return dict(zip(messages.to_list(), first.tolist(), strict=True)), notes


def test_parts_of_a_mark_make_one_message_and_plain_marks_stand_alone() -> None:
    assert joined(PARTS) == ({"a9b9c9": 3, "a4": 2, "plain": 1, "other": 4}, [])


@pytest.mark.parametrize(("missing", "message"), [(0, "a9b9"), (3, "b9c9"), (5, "a9c9")])
def test_a_missing_part_is_told_where_a_later_one_is_there(missing: int, message: str) -> None:
    found, notes = joined(PARTS[:missing] + PARTS[missing + 1 :])
    assert message in found
    # Nobody can know of a last part that is missing.
    assert notes == ([] if missing == 0 else ["the messages of 1 user mark(s) miss a part"])
