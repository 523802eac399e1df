"""ASCEND_PROFILER_OUTPUT of MindSpore: which files, which columns, and that they agree (mindspore_profiler.md 12)."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from decimal import Decimal
from typing import Any

import pytest
from click.testing import CliRunner

from drynpu.analysis import mindspore_launches
from drynpu.cli import build_cli
from drynpu.options import ExportType, Level
from drynpu.plugins import build_manager
from drynpu.products import deliver, find_profiles, load_profile, result_forms

COPIED = {"op_statistic.csv", "api_statistic.csv"}
DEVICE = {"kernel_details.csv", "step_trace_time.csv", *COPIED}
MEMORY = {"operator_memory.csv", "memory_record.csv", "npu_module_mem.csv"}
COMMUNICATION = {"communication.json", "communication_matrix.json"}
PIPELINE = {"minddata_pipeline_raw_0.csv", "minddata_pipeline_summary_0.csv", "minddata_pipeline_summary_0.json"}
DATABASES = {"ascend_mindspore_profiler_0.db", "communication_analyzer.db"}
HOST = {"trace_view.json", "operator_details.csv"}
LEVEL0 = (
    "Step ID,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),"
    "Block Dim"
)
LEVEL1 = (
    LEVEL0 + ",Mix Block Dim,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output Shapes,"
    "Output Data Types,Output Formats,Context ID"
)


def test_everything_is_there(session: Any) -> None:
    assert session.names == HOST | DEVICE | MEMORY | COMMUNICATION | PIPELINE | DATABASES


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"told": {"profile_memory": False}}, HOST | DEVICE | COMMUNICATION),
        ({"told": {"record_shapes": False}}, (HOST | DEVICE | COMMUNICATION | MEMORY) - {"operator_details.csv"}),
        ({"level": Level.L0}, (HOST | DEVICE | MEMORY) - {"op_statistic.csv"}),
        ({"level": Level.NONE}, HOST | {"operator_memory.csv", "memory_record.csv", "api_statistic.csv"}),
        (
            {"told": {"activities": ["NPU"]}},
            ({"trace_view.json"} | DEVICE | COMMUNICATION | MEMORY) - {"operator_memory.csv"},
        ),
        ({"told": {"export_type": ["db"]}}, DATABASES),
        ({"told": {"export_type": ["db"]}, "communication": False}, {"ascend_mindspore_profiler_0.db"}),
        ({"told": {"export_type": ["text", "db"]}}, HOST | DEVICE | COMMUNICATION | MEMORY | DATABASES),
    ],
    ids=["no memory", "no shapes", "level 0", "no level", "device alone", "database", "no communication", "both"],
)
def test_a_file_exists_only_when_it_was_asked_for(changed: dict[str, Any], expected: set[str], export: Any) -> None:
    session = export(**changed)
    assert session.names == expected
    assert {file.name for file in (session.path / "ASCEND_PROFILER_OUTPUT").iterdir()} == expected
    assert {file.stat().st_mode & 0o777 for file in session.files} == {0o640}


def test_kernel_details_has_the_columns_of_its_level(session: Any, export: Any) -> None:
    header = ",".join(session.header("kernel_details.csv"))
    assert header.startswith(LEVEL1 + ",aicore_time(us),aic_total_cycles")
    assert ",".join(export(level=Level.L0).header("kernel_details.csv")) == LEVEL0


@pytest.mark.parametrize(
    "changed",
    [{"told": {"is_set_schedule": False}}, {"jit_level": "O2"}, {"steps": 0}, {"told": {"activities": ["NPU"]}}],
    ids=["no schedule", "whole graph", "no steps", "no host"],
)
def test_there_is_no_step_id(changed: dict[str, Any], export: Any) -> None:
    session = export(**changed)
    assert session.header("kernel_details.csv")[0] == "Model ID"
    # Steps that were recorded have their row all the same.
    recorded = changed.get("steps") != 0 and "CPU" in changed.get("told", {}).get("activities", ["CPU"])
    shown = [row["Step"] for row in session.rows("step_trace_time.csv")]
    assert shown == (["3", "4", "5"] if recorded else ["0"])


def test_without_the_host_kernels_have_their_own_names(export: Any) -> None:
    session = export(told={"activities": ["NPU"]})
    assert not any("::" in row["Name"] for row in session.rows("kernel_details.csv"))
    assert session.rows("step_trace_time.csv")[0]["Preparing"] == "0.000"


def trace(session: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the events of trace_view.json by the name of their process; arrows under their category."""
    events = session.document("trace_view.json")
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    found: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        key = event["cat"] if event["ph"] in "sf" else names[event["pid"]]
        found.setdefault(key, []).append(event)
    return found


