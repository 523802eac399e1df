"""
What our profiler costs beside ``torch.profiler`` on the same training loops, and what drynpu costs without a profiler.

``python benchmarks/bench_profiler.py [--with stack|modules|memory] [rounds]``. Two processes take turns, one at work at
a time: plain PyTorch with ``torch.profiler``, and PyTorch with ``torch_npu`` of drynpu on device ``npu``. A round goes
through the states plain, waiting and recording; in each state one process is measured right after the other, who is
first changes from round to round. A ratio is the median over the rounds of what was measured in the same round, so that
a busy minute of the machine meets both sides; its range over the rounds is printed with it. Every second round has new
processes. One thread computes.

Processor time counts all threads of the process and of its children: other programs disturb it less than the time
that passes, which is what a user waits. A recording has shapes and goes to ``tensorboard_trace_handler``, all else is
default; with ``--with`` it has stacks or modules instead, or shapes, memory and stacks together. ``torch.profiler``
leaves one JSON trace; ours simulates a device, leaves its raw records, reads them back and leaves tables and a trace of
both sides. What is compared:

- ``step``: the median step, with what the profiler does at its end.
- ``recording``: all of it from ``start()`` to the files, by step. What is cut off a long recording at the end of a
  step, and so missed by the median step and by ``stop()``, is in here.
- ``stop``: from ``stop()`` to the files, in the first recording of a process and in later ones.
- ``tables``: the same with the sums by operator that our files hold already and for which ``torch.profiler`` has
  ``key_averages()``.
- ``memory``: the peak of the resident set above what the process held before its first recording (Linux only).
  Libraries that a profiler loads or touches first in it are included; what the import of ``torch_npu`` adds is not, so
  what the processes held before is printed as well.
"""

from __future__ import annotations

import argparse
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

from ratios import record_ratio

STEPS = 30
STATES = ("plain", "waiting", "recording")
DEVICES = {"torch.profiler": "cpu", "torch_npu.profiler": "npu"}
MODELS = ("mlp", "cnn", "transformer")
OPTIONS = {
    "shapes": ("record_shapes",),
    "stack": ("with_stack",),
    "modules": ("with_modules",),
    "memory": ("record_shapes", "profile_memory", "with_stack"),
}
"""What is recorded, by the argument ``--with``."""

Step = Callable[[], None]
Result = dict[str, float]
Key = tuple[str, str, str]
"""Profiler, state, what was measured."""
Found = dict[Key, list[float]]


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


def measure(profiler: Any, step: Step, state: str, options: tuple[str, ...]) -> Result:
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
            **dict.fromkeys(options, True),
        )
        prof.start()
        step()
        prof.step()
        begun = processor_s()
        result = {"step_ms": run_steps(step, prof.step)}
        at_stop, begin = processor_s(), time.perf_counter()
        prof.stop()
        if state == "recording":
            result["stop_s"] = time.perf_counter() - begin
            result["stop_processor_s"] = processor_s() - at_stop
            result["recording_ms"] = (processor_s() - begun) / STEPS * 1e3
            sums = getattr(prof, "key_averages", None)
            if sums is not None:
                sums()
            result["tables_processor_s"] = processor_s() - at_stop
            result["before_mb"] = before_mb
            result["peak_mb"] = peak_mb() - before_mb
            written = [path.stat().st_size for path in Path(directory).rglob("*") if path.is_file()]
            result["written_mb"] = sum(written) / 1e6
    return result


def processor_s() -> float:
    """Return the processor time of this process, all of its threads and its children that have ended."""
    used = os.times()
    return time.process_time() + used.children_user + used.children_system


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


def work(name: str, options: tuple[str, ...]) -> None:
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
        print(json.dumps(measure(profiler, steps[model], state, options)), file=answers, flush=True)


class Worker:
    """A process that measures under one of the profilers."""

    def __init__(self, name: str, recorded: str, python: str = sys.executable) -> None:
        environment = {**os.environ, "DRYNPU_QUIET": "1", "KINETO_LOG_LEVEL": "99", "RANK": "0"}
        self._process = subprocess.Popen(
            [python, "-W", "ignore", __file__, "--work", recorded, name],
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


def line(model: str, title: str, unit: str, measurements: Found, key: Key, *bases: Key) -> None:
    """Print a median and its ratios, each with its range."""
    ratios = ""
    for base in bases:
        each = [value / other for value, other in zip(measurements[key], measurements[base], strict=True)]
        record_ratio(f"{model}: {title} / {' '.join(base[:2])}", each)
        ratios += f"  {statistics.median(each):6.2f} ({min(each):.2f}-{max(each):.2f})"
    print(f"  {title:46} {statistics.median(measurements[key]):9.2f} {unit:2}{ratios}")


def report(model: str, measurements: Found) -> None:
    """Print medians, and ours as a multiple of what it is compared with."""
    theirs, ours = DEVICES
    plain = (theirs, "plain", "step_ms")
    print(f"{model}: beside plain torch, then beside torch.profiler doing the same; processor time, {STEPS} steps")
    line(model, "step, plain torch", "ms", measurements, plain)
    line(model, "step, drynpu without profiler", "ms", measurements, (ours, "plain", "step_ms"), plain)
    for state in ("waiting", "recording"):
        beside = (theirs, state, "step_ms")
        line(model, f"step, torch.profiler {state}", "ms", measurements, beside, plain)
        line(model, f"step, drynpu {state}", "ms", measurements, (ours, state, "step_ms"), plain, beside)
    for title, unit, key in (
        ("recording to the files by step,", "ms", "recording_ms"),
        ("stop to files, processor time,", "s", "stop_processor_s"),
        ("the same, first of a process,", "s", "first stop_processor_s"),
        ("the same with sums by operator,", "s", "tables_processor_s"),
        ("stop to files, time that passes,", "s", "stop_s"),
        ("the same, first of a process,", "s", "first stop_s"),
        ("written,", "MB", "written_mb"),
        ("held before the first recording,", "MB", "first before_mb"),
        ("memory of the first recording,", "MB", "first peak_mb"),
    ):
        for name, bases in ((theirs, ()), (ours, ((theirs, "recording", key),))):
            if measurements[name, "recording", key]:
                who = "torch.profiler" if name == theirs else "drynpu"
                line(model, f"{title} {who}", unit, measurements, (name, "recording", key), *bases)


def rounds_of(model: str, recorded: str, rounds: int, measurements: Found) -> None:
    """Measure *model* in a pair of new processes and add to *measurements*; a first recording has keys of its own."""
    workers = {name: Worker(name, recorded) for name in DEVICES}
    try:
        for number in range(rounds):
            for state in STATES:
                for name in list(workers)[:: -1 if number % 2 else 1]:
                    for key, value in workers[name].ask(model, state).items():
                        apart = number == 0 and state == "recording" and key not in ("step_ms", "written_mb")
                        if number == 0 or key not in ("before_mb", "peak_mb"):
                            measurements[name, state, f"first {key}" if apart else key].append(value)
    finally:
        for worker in workers.values():
            worker.close()


def main() -> None:
    """Measure in turn and print."""
    if "--work" in sys.argv:
        work(sys.argv[-1], OPTIONS[sys.argv[-2]])
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("--with", dest="recorded", choices=OPTIONS, default="shapes")
    parser.add_argument("rounds", type=int, nargs="?", default=4)
    options = parser.parse_args()
    rounds = options.rounds
    for model in MODELS:
        measurements: Found = defaultdict(list)
        for _ in range(max(rounds // 2, 1)):
            rounds_of(model, options.recorded, min(rounds, 2), measurements)
        report(model, measurements)


if __name__ == "__main__":
    main()
