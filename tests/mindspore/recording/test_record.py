"""What recordings of real MindSpore leave: directories, what describes them, raw data and deliverables."""

from __future__ import annotations

import csv
import json
import re
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

from drynpu import __version__
from drynpu.products import find_profiles, load_profile
from drynpu_mindspore.recording._analyse import analyse_beside

NAME = re.compile(r"^.+_\d+_\d{17}_ascend_ms$")
FORWARD = "Default/network-WithLossCell/_backbone-Net/fc-Dense/MatMul-op0"
BACKWARD = "Gradients/Default/network-WithLossCell/_backbone-Net/out-Dense/Grad_MatMul/MatMul-op1"


def runs(recorded: Any, kind: str) -> list[Path]:
    return [path for path in recorded.runs(kind) if not path.name.startswith("broken")]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return [{name: cell.strip("\t") for name, cell in row.items()} for row in csv.DictReader(stream)]


def test_directories_are_named_and_guarded_as_the_vendor_s(recorded: Any) -> None:
    found = [path for kind in ("steps", "graph", "twice", "host", "data") for path in runs(recorded, kind)]
    assert [path.name for path in found] == recorded.printed("finished")
    assert len(found) == 2 + 2 + 1 + 1 + 1
    for path in found:
        assert NAME.match(path.name)
        assert path.stat().st_mode & 0o777 == 0o750
        assert {entry.stat().st_mode & 0o777 for entry in path.rglob("*") if entry.is_file()} == {0o640}
        assert {entry.stat().st_mode & 0o777 for entry in path.rglob("*") if entry.is_dir()} == {0o750}
        (log,) = (path / "logs").iterdir()
        assert re.fullmatch(r"profiler_\d{14}_\d+\.log", log.name)
        line = r"\[\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d\] \[INFO\] \[_backend.py:\d+\] "
        lines = log.read_text().splitlines()
        assert all(re.match(line, text) for text in lines)
        assert sum(text.endswith("] started") for text in lines) == (2 if path.parent.name == "twice" else 1)
    (host,) = runs(recorded, "host")
    assert host.name.startswith("worker_")


def test_profiler_info_tells_the_parameters_in_order(recorded: Any) -> None:
    info = json.loads((runs(recorded, "steps")[0] / "profiler_info_0.json").read_text())
    assert list(info) == [
        "profiler_parameters",
        "ms_profiler_info",
        "cann_profiler_info",
        "analysis_cost_time",
        "ms_version",
        "cann_version",
        "jit_level",
    ]
    told = info["profiler_parameters"]
    assert list(told)[:4] == ["is_set_schedule", "output_path", "profiler_level", "activities"]
    assert list(told)[-1] == "schedule"
    assert told["activities"] == ["CPU", "NPU"]
    assert told["export_type"] == ["text", "db"]
    assert told["schedule"] == {"wait": 0, "active": 2, "warmup": 0, "repeat": 2, "skip_first": 1}
    assert info["ms_profiler_info"] == {"rank_id": "0", "device_id": "0"}
    assert info["ms_version"] == f"2.7.2+drynpu{__version__}"
    assert info["cann_version"] == "not known"
    text = (runs(recorded, "steps")[0] / "profiler_info_0.json").read_text()
    assert text == json.dumps(info, indent=4)


def test_every_cycle_has_its_steps(recorded: Any) -> None:
    first, second = (path / "ASCEND_PROFILER_OUTPUT" for path in runs(recorded, "steps"))
    assert [row["Step"] for row in rows(first / "step_trace_time.csv")] == ["1", "2"]
    assert [row["Step"] for row in rows(second / "step_trace_time.csv")] == ["3", "4"]
    for folder, steps in ((first, {"1", "2"}), (second, {"3", "4"})):
        details = rows(folder / "kernel_details.csv")
        assert {row["Step ID"] for row in details} == steps
        assert len(details) == 2 * 22
        assert all(row["Name"].startswith("Kernel::KernelLaunch::") for row in details)
        assert {path.name for path in folder.glob("*.db")} == {"ascend_mindspore_profiler_0.db"}