def bars(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if event["ph"] == "X"]


def test_kernels_are_named_after_the_launch_that_the_timeline_shows(session: Any, hand: Any) -> None:
    shown = trace(session)
    launches = [event for event in bars(shown["MindSpore"]) if "KernelLaunch" in event["name"]]
    starts = {event["id"]: event for event in shown["HostToDevice"] if event["ph"] == "s"}
    ends = [event for event in shown["HostToDevice"] if event["ph"] == "f"]
    device = {(e["pid"], e["tid"], e["ts"]): e["name"] for e in bars(shown["Ascend Hardware"]) + bars(shown["HCCL"])}
    expected = {}
    for end in ends:
        start = starts[end["id"]]
        (launch,) = (
            event
            for event in launches
            if event["tid"] == start["tid"]
            and Decimal(event["ts"]) <= Decimal(start["ts"]) <= Decimal(event["ts"]) + Decimal(event["dur"])
        )
        kernel = device[end["pid"], end["tid"], end["ts"]]
        expected[kernel, end["ts"]] = f"{launch['name']}/{kernel}"
    rows = session.rows("kernel_details.csv")
    assert len(rows) == 3 * 7
    for row in rows:
        kernel = row["Name"].rpartition("/")[2]
        assert row["Name"] == expected[kernel, row["Start Time(us)"].strip("\t")]
    assert f"Kernel::KernelLaunch::{hand.NAMES['MatMul']}/aclnnMatMul_MatMul" in {row["Name"] for row in rows}


def steps_of(session: Any) -> dict[str, tuple[Decimal, Decimal]]:
    events = [event for event in bars(trace(session)["MindSpore"]) if "ProfilerStep#" in event["name"]]
    return {
        event["name"].partition("#")[2]: (Decimal(event["ts"]), Decimal(event["ts"]) + Decimal(event["dur"]))
        for event in events
    }


def test_a_kernel_belongs_to_the_step_of_its_launch(session: Any) -> None:
    steps = steps_of(session)
    launched = {event["id"]: Decimal(event["ts"]) for event in trace(session)["async_npu"] if event["ph"] == "s"}
    for row in session.rows("kernel_details.csv"):
        at = launched[row["Start Time(us)"].strip("\t")]
        (step,) = (step for step, (start, end) in steps.items() if start <= at <= end)
        assert row["Step ID"] == step
    assert Counter(row["Step ID"] for row in session.rows("kernel_details.csv")) == {"3": 7, "4": 7, "5": 7}


def test_the_step_trace_sums_up_the_overlap_analysis(session: Any) -> None:
    shown = trace(session)
    overlap = [(e["name"], Decimal(e["ts"]), Decimal(str(e["dur"]))) for e in bars(shown["Overlap Analysis"])]
    hccl = sorted(
        (Decimal(e["ts"]), Decimal(str(e["dur"])), e["name"])
        for e in bars(shown["HCCL"])
        if e["name"].startswith("hcom_")
    )
    rows = session.rows("step_trace_time.csv")
    assert [row["Step"] for row in rows] == list(steps_of(session))
    for row, (start, end) in zip(rows, steps_of(session).values(), strict=True):
        told = {name: Decimal(text) for name, text in row.items() if name != "Step"}
        for name in ("Computing", "Communication", "Communication(Not Overlapped)"):
            assert told[name] == sum(dur for kind, at, dur in overlap if kind == name and start <= at <= end)
        free = [(max(at, start), min(at + dur, end)) for kind, at, dur in overlap if kind == "Free"]
        assert told["Free"] == sum(last - first for first, last in free if last > first)
        own = [entry for entry in hccl if start <= entry[0] <= end]
        bubble = sum(dur for _, dur, name in own if name.startswith("hcom_send__"))
        assert told["Bubble"] == bubble > 0
        assert told["Stage"] == own[-1][0] + own[-1][1] - own[0][0] - bubble
        assert told["Overlapped"] == told["Communication"] - told["Communication(Not Overlapped)"]
        exclude = told["Communication(Not Overlapped and Exclude Receive)"]
        assert exclude == told["Communication(Not Overlapped)"] - bubble
        first = min(at for kind, at, _ in overlap if kind in ("Computing", "Communication") and at >= start)
        assert told["Preparing"] == first - start
        assert all(len(text.partition(".")[2]) == 3 for name, text in row.items() if name != "Step")


