"""step_trace, fusion_op, static_op_mem and what op_summary adds, read back by csv and json alone."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from drynpu.options import Level
from drynpu.products import export_msprof, export_torch
from drynpu.simulate import GraphPoints, GraphRun
from drynpu.tables import Profile

Record = Callable[..., Profile]
Exported = Callable[..., dict[str, Path]]
Event = dict[str, Any]
PID, MODEL_ID = 4321, 7
HARDWARE = PID << 10 | 14 << 5
STEP_TRACE = (
    "Device_id,Iteration ID,FP Start(us),BP End(us),Iteration End(us),Iteration Time(us),FP to BP Time(us),"
    "Iteration Refresh(us),Data Aug Bound(us),Model ID"
)
REDUCE = ",Reduce Start(us),Reduce Duration(us)"


def table(path: Path) -> tuple[str, list[list[str]]]:
    """Header line and cells."""
    text = path.read_text(encoding="utf-8")
    return text.splitlines()[0], list(csv.reader(text.splitlines()))[1:]


def events(path: Path) -> list[Event]:
    found: list[Event] = json.loads(path.read_text(encoding="utf-8"))
    return found


def us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"


def test_step_trace_has_the_times_of_the_iterations(record: Record, exported: Exported) -> None:
    iterations = record(name="tables").frame("iterations").rows(named=True)
    header, rows = table(exported()["step_trace.csv"])
    assert header == STEP_TRACE
    for row, of, before in zip(rows, iterations, [None, *iterations], strict=False):
        waited = 0 if before is None else of["forward_ns"] - before["end_ns"]
        assert row == [
            "0",
            str(of["iteration"]),
            us(of["forward_ns"]) + "\t",
            us(of["backward_ns"]) + "\t",
            us(of["end_ns"]) + "\t",
            us(of["end_ns"] - of["start_ns"]),
            us(of["backward_ns"] - of["forward_ns"]),
            us(of["end_ns"] - of["backward_ns"]),
            us(waited),
            "7",
        ]
    assert len(rows) == 3


def test_the_python_writer_prints_floats_and_no_bound_for_the_first(exported: Exported) -> None:
    header, rows = table(exported(chip="Ascend910A")["step_trace.csv"])
    assert header == STEP_TRACE
    assert [row[8] == "N/A" for row in rows] == [True, False, False]
    for row in rows:
        assert [str(float(cell)) for cell in row[5:8]] == row[5:8]


def test_missing_points_are_unknown_and_the_iteration_time_stays(
    exported: Exported, graph_run: Callable[..., GraphRun]
) -> None:
    files = exported(graphs=(graph_run(points=GraphPoints(forward=("none",), backward=("none",))),))
    _, rows = table(files["step_trace.csv"])
    for row in rows:
        assert [row[place] for place in (2, 3, 6, 7, 8)] == ["N/A"] * 5
        assert Decimal(row[5]) > 0
    names = {event["name"].rsplit(" ", 1)[0] for event in events(files["step_trace.json"]) if event["ph"] != "M"}
    assert names == {"Iteration", "GetNext"}
    first = next(event for event in events(files["step_trace.json"]) if event["name"] == "Iteration 1")
    assert (first["args"]["FP Start"], first["args"]["BP End"]) == ("N/A", "N/A")


def test_reductions_fill_as_many_columns_as_the_fullest_iteration_has(
    record: Record, all_reduces: tuple[Any, ...]
) -> None:
    # The second iteration has one all-reduce, the third none.
    some = {"collectives": all_reduces[:4]}
    profile = record(recording=some)
    path = next(path for path in export_msprof(profile) if path.name.startswith("step_trace") and path.suffix == ".csv")
    header, rows = table(path)
    assert header == STEP_TRACE + REDUCE * 2
    reduces = profile.frame("reduces").rows(named=True)
    cells = [(us(of["start_ns"]) + "\t", us(of["end_ns"] - of["start_ns"])) for of in reduces]
    assert [row[10:] for row in rows] == [
        [*cells[0], *cells[1]],
        [*cells[2], "N/A", "N/A"],
        ["N/A"] * 4,
    ]


@pytest.mark.parametrize(
    ("chip", "tid", "sort_index"),
    [("Ascend910B2", 70_000 + MODEL_ID, 70_000 + MODEL_ID), ("Ascend910A", 70_000 + PID, 70_000 + MODEL_ID)],
)
def test_step_trace_rows_stand_inside_ascend_hardware(
    exported: Exported, all_reduces: tuple[Any, ...], chip: str, tid: int, sort_index: int
) -> None:
    files = exported(chip=chip, recording={"collectives": all_reduces})
    whole, alone = events(files["msprof.json"]), events(files["step_trace.json"])
    assert [event for event in whole if event["tid"] == tid] == [event for event in alone if event["tid"] == tid]
    assert {event["pid"] for event in alone} == {HARDWARE}
    naming = {event["name"]: event["args"] for event in alone if event["ph"] == "M" and event["tid"] == tid}
    assert naming == {
        "thread_name": {"name": "Step Trace(Model ID:7)"},
        "thread_sort_index": {"sort_index": sort_index},
    }
    kinds = {event["cat"] for event in alone if event["ph"] != "M"}
    assert kinds == {
        "Iteration Time",
        "FP_BP Time",
        "Iteration Refresh",
        "Data_aug Bound",
        "Reduce",
        "GetNext Time",
    }


def test_events_agree_with_the_csv(exported: Exported) -> None:
    files = exported()
    _, rows = table(files["step_trace.csv"])
    traced = {event["name"]: event for event in events(files["step_trace.json"]) if event["ph"] == "X"}
    for row in rows:
        number = row[1]
        iteration = traced[f"Iteration {number}"]
        assert list(iteration) == ["name", "pid", "tid", "ts", "dur", "ph", "cat", "args"]
        assert iteration["args"] == {
            "Iteration ID": int(number),
            "FP Start": row[2].strip(),
            "BP End": row[3].strip(),
            "Iteration End": row[4].strip(),
            "Iteration Time(us)": float(row[5]),
        }
        assert Decimal(iteration["ts"]) + Decimal(row[5]) == Decimal(row[4])
        forward, refresh = traced[f"FP_BP Time {number}"], traced[f"Iteration Refresh {number}"]
        assert (forward["ts"], forward["dur"]) == (row[2].strip(), float(row[6]))
        assert forward["args"]["FP_BP Time(us)"] == float(row[6])
        assert (refresh["ts"], refresh["dur"]) == (row[3].strip(), float(row[7]))
        assert refresh["args"]["Iteration Refresh(us)"] == float(row[7])


def test_arrows_of_data_augmentation(exported: Exported) -> None:
    for chip in ("Ascend910B2", "Ascend910A"):
        files = exported(chip=chip, name=chip)
        _, rows = table(files["step_trace.csv"])
        arrows = [event for event in events(files["step_trace.json"]) if event.get("cat") == "Data_aug Bound"]
        assert {event["id"] for event in arrows} == {f"Data_aug Bound {HARDWARE}_{arrows[0]['tid']}"}
        ends = {event["name"]: event for event in arrows if event["ph"] == "t"}
        begins = {event["name"]: event for event in arrows if event["ph"] == "s"}
        assert set(ends) == {f"Data_aug Bound {number}" for number in (0, 1, 2)}
        assert set(begins) == {f"Data_aug Bound {number}" for number in (1, 2, 3)}
        for number, row in enumerate(rows, start=1):
            assert ends[f"Data_aug Bound {number - 1}"]["ts"] == row[2].strip()
            begin = begins[f"Data_aug Bound {number}"]
            bound = Decimal("0") if row[8] == "N/A" else Decimal(row[8])
            assert begin["args"] == {"Data_aug Bound(us)": float(bound)}
            half = bound if chip == "Ascend910B2" else Decimal(row[7])
            assert abs(Decimal(begin["ts"]) - Decimal(row[3].strip()) - half / 2) < Decimal("0.001")


@pytest.mark.parametrize(("chip", "native"), [("Ascend910B2", True), ("Ascend910A", False)])
def test_reductions_in_the_timeline(record: Record, all_reduces: tuple[Any, ...], chip: str, *, native: bool) -> None:
    profile = record(chip=chip, recording={"collectives": all_reduces})
    path = next(
        path for path in export_msprof(profile) if path.name.startswith("step_trace") and path.suffix == ".json"
    )
    traced = [event for event in events(path) if event.get("cat") == "Reduce"]
    numbers = [0, 1, 2, 3, 4, 5] if native else [0, 1, 0, 1, 0, 1]
    for event, of, number in zip(traced, profile.frame("reduces").rows(named=True), numbers, strict=True):
        assert event["name"] == f"Reduce_{of['iteration']}_{number}"
        assert (event["ts"], event["dur"]) == (us(of["start_ns"]), (of["end_ns"] - of["start_ns"]) / 1000)
        times = [str(of[side]) if native else us(of[side]) for side in ("start_ns", "end_ns")]
        members = [(f"Reduce Start {number}", times[0]), (f"Reduce End {number}", times[1])]
        assert list(event["args"].items()) == [
            ("Iteration ID", of["iteration"]),
            *(reversed(members) if native else members),
        ]


def test_get_next_in_the_timeline(exported: Exported) -> None:
    (event,) = [event for event in events(exported()["step_trace.json"]) if event["name"] == "GetNext"]
    assert event["cat"] == "GetNext Time"
    assert event["args"]["GetNext Time(us)"] == event["dur"] == 20.0
    assert event["args"]["GetNext Start"] == event["ts"]
    assert Decimal(event["args"]["GetNext End"]) - Decimal(event["ts"]) == 20


def test_marks_of_steps_give_files_in_any_session(record: Record, graph_operators: Callable[[], Any]) -> None:
    operators = graph_operators()
    steps = evolve(operators, names=(*operators.names[:-1], "ProfilerStep#5"))
    for traced in (False, True):
        profile = record(
            graphs=(),
            recording={"operators": steps, "dataset": ()},
            training_trace=traced,
            name=f"run{traced}",
            framework="neutral",
        )
        assert set(profile.frame("step_marks")["tag_id"]) == {60000, 60001}
        names = {path.name.rsplit("_", 1)[0] + path.suffix for path in export_msprof(profile)}
        # The toolkit's parser looks at the records alone, not at the option in sample.json.
        assert {"step_trace.csv", "step_trace.json"} <= names
        assert not [path for path in export_torch(profile) if path.name in ("step_trace.csv", "step_trace.json")]
    path = next(path for path in export_msprof(profile) if path.name.startswith("step_trace") and path.suffix == ".csv")
    header, rows = table(path)
    assert header == STEP_TRACE
    assert {(row[1], row[2], row[3], row[6], row[7], row[8], row[9]) for row in rows} == {
        ("5", "N/A", "N/A", "N/A", "N/A", "N/A", "4294967295")
    }


def test_fusion_op(exported: Exported) -> None:
    header, rows = table(exported()["fusion_op.csv"])
    assert header == (
        "Device_id,Model Name,Model ID,Fusion Op,Original Ops,Memory Input(KB),Memory Output(KB),Memory Weight(KB),"
        "Memory Workspace(KB),Memory Total(KB)"
    )
    assert rows[0] == [
        "host",
        "ge_default_7",
        "7",
        "Conv2D_BN_Relu",
        "Conv2D;BatchNorm;Relu",
        "2",
        "1",
        "0.5",
        "0.098",
        "3.598",
    ]
    _, python = table(exported(chip="Ascend910A", name="python")["fusion_op.csv"])
    assert python[0][5:] == ["2.0", "1.0", "0.5", "0.098", "3.598"]


def test_static_op_mem(exported: Exported) -> None:
    header, rows = table(exported()["static_op_mem.csv"])
    assert header == "Device_id,Op Name,Model Name,Graph ID,Node Index Start,Node Index End,Size(KB)"
    assert rows == [
        ["host", "Conv2D", "0", "3", "0", "2", "4.0"],
        ["host", "Relu", "0", "3", "2", "4294967295", "1.5"],
        ["host", "Softmax", "0", "3", "3", "4", "1.0"],
        ["host", "TOTAL", "0", "3", "0", "4294967295", "5.5"],
    ]


def test_files_exist_only_where_their_data_does(exported: Exported) -> None:
    own = {
        "step_trace.csv",
        "step_trace.json",
        "fusion_op.csv",
        "static_op_mem.csv",
        "memory_record.csv",
        "operator_memory.csv",
        "aicpu.csv",
        "dp.csv",
        "aicpu_mi.csv",
    }
    assert own <= set(exported(chip="Ascend910A"))
    assert own & set(exported(name="newer")) == own - {"dp.csv"}
    off = {"training_trace": False, "task_memory": False, "aicpu": False}
    assert own & set(exported(name="off", **off)) == {"fusion_op.csv"}
    nothing = exported(name="plain", graphs=(), recording={"dataset": ()}, **off)
    assert not own & set(nothing)
    assert not own & set(exported(name="none", level=Level.NONE))


def test_the_readme_describes_both_step_trace_files(exported: Exported) -> None:
    lines = exported()["README.txt"].read_text().splitlines()
    assert [line.split(":")[0].split(".", 1)[1] for line in lines if "step_trace" in line] == [
        "step_trace.json",
        "step_trace.csv",
    ]
    assert not [line for line in lines if "no description" in line]


def test_the_model_stands_in_op_summary(exported: Exported) -> None:
    header, rows = table(exported()["op_summary.csv"])
    assert header.startswith("Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,")
    assert [(row[1], row[6]) for row in rows] == [("4294967295", "dynamic"), *[("7", "static")] * 15]


def test_the_model_of_a_collective(exported: Exported, all_reduces: tuple[Any, ...]) -> None:
    _, rows = table(exported(recording={"collectives": all_reduces})["op_summary.csv"])
    assert [row[1] for row in rows if row[7] == "COMMUNICATION"] == ["7"] * 9


def test_chips_without_unique_task_ids_name_graphs(exported: Exported) -> None:
    header, rows = table(exported(chip="Ascend310")["op_summary.csv"])
    assert header.startswith("Device_id,Model Name,Model ID,Task ID,Stream ID,Infer ID,Op Name,OP Type,OP State,")
    named = [(row[1], row[2], row[5]) for row in rows]
    expected = [("ge_default_7", "7", str(number)) for number in (1, 2, 3) for _ in range(5)]
    assert named == [("N/A", "4294967295", "N/A"), *expected]
    header, statistic = table(exported(chip="Ascend310", name="again")["op_statistic.csv"])
    assert header == (
        "Device_id,Model Name,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)"
    )
    assert {(row[1], row[2]): row[4] for row in statistic}["ge_default_7", "Conv2D"] == "3"
    assert sum(Decimal(row[9]) for row in statistic if row[1] == "ge_default_7") == pytest.approx(
        Decimal(100), abs=Decimal("0.01")
    )


@pytest.mark.parametrize("chip", ["Ascend310", "Ascend910A", "Ascend910B2"])
def test_single_operators_name_no_graphs(exported: Exported, chip: str) -> None:
    header, _ = table(exported(chip=chip, graphs=(), recording={"dataset": ()})["op_summary.csv"])
    assert "Model Name" not in header
    assert "Infer ID" not in header
