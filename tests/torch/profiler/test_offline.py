"""Raw data now, deliverables later: the vendor's offline ``analyse``, and ``drynpu analyze`` (1.8)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

OFFLINE = """
import torch
import torch_npu
from torch_npu.profiler import profile, schedule, tensorboard_trace_handler
from torch_npu.profiler.profiler import analyse

weight = torch.ones(64, 64).to("npu:0")


def train_one_step():
    return (weight @ weight).relu().sum().item()


def section(name):
    print("begin", name, flush=True)


with profile(
    schedule=schedule(wait=0, warmup=1, active=1, repeat=2),
    on_trace_ready=tensorboard_trace_handler("raw", analyse_flag=False),
) as prof:
    for step in range(5):
        train_one_step()
        prof.step()
section("before")
import pathlib
print(sorted(p.name for p in pathlib.Path("raw").glob("*/*") if "ASCEND" in p.name))
analyse(profiler_path="raw")
for folder in pathlib.Path("raw").iterdir():
    print("files", *sorted(path.name for path in (folder / "ASCEND_PROFILER_OUTPUT").iterdir()))
section("processes")
import shutil
whole = sorted(pathlib.Path("raw").glob("*_ascend_pt"))
for number, path in enumerate([*whole, whole[0]]):
    copy = pathlib.Path("many") / f"{number}_{path.name}"
    shutil.copytree(path, copy, ignore=shutil.ignore_patterns("ASCEND*"))
(copy / "profiler_info.json").unlink()  # as if the run had been killed
for file in copy.rglob("torch.op_range"):
    file.write_bytes(file.read_bytes()[:250])
timeless = pathlib.Path("many") / "3_timeless_ascend_pt"  # device records, and nothing that tells when they were
shutil.copytree(copy, timeless)
shutil.rmtree(timeless / "FRAMEWORK")
for file in [*timeless.rglob("*_start.log*"), *timeless.rglob("start_info*"), *timeless.rglob("info.json*")]:
    file.unlink()
analyse("many", max_process_number=2)
section("sides")
for number, gone in enumerate(("FRAMEWORK", "PROF_*")):
    half = pathlib.Path("half") / str(number) / whole[0].name
    shutil.copytree(whole[0], half, ignore=shutil.ignore_patterns("ASCEND*", gone))
    analyse(str(half))
section("wrong")
analyse("missing")
analyse("raw", max_process_number=0)
analyse("raw", max_process_number=10000)
analyse("raw", export_type="xml")
analyse("raw", export_type=["db"])
section("end")
"""


def test_offline_analysis(scripts: Any) -> None:
    run = scripts(OFFLINE, environment={"DRYNPU_QUIET": "1"})
    assert "begin before\n[]\n" in run.stdout
    first, second = run.outputs("raw")
    listed = [set(line.split()[1:]) for line in run.stdout.splitlines() if line.startswith("files ")]
    assert len(listed) == 2
    for output, files in zip((first, second), listed, strict=True):
        assert {"kernel_details.csv", "trace_view.json", "analyse.done"} <= files
        assert f"Start parsing profiling data in sync mode at: {output.path}" in run.said("INFO")
    killed = run.outputs("many")
    parsed = [name for output in killed for name in [output.path.name] if (output.folder / "analyse.done").is_file()]
    assert [name[:2] for name in sorted(parsed)][:3] == ["0_", "1_", "2_"]
    (cut,) = (output for output in killed if output.path.name.startswith("2_"))
    whole = next(output for output in killed if output.path.name.startswith("0_"))
    assert cut.rows("kernel_details.csv") == whole.rows("kernel_details.csv")
    assert 0 < len(cut.operators()) < len(whole.operators())
    said = run.stdout.split("begin processes\n")[1].split("\nbegin sides")[0]
    assert said.count("Start parsing profiling data in sync mode at") == 4
    assert said.count("All profiling data parsed in a total time of") == 3
    (problem,) = (message for severity, message in run.section("processes") if severity == "ERROR")
    assert "3_timeless_ascend_pt" in problem
    halves = [run.output(f"half/{number}") for number in range(2)]
    assert run.section("sides") == [
        ("ERROR", "ProfilerActivity.CPU is set in activities, but FWK Profiling data does not exist."),
        ("ERROR", "ProfilerActivity.NPU is set in activities, but CANN Profiling data does not exist."),
    ]
    assert [len(half.rows("kernel_details.csv")) for half in halves if "kernel_details.csv" in half.files] == [4]
    assert [bool(half.operators()) for half in halves] == [False, True]
    assert run.section("wrong") == [
        ("ERROR", "Call analyse failed. Exception: The path does not exist: missing"),
        ("WARNING", "Invalid max_process_number, reset it to default!"),
        (
            "WARNING",
            "max_process_number exceeds the number of cpu cores, reset it to the number of cpu cores!",
        ),
        ("WARNING", "Invalid parameter export_type: xml, reset it to None."),
    ]
    for output in (first, second):
        assert output.files == {"ascend_pytorch_profiler.db", "analysis.db", "analyse.done"}, (
            "the last analysis asked so"
        )
    drynpu = Path(sys.executable).with_name("drynpu")
    again = scripts(first.path, program=(str(drynpu), "analyze"), folder=run.folder)
    assert "Top kernels (4 in all" in again.stdout
    assert "trace_view.json" in first.files
    assert not [name for name in first.files if name.endswith(".db")], "text is what the recording was asked for"
    before = {path: path.read_bytes() for path in first.folder.iterdir()}
    scripts(first.path, program=(str(drynpu), "analyze"), folder=run.folder)
    assert {path: path.read_bytes() for path in first.folder.iterdir()} == before