def test_without_communication_two_cells_are_bare(export: Any) -> None:
    (row,) = export(communication=False, steps=0).rows("step_trace_time.csv")
    assert (row["Step"], row["Stage"], row["Bubble"], row["Communication"]) == ("0", "0", "0", "0.000")
    assert Decimal(row["Computing"]) > 0
    assert Decimal(row["Preparing"]) > 0


def test_events_of_the_framework_have_the_vendor_s_keys(session: Any) -> None:
    shown = trace(session)
    for name, pid, keys in (
        ("MindSpore", 1, ["ph", "name", "pid", "tid", "ts", "dur", "cat", "args"]),
        ("CPU OP", 2, ["ph", "name", "pid", "tid", "ts", "dur", "cat", "args"]),
        ("Scope Layer", 3, ["ph", "name", "pid", "tid", "ts", "dur", "cat", "args"]),
    ):
        for event in bars(shown[name]):
            assert list(event) == keys
            assert event["pid"] == pid
            assert event["cat"] == ""
            assert [len(event[key].partition(".")[2]) for key in ("ts", "dur")] == [3, 3]
        told = {event["name"]: event["args"] for event in shown[name] if event["ph"] == "M"}
        assert told["process_sort_index"]["sort_index"] == {1: 1, 2: 2, 3: 12}[pid]
        assert ("process_labels" in told) == (pid != 3)
    assert {event["args"]["type"] for event in bars(shown["CPU OP"])} == {"HostCpuOps"}


def test_arrows_end_at_events(session: Any) -> None:
    shown = trace(session)
    places = {(e["pid"], e["tid"], e["ts"]) for events in shown.values() for e in events if e["ph"] == "X"}
    for category, name, count in (
        ("async_npu", "mindspore_to_npu", 24),
        ("async_mindspore", "mindspore_to_self", 24),
    ):
        arrows = shown[category]
        assert {event["name"] for event in arrows} == {name}
        assert {event["bp"] for event in arrows} == {"e"}
        starts, ends = ([event for event in arrows if event["ph"] == phase] for phase in "sf")
        assert [event["id"] for event in starts] == [event["id"] for event in ends]
        assert len(starts) == count
        assert {(e["pid"], e["tid"], e["ts"]) for e in ends} <= places
    assert {(e["pid"], e["tid"], e["ts"]) for e in shown["async_npu"]} <= places
    told = [e for e in bars(shown["Ascend Hardware"]) + bars(shown["HCCL"]) if "mindspore_op" in e["args"]]
    launches = mindspore_launches(session.profile)
    assert sorted(e["args"]["mindspore_op"] for e in told) == sorted(launches["launch"].to_list())


def test_scopes_hold_what_lies_in_them(session: Any) -> None:
    scopes = bars(trace(session)["Scope Layer"])
    assert {(event["tid"], event["name"]) for event in scopes} == {
        (0, "Default"),
        (0, "Gradients"),
        (1, "network-Net"),
        (1, "Default"),
        (2, "fc-Dense"),
        (2, "relu-ReLU"),
        (2, "network-Net"),
        (3, "fc-Dense"),
        (4, "gradMatMul"),
    }
    spans = {depth: [event for event in scopes if event["tid"] == depth] for depth in range(5)}
    for depth in range(1, 5):
        for event in spans[depth]:
            start = Decimal(event["ts"])
            assert any(
                Decimal(outer["ts"]) <= start <= Decimal(outer["ts"]) + Decimal(outer["dur"])
                for outer in spans[depth - 1]
            )


