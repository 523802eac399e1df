"""What a framework recorded of itself, over several stretches of a recording."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drynpu.layouts import framework_mindspore as mindspore_facts
from drynpu.layouts.framework_mindspore import MS_ABSENT
from drynpu.simulate import FrameworkEvents

FLOWS = st.lists(st.one_of(st.none(), st.integers(1, 9)), max_size=6)


def stretch(flows: list[int | None], part: int = 0) -> FrameworkEvents:
    records = np.zeros(len(flows), mindspore_facts.MS_OP_RANGE)
    records["flow_id"] = [MS_ABSENT if flow is None else flow for flow in flows]
    names = tuple({13: f"event {number} of {part}"} for number in range(len(flows)))
    index = np.array([-1 if flow is None else number for number, flow in enumerate(flows)], np.int64)
    return FrameworkEvents(records=records, text_index=index, texts=names)


def shown(events: FrameworkEvents) -> list[tuple[int, str]]:
    texts = [events.texts[index][13] if index >= 0 else "" for index in events.text_index.tolist()]
    return list(zip(events.records["flow_id"].tolist(), texts, strict=True))


@given(st.lists(FLOWS, max_size=4))
def test_stretches_keep_their_texts_and_their_flows_apart(drawn: list[list[int | None]]) -> None:
    joined = shown(FrameworkEvents.join([stretch(flows, part) for part, flows in enumerate(drawn)]))
    rows = [(part, flow) for part, flows in enumerate(drawn) for flow in flows]
    apart = [text for part, flows in enumerate(drawn) for _, text in shown(stretch(flows, part))]
    assert [text for _, text in joined] == apart
    numbers = [number for number, _ in joined]
    assert [number == MS_ABSENT for number in numbers] == [flow is None for _, flow in rows]
    told = [(row, number) for row, number in zip(rows, numbers, strict=True) if number != MS_ABSENT]
    for row, number in told:
        assert {other for other, same in told if same == number} == {row}, "one flow, one stretch"


def test_joining_leaves_the_stretches_as_they_are() -> None:
    first, second = stretch([1, 2]), stretch([1])
    FrameworkEvents.join([first, second])
    assert second.records["flow_id"].tolist() == [1]
    assert len(FrameworkEvents.join([])) == 0
