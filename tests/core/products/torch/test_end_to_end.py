"""Recordings carried through simulation, records, tables and analysis to the deliverables."""

from __future__ import annotations

import csv
import hashlib
import json
import stat
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pytest

from drynpu import OutputError
from drynpu.options import Level
from drynpu.products import export_msprof, export_torch
from drynpu.products.torch import _export as _torch
from drynpu.tables import Profile

NOW = datetime(2026, 1, 31, 23, 59, 58)
KERNELS, COPIES = 9, 3
Record = Callable[..., Profile]
Event = dict[str, Any]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def named(paths: Iterable[Path]) -> dict[str, Path]:
    """Files by name without the time."""
    return {path.name.replace("_20260131235958", ""): path for path in paths}


def events(path: Path) -> list[Event]:
    found: list[Event] = json.loads(path.read_text(encoding="utf-8"))
    return found


def hardware(trace: list[Event]) -> list[Event]:
    pids = {event["pid"] for event in trace if event["ph"] == "M" and event["args"].get("name") == "Ascend Hardware"}
    return [event for event in trace if event["ph"] == "X" and event["pid"] in pids]


def test_files_of_the_toolkit(record: Record) -> None:
    profile = record()
    paths = export_msprof(profile, now=NOW)
    assert profile.prof_path is not None
    assert {path.parent for path in paths} == {profile.prof_path / "mindstudio_profiler_output"}
    assert [path.name for path in paths] == [
        "op_summary_20260131235958.csv",
        "api_statistic_20260131235958.csv",
        "task_time_20260131235958.csv",
        "op_statistic_20260131235958.csv",
        "npu_mem_20260131235958.csv",
        "npu_module_mem_20260131235958.csv",
        "msprof_20260131235958.json",
        "README.txt",
    ]
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o640}
    assert stat.S_IMODE(paths[0].parent.stat().st_mode) == 0o750
    assert b"\r" not in b"".join(path.read_bytes() for path in paths)


def test_files_of_torch(record: Record) -> None:
    profile = record()
    paths = export_torch(profile)
    assert {path.name for path in paths} == {
        "trace_view.json",
        "kernel_details.csv",
        "operator_details.csv",
        "op_statistic.csv",
        "api_statistic.csv",
        "step_trace_time.csv",
        "task_time.csv",
        "operator_memory.csv",
        "memory_record.csv",
        "npu_module_mem.csv",
        "analyse.done",
    }
    assert paths[-1].name == "analyse.done"
    directory = profile.path / "ASCEND_PROFILER_OUTPUT"
    assert sorted(directory.iterdir()) == sorted(paths)
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o640}
    assert all(path.read_bytes().endswith(b"\r\n") for path in paths if path.suffix == ".csv")
    assert b"\n" not in (directory / "trace_view.json").read_bytes()


def test_every_kernel_is_once_in_all_three_files_with_equal_times(record: Record) -> None:
    profile = record()
    torch, msprof = named(export_torch(profile)), named(export_msprof(profile, now=NOW))
    key = ("Task ID", "Stream ID")
    details = [
        (*(row[name] for name in key), row["Name"], row["Start Time(us)"].rstrip("\t"), row["Duration(us)"])
        for row in rows(torch["kernel_details.csv"])
    ]
    summary = [
        (
            *(row[name] for name in key),
            row["Op Name"],
            row["Task Start Time(us)"].rstrip("\t"),
            row["Task Duration(us)"],
        )
        for row in rows(msprof["op_summary.csv"])
    ]
    assert details == summary
    assert len(set(details)) == len(details) == KERNELS
    for path in (torch["trace_view.json"], msprof["msprof.json"]):
        traced = [
            (
                str(event["args"]["Task Id"]),
                str(event["args"]["Physic Stream Id"]),
                event["name"],
                event["ts"],
                f"{event['dur']:.3f}",
            )
            for event in hardware(events(path))
            if event["name"] != "MEMCPY_ASYNC"
        ]
        assert sorted(traced) == sorted(details)