def test_operator_memory_pairs_addresses(session: Any, hand: Any) -> None:
    rows = session.rows("operator_memory.csv")
    names = [row["Name"] for row in rows]
    assert names == [hand.NAMES["MatMul"], hand.NAMES["BiasAdd"], hand.NAMES["Add"]]
    first, second, third = rows
    assert first["Release Time(us)"] != "N/A"
    assert Decimal(first["Duration(us)"]) > 0
    assert [row["Release Time(us)"] for row in (second, third)] == ["N/A", "N/A"]
    assert {row["Active Release Time(us)"] for row in rows} == {row["Active Duration(us)"] for row in rows} == {"N/A"}
    assert {row["Device Type"] for row in rows} == {"NPU:0"}
    memory = session.profile.frame("framework_memory")
    assert float(first["Size(KB)"]) == memory["size_bytes"][0] / 1024
    assert float(first["Allocation Time(us)"]) == memory["time_ns"][0] / 1000
    assert first["Allocation Total Allocated(MB)"] == first["Allocation Total Active(MB)"]
    assert float(first["Allocation Total Reserved(MB)"]) == memory["reserved_bytes"][0] / 1024**2


def test_memory_record_adds_the_components_up(session: Any) -> None:
    rows = session.rows("memory_record.csv")
    own = [row for row in rows if row["Component"] == "MindSpore"]
    both = [row for row in rows if row["Component"] == "MindSpore+GE"]
    totals = session.profile.frame("memory_totals")
    assert [float(row["Total Allocated(MB)"]) for row in own] == [
        size / 1024 / 1000 for size in totals["allocated_bytes"].to_list()
    ]
    assert [Decimal(row["Timestamp(us)"]) * 1000 for row in own] == totals["time_ns"].to_list()
    assert [row["Total Allocated(MB)"] for row in both] == [row["Total Allocated(MB)"] for row in own]
    assert rows[-1]["Component"] == "APP"


@pytest.mark.parametrize(("steps", "named"), [(1, ["step3"]), (2, ["step3", "step4"])])
def test_communication_of_few_steps_is_told_by_step(export: Any, steps: int, named: list[str]) -> None:
    document = export(steps=steps).document("communication.json")
    assert list(document) == named
    assert all(len(step["collective"]) == 3 for step in document.values())  # two, and their sum


def test_communication_is_told_by_step(session: Any) -> None:
    times, matrix = session.document("communication.json"), session.document("communication_matrix.json")
    assert list(times) == list(matrix) == ["step3", "step4", "step5"]
    for step, (start, end) in zip(times, steps_of(session).values(), strict=True):
        assert times[step]["p2p"] == {}, "the vendor knows Send, not hcom_send"
        operators = dict(times[step]["collective"])
        total = operators.pop("Total Op Info")
        assert len(operators) == 2
        for name, told in operators.items():
            assert start <= Decimal(told["Communication Time Info"]["Start Timestamp(us)"]) <= end, name
        elapsed = sum(told["Communication Time Info"]["Elapse Time(ms)"] for told in operators.values())
        assert total["Communication Time Info"]["Elapse Time(ms)"] == pytest.approx(elapsed)
        assert "Start Timestamp(us)" not in total["Communication Time Info"]
        places = {key.partition("@")[0] for key in matrix[step]["collective"] if key.startswith("allreduce-")}
        assert places == {
            f"allreduce-{place}" for place in ("top1", "middle", "bottom1", "bottom2", "bottom3", "total")
        }
    whole = session.profile.communication_ops.height
    assert whole == sum(len(kinds["collective"]) - 1 for kinds in times.values())


def test_without_steps_communication_is_step_0(export: Any) -> None:
    session = export(steps=0)
    assert list(session.document("communication.json")) == ["step0"]
    assert len(session.document("communication.json")["step0"]["collective"]) == 3


def test_text_and_database_agree(session: Any) -> None:
    path = session.path / "ASCEND_PROFILER_OUTPUT" / "ascend_mindspore_profiler_0.db"
    with closing(sqlite3.connect(path)) as database:
        kernels = database.execute(
            "SELECT s.value, t.startNs, t.endNs - t.startNs FROM TASK t JOIN COMPUTE_TASK_INFO c "
            "ON c.globalTaskId = t.globalTaskId JOIN STRING_IDS s ON s.id = c.name ORDER BY t.startNs"
        ).fetchall()
    rows = [row for row in session.rows("kernel_details.csv") if row["Accelerator Core"] != "COMMUNICATION"]
    assert [
        (
            row["Name"].rpartition("/")[2],
            Decimal(row["Start Time(us)"].strip()) * 1000,
            Decimal(row["Duration(us)"]) * 1000,
        )
        for row in rows
    ] == kernels
    with closing(sqlite3.connect(path.with_name("communication_analyzer.db"))) as database:
        names = {name for (name,) in database.execute("SELECT hccl_op_name FROM CommAnalyzerTime")}
    told = session.document("communication.json")
    assert names == {key.partition("@")[0] for kinds in told.values() for key in kinds["collective"] if "@" in key}


