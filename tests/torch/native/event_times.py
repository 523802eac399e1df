"""
Time work by events outside and beside recordings; ``python event_times.py CASE [torch]`` prints what the tests expect.

With ``torch`` the events are PyTorch's own.
"""

from __future__ import annotations

import csv
import functools
import gc
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import torch_npu
from torch.profiler import ProfilerActivity, profile

from drynpu_torch.device import state

Event = functools.partial(torch.Event, "npu") if sys.argv[2:] == ["torch"] else torch.npu.Event


def new_events(count: int = 2) -> list[Any]:
    return [Event(enable_timing=True) for _ in range(count)]


def timed(work: Any) -> float:
    begin, end = new_events()
    begin.record()
    work()
    end.record()
    torch.npu.synchronize()
    elapsed_ms = begin.elapsed_time(end)
    assert elapsed_ms == begin.elapsed_time(end), "the answer stays the same"
    return elapsed_ms


def options() -> object:
    """Return times of the same work: without a profile, in profiles with each option, beside and after them."""
    model, x = torch.nn.Linear(64, 64).npu(), torch.ones(8, 64).npu()

    def work() -> None:
        for _ in range(3):
            model(x).sum().backward()

    work()  # the first backward pass makes the gradients
    times = {"alone": [timed(work)]}
    flags = ("record_shapes", "profile_memory", "with_stack", "with_modules")
    for chosen in ((), *((flag,) for flag in flags), flags):
        handler = torch_npu.profiler.tensorboard_trace_handler(tempfile.mkdtemp())
        schedule = torch_npu.profiler.schedule(wait=1, warmup=1, active=3, repeat=1)
        with torch_npu.profiler.profile(
            on_trace_ready=handler, schedule=schedule, **dict.fromkeys(chosen, True)
        ) as prof:
            times["+".join(chosen)] = steps = []
            for _ in range(6):
                steps.append(timed(work))
                prof.step()
    with profile(activities=[ProfilerActivity.CPU], with_stack=True):
        times["torch.profiler"] = [timed(work)]
    begin, end = new_events()
    with torch_npu.profiler.profile(on_trace_ready=handler):
        begin.record()
        work()
        end.record()
    times["asked after the profile"] = [begin.elapsed_time(end)]
    recorded = (end.recorded_time() - begin.recorded_time()) / 1e3 if Event is torch.npu.Event else None
    return times, recorded


def untouched() -> object:
    """Return kernels, steps and memory of a profile in which no times are asked for, and of one in which they are."""
    model, x = torch.nn.Linear(64, 64).npu(), torch.ones(8, 64).npu()

    def work() -> None:
        model(x).sum().backward()

    work()
    results = []
    for asks in (False, True):
        target = Path(tempfile.mkdtemp())
        with torch_npu.profiler.profile(
            on_trace_ready=torch_npu.profiler.tensorboard_trace_handler(str(target)),
            schedule=torch_npu.profiler.schedule(wait=0, warmup=0, active=3, repeat=1),
            **dict.fromkeys(("record_shapes", "profile_memory", "with_stack"), True),
        ) as prof:
            for _ in range(3):
                timed(work) if asks else work()
                prof.step()
        prof.export_memory_timeline(str(target / "memory.json"))
        _, sizes = json.loads((target / "memory.json").read_text())
        rows = []
        for name in ("kernel_details.csv", "step_trace_time.csv"):
            (table,) = target.rglob(name)
            with table.open() as file:
                rows.append([row.get("Name", row.get("Computing")) for row in csv.DictReader(file)])
        results.append([*rows, max(map(sum, sizes)), sum(sizes[-1])])
    return results


def profiled() -> object:
    """Return the time of large products between events, and of the kernels of the same products in a profile, in ms."""
    x = torch.ones(4096, 4096, dtype=torch.bfloat16, device="npu")

    def work() -> None:
        for _ in range(12):
            x @ x

    elapsed_ms = [timed(work) for _ in range(2)]
    target = tempfile.mkdtemp()
    with torch_npu.profiler.profile(on_trace_ready=torch_npu.profiler.tensorboard_trace_handler(target)):
        inside_ms = timed(work)
    (table,) = Path(target).rglob("kernel_details.csv")
    with table.open() as file:
        kernels = [float(row["Duration(us)"]) / 1e3 for row in csv.DictReader(file)]
    return elapsed_ms, inside_ms, sum(kernels), timed(work)


def launched() -> object:
    """Return the times of 10 and of 100 small operators, which the host's launches bound."""
    x = torch.ones(8, device="npu")
    return [timed(lambda count=count: [x + 1 for _ in range(count)]) for count in (10, 100, 100)]


def streams() -> object:
    """Return when work of another stream and when work of the default stream is done, from one begin."""
    x = torch.ones(4096, 4096, dtype=torch.bfloat16, device="npu")
    begin, here, there = new_events(3)
    side = torch.npu.Stream()
    begin.record()
    with torch.npu.stream(side):
        for _ in range(9):
            x @ x
        there.record()
    x @ x
    here.record()
    torch.npu.synchronize()
    return begin.elapsed_time(here), begin.elapsed_time(there)


def stretches() -> object:
    """Return times from one begin to events of three stretches, and the pause before the last."""
    x = torch.ones(2048, 2048, dtype=torch.bfloat16, device="npu")
    begin, *ends = new_events(4)
    begin.record()
    found = []
    for number, end in enumerate(ends):
        x @ x
        before = time.perf_counter()
        if number == 2:
            time.sleep(0.3)
        paused_ms = (time.perf_counter() - before) * 1e3
        end.record()
        found.append(begin.elapsed_time(end))
    return found, paused_ms


def beside_torch_profiler() -> object:
    """Return a time while PyTorch's profiler runs, one after it, and how many operators that has seen."""
    x = torch.ones(8, device="npu")

    def work() -> None:
        x + 1
        time.sleep(0.03)

    with profile(activities=[ProfilerActivity.CPU]) as found:
        inside_ms = timed(work)
    return inside_ms, timed(work), sum(event.key == "aten::add" for event in found.key_averages())


def forgotten() -> object:
    """Return what the timer keeps of events that are gone, and whether anything records."""
    x = torch.ones(8, device="npu")
    for _ in range(20):
        timed(lambda: x + 1)
    gc.collect()
    timer = state().timer
    return (
        len(timer._line._times_ns),
        len(timer._line.pending),
        state().recorder is not None,
        state().library.is_recording,
    )


def forked() -> object:
    """Return the exit status of a child that asks for the time of events of its parent, and the parent's time."""
    x = torch.ones(8, device="npu")
    begin, end = new_events()
    begin.record()
    x + 1
    end.record()
    child = os.fork()
    if not child:
        os._exit(0 if 0 <= begin.elapsed_time(end) < 10_000 else 1)
    _, status = os.waitpid(child, 0)
    return status, begin.elapsed_time(end)


CASES = {
    case.__name__: case
    for case in (options, untouched, profiled, launched, streams, stretches, beside_torch_profiler, forgotten, forked)
}
if __name__ == "__main__":
    print(json.dumps(CASES[sys.argv[1]]()))
