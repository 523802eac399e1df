"""
What our profiler costs beside ``torch.profiler`` on the same training loops, and what drynpu costs without a profiler.

``python benchmarks/bench_profiler.py [rounds]``. Two processes take turns, one at work at a time: plain PyTorch with
``torch.profiler``, and PyTorch with ``torch_npu`` of drynpu on device ``npu``. Each round goes through all states of
both, in turn from either end. A ratio is the median over the rounds of what was measured in the same round, so that a
busy minute of the machine meets both sides. Absolute values, medians of the rounds, are printed for scale. One thread
computes, and steps are measured in processor time, which other programs disturb less; from ``stop()`` to the files it
is the time that passes.

A recording goes to ``tensorboard_trace_handler``. ``torch.profiler`` leaves one JSON trace; ours simulates a device and
leaves raw records, tables and a trace of both sides. Memory is the peak of the resident set above what the process held
before, in its first recording, the loading of libraries included (Linux only).
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

STEPS = 30
STATES = {
    "torch.profiler": ("plain", "waiting", "recording"),
    "torch_npu.profiler": ("plain", "waiting", "recording"),
}
DEVICES = {"torch.profiler": "cpu", "torch_npu.profiler": "npu"}
MODELS = ("mlp", "cnn", "transformer")

Step = Callable[[], None]
Result = dict[str, float]


def make_step(name: str, device: str) -> Step:
    """Return a training step of the model of that name."""
    import torch
    from torch import nn

    model: nn.Module
    if name == "mlp":
        layers = [nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)]
        model, inputs = nn.Sequential(*layers), torch.randn(128, 64)
    elif name == "cnn":
        layers = [
            nn.Conv2d(3, 16, 3),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(3600, 10),
        ]
        model, inputs = nn.Sequential(*layers), torch.randn(16, 3, 32, 32)
    else:
        block = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        layers = [nn.TransformerEncoder(block, 2, enable_nested_tensor=False), nn.Flatten(), nn.Linear(32 * 64, 10)]
        model, inputs = nn.Sequential(*layers), torch.randn(8, 32, 64)
    model, inputs = model.to(device), inputs.to(device)
    targets = torch.randint(0, 10, (len(inputs),)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()

    return step


def run_steps(step: Step, after: Callable[[], None] = lambda: None) -> float:
    """Return the median processor time of a step in ms, what the profiler does at its end included."""
    times = []
    for _ in range(STEPS):
        begin = time.process_time()
        step()
        after()
        times.append(time.process_time() - begin)
    return statistics.median(times) * 1e3


def measure(profiler: Any, step: Step, state: str) -> Result:
    """Return what one stretch of steps costs in that state."""
    if state == "plain":
        return {"step_ms": run_steps(step)}
    wait = 10**9 if state == "waiting" else 0
    before_mb = reset_peak_mb()
    with tempfile.TemporaryDirectory() as directory, silence():
        prof = profiler.profile(
            # One step more than is run, so that the recording ends in stop().
            schedule=profiler.schedule(wait=wait, warmup=1, active=STEPS + 1, repeat=1),
            on_trace_ready=profiler.tensorboard_trace_handler(directory),
            record_shapes=True,
        )
        prof.start()
        step()
        prof.step()
        result = {"step_ms": run_steps(step, prof.step)}
        begin = time.perf_counter()
        prof.stop()
        if state == "recording":
            result["files_s"] = time.perf_counter() - begin
            result["peak_mb"] = peak_mb() - before_mb
            written = [path.stat().st_size for path in Path(directory).rglob("*") if path.is_file()]
            result["written_mb"] = sum(written) / 1e6
    return result


@contextlib.contextmanager
def silence() -> Iterator[None]:
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):  # noqa: PTH123 - a device, no path
        yield


def reset_peak_mb() -> float:
    """Forget the peak of the resident set, and return the set's size now; NaN where that is not to be had."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return float("nan")
    return peak_mb()


def peak_mb() -> float:
    """Return the peak of the resident set since it was last forgotten."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines())
    return int(status["VmHWM"].split()[0]) * 1024 / 1e6


def work(name: str) -> None:
    """Answer requests ``model state`` on stdin, one JSON document a line, until there are none."""
    import torch

    profiler = importlib.import_module(name)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    steps: dict[str, Step] = {}
    for line in sys.stdin:
        model, state = line.split()
        if model not in steps:
            steps[model] = make_step(model, DEVICES[name])
            run_steps(steps[model])
        print(json.dumps(measure(profiler, steps[model], state)), file=answers, flush=True)


class Worker:
    """A process that measures under one of the profilers."""

    def __init__(self, name: str) -> None:
        environment = {**os.environ, "DRYNPU_QUIET": "1", "KINETO_LOG_LEVEL": "99", "RANK": "0"}
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", __file__, "--work", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def ask(self, model: str, state: str) -> Result:
        """Have one stretch of steps measured."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(model, state, file=self._process.stdin, flush=True)
        result: Result = json.loads(self._process.stdout.readline())
        return result

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def ratio(times: list[float], bases: list[float]) -> float:
    """Return the median ratio of what was measured in the same round."""
    return statistics.median(time / base for time, base in zip(times, bases, strict=True))


def report(model: str, found: dict[tuple[str, str, str], list[float]]) -> None:
    """Print medians, and ours as a multiple of what it is compared with."""
    theirs, ours = STATES

    def line(title: str, unit: str, key: tuple[str, str, str], *bases: tuple[str, str, str]) -> None:
        median = statistics.median(found[key])
        ratios = "".join(f"{ratio(found[key], found[base]):8.2f} x" for base in bases)
        print(f"  {title:44} {median:9.2f} {unit:2} ({min(found[key]):.2f}-{max(found[key]):.2f}){ratios}")

    plain = (theirs, "plain", "step_ms")
    print(f"{model}: ratios to plain torch, and to torch.profiler where it does the same")
    line("step, plain torch", "ms", plain)
    line("step, drynpu without profiler", "ms", (ours, "plain", "step_ms"), plain)
    for state in ("waiting", "recording"):
        beside = (theirs, state, "step_ms")
        line(f"step, torch.profiler {state}", "ms", beside, plain)
        line(f"step, drynpu {state}", "ms", (ours, state, "step_ms"), plain, beside)
    for title, unit, key in (
        ("stop to files", "s", "files_s"),
        ("written", "MB", "written_mb"),
        ("peak memory", "MB", "peak_mb"),
    ):
        beside = (theirs, "recording", key)
        line(f"{title}, torch.profiler", unit, beside)
        line(f"{title}, drynpu", unit, (ours, "recording", key), beside)


def main() -> None:
    """Measure in turn and print."""
    if "--work" in sys.argv:
        work(sys.argv[-1])
        return
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    for model in MODELS:  # with new processes each, because memory that a process has held before hides a peak
        workers = {name: Worker(name) for name in STATES}
        found: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        try:
            for number in range(rounds):
                for name, states in list(STATES.items())[:: -1 if number % 2 else 1]:
                    for state in states:
                        for key, value in workers[name].ask(model, state).items():
                            if key != "peak_mb" or number == 0:
                                found[name, state, key].append(value)
        finally:
            for worker in workers.values():
                worker.close()
        report(model, found)


if __name__ == "__main__":
    main()
