"""What MindSpore recorded of itself, in raw data, timeline and table."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def session(export: Any, hand: Any) -> Any:
    return export(events=hand.own_events(), communication=False)


def test_averages_of_the_data_pipeline_are_rounded_as_the_vendor_s(session: Any) -> None:
    rows = [tuple(row.values()) for row in session.rows("dataset.csv")]
    assert rows == [
        ("BatchOp(ID:1)", "WorkerProcess", "1", "76.81", ""),
        ("BatchOp(ID:1)", "WorkerProcess", "1", "0.03", "{}"),
        ("BatchOp(ID:1)", "WorkerProcess", "2", "20.01", "{'a': '1', 'b': '2'}"),
    ]


def test_stages_stand_in_the_order_of_the_file_where_they_begin_at_once(export: Any, hand: Any) -> None:
    """The second call of the pipeline begins with the third, which lasts longer; the file has the shorter first."""
    events = hand.own_events()
    events.records["start"][-3] = events.records["start"][-4]
    session = export(events=events, communication=False)
    rows = [tuple(row.values())[-3:] for row in session.rows("dataset.csv")]
    assert rows == [("1", "76.81", ""), ("1", "0.03", "{}"), ("2", "70.01", "{'a': '1', 'b': '2'}")]


def test_python_calls_are_on_their_thread_by_their_own_name(session: Any, hand: Any) -> None:
    calls = [event for event in session.document("trace_view.json") if event.get("cat") == "python_function"]
    assert [(call["name"], call["tid"], call["dur"]) for call in calls] == [
        ("train.py(7):step", hand.PID, "60.000"),
        ("<built-in function len>", hand.PID, "20.000"),
    ]


def test_flows_of_the_framework_stay_apart_from_those_of_the_launches(session: Any, hand: Any) -> None:
    events = session.profile.frame("framework_events")
    begins = events.filter(events["is_flow"])["flow_id"].to_list()
    assert len(begins) == len(set(begins)), "no number twice"
    task = events.filter(events["name"] == "PynativeFramework::PyNativeBackendTask::pyboost")
    assert task["tid"].to_list() == [hand.PID + 9]
    assert task["flow_id"][0] in begins
    arrows = [event for event in session.document("trace_view.json") if event["name"] == "mindspore_to_self"]
    assert hand.PID + 9 in {arrow["tid"] for arrow in arrows if arrow["ph"] == "f"}


def test_the_launching_thread_is_none_of_theirs(session: Any, hand: Any) -> None:
    launches = session.profile.queue.filter(session.profile.queue["side"] == "dequeue")
    assert set(launches["tid"].to_list()) == {hand.PID + 10}