def test_statistics_add_up(record: Record) -> None:
    files = named(export_torch(record()))
    kernels, statistic = rows(files["kernel_details.csv"]), rows(files["op_statistic.csv"])
    totals: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for row in kernels:
        totals[row["Type"], row["Accelerator Core"]] += Decimal(row["Duration(us)"])
    assert {(row["OP Type"], row["Core Type"]): Decimal(row["Total Time(us)"]) for row in statistic} == totals
    assert sum(Decimal(row["Ratio(%)"]) for row in statistic) == pytest.approx(Decimal(100), abs=Decimal("0.01"))
    calls = [event for event in events(files["trace_view.json"]) if "level" in event.get("args", {})]
    times: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for call in calls:
        times[call["args"]["level"], call["name"].split("@")[1]] += Decimal(str(call["dur"]))
    shown = {(row["Level"], row["API Name"]): Decimal(row["Time(us)"]) for row in rows(files["api_statistic.csv"])}
    assert shown == times
    assert len(rows(files["task_time.csv"])) == KERNELS + COPIES


def test_steps(record: Record) -> None:
    files = named(export_torch(record()))
    assert [row["Step Id"] for row in rows(files["kernel_details.csv"])] == ["0"] * 3 + ["1"] * 3 + ["2"] * 3
    steps = rows(files["step_trace_time.csv"])
    assert [row["Step"] for row in steps] == ["0", "1", "2"]
    for row in steps:
        parts = ("Computing", "Communication(Not Overlapped)", "Free")
        assert sum(Decimal(row[name]) for name in parts) == Decimal(row["Stage"]) + Decimal(row["Bubble"])


def test_operators(record: Record) -> None:
    files = named(export_torch(record()))
    details, trace = rows(files["operator_details.csv"]), events(files["trace_view.json"])
    operators = [event["name"] for event in trace if event.get("cat") == "cpu_op"]
    assert [row["Name"] for row in details] == [name for name in operators if not name.startswith("ProfilerStep#")]
    arrows = {
        (event["pid"], event["tid"], event["ts"])
        for event in trace
        if event.get("cat") == "async_npu" and event["ph"] == "f"
    }
    linked = [event for event in hardware(trace) if (event["pid"], event["tid"], event["ts"]) in arrows]
    assert len(linked) == len(arrows) == KERNELS + COPIES
    total = sum(Decimal(row["Device Self Duration(us)"]) for row in details)
    assert total == sum(Decimal(str(event["dur"])) for event in linked)


def test_events_of_a_track_nest_or_are_apart(record: Record) -> None:
    files = named(export_torch(record()))
    tracks: dict[tuple[int, int], list[tuple[Decimal, Decimal]]] = defaultdict(list)
    for event in events(files["trace_view.json"]):
        if event["ph"] == "X":
            begin = Decimal(event["ts"])
            tracks[event["pid"], event["tid"]].append((begin, begin + Decimal(str(event["dur"]))))
    assert len(tracks) >= 6
    for spans in tracks.values():
        still_open: list[Decimal] = []
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while still_open and still_open[-1] <= begin:
                still_open.pop()
            assert not still_open or end <= still_open[-1]
            still_open.append(end)


@pytest.mark.parametrize("level", [Level.L0, Level.L1])
def test_arrows_have_both_ends_host_first_and_end_on_events(record: Record, level: Level) -> None:
    trace = events(named(export_torch(record(level)))["trace_view.json"])
    begins = {(event["pid"], event["tid"], event["ts"]) for event in trace if event["ph"] == "X"}
    ends: dict[tuple[str, str], dict[str, Event]] = defaultdict(dict)
    for event in trace:
        if event["ph"] in "sf":
            assert event["ph"] not in ends[event["cat"], str(event["id"])]
            ends[event["cat"], str(event["id"])][event["ph"]] = event
    assert Counter(category for category, _ in ends) == {
        "async_task_queue": KERNELS + COPIES,
        "HostToDevice": KERNELS + COPIES,
        "fwdbwd": 3,
        "async_npu": KERNELS + COPIES,
    }
    for (category, identity), pair in ends.items():
        assert str(int(identity)) == identity
        assert Decimal(pair["s"]["ts"]) <= Decimal(pair["f"]["ts"])
        for phase, event in pair.items():
            # At Level0 the calls themselves are pruned, their arrows are not.
            if not (level is Level.L0 and category == "HostToDevice" and phase == "s"):
                assert (event["pid"], event["tid"], event["ts"]) in begins


def test_order_of_the_blocks(record: Record) -> None:
    trace = events(named(export_torch(record()))["trace_view.json"])
    order: list[str] = []
    for event in trace:
        kind = event.get("cat") or ("M" if event["ph"] == "M" else event["name"].split("@")[0])
        if not order or order[-1] != kind:
            order.append(kind)
    assert order[0] == "cpu_op"
    first = {kind: order.index(kind) for kind in order}
    assert first["cpu_op"] < first["dequeue"] < first["enqueue"] < first["M"] < first["fwdbwd"] < first["Node"]
    assert order[-1] == "async_npu"