def test_marks_are_tied_to_their_calls(recorded: Any) -> None:
    events = json.loads((runs(recorded, "steps")[0] / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text())
    arrows = [event for event in events if event["name"] == "mindspore_to_mstx"]
    assert len(arrows) == 2 * 4
    calls = {event["name"] for event in events if event["name"].startswith("Python::PythonObserved::Mstx.")}
    assert calls == {"Python::PythonObserved::Mstx.mark", "Python::PythonObserved::Mstx.range_start"}
    marked = {event["name"]: event["args"] for event in events if "mindspore_op" in event.get("args", {})}
    assert marked["training"]["mindspore_op"].endswith("Mstx.range_start")


def test_the_points_of_the_iteration_trace_are_those_asked_for(recorded: Any) -> None:
    path = runs(recorded, "graph")[0]
    profile = load_profile(path)
    (table,) = path.glob("PROF_*/mindstudio_profiler_output/step_trace_*.csv")
    kernels = profile.kernels.sort("start_ns")
    traced = [row for row in rows(table) if row["Model ID"] == "1"]
    assert len(traced) == 2
    starts = [Decimal(row["FP Start(us)"]) * 1000 for row in traced]
    # The first kernel of a step belongs to the first MatMul, which is the forward operator; of 22 kernels at O0 there
    # are 20, because both products take in their biases.
    assert starts == [kernels["start_ns"][0], kernels["start_ns"][20]]
    ends = set((kernels["start_ns"] + kernels["duration_ns"]).to_list())
    for row in traced:
        end = Decimal(row["BP End(us)"]) * 1000
        assert int(end) in ends
        assert starts[0] < end <= Decimal(row["Iteration End(us)"]) * 1000
    names = {row["Name"] for row in rows(path / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv")}
    product = "Default/network-WithLossCell/_backbone-Net/fc-Dense/MatMul-op0"
    assert product in names, "kernels bear the names of nodes, and the graph engine tells no launches"


def test_two_starts_before_the_analysis_are_one_recording(recorded: Any) -> None:
    (path,) = runs(recorded, "twice")
    profile = load_profile(path)
    kernels = profile.kernels.sort("start_ns")
    assert kernels.height == 2 * 22
    assert len(list(path.glob("PROF_*"))) == 1
    # Two samples at least in each stretch; a row is what was between two.
    assert profile.frame("host_memory_usage").height >= 3
    assert profile.notes == ()
    metadata = json.loads((path / "profiler_metadata.json").read_text())
    assert metadata["who"] == "drynpu"
    assert metadata["drynpu"]["clock"] == "modelled"
    assert "kernel times" in metadata["drynpu"]["simulated"]
    (prof,) = path.glob("PROF_*")
    assert not (prof / "mindstudio_profiler_output").exists(), "simplified, as is the default"


def test_the_host_alone_leaves_no_device(recorded: Any) -> None:
    (path,) = runs(recorded, "host")
    assert not list(path.glob("PROF_*"))
    assert {file.name for file in (path / "ASCEND_PROFILER_OUTPUT").iterdir()} == {"trace_view.json"}
    data = (path / "FRAMEWORK" / "mindspore.op_range").read_bytes()
    start = struct.unpack_from("<5Q", data, 6)[3]
    assert abs(start * 10 - load_profile(path).frame("framework_events")["start_ns"][0]) < 10


def test_the_data_pipeline_is_told(recorded: Any) -> None:
    (path,) = runs(recorded, "data")
    raw = rows(path / "ASCEND_PROFILER_OUTPUT" / "minddata_pipeline_raw_0.csv")
    assert {row["op_type"] for row in raw} >= {"BatchOp", "MapOp", "GeneratorOp"}
    assert [row["op_id"] for row in raw] == [str(number) for number in range(len(raw))]
    assert (path / "FRAMEWORK" / "pipeline_profiling_0.json").is_file()


def test_times_of_the_pipeline_s_operators_are_summed_up(recorded: Any) -> None:
    (path,) = runs(recorded, "data")
    table = rows(path / "ASCEND_PROFILER_OUTPUT" / "dataset.csv")
    assert list(table[0]) == ["Operation", "Stage", "Occurrences", "Avg. time (us)", "Custom Info"]
    made = {
        row["Operation"].partition("(")[0]: int(row["Occurrences"])
        for row in table
        if row["Stage"] in ("__next__", "WorkerProcess") and row["Custom Info"] in ("", "{}", "TensorRowFlags:Data")
    }
    assert made["BatchOp"] >= 4, "64 rows in batches of 16"
    assert all(float(row["Avg. time (us)"]) >= 0 for row in table)


def test_python_calls_are_in_the_timeline_where_they_are_asked_for(recorded: Any) -> None:
    calls = {}
    for kind in ("steps", "data"):
        events = json.loads((runs(recorded, kind)[0] / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text())
        calls[kind] = [event for event in events if event.get("cat") == "python_function"]
    assert calls["data"] == []
    names = {event["name"] for event in calls["steps"]}
    assert any(name.startswith("mindspore/nn/cell.py(") for name in names)
    assert not [name for name in names if "drynpu_mindspore" in name]
    assert {event["pid"] for event in calls["steps"]} == {1}


def test_parsing_says_what_it_does(recorded: Any) -> None:
    lines = recorded.stdout.replace("\r", "\n").splitlines()
    begun = [line for line in lines if "Start parsing profiling data" in line]
    (host,) = runs(recorded, "host")
    assert all(re.fullmatch(r"\[\d+\] Start parsing profiling data in sync mode at: /.*", line) for line in begun)
    assert any(line.endswith(host.name) for line in begun), "without a device, too"
    drawn = [line.strip() for line in lines if "Parsing: [" in line]
    assert re.fullmatch(r"\[\d+\] Parsing: \[ {20}\] 0/4 AscendMsprofParser Elapsed: 0s", drawn[0])
    assert re.fullmatch(r"\[\d+\] Parsing: \[#{5} {15}\] 1/4 FrameworkParser Elapsed: \d+s", drawn[1])
    assert re.fullmatch(r"\[\d+\] Parsing: \[#{20}\] 4/4 Done Elapsed: \d+s", drawn[2])


def test_offline_a_broken_directory_is_reported_and_the_others_are_parsed(recorded: Any) -> None:
    begun = [line for line in recorded.stdout.splitlines() if "Start parsing" in line]
    for path in runs(recorded, "steps"):
        assert sum(line.endswith(path.name) for line in begun) == 2, "when it was recorded, and offline"
    assert recorded.logged("Cannot find profiler_info.json in the ")
    assert len(find_profiles(recorded.folder / "steps")) == 3


def test_analyze_rebuilds_and_sums_up(recorded: Any, scripts: Any) -> None:
    path = runs(recorded, "steps")[0]
    before = {file.name: file.read_bytes() for file in (path / "ASCEND_PROFILER_OUTPUT").glob("*.csv")}
    code = (
        f"import sys\nsys.argv = ['drynpu', 'analyze', {str(path)!r}, '--json']\nfrom drynpu.cli import main\nmain()\n"
    )
    done = scripts(code)
    summary = json.loads(done.stdout)
    assert [step["step"] for step in summary["steps"]] == ["1", "2"]
    assert {file.name: file.read_bytes() for file in (path / "ASCEND_PROFILER_OUTPUT").glob("*.csv")} == before


def test_beside_the_script_a_failure_is_in_the_log(tmp_path: Path) -> None:
    path = tmp_path / "host_1_20260101000000000_ascend_ms"
    path.mkdir()
    analyse_beside(path, simplify=False).result(timeout=600)
    (log,) = (path / "logs").iterdir()
    assert "[ERROR] [_directory.py:" in log.read_text()
    assert "Expected one profile at" in log.read_text()
