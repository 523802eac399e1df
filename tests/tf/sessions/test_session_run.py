"""Sessions of one process: which are profiled, what their PROF directories hold, what stays as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

SCRIPT = (Path(__file__).parent / "many_sessions.py").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    """Return the script's one run; it ends with status 3 and a session still open."""
    return scripts(SCRIPT, status=3, environment={"DRYNPU_QUIET": "1"})


def iterations(prof: Any) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = prof.rows("step_trace")
    return rows


def operators(prof: Any) -> Iterator[tuple[str, str]]:
    return zip(prof.column("op_summary", "Op Name"), prof.column("op_summary", "OP Type"), strict=True)


def test_a_session_leaves_one_directory_with_every_result_of_its_options(run: Any) -> None:
    (prof,) = run.profs("training")
    assert prof.stems == {
        "README.txt",
        "api_statistic.csv",
        "msprof.json",
        "op_statistic.csv",
        "op_summary.csv",
        "step_trace.csv",
        "step_trace.json",
        "task_time.csv",
    }
    assert not list(prof.path.rglob("FRAMEWORK"))
    assert (prof.path / "host" / "data").is_dir()
    assert (prof.path / "device_0" / "data").is_dir()
    assert prof.sample["ts_keypoint"] == "on"


def test_every_node_that_works_on_the_device_is_a_row_under_its_own_name(run: Any) -> None:
    (prof,) = run.profs("training")
    calls = Counter(operators(prof))
    assert calls["matmul", "MatMulV2"] == 6
    assert calls["gradients/matmul_grad/MatMul_1", "MatMulV2"] == 6
    assert calls["GradientDescent/update_w/ApplyGradientDescent", "ApplyGradientDescent"] == 6
    assert not {name for name, _ in calls} & {"w", "w/read", "features", "init"}
    rows = [row for row in prof.rows("op_summary") if row["Op Name"] == "matmul"]
    # The last run has another batch.
    assert [row["Input Shapes"].strip('"') for row in rows] == ["3,8;8,4"] * 5 + ["5,8;8,4"]
    assert {row["Model ID"] for row in rows} == {"2"}


def test_kernels_stand_inside_the_call_of_their_graph_and_do_not_overlap(run: Any) -> None:
    (prof,) = run.profs("training")
    rows = prof.rows("task_time")
    ends = [Decimal(row["task_stop(us)"]) for row in rows]
    starts = [Decimal(row["task_start(us)"]) for row in rows]
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
    api = {row["API Name"]: row for row in prof.rows("api_statistic")}
    assert api["ModelExecute"]["Count"] == "7"
    nodes = {(row["Model ID"], row["Op Name"], row["Input Shapes"]) for row in prof.rows("op_summary")}
    assert int(api["launch"]["Count"]) == len(nodes) < len(prof.rows("op_summary"))
    assert not [name for name in api if name.startswith("aclop")]


def test_the_iteration_trace_has_its_points_where_the_operators_are(run: Any) -> None:
    (prof,) = run.profs("training")
    # The run of the initialisers takes no data, so the graph engine marks nothing in it.
    steps = iterations(prof)
    assert {row["Model ID"] for row in steps} == {"2"}
    assert [row["Iteration ID"] for row in steps] == ["1", "2", "3", "4", "5", "6"]
    summary = [row for row in prof.rows("op_summary") if row["Model ID"] == "2"]
    starts = [Decimal(row["Task Start Time(us)"]) for row in summary if row["Op Name"] == "matmul"]
    assert [Decimal(row["FP Start(us)"]) for row in steps] == starts
    # Without an all-reduce the backward part ends with the last that the graph returns: the loss, the changed variable.
    backward = [row for row in summary if row["Op Name"] in {"Mean", "GradientDescent/update_w/ApplyGradientDescent"}]
    assert [Decimal(step["Data Aug Bound(us)"]) > 0 for step in steps] == [False, *[True] * 5]
    for step, start in zip(steps, starts, strict=True):
        until = Decimal(step["Iteration End(us)"])
        inside = [row for row in backward if start <= Decimal(row["Task Start Time(us)"]) < until]
        last = max(Decimal(row["Task Start Time(us)"]) + Decimal(row["Task Duration(us)"]) for row in inside)
        assert Decimal(step["BP End(us)"]) == last


def test_named_points_count_and_an_end_that_is_not_there_leaves_none(run: Any) -> None:
    (named,) = run.profs("named")
    (step,) = [row for row in iterations(named) if row["Model ID"] == "2"]
    rows = {row["Op Name"]: row for row in named.rows("op_summary")}
    start, last = rows["softmax"], rows["gradients/matmul_grad/MatMul_1"]
    assert Decimal(step["FP Start(us)"]) == Decimal(start["Task Start Time(us)"])
    end = Decimal(last["Task Start Time(us)"]) + Decimal(last["Task Duration(us)"])
    assert Decimal(step["BP End(us)"]) == end
    (nowhere,) = run.profs("nowhere")
    (step,) = [row for row in iterations(nowhere) if row["Model ID"] == "2"]
    assert (step["FP Start(us)"], step["BP End(us)"], step["FP to BP Time(us)"]) == ("N/A",) * 3
    assert Decimal(step["Iteration Time(us)"]) > 0