def test_statistics_are_copied_with_their_line_ends(session: Any) -> None:
    folder = session.path / "ASCEND_PROFILER_OUTPUT"
    ends = {name: b"\r\n" in (folder / name).read_bytes() for name in session.names if name.endswith(".csv")}
    assert {name for name, crlf in ends.items() if not crlf} == COPIED
    counts = {row["OP Type"]: int(row["Count"]) for row in session.rows("op_statistic.csv")}
    assert counts == {"MatMulV2": 6, "BiasAdd": 3, "ReLU": 3, "Add": 3}


def test_a_directory_is_delivered_again_and_simplified(hand: Any, tmp_path: Any) -> None:
    path = hand.record(tmp_path, told={"export_type": ["text"]})
    told: list[str] = []
    deliver(path, simplify=False, on_part=told.append)
    (prof,) = path.glob("PROF_*")
    assert told == ["toolkit"]
    assert any((prof / "mindstudio_profiler_output").glob("op_summary_*.csv"))
    before = {file.name: file.read_bytes() for file in (path / "ASCEND_PROFILER_OUTPUT").iterdir()}
    (prof / "host" / "sqlite").mkdir()
    deliver(path, simplify=True)
    assert {file.name: file.read_bytes() for file in (path / "ASCEND_PROFILER_OUTPUT").iterdir()} == before
    assert not (prof / "mindstudio_profiler_output").exists()
    assert not (prof / "host" / "sqlite").exists()
    assert (prof / "analyze" / "communication.json").is_file(), "MindSpore leaves it"
    assert (path / "FRAMEWORK" / "mindspore.op_range").is_file()


def test_directories_are_found_and_say_what_they_were_asked_for(hand: Any, tmp_path: Any) -> None:
    first = hand.record(tmp_path, told={"export_type": ["db", "text"]}, communication=False)
    second = hand.record(tmp_path, name="other_1_20260101000000001_ascend_ms", rank=1, communication=False)
    assert find_profiles(tmp_path) == [first, second]
    assert result_forms(load_profile(first)) == (ExportType.DB, ExportType.TEXT)
    profile = load_profile(second)
    assert profile.rank_id == 1
    assert json.loads((second / "profiler_info_1.json").read_text())["ms_profiler_info"]["rank_id"] == "1"


def test_some_steps_alone_are_delivered(hand: Any, tmp_path: Any) -> None:
    path = hand.record(tmp_path)
    deliver(path, simplify=False)
    folder = path / "ASCEND_PROFILER_OUTPUT"
    whole = {name: (folder / name).read_text().splitlines() for name in ("kernel_details.csv", "step_trace_time.csv")}
    deliver(path, simplify=False, steps=(2, 3))
    some = {name: (folder / name).read_text().splitlines() for name in whole}
    details = some["kernel_details.csv"][1:]
    assert {line.partition(",")[0] for line in details} == {"4", "5"}
    assert len(details) == 2 * 7
    # Waiting times begin anew; names, steps and times of the kernels equal the whole's.
    keep = [line.split(",")[:10] for line in whole["kernel_details.csv"][1:] if line[0] in "45"]
    assert [line.split(",")[:10] for line in details] == keep
    assert [line.split(",")[:2] for line in some["step_trace_time.csv"]] == [
        line.split(",")[:2] for line in whole["step_trace_time.csv"] if not line.startswith("3,")
    ]
    assert list(json.loads((folder / "communication.json").read_text())) == ["step4", "step5"]


def test_the_command_sums_a_directory_up(session: Any) -> None:
    result = CliRunner().invoke(
        build_cli(build_manager(names=[])), ["analyze", "--no-export", "--json", str(session.path)]
    )
    assert result.exit_code == 0, result.output
    summary = json.loads(result.output)
    told = [(step["step"], round(step["computing_us"], 3)) for step in summary["steps"]]
    assert told == [(row["Step"], float(row["Computing"])) for row in session.rows("step_trace_time.csv")]
    assert summary["kernel_count"] == 15
