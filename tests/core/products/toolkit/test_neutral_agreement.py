"""
One full session: its tables, its text files and its database say the same, row by row.

Files are read by the readers below and by SQL alone, and compared with the tables that they were written from, with
each other and with the database. Both writers are run: the native one (910B) and the Python one (910).
"""

from __future__ import annotations

import csv
import importlib.util
import json
import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from drynpu.platforms import load_chip
from drynpu.products import load_profile
from drynpu.products.toolkit import _msprof
from drynpu.raw import ClockAnchors

EXAMPLE = Path(__file__).parents[4] / "examples" / "core" / "neutral_session.py"
OPTIONS = {
    **dict.fromkeys(("training_trace", "aicpu", "msproftx", "task_memory", "runtime_api", "l2"), "on"),
    **dict.fromkeys(("sys_hardware_mem_freq", "sys_io_sampling_freq", "sys_interconnection_freq"), 50),
    "aic_metrics": "PipeUtilization",
}
TEXT = "(SELECT value FROM STRING_IDS WHERE id = {})"


class Files:
    """The files of a directory: ``cells`` of a csv, ``events`` of a json, ``rows`` of the database."""

    def __init__(self, paths: list[Path]) -> None:
        self.paths = {f"{path.stem.rsplit('_2', 1)[0]}{path.suffix}": path for path in paths}

    def cells(self, name: str) -> list[dict[str, str]]:
        with self.paths[f"{name}.csv"].open(encoding="utf-8", newline="") as stream:
            return [{key: value.rstrip("\t") for key, value in row.items()} for row in csv.DictReader(stream)]

    def events(self, name: str) -> Any:
        return json.loads(self.paths[f"{name}.json"].read_text(encoding="utf-8"))

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"{self.paths['msprof.db'].as_uri()}?mode=ro", uri=True)) as connection:
            return list(connection.execute(query))


