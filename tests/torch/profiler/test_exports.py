"""What a script asks a finished recording for, and what Python itself did meanwhile (torch_npu_profiler.md 1.5, 4)."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
from collections import Counter
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from tests.scripts import FRESH

pytestmark = pytest.mark.slow

SCRIPT = """
import gc, multiprocessing, sys, threading
import torch
import torch_npu
from torch_npu.profiler import _ExperimentalConfig, profile, schedule, tensorboard_trace_handler

net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).to("npu:0")
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)


def section(name):
    sys.stdout.write(f"begin {name}\\n")  # at once: another thread prints too
    sys.stdout.flush()


def train_one_step():
    optimizer.zero_grad()
    net(torch.ones(8, 16).to("npu:0")).sum().backward()
    optimizer.step()


def child(*enabling):
    torch.ones(2).to("npu:0").exp()
    profile.enable_profiler_in_child_thread(*enabling)
    torch.ones(3).to("npu:0").exp2()
    profile.disable_profiler_in_child_thread()
    torch.ones(4).to("npu:0").expm1()


def in_thread(function, *arguments):
    thread = threading.Thread(target=function, args=arguments)
    thread.start()
    thread.join()
    return thread.native_id


def recorded(folder, work, threshold=None, **options):
    handler = tensorboard_trace_handler(folder, async_mode=folder == "all")
    config = _ExperimentalConfig(gc_detect_threshold=threshold)
    plan = schedule(wait=0, warmup=1, active=1, repeat=1)
    with profile(schedule=plan, on_trace_ready=handler, experimental_config=config, **options) as prof:
        for _ in range(2):
            work()
            prof.step()
    return prof


train_one_step()
section("all")


def collecting():
    train_one_step()
    gc.collect()


prof = recorded("all", collecting, 0, record_shapes=True, profile_memory=True, with_stack=True)
section("exports")
prof.export_stacks("stacks/cpu.log")
prof.export_stacks("stacks/npu.txt", "self_npu_time_total")
prof.export_stacks("stacks/other.log", "cuda_time")
prof.export_chrome_trace("trace.json")
prof.export_chrome_trace("trace.json.gz")
prof.export_chrome_trace("stacks")
for name in ("memory.json", "memory.json.gz", "memory.raw.json.gz", "memory.html"):
    prof.export_memory_timeline(name)
