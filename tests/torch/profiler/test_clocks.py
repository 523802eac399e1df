"""Both clocks obey cause and effect; the wall clock shows the host as it was measured."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

SCRIPT = """
import time

import torch
import torch_npu
from torch.profiler import record_function
from torch_npu import profiler

weight = torch.nn.Parameter(torch.ones(256, 256, device="npu:0"))
bias = torch.nn.Parameter(torch.ones(256, device="npu:0"))
optimizer = torch.optim.SGD([weight, bias], lr=0.1)


def train_one_step():
    torch.nn.functional.linear(weight, weight, bias).tanh().sum().backward()
    optimizer.step()
    optimizer.zero_grad()


train_one_step()
with profiler.profile(
    schedule=profiler.schedule(wait=0, warmup=1, active=2, repeat=1),
    on_trace_ready=profiler.tensorboard_trace_handler("out"),
    experimental_config=profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1),
    profile_memory=True,
) as prof:
    for step in range(3):
        begin = time.time_ns()
        with record_function("stamped"):
            first = time.time_ns()
            train_one_step()
            time.sleep(0.02)
            last = time.time_ns()
        print("stamps", begin, first, last, time.time_ns())
        prof.step()
"""


@pytest.fixture(scope="module")
def runs(scripts: Any) -> dict[str, Any]:
    clocks = ("projected", "wall")
    found = scripts.together(*(lambda c=clock: scripts(SCRIPT, environment={"DRYNPU_CLOCK": c}) for clock in clocks))
    return dict(zip(clocks, found, strict=True))


def ranges(events: list[dict[str, Any]], ns: Callable[[str], int]) -> list[tuple[int, int]]:
    return [(ns(e["ts"]), ns(e["ts"]) + round(e["dur"] * 1000)) for e in events]


@pytest.mark.parametrize("clock", ["projected", "wall"])
def test_cause_comes_before_effect(runs: dict[str, Any], ns: Callable[[str], int], clock: str, native: bool) -> None:
    output = runs[clock].output("out")
    assert output.document("profiler_metadata.json")["drynpu"]["clock"] == clock
    assert f"Clock: {clock}." in runs[clock].stdout
    flows: dict[tuple[str, Any], dict[str, int]] = defaultdict(dict)
    for event in output.trace:
        if event["ph"] in "sf":
            flows[event["cat"], event["id"]][event["ph"]] = ns(event["ts"])
    # A device has a thread for the backward pass, to which arrows lead from the forward pass.
    expected = {"async_npu", "async_task_queue", "HostToDevice"} | ({"fwdbwd"} if native else set())
    assert {category for category, _ in flows} == expected
    assert all(ends["s"] <= ends["f"] for ends in flows.values())
    calls = sorted(ranges([e for e in output.layer("CANN") if e["args"]["level"] == "runtime"], ns))
    tasks = sorted(ranges(output.layer("Ascend Hardware"), ns))
    assert len(calls) == len(tasks) >= 20
    assert all(task[0] >= call[1] for call, task in zip(calls, tasks, strict=True))
    assert all(later[0] >= earlier[1] for earlier, later in itertools.pairwise(tasks))


@pytest.mark.parametrize("clock", ["projected", "wall"])
def test_tracks_nest(runs: dict[str, Any], ns: Callable[[str], int], clock: str) -> None:
    output = runs[clock].output("out")
    tracks = defaultdict(list)
    for event in output.trace:
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append(event)
    for track, events in tracks.items():
        ends: list[int] = []
        for start, end in sorted(ranges(events, ns), key=lambda r: (r[0], -r[1])):
            while ends and ends[-1] <= start:
                ends.pop()
            assert not ends or end <= ends[-1], track
            ends.append(end)


def test_the_wall_clock_shows_the_measured_host(runs: dict[str, Any], ns: Callable[[str], int]) -> None:
    stamps = [tuple(map(int, line.split()[1:])) for line in runs["wall"].stdout.splitlines() if line[:6] == "stamps"]
    output = runs["wall"].output("out")
    shown = ranges([e for e in output.operators() if e["name"] == "stamped"], ns)
    assert len(shown) == 2
    for (begin, first, last, end), (start, stop) in zip(stamps[1:], shown, strict=True):
        assert begin <= start <= first
        assert last <= stop <= end


def test_the_projected_clock_keeps_the_time_between_operators(runs: dict[str, Any]) -> None:
    output = runs["projected"].output("out")
    for event in (e for e in output.operators() if e["name"] == "stamped"):
        assert event["dur"] >= 20_000  # the sleep is the script's own
    durations = {e["dur"] for e in output.operators() if e["name"] == "aten::tanh"}
    assert len(durations) == 1  # a dispatch, not the CPU's computation


def test_operators_that_only_the_cpu_runs_show_on_the_wall_clock(runs: dict[str, Any]) -> None:
    names = {clock: {e["name"] for e in run.output("out").operators()} for clock, run in runs.items()}
    assert {"aten::addmm", "aten::linear", "aten::t"} <= names["projected"] < names["wall"]
    assert "aten::copy_" in names["wall"] - names["projected"]  # how the CPU begins an addmm


def test_both_clocks_launch_the_same(runs: dict[str, Any]) -> None:
    kernels = {
        clock: [(r["Name"], r["Input Shapes"], r["Duration(us)"]) for r in run.output("out").rows("kernel_details.csv")]
        for clock, run in runs.items()
    }
    assert kernels["projected"] == kernels["wall"]
    steps = {clock: run.output("out").rows("step_trace_time.csv") for clock, run in runs.items()}
    for projected, wall in zip(steps["projected"], steps["wall"], strict=True):
        assert projected["Computing"] == wall["Computing"]
        assert re.fullmatch("[12]", wall["Step"])
