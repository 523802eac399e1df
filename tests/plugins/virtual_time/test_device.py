"""The simulated device of PyTorch on the virtual clock."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from tests.busy_loops import busy_loops

RunScript = Callable[..., Any]

_HEAD = """
import json, threading, time
import torch, torch_npu
x = torch.ones(2048, 2048, dtype=torch.half, device="npu")
time.monotonic(); torch.npu.synchronize()
begin = time.monotonic()
def now(): return (time.monotonic() - begin) * 1e6
"""


def test_the_host_pays_its_dispatches_and_waits_for_the_device(run_virtual: RunScript) -> None:
    issued, done, elapsed_ms, behind = run_virtual(
        _HEAD
        + """
first, last = (torch.npu.Event(enable_timing=True) for _ in range(2))
first.record()
for _ in range(100): y = (x @ x) @ x
last.record()
issued = now()
torch.npu.synchronize()
print(json.dumps([issued, now(), first.elapsed_time(last), (y.device.type, now())[1]]))
""",
        "--no-compute",
    )
    # 200 calls at 10 us of Python, 28 of the binding, 12 for a workspace and 3.1 for the queue.
    assert issued == pytest.approx(200 * 53.1, rel=0.25)
    assert done > issued
    assert 0.5 * done < elapsed_ms * 1000 < done
    assert behind == pytest.approx(done, abs=1)


@pytest.mark.slow
def test_streams_stay_busy_from_one_look_at_the_clock_to_the_next(run_virtual: RunScript) -> None:
    looked, whole = run_virtual(
        _HEAD
        + """
big = torch.ones(8192, 8192, dtype=torch.half, device="npu")
def lap(looks):
    start = now()
    for _ in range(20):
        big @ big
        if looks: time.monotonic()
    torch.npu.synchronize()
    return now() - start
print(json.dumps([lap(True), lap(False)]))
""",
        "--no-compute",
    )
    # A device that forgot its queue at each look would be done with the last product alone. Jitter is 4 % of each.
    assert looked == pytest.approx(whole, rel=0.05)


@pytest.mark.slow
def test_other_threads_run_while_one_waits_for_the_device(run_virtual: RunScript) -> None:
    times = run_virtual(
        _HEAD
        + """
log = []
def other():
    for _ in range(5): time.sleep(0.001); log.append(["other", now()])
thread = threading.Thread(target=other); thread.start()
for _ in range(100): x @ x
torch.npu.synchronize(); log.append(["main", now()])
thread.join()
print(json.dumps(log))
""",
        "--no-compute",
    )
    assert [name for name, _ in times] == ["other"] * 5 + ["main"]
    assert [time_us for name, time_us in times if name == "other"] == pytest.approx([1e3, 2e3, 3e3, 4e3, 5e3], abs=10)


_STEPS = (
    _HEAD
    + """
import asyncio
layer = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 8)).npu()
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
log = []
def step():
    layer(torch.ones(4, 64, device="npu")).square().mean().backward()
    optimizer.step(); optimizer.zero_grad(); torch.npu.synchronize()
async def main():
    for _ in range(5):
        await asyncio.sleep(0.01); step(); log.append(repr(time.perf_counter()))
asyncio.run(main())
print(json.dumps(log))
"""
)


@pytest.mark.slow
def test_two_runs_are_equal_to_the_last_digit_also_under_four_busy_loops(run_virtual: RunScript) -> None:
    calm = run_virtual(_STEPS)
    with busy_loops(4):
        busy = run_virtual(_STEPS)
    assert busy == calm


@pytest.mark.slow
def test_another_seed_has_other_times(run_virtual: RunScript) -> None:
    assert run_virtual(_STEPS, "--seed", "1") != run_virtual(_STEPS)


def test_a_profiler_takes_over_and_the_clock_goes_on(run_virtual: RunScript) -> None:
    before, inside, after = run_virtual(
        _HEAD
        + """
def lap():
    start = now()
    for _ in range(50): x @ x
    torch.npu.synchronize()
    return now() - start
before = lap()
with torch_npu.profiler.profile(on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("out")):
    inside = lap()
print(json.dumps([before, inside, lap()]))
""",
        "--no-compute",
    )
    assert [inside, after] == pytest.approx([before, before], rel=0.1)


def test_without_the_plugin_one_line_says_so() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "drynpu", "run", "--time", "virtual", __file__],
        env={**os.environ, "DRYNPU_PLUGINS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "'--time virtual' is served by the plugin 'virtual_time', which is off" in done.stderr


@pytest.mark.slow
def test_a_script_can_take_time_and_ask_what_kernels_took(run_virtual: RunScript) -> None:
    passed_us, kernels = run_virtual(
        _HEAD
        + """
from drynpu_virtual_time.start import virtual_clock
clock = virtual_clock()
start = now(); clock.spend(5_000_000); passed = now() - start
before = clock.kernel_ns(); x @ x; after = clock.kernel_ns()
print(json.dumps([passed, {kind: ns for kind, ns in after.items() if ns != before.get(kind)}]))
""",
        "--no-compute",
    )
    assert passed_us == pytest.approx(5000, abs=1)
    assert list(kernels) == ["MatMulV3"]
    assert kernels["MatMulV3"] > 2 * 2048**3 / 400e3  # no 910B2 has 400 TFLOP/s