prof.export_memory_timeline("none.json", "cpu")
prof.export_memory_timeline("none.json", "tpu:0")
section("modules")
prof = recorded("modules", train_one_step, with_modules=True)
prof.export_stacks("none.log")
prof.export_memory_timeline("none.json")
section("plain")
recorded("plain", collecting, 1e9)
section("child")
threads = []
recorded("child", lambda: threads.append(in_thread(child, "yes")))
print("threads", threads, flush=True)
section("in_child")
in_thread(lambda: recorded("in_child", train_one_step))
section("daemon")
fork = multiprocessing.get_context("fork")
process = fork.Process(target=recorded, args=("daemon", lambda: torch.ones(2) + 1), daemon=True)
process.start()
process.join()
section("unused")
profile().export_chrome_trace("none.json")
section("end")
"""

PRESUMED = "Metric should be self_cpu_time_total or self_npu_time_total.Here it is presumed to be self_cpu_time_total."
REFUSED = "Call export_chrome_trace failed. Exception: Invalid input path is a directory path"


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    return scripts(SCRIPT, environment={"DRYNPU_QUIET": "1", "TORCH_NPU_WARNING_DISABLE": "0", **FRESH})


def frames(output: Any) -> list[dict[str, Any]]:
    return [event for event in output.trace if event.get("cat") == "python_function"]


def collections(output: Any) -> list[dict[str, Any]]:
    return [event for event in output.trace if event.get("cat") == "GC"]


def span(event: dict[str, Any]) -> tuple[int, int]:
    """Start and end in exact ns; as floats, times of today are a quarter of a microsecond apart."""
    start, duration = (int(Decimal(str(event[key])) * 1000) for key in ("ts", "dur"))
    return start, start + duration


def read(run: Any, name: str) -> Any:
    data = (run.folder / name).read_bytes()
    return json.loads(gzip.decompress(data) if name.endswith(".gz") else data)


def test_stacks_are_folded(run: Any) -> None:
    lines = (run.folder / "stacks/cpu.log").read_text(encoding="utf-8").split("\n")
    matches = [re.fullmatch(r"(\S.*) (\d+)", line) for line in lines]  # speedscope's and flamegraph.pl's expression
    assert all(matches)
    stacks = [match.group(1).split(";") for match in matches if match]
    script = str(run.folder / "script.py")
    assert {stack[0].startswith(script) and stack[0].endswith(": <module>") for stack in stacks} == {True}
    assert any(stack[-1].startswith("<built-in") for stack in stacks)
    rows = run.output("all").rows("operator_details.csv")
    own = Counter(
        int(float(row["Device Self Duration(us)"]))
        for row in rows
        if row["Call Stack"] and float(row["Device Self Duration(us)"]) > 0
    )
    device = (run.folder / "stacks/npu.log").read_text(encoding="utf-8").split("\n")
    assert Counter(int(line.rpartition(" ")[2]) for line in device) == own
    assert sum(own.values()) > 5
    assert (run.folder / "stacks/other.log").read_bytes() == (run.folder / "stacks/cpu.log").read_bytes()
    assert not (run.folder / "stacks/npu.txt").exists()


def test_the_trace_alone_is_that_of_the_deliverables(run: Any) -> None:
    whole = run.output("all").trace
    assert read(run, "trace.json") == read(run, "trace.json.gz") == whole
    assert "analyse.done" in run.output("all").files  # parsed in a process of its own, which was waited for
    said = run.said("INFO")
    assert f"Start parsing profiling data in async mode at: {run.output('all').path}" in said


def test_memory_by_category(run: Any, native: bool) -> None:
    times, sizes = read(run, "memory.json")
    assert read(run, "memory.json.gz") == [times, sizes]
    assert times == sorted(times)
    assert {len(row) for row in sizes} == {9}
    assert {row[0] for row in sizes} == {0}
    parameters = 4 * (16 * 32 + 32 + 32 * 4 + 4)
    assert {row[1] for row in sizes} == {parameters}
    counts = 0 if native else 4 * 4
    assert {row[2] for row in sizes} == {2 * parameters + counts}, "two moments; in the sink step counts as well"
    assert max(row[6] for row in sizes) == parameters, "gradients"
    events = read(run, "memory.raw.json.gz")
    assert {len(event) for event in events} == {4}
    assert {action for _, action, _, _ in events} == {0, 1, 2, 3}
    assert all((time == -1) == (action == 0) for time, action, _, _ in events)
    assert sum(size for _, _, size, _ in events) == sum(sizes[-1])
    operators = run.output("all").operators()
    begin_ns, end_ns = (choose(span(event)[side] for event in operators) for side, choose in enumerate((min, max)))
    assert begin_ns // 1000 <= times[0] <= times[-1] <= end_ns // 1000, "on the timeline of the trace"
    page = run.folder / "memory.html"
    if page.exists():
        assert "data:image/png;base64,iVBOR" in page.read_text(encoding="utf-8")
    else:
        assert ("ERROR", "matplotlib.pyplot was not found.") in run.section("exports")


def test_what_an_export_says(run: Any) -> None:
    said = [line for line in run.section("exports") if "matplotlib" not in line[1]]
    assert said == [
        ("WARNING", "Input file is not log file. Change to log file."),
        (
            "WARNING",
            PRESUMED,
        ),
        (
            "ERROR",
            f"{REFUSED}: {run.folder / 'stacks'}",
        ),
        ("ERROR", "No memory timeline data."),
        ("ERROR", "tpu:0 is not in a valid format."),
    ]
    assert run.section("modules")[-2:] == [
        ("WARNING", "Function export_stacks() requires with_stack=True."),
        ("WARNING", "record_shapes=True, profile_memory=True required for memory profiling."),
    ]
    assert ("WARNING", "Invalid profiling path.") in run.section("unused")
    assert not list(run.folder.glob("none.*"))


@pytest.mark.parametrize("name", ["all", "modules", "plain"])
def test_python_frames_with_stacks_or_modules(run: Any, name: str) -> None:
    output = run.output(name)
    found = frames(output)
    assert len({event["tid"] for event in found}) <= 1, "threads that only wait are not shown"
    assert bool(found) == (name != "plain")
    assert (output.path / "FRAMEWORK/torch.python_tracer_func").is_file() == bool(found)
    modules = [event["name"] for event in found if event["name"].startswith("nn.Module: ")]
    assert Counter(modules) == Counter(
        ["nn.Module: Sequential_0", "nn.Module: Linear_0", "nn.Module: ReLU_0", "nn.Module: Linear_1"] if found else []
    )
    assert not any("drynpu_torch" in event["name"] for event in found)
    with_stack = {bool(row["Call Stack"]) for row in output.rows("operator_details.csv")}
    assert (True in with_stack) == (name == "all")
    if not found:
        return
    spans = {event["args"]["Python id"]: span(event) for event in found}
    parents = [(event["args"]["Python id"], event["args"]["Python parent id"]) for event in found]
    inner = [(spans[own], spans[parent]) for own, parent in parents if parent in spans and parent != own]
    assert len(inner) > 20
    assert all(outer[0] <= own[0] and own[1] <= outer[1] for own, outer in inner)
    linear = next(event for event in found if event["name"] == "nn.Module: Linear_0")
    addmm = next(event for event in output.operators() if event["name"] == "aten::addmm")
    assert span(linear)[0] <= span(addmm)[0] <= span(addmm)[1] <= span(linear)[1]


def test_garbage_collections_above_the_threshold(run: Any) -> None:
    found = collections(run.output("all"))
    assert len(found) >= 1
    assert run.output("all").layers["Python GC"] == found[0]["pid"]
    assert all(before[1] <= after[0] for before, after in pairwise(sorted(map(span, found))))
    assert collections(run.output("plain")) == []
    assert collections(run.output("modules")) == []


def test_child_threads_are_reported_while_they_want_it(run: Any) -> None:
    threads = json.loads(re.search(r"^threads (.*)$", run.stdout, re.MULTILINE)[1])  # type: ignore[index]
    shown = [(e["name"], e["tid"]) for e in run.output("child").operators() if e["name"].startswith("aten::exp")]
    assert shown == [("aten::exp2", threads[1])]
    kernels = [row["Name"].split("_")[0] for row in run.output("child").rows("kernel_details.csv")]
    launched = [name for name in kernels if name.startswith("aclnnExp")]
    assert launched == ["aclnnExp", "aclnnExp2", "aclnnExpm1"], "kernels are on the device in any case"
    (message,) = {text for _, text in run.section("child") if "child_thread" in text}
    assert message == "record_shapes in enable_profiler_in_child_thread is not bool, reset it to False."


def test_a_profiler_may_run_in_a_child_thread(run: Any) -> None:
    names = Counter(event["name"] for event in run.output("in_child").operators())
    assert (names["ProfilerStep#1"], names["aten::addmm"]) == (1, 2)
    assert run.output("in_child").rows("kernel_details.csv")


def test_a_daemonic_process_records_and_does_not_parse(run: Any) -> None:
    output = run.output("daemon")
    assert (output.path / "profiler_info.json").is_file()
    assert not output.folder.exists()
    (message,) = (message for severity, message in run.section("daemon") if severity == "ERROR")
    assert message.startswith("The profiling data cannot be parsed during the daemon process, it is recommended")


@pytest.mark.skipif(shutil.which("perl") is None, reason="the expression is Perl's")
def test_flamegraph_reads_every_line(run: Any) -> None:
    # How flamegraph.pl takes a line apart.
    program = "while (<>) { chomp; /^(.*)\\s+?(\\d+(?:\\.\\d*)?)$/ or die $_; $sum += $2 } print $sum"
    path = run.folder / "stacks/cpu.log"
    done = subprocess.run(["perl", "-e", program, str(path)], capture_output=True, text=True, check=True)
    lines = path.read_text(encoding="utf-8").split("\n")
    assert int(done.stdout) == sum(int(line.rpartition(" ")[2]) for line in lines)