def test_a_schedule_of_the_learning_rate_is_not_the_start_of_a_step(run: Any) -> None:
    """The scheduled rate is worked out before the batch is there: the step begins with who takes the batch."""
    (prof,) = run.profs("schedule")
    steps = iterations(prof)
    rows = [row for row in prof.rows("op_summary") if row["Model ID"] == steps[0]["Model ID"]]
    taking, scheduled = (
        [Decimal(row["Task Start Time(us)"]) for row in rows if row["Op Name"] == name] for name in ("mm", "rate")
    )
    assert len(steps) == len(scheduled) == 3
    assert [Decimal(row["FP Start(us)"]) for row in steps] == taking
    waits = [event for event in prof.trace("step_trace") if event["name"] == "GetNext"]
    waits.sort(key=lambda event: float(event["ts"]))
    for step, wait, rate in zip(steps, waits, scheduled, strict=True):
        # The wait for the batch is no part of the step's forward and backward time, nor is the rate.
        assert max(Decimal(wait["args"]["GetNext End"]), rate) <= Decimal(step["FP Start(us)"])
        assert rate < Decimal(step["FP Start(us)"])
        assert Decimal(step["FP to BP Time(us)"]) == Decimal(step["BP End(us)"]) - Decimal(step["FP Start(us)"])


def test_without_a_session_on_the_device_nothing_is_left(run: Any) -> None:
    assert run.profs("off") == []


def test_callables_and_evaluations_are_recorded(run: Any) -> None:
    (prof,) = run.profs("callables")
    names = Counter(prof.column("op_summary", "Op Name"))
    # Two calls with a feed, one of a list, one of eval.
    assert names["matmul"] == 4
    assert names["grow"] == 1
    assert run.printed("callables") == [48.0, 80.0, 48.0, 48.0, 64.0, None]


def test_the_callers_own_metadata_hold_what_it_asked_for(run: Any) -> None:
    assert run.printed("metadata") == {"nothing": [0, 0], "graphs": [0, 1], "trace": [1, 0]}


def test_errors_of_runs_and_of_callables_are_tensorflows(run: Any) -> None:
    assert run.printed("errors") == ["InvalidArgumentError", "OutOfRangeError", "TypeError", "TypeError"]


def test_a_partial_run_works_and_says_once_that_it_is_not_recorded(run: Any) -> None:
    assert run.printed("partial") == [48.0, 48.0, 48.0, 48.0]
    assert len([line for line in run.said if "partial_run" in line]) == 1


def test_sessions_at_the_same_time_share_the_recording_of_the_first(run: Any) -> None:
    (prof,) = run.profs("first")
    assert run.profs("second") == []
    assert set(prof.column("op_summary", "Model ID")) == {"1", "2", "3"}
    assert len([line for line in run.said if "the options it was started with stay" in line]) == 1


def test_sessions_one_after_another_leave_a_directory_each(run: Any) -> None:
    assert len(run.profs("one_by_one")) == 2


def test_runs_of_several_threads_are_iterations_one_after_another(run: Any) -> None:
    (prof,) = run.profs("threads")
    rows = [row for row in iterations(prof) if row["Model ID"] == "2"]
    assert len(rows) == 40
    ends = [Decimal(row["Iteration End(us)"]) for row in rows]
    starts = [end - Decimal(row["Iteration Time(us)"]) for end, row in zip(ends, rows, strict=True)]
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))


def test_keras_runs_are_recorded(run: Any) -> None:
    (prof,) = run.profs("keras")
    types = Counter(kind for _, kind in operators(prof))
    assert types["MatMulV2"] >= 3 * 3
    assert len([row for row in iterations(prof) if row["BP End(us)"] != "N/A"]) == 3


def test_a_session_left_open_at_the_end_is_written(run: Any) -> None:
    (prof,) = run.profs("left_open")
    assert "matmul" in prof.column("op_summary", "Op Name")


@pytest.mark.parametrize(
    ("number", "parts"),
    [
        (0, ("task_time", "EK0001", "Please input 'on', 'off', 'l0', 'l1'")),
        (1, ("EK0001", "Ge option config should be a valid json string")),
        (2, ("foo", "EK0001", "Ge option is not supported")),
        (3, ("output", "EK0003", "Result path is empty or not accessible")),
        (4, ("output", "EK0001", "Output path contains invalid character")),
    ],
)
def test_options_that_the_collector_refuses_fail_the_session(run: Any, number: int, parts: tuple[str, ...]) -> None:
    (name, message) = run.printed("refused")[number]
    assert name == "OptionError"
    assert all(part in message for part in parts)
