"""The example as a user runs it: what it leaves, what it says, and that the training is the plain one."""

from __future__ import annotations

import json
import re
import socket
import stat
from pathlib import Path
from typing import Any

import pytest

DELIVERABLES = {
    "analyse.done",
    "api_statistic.csv",
    "kernel_details.csv",
    "memory_record.csv",
    "npu_module_mem.csv",
    "op_statistic.csv",
    "operator_details.csv",
    "operator_memory.csv",
    "step_trace_time.csv",
    "task_time.csv",
    "trace_view.json",
}
TOOLKIT = {"op_summary", "op_statistic", "api_statistic", "task_time", "msprof", "npu_mem", "npu_module_mem", "README"}
TOOLKIT |= {"hbm", "llc_read_write"}

PLAIN_TORCH_NPU = """
import contextlib


class _Profile(contextlib.AbstractContextManager):
    def __exit__(self, *_):
        return None

    def step(self):
        pass


class _Names:
    def __getattr__(self, name):
        return name


class profiler:
    ProfilerLevel = AiCMetrics = ProfilerActivity = _Names()

    def _ExperimentalConfig(**_):
        return None

    def schedule(**_):
        return None

    def tensorboard_trace_handler(_):
        return None

    def profile(**_):
        return _Profile()
"""


def losses(stdout: str) -> list[str]:
    return re.findall(r"^step \d+ loss \S+$", stdout, re.MULTILINE)


def test_two_runs_leave_two_complete_directories(demo_runs: Any) -> None:
    first, second = demo_runs
    assert first.folder == second.folder
    outputs = first.outputs("demo_out")
    assert len(outputs) == 2
    for run, output in zip(demo_runs, outputs, strict=True):
        host = re.escape(socket.gethostname())
        assert re.fullmatch(rf"{host}_{run.pid}_\d{{17}}_ascend_pt", output.path.name)
        assert {entry.name for entry in output.path.iterdir()} == {
            "ASCEND_PROFILER_OUTPUT",
            "FRAMEWORK",
            output.prof.name,
            "profiler_info_0.json",
            "profiler_metadata.json",
        }
        assert output.files == DELIVERABLES
        assert {f.name for f in (output.path / "FRAMEWORK").iterdir()} == {
            "torch.op_range",
            "torch.op_mark",
            "torch.memory_usage",
        }
        assert re.fullmatch(r"PROF_\d{6}_\d{17}_[A-Z]{16}", output.prof.name)
        assert {entry.name for entry in output.prof.iterdir()} == {"host", "device_0", "mindstudio_profiler_output"}
        left = {re.sub(r"_\d{14}(?=\.)", "", f.name) for f in (output.prof / "mindstudio_profiler_output").iterdir()}
        assert {Path(name).stem for name in left} == TOOLKIT
        assert not [p for p in output.path.rglob("*") if p.name.endswith(".tmp") or p.name.startswith(".")]


def test_modes_are_the_vendors(demo: Any) -> None:
    entries = [demo.path, *demo.path.rglob("*")]
    assert {stat.S_IMODE(e.stat().st_mode) for e in entries if e.is_dir()} == {0o750}
    assert {stat.S_IMODE(e.stat().st_mode) for e in entries if e.is_file()} == {0o640}


def test_profiler_info(demo: Any) -> None:
    text = (demo.path / "profiler_info_0.json").read_text(encoding="utf-8")
    info = json.loads(text)
    assert text == json.dumps(info, indent=4)
    assert list(info) == ["config", "start_info", "end_info", "torch_npu_version", "cann_version", "rank_id"]
    common = info["config"]["common_config"]
    assert list(common) == [
        "activities",
        "schedule",
        "record_shapes",
        "profile_memory",
        "with_stack",
        "with_flops",
        "with_modules",
    ]
    assert sorted(common["activities"]) == ["ProfilerActivity.CPU", "ProfilerActivity.NPU"]
    assert common["schedule"] == {
        "wait": 1,
        "active": 3,
        "warmup": 1,
        "repeat": 1,
        "skip_first": 1,
        "skip_first_wait": 0,
    }
    assert [common[name] for name in list(common)[2:]] == [True, True, False, False, False]
    experimental = info["config"]["experimental_config"]
    assert list(experimental) == [
        "_profiler_level",
        "_aic_metrics",
        "_l2_cache",
        "_msprof_tx",
        "_mstx",
        "_data_simplification",
        "record_op_args",
        "_export_type",
        "_host_sys",
        "_op_attr",
        "_gc_detect_threshold",
        "_mstx_domain_include",
        "_mstx_domain_exclude",
        "_sys_io",
        "_sys_interconnection",
    ]
    assert experimental["_profiler_level"] == "Level1"
    assert experimental["_aic_metrics"] == "ACL_AICORE_PIPE_UTILIZATION"
    assert experimental["_export_type"] == ["text"]
    assert list(info["start_info"]) == ["syscnt_enable", "freq", "start_cnt", "start_monotonic"]
    assert list(info["end_info"]) == ["collectionTimeEnd", "MonotonicTimeEnd"]
    assert 0 < info["start_info"]["start_monotonic"] < info["end_info"]["MonotonicTimeEnd"]
    assert info["rank_id"] == "0"
    assert info["torch_npu_version"].startswith("2.")
    assert info["cann_version"] == "not known"


