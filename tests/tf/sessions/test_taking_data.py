"""Data from iterators and loops of steps, as sess.run leaves them."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(scripts: Any, request: Any) -> Any:
    script = request.path.with_name("taking_data.py")
    return scripts(script, environment={"DRYNPU_QUIET": "1", "DRYNPU_CHIP": "Ascend910A"})


@pytest.fixture(scope="module")
def found(run: Any) -> dict[str, Any]:
    document: dict[str, Any] = run.printed("found")
    return document


def named(prof: Any, pattern: str) -> list[dict[str, Any]]:
    """Return the events of the step trace with such names in order."""
    found = [each for each in prof.trace("step_trace") if each["ph"] == "X" and re.fullmatch(pattern, each["name"])]
    return sorted(found, key=lambda event: float(event["ts"]))


def training(prof: Any) -> list[dict[str, str]]:
    """Return the iterations of the graph that takes batches; others are fed with a number and assign it."""
    (model,) = {row["Model ID"] for row in prof.rows("op_summary") if row["OP Type"] == "GetNext"}
    return [row for row in prof.rows("step_trace") if row["Model ID"] == model]


def test_a_run_makes_as_many_steps_as_the_loop_has_turns(found: dict[str, Any]) -> None:
    losses, weights = found["plain"]
    assert len(set(losses)) == 6
    assert found["loop"] == [[losses[2], losses[5]], weights]


def test_every_turn_is_an_iteration_right_after_the_one_before(run: Any) -> None:
    rows = training(run.prof("loop"))
    assert [row["Iteration ID"] for row in rows] == ["1", "2", "3", "4", "5", "6"]
    ends = [float(row["Iteration End(us)"]) for row in rows]
    starts = [end - float(row["Iteration Time(us)"]) for end, row in zip(ends, rows, strict=True)]
    # A float holds a quarter of a microsecond of such times.
    gaps = [start - end for start, end in zip(starts[1:], ends, strict=False)]
    assert all(gap < 20 for place, gap in enumerate(gaps) if place != 2)
    assert all(gap > -0.5 for gap in gaps)


def test_taking_data_is_an_operator_of_the_device(run: Any) -> None:
    rows = [row for row in run.prof("loop").rows("op_summary") if row["OP Type"] == "GetNext"]
    assert [(row["Op Name"], row["Task Type"]) for row in rows] == [("IteratorGetNext", "AI_CPU")] * 6
    assert {row["Output Shapes"].strip('"') for row in rows} == {"4,6;4"}
    assert run.prof("loop").column("aicpu", "Node").count("IteratorGetNext") == 6


def test_iterations_show_when_they_waited_for_data(run: Any) -> None:
    takes, iterations = named(run.prof("loop"), "GetNext"), named(run.prof("loop"), r"Iteration \d+")
    assert len(takes) == 6
    for take, iteration in zip(takes, iterations[-6:], strict=True):
        assert take["tid"] == iteration["tid"]
        assert float(iteration["ts"]) <= float(take["ts"])
        assert float(take["args"]["GetNext End"]) <= float(iteration["args"]["FP Start"])


def test_the_queue_has_a_row_for_every_batch(run: Any) -> None:
    prof = run.prof("loop")
    rows = prof.rows("dp")
    # The record has room for sixteen bytes of "Last queue dequeue", and nobody counted what was left.
    assert {(row["Action"], row["Source"], row["Cached Buffer Size"]) for row in rows} == {
        ("Last queue deque", "IteratorV2", "N/A")
    }
    waits = prof.rows("aicpu_mi")
    assert len(rows) == len(waits) == 6
    assert {(row["Node Name"], row["Queue Size"]) for row in waits} == {("GetNext_dequeue_wait", str(2**32 - 1))}, (
        "unknown, as the toolkit writes it"
    )
    lengths = [event["dur"] for event in named(prof, "GetNext")]
    for row, length in zip(waits, lengths, strict=True):
        # Whole microseconds. The trace begins when the device came to it, the queue when it was asked for.
        assert 0 <= length <= float(row["End Time(us)"]) - float(row["Start Time(us)"]) + 1


@pytest.mark.parametrize("name", ["fed", "one_shot"])
def test_without_a_queue_data_comes_from_the_host_step_by_step(run: Any, found: dict[str, Any], name: str) -> None:
    assert found[name.replace("_", " ")][0] == found["plain"][0][:2]
    prof = run.prof(name)
    assert not {"dp.csv", "aicpu_mi.csv"} & prof.stems
    assert not named(prof, "GetNext")
    assert "GetNext" not in prof.column("op_summary", "OP Type")


def test_what_keeps_a_loop_from_the_device_is_said(run: Any, found: dict[str, Any]) -> None:
    assert found["host"][0] == found["plain"][0][:1]
    several = "iterations_per_loop: several training steps in a run"
    only_one = "iterations_per_loop: with a one-shot iterator an NPU takes 1 only"
    assert [line for line in run.said if line.startswith("iterations_per_loop")] == [
        "iterations_per_loop=3: this session is not on an NPU; a run makes one training step.",
        f"{several} need enable_data_pre_proc, which is not set; a run makes one training step.",
        f"{only_one} (make_initializable_iterator serves more); a run makes one training step.",
    ]


def test_without_task_time_calls_and_a_readme_are_left(run: Any) -> None:
    assert run.prof("off").stems == {"README.txt", "api_statistic.csv", "msprof.json"}
    assert set(run.prof("off").column("api_statistic", "Level")) == {"acl"}


def test_a_session_without_work_for_the_device_leaves_a_readme(run: Any) -> None:
    assert run.prof("host_only").stems == {"README.txt"}


def test_turns_of_a_loop_have_shapes_of_their_own(run: Any, found: dict[str, Any]) -> None:
    assert found["grown"] == [16, 16]
    products = [row for row in run.prof("growing").rows("op_summary") if row["Op Name"].endswith("MatMul")]
    assert [row["Input Shapes"].strip('"').split(";")[0] for row in products] == ["2,4", "4,4", "8,4"] * 2