@pytest.fixture(scope="module", params=["Ascend910B2", "Ascend910A"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """The session of the example: ``profile``, ``files``, ``timeline``."""
    spec = importlib.util.spec_from_file_location("neutral_session", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    folder, chip = tmp_path_factory.mktemp("neutral"), load_chip(request.param)
    parsed = example.read_options([json.dumps(OPTIONS)], chip, folder)
    anchors = ClockAnchors.now(chip.hwts_hz)
    recording = example.record(anchors.collection_begin_us * 1000)
    outcome = example.write(recording, anchors, parsed.request, chip, folder)
    files = Files(example.export(outcome.prof_path, parsed.request))
    return SimpleNamespace(
        profile=load_profile(outcome.prof_path), files=files, timeline=files.events("msprof"), example=example
    )


def ns(us: str | float) -> int:
    """Whole nanoseconds of a cell or member in microseconds."""
    exact = Decimal(str(us)) * 1000
    assert exact == int(exact)
    return int(exact)


def layer(made: SimpleNamespace, name: str) -> list[dict[str, Any]]:
    """The events of one process of the timeline, without metadata."""
    pids = {
        event["pid"] for event in made.timeline if event["name"] == "process_name" and event["args"]["name"] == name
    }
    found = [event for event in made.timeline if event["pid"] in pids and event["ph"] in ("X", "C")]
    assert found, name
    return found


def test_op_summary(made: SimpleNamespace) -> None:
    shown = [
        (row["Op Name"], row["OP Type"], ns(row["Task Start Time(us)"]), ns(row["Task Duration(us)"]), row["Task Type"])
        for row in made.files.cells("op_summary")
    ]
    kernels = [row for row in shown if row[-1] != "COMMUNICATION"]
    columns = ["name", "op_type", "start_ns", "duration_ns", "task_type"]
    assert kernels == made.profile.kernels.sort("start_ns").select(columns).rows()
    stored = made.files.rows(
        f"SELECT {TEXT.format('k.name')}, {TEXT.format('k.opType')}, t.startNs, t.endNs - t.startNs, "
        f"{TEXT.format('k.taskType')} FROM COMPUTE_TASK_INFO k JOIN TASK t USING (globalTaskId) ORDER BY t.startNs"
    )
    assert kernels == stored
    launched = [call for call in made.example.LAYER if call.name != "CopyIn"]
    assert len(kernels) == len(launched) * made.example.STEPS
    of_groups = [row for row in shown if row[-1] == "COMMUNICATION"]
    assert [row[:1] + row[2:4] for row in of_groups] == made.files.rows(
        f"SELECT {TEXT.format('opName')}, startNs, endNs - startNs FROM COMMUNICATION_OP ORDER BY startNs"
    )
    assert len(of_groups) == made.example.STEPS


def test_op_statistic_sums_op_summary(made: SimpleNamespace) -> None:
    times: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in made.files.cells("op_summary"):
        if row["Task Type"] != "COMMUNICATION":
            times[row["OP Type"], row["Task Type"]].append(ns(row["Task Duration(us)"]))
    shown = {(row["OP Type"], row["Core Type"]): row for row in made.files.cells("op_statistic")}
    assert shown.keys() == times.keys()
    for key, row in shown.items():
        exact = (len(times[key]), sum(times[key]), min(times[key]), max(times[key]))
        assert (int(row["Count"]), *(ns(row[f"{name} Time(us)"]) for name in ("Total", "Min", "Max"))) == exact
    assert sum(float(row["Ratio(%)"]) for row in shown.values()) == pytest.approx(100, abs=0.01)


def test_api_statistic(made: SimpleNamespace) -> None:
    shown = {
        (row["Level"], row["API Name"]): (
            int(row["Count"]),
            ns(row["Time(us)"]),
            ns(row["Min(us)"]),
            ns(row["Max(us)"]),
        )
        for row in made.files.cells("api_statistic")
    }
    length = pl.col("end_ns") - pl.col("start_ns")
    sums = [pl.len().alias("n"), length.sum().alias("sum"), length.min().alias("min"), length.max().alias("max")]
    name = pl.when(pl.col("level") == "communication").then("item").otherwise("name").alias("name")
    table = made.profile.api.group_by("level", name).agg(sums)
    assert shown == {(level, name): tuple(rest) for level, name, *rest in table.rows()}
    stored = made.files.rows(
        f"SELECT e.name, {TEXT.format('c.name')} AS call, COUNT(*), SUM(endNs - startNs), MIN(endNs - startNs), "
        "MAX(endNs - startNs) FROM CANN_API c JOIN ENUM_API_TYPE e ON e.id = c.type GROUP BY e.name, call"
    )
    assert shown == {(level, name): tuple(rest) for level, name, *rest in stored}
    events = Counter(event["name"].split("@")[1] for event in layer(made, "CANN"))
    calls: Counter[str] = Counter()
    for (_, name), (count, *_) in shown.items():
        calls[name] += count
    assert events == calls


def test_task_time(made: SimpleNamespace) -> None:
    shown = sorted(
        (ns(row["task_start(us)"]), ns(row["task_stop(us)"]), int(row["stream_id"]), int(row["task_id"]))
        for row in made.files.cells("task_time")
    )
    end = (pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns")
    assert shown == sorted(made.profile.tasks.select("start_ns", end, "stream_id", "task_id").rows())
    stored = "SELECT startNs, endNs, streamId, taskId FROM TASK"
    host_only = set(shown) ^ set(made.files.rows(stored))
    marks = made.files.rows(
        "SELECT t.startNs, t.endNs, t.streamId, t.taskId FROM TASK t JOIN MSTX_EVENTS m USING (connectionId)"
    )
    assert host_only <= set(marks), "a mark on a stream is a task of the database alone"
    traced = {(ns(event["ts"]), ns(event["dur"])) for event in layer(made, "Ascend Hardware")}
    assert traced >= {(start, stop - start) for start, stop, *_ in shown}


def test_communication(made: SimpleNamespace) -> None:
    (row,) = made.files.cells("communication_statistic")
    lengths = [length for (length,) in made.files.rows("SELECT endNs - startNs FROM COMMUNICATION_OP")]
    assert (int(row["Count"]), ns(row["Total Time(us)"])) == (len(lengths), sum(lengths))
    assert sorted(lengths) == sorted(made.profile.communication_ops["duration_ns"])
    found = made.files.events("communication")
    times = [
        (name.split("@")[0], ns(of["Communication Time Info"]["Start Timestamp(us)"]))
        for name, of in found.items()
        if not name.startswith("Total")
    ]
    stored = made.files.rows(f"SELECT {TEXT.format('opName')}, startNs FROM COMMUNICATION_OP")
    assert [name for name, _ in sorted(times)] == [name for name, _ in sorted(stored)]
    # A double has steps of a quarter of a microsecond there.
    for (_, seen), (_, exact) in zip(sorted(times), sorted(stored), strict=True):
        assert abs(seen - exact) <= 125
    tasks = [event for event in layer(made, "Communication") if "transport type" in event["args"]]
    listed = [(ns(event["ts"]), ns(event["dur"]), event["args"]["size(Byte)"]) for event in tasks]
    query = (
        "SELECT t.startNs, t.endNs - t.startNs, c.size FROM COMMUNICATION_TASK_INFO c JOIN TASK t USING (globalTaskId)"
    )
    assert sorted(listed) == sorted(made.files.rows(query))
    columns = ["start_ns", "duration_ns", "size_bytes"]
    assert sorted(listed) == sorted(made.profile.frame("communication_tasks").select(columns).rows())


def test_memory(made: SimpleNamespace) -> None:
    shown = [
        (ns(row["timestamp(us)"]), float(row["ddr(KB)"]) * 1024, float(row["hbm(KB)"]) * 1024)
        for row in made.files.cells("npu_mem")
    ]
    assert shown == made.files.rows("SELECT timestampNs, ddr, hbm FROM NPU_MEM")
    assert shown == made.profile.frame("npu_mem").select("time_ns", "ddr_bytes", "hbm_bytes").rows()
    modules = [
        (ns(row["Timestamp(us)"]), float(row["Total Reserved(KB)"]) * 1024)
        for row in made.files.cells("npu_module_mem")
    ]
    assert modules == made.files.rows("SELECT timestampNs, totalReserved FROM NPU_MODULE_MEM")
    assert modules == made.profile.frame("npu_module_mem").select("time_ns", "reserved_bytes").rows()
    recorded = [
        (ns(row["Timestamp(us)"]), float(row["Total Allocated(KB)"]) * 1024, float(row["Total Reserved(KB)"]) * 1024)
        for row in made.files.cells("memory_record")
    ]
    assert recorded == made.files.rows("SELECT timestampNs, totalAllocate, totalReserve FROM NPU_OP_MEM")
    operators = made.files.cells("operator_memory")
    pairs = [(ns(row["Allocation Time(us)"]), ns(row["Duration(us)"])) for row in operators]
    taken = [time for time, allocated, _ in recorded if allocated]
    freed = [time for time, allocated, _ in recorded if not allocated]
    assert pairs == [(start, end - start) for start, end in zip(taken, freed, strict=True)]


SAMPLES = (
    ("HBM", "HBM 0/Read", "Read(MB/s)", f"bandwidth FROM HBM WHERE hbmId = 0 AND {TEXT.format('type')} = 'read'", 20),
    (
        "HBM",
        "HBM 0/Write",
        "Write(MB/s)",
        f"bandwidth FROM HBM WHERE hbmId = 0 AND {TEXT.format('type')} = 'write'",
        20,
    ),
    ("LLC", "LLC 0 Read/Throughput", "Throughput(MB/s)", "throughput FROM LLC WHERE llcId = 0", 20),
    ("HCCS", "Rx", "Rx(MB/s)", "rxThroughput FROM HCCS", 20),
    ("HCCS", "Tx", "Tx(MB/s)", "txThroughput FROM HCCS", 20),
    ("PCIe", "PCIe_post", "Tx", "txPostAvg FROM PCIE", 20),
    ("PCIe", "PCIe_cpl", "Rx", "rxCplAvg FROM PCIE", 20),
    ("NIC", "Port 0/Rx", "Rx Packets", "rxPackets FROM NIC", 0),
    ("RoCE", "Port 0/Tx", "Tx Packets", "txPackets FROM ROCE", 0),
)


@pytest.mark.parametrize(("process", "name", "member", "query", "shift"), SAMPLES)
def test_samples(made: SimpleNamespace, process: str, name: str, member: str, query: str, shift: int) -> None:
    shown = [(ns(event["ts"]), event["args"][member]) for event in layer(made, process) if event["name"] == name]
    stored = made.files.rows(f"SELECT timestampNs, {query}")
    assert [time for time, _ in shown] == [time for time, _ in stored]
    last = process == "HCCS"  # whose last sample the toolkit leaves out
    assert len(shown) + last > 1
    scale = 1 << shift
    seen = [value * scale for _, value in shown]
    assert [value for _, value in stored] == pytest.approx(seen, rel=1e-3, abs=scale / 500)


@pytest.mark.parametrize(
    ("stem", "process", "names"),
    [
        ("hccs", "HCCS", {"Tx (MB/s)": ("Tx", "Tx(MB/s)"), "Rx (MB/s)": ("Rx", "Rx(MB/s)")}),
        ("hbm", "HBM", {"Read(MB/s)": ("HBM 0/Read", "Read(MB/s)"), "Write(MB/s)": ("HBM 0/Write", "Write(MB/s)")}),
    ],
)
def test_summaries_of_samples(
    made: SimpleNamespace, stem: str, process: str, names: dict[str, tuple[str, str]]
) -> None:
    """What a table sums up is the mean of what the timeline shows."""
    rows = made.files.cells(stem)
    for title, (name, member) in names.items():
        values = [float(event["args"][member]) for event in layer(made, process) if event["name"] == name]
        mean = sum(values) / len(values)
        if stem == "hccs":
            (row,) = [row for row in rows if row["Mode"] == title]
            assert (float(row["Max"]), float(row["Min"])) == pytest.approx((max(values), min(values)), abs=0.002)
            assert float(row["Average"]) == pytest.approx(mean, abs=0.002)
        else:
            found = {row["Metric"]: float(row[title]) for row in rows}
            assert found["0"] == pytest.approx(mean, rel=1e-3)
            stacks = [found[str(stack)] for stack in range(4)]
            assert found["Average"] == pytest.approx(sum(stacks) / 4, rel=1e-3)


def test_marks_and_parts_of_aicpu(made: SimpleNamespace) -> None:
    shown = [
        (row["message"], ns(row["Start_time(us)"]), ns(row["End_time(us)"])) for row in made.files.cells("msprof_tx")
    ]
    query = f"SELECT {TEXT.format('message')}, startNs, endNs FROM MSTX_EVENTS ORDER BY startNs"
    assert shown == made.files.rows(query)
    assert [row[0] for row in shown] == ["begin", "attention"]
    totals = {row["Node"]: 0 for row in made.files.cells("aicpu")}
    for row in made.files.cells("aicpu"):
        totals[row["Node"]] += ns(row["Total_time(us)"])
    summary = [row for row in made.files.cells("op_summary") if row["Task Type"] == "AI_CPU"]
    # The record of the AI CPU ends one tick of 20 ns before its task, so that the toolkit's parser finds the operator.
    assert totals == {summary[0]["Op Name"]: sum(ns(row["Task Duration(us)"]) - 20 for row in summary)}


def test_the_timeline_is_there_before_any_table(
    made: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    torch_npu's analysis reads the timeline as soon as there is a csv file.

    Ascend/pytorch torch_npu/profiler/analysis/prof_view/cann_parse/_cann_export.py polls for one.
    """
    seen: list[list[str]] = []
    write = _msprof.write_csv_slices

    def watched(directory: Path, *arguments: Any, **named: Any) -> list[Path]:
        seen.append(sorted(path.name for path in directory.glob("*.json")))
        return write(directory, *arguments, **named)

    monkeypatch.setattr(_msprof, "write_csv_slices", watched)
    written = _msprof.export_msprof(made.profile, tmp_path / "out")
    timelines = sorted(path.name for path in written if path.suffix == ".json" and path.parent.name == "out")
    assert any(name.startswith("msprof_2") for name in timelines)
    assert seen
    assert set(map(tuple, seen)) == {tuple(timelines)}