def test_metadata_is_one_line_and_says_what_is_simulated(demo: Any) -> None:
    text = (demo.path / "profiler_metadata.json").read_text(encoding="utf-8")
    assert "\n" not in text
    metadata = json.loads(text)
    assert list(metadata) == ["ENV_VARIABLES", "trace_id", "drynpu"]
    assert list(metadata["ENV_VARIABLES"])[:4] == [
        "ASCEND_GLOBAL_LOG_LEVEL",
        "HCCL_RDMA_TC",
        "HCCL_RDMA_SL",
        "ACLNN_CACHE_LIMIT",
    ]
    assert set(metadata["ENV_VARIABLES"].values()) == {""}
    assert re.fullmatch(r"[0-9A-F]{32}", metadata["trace_id"])
    assert metadata["drynpu"]["chip"] == "Ascend910B2"
    assert metadata["drynpu"]["clock"] == "modelled"
    assert metadata["drynpu"]["unmapped_operators"] == {}


def test_the_terminal_shows_where_the_time_went(demo_runs: Any) -> None:
    run, _ = demo_runs
    output = run.outputs("demo_out")[0]
    shown = run.stdout
    assert "Ascend910B2 (simulated)" in shown
    steps = output.rows("step_trace_time.csv")
    assert [row["Step"] for row in steps] == ["3", "4", "5"]
    for row in steps:
        line = next(line for line in shown.splitlines() if re.match(rf"\W+{row['Step']} ", line))
        for column in ("Computing", "Communication(Not Overlapped)", "Free"):
            assert f"{float(row[column]) / 1000:.3f}" in line
    kernels = output.rows("kernel_details.csv")
    assert f"Top kernels ({len(kernels)} in all" in shown
    top = output.rows("op_statistic.csv")[0]
    line = next(line for line in shown.splitlines() if top["OP Type"] in line)
    assert top["Core Type"] in line
    assert top["Count"] in line
    assert f"{float(top['Total Time(us)']) / 1000:.3f}" in line
    assert f"Written: demo_out/{output.path.name}" in shown
    assert all(f"ASCEND_PROFILER_OUTPUT/{name}" in shown for name in DELIVERABLES)
    assert f"drynpu analyze demo_out/{output.path.name}" in shown
    assert "perfetto" in shown
    assert "Every operator that launches a kernel is mapped." in shown


def test_quiet_keeps_the_scripts_own_output(demo_runs: Any) -> None:
    loud, quiet = demo_runs
    assert "simulated" not in quiet.stdout
    assert losses(quiet.stdout) == losses(loud.stdout)
    assert [m for m in quiet.said("INFO") if m.startswith("All profiling data parsed in a total time of 0:00:0")]


def test_messages_of_parsing(demo_runs: Any) -> None:
    run, _ = demo_runs
    output = run.outputs("demo_out")[0]
    said = run.said()
    assert len(said) == 3
    assert said[0] == f"Start parsing profiling data in sync mode at: {output.path}"
    assert re.fullmatch(r"CANN profiling data parsed in a total time of \d:\d\d:\d\d\.\d{6}", said[1])
    assert re.fullmatch(r"All profiling data parsed in a total time of \d:\d\d:\d\d\.\d{6}", said[2])


def test_losses_equal_a_plain_cpu_run(demo_runs: Any, scripts: Any, example: Path, tmp_path: Path) -> None:
    """Nine decimals of a loss above 1 are more digits than float32 has, so equal text is equal bits."""
    (tmp_path / "torch_npu.py").write_text(PLAIN_TORCH_NPU, encoding="utf-8")
    plain = scripts(
        example,
        "--device",
        "cpu",
        environment={"PYTHONPATH": str(tmp_path), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
    )
    assert not plain.outputs("demo_out")
    found = losses(plain.stdout)
    assert len(found) == 8
    assert all(float(line.split()[-1]) >= 1 for line in found)
    assert [losses(run.stdout) for run in demo_runs] == [found, found]


@pytest.mark.parametrize("name", sorted(DELIVERABLES - {"analyse.done", "trace_view.json"}))
def test_tables_are_written_as_the_vendor_writes_them(demo: Any, name: str) -> None:
    content = (demo.folder / name).read_bytes()
    lines = content.split(b"\r\n")
    assert lines[-1] == b""
    # Separators of shapes inside a quoted cell are the only other line ends, and CRLF as well.
    assert b"\n" not in content.replace(b"\r\n", b"")
    rows = demo.rows(name)
    assert rows
    assert all(None not in row and None not in row.values() for row in rows)
    times = [
        column for column in rows[0] if re.search(r"(Start Time|Timestamp|Release Time|task_start|task_stop)", column)
    ]
    for column in times:
        assert all(re.fullmatch(r"(\d{16}\.\d{3}\t)?", row[column]) for row in rows), column


@pytest.mark.parametrize("name", sorted(DELIVERABLES - {"analyse.done", "trace_view.json"}))
def test_numbers_are_numbers(demo: Any, name: str) -> None:
    measured = re.compile(r"(\((us|MB|KB|%)\)|_ratio|_rate|_cycles|_id|_ID|Count|Variance|Block Num|Stage|Free|Step)")
    rows = demo.rows(name)
    columns = [column for column in rows[0] if measured.search(column)]
    assert columns
    for column in columns:
        texts = {row[column].rstrip("\t") for row in rows} - {"", "N/A"}
        if column == "Device_id" and name == "api_statistic.csv":
            assert texts == {"host"}
            continue
        values = [float(text) for text in texts]
        if column == "Host Self Duration(us)":
            # torch_npu makes one tree of all threads, as drynpu does. On a busy machine the autograd thread closes an
            # operator after the main thread has begun the next one, which then is its child and ends later.
            totals = [float(row["Host Total Duration(us)"]) for row in rows]
            assert all(float(row[column]) <= total for row, total in zip(rows, totals, strict=True))
            continue
        assert all(value >= 0 for value in values), column
        assert not [text for text in texts if "e" in text.lower() or text.startswith("+")], column