def test_level0(record: Record) -> None:
    profile = record(Level.L0)
    torch, msprof = named(export_torch(profile)), named(export_msprof(profile, now=NOW))
    assert not {"op_statistic.csv", "api_statistic.csv"} & set(torch)
    assert "op_statistic.csv" not in msprof
    assert "task_time.csv" in torch
    kernels = rows(torch["kernel_details.csv"])
    assert len(kernels) == KERNELS
    assert "Task ID" not in kernels[0]
    assert {(row["Type"], row["Accelerator Core"], row["Block Num"]) for row in kernels} == {("N/A", "N/A", "0")}
    names = [event["name"] for event in events(torch["trace_view.json"])]
    assert not [name for name in names if name.startswith(("Node@", "AscendCL@", "Runtime@"))]
    assert [event["name"] for event in events(msprof["msprof.json"]) if event["name"].startswith("Node@")]


def test_level_none_leaves_host_and_memory_files(record: Record) -> None:
    profile = attrs.evolve(record(), level="off")
    assert {path.name for path in export_torch(profile)} == {
        "trace_view.json",
        "operator_details.csv",
        "operator_memory.csv",
        "memory_record.csv",
        "analyse.done",
    }


def test_unified_chips_use_the_other_writer_and_fewer_columns(record: Record) -> None:
    files = named(export_msprof(record(chip="Ascend910A"), now=NOW))
    row = rows(files["op_summary.csv"])[1]
    assert not {"Context ID", "Mix Block Num"} & set(row)
    assert not [name for name in row if name.startswith(("aic_", "aiv_"))]
    assert row["Task Duration(us)"] == str(float(row["Task Duration(us)"]))
    assert rows(files["api_statistic.csv"])[0]["Device_id"] == "0"


def digests(paths: Iterable[Path]) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def test_the_same_profile_gives_the_same_bytes(record: Record, tmp_path: Path) -> None:
    profile = record()
    assert digests(export_torch(profile)) == digests(export_torch(profile))
    again = tmp_path / "again"
    assert digests(export_msprof(profile, now=NOW)) == digests(export_msprof(profile, again, NOW))


def test_exporting_again_keeps_the_earlier_files(record: Record) -> None:
    profile = record()
    first, second = export_msprof(profile, now=NOW), export_msprof(profile, now=NOW)
    assert {path.name for path in first} & {path.name for path in second} == {"README.txt"}
    assert all(path.exists() for path in (*first, *second))
    assert second[0].name == "op_summary_20260131235959.csv"


def test_a_failing_export_keeps_the_earlier_output(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = record()
    before = digests(export_torch(profile))
    around = sorted(path.name for path in profile.path.iterdir())

    def no_space(path: Path, make: object, *, line_end: str) -> bool:
        raise OutputError(f"{path}: cannot be written: No space left on device")

    monkeypatch.setattr(_torch, "write_table", no_space)
    with pytest.raises(OutputError, match=r"\.csv: cannot be written: No space left on device"):
        export_torch(profile)
    directory = profile.path / "ASCEND_PROFILER_OUTPUT"
    assert digests(directory.iterdir()) == before
    assert sorted(path.name for path in profile.path.iterdir()) == around


def test_host_data_alone(record: Record) -> None:
    profile = record()
    device = ("api", "tasks", "kernels", "communication_ops")
    emptied = {name: getattr(profile, name).clear() for name in device}
    host_only = attrs.evolve(profile, prof_path=None, level="", device_ids=(), group_tables={}, **emptied)
    assert {path.name for path in export_torch(host_only)} == {
        "trace_view.json",
        "operator_details.csv",
        "operator_memory.csv",
        "memory_record.csv",
        "analyse.done",
    }
    with pytest.raises(OutputError, match="holds no PROF directory"):
        export_msprof(host_only)
    assert export_msprof(host_only, profile.path / "elsewhere") == []


def test_a_prof_directory_without_data_gets_a_readme(record: Record) -> None:
    profile = record()
    tables = ("api", "tasks", "kernels", "communication_ops")
    emptied = {name: getattr(profile, name).clear() for name in tables}
    nothing = attrs.evolve(profile, group_tables={}, **emptied)
    directory = profile.path / "nothing"
    assert export_msprof(nothing, directory) == []
    assert [path.name for path in directory.iterdir()] == ["README.txt"]
