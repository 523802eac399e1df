"""
What a recording costs: training steps while operators are recorded, and the work from its end to its files.

``python benchmarks/bench_capture.py [rounds]``. Plain and recorded stretches of steps alternate; a ratio divides
the medians of single steps. The work afterwards is split by stage and divided by the number of operators
recorded. All of it is processor time, of all threads, which other programs disturb less than the time that passes. One
thread computes: with several, a busy machine measures how they wait for each other. Ratios compare runs on one machine;
the absolute times are printed for scale.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from ratios import record_ratio
from torch import nn
from torch_npu import profiler

from drynpu.products import _deliver
from drynpu.recorder import _recording
from drynpu.simulate import _simulate
from drynpu_torch import device
from drynpu_torch.capture import ColumnTracer, KinetoTracer, _capture, _kineto

EXAMPLE = Path(__file__).parents[1] / "examples" / "torch" / "train_gpt.py"
WARM_UP, RECORDED = 3, 20

JOIN = "join, signatures"
BY_RECORDER = (("recorder stop", ColumnTracer, "stop"),)
BY_KINETO = (("Kineto stop", _kineto, "_disable_profiler"), ("getters to columns", KinetoTracer, "_columns"))
STAGES: tuple[tuple[str, Any, str], ...] = (
    *(BY_KINETO if device.state().library is None else BY_RECORDER),
    (JOIN, _capture, "_join"),
    ("lower", _simulate, "lower"),
    ("order", _simulate, "order"),
    ("meet", _simulate, "meet"),
    ("schedule", _simulate, "schedule"),
    ("memory", _simulate, "add_memory"),
    ("write FRAMEWORK", _recording, "write_framework_data"),
    ("write PROF", _recording, "write_prof"),
    ("load tables", _deliver, "load_profile"),
    ("export msprof", _deliver, "export_msprof"),
    ("export torch", _deliver, "export_result"),
)


@contextlib.contextmanager
def stopwatch(spent: dict[str, float], operators: list[int]) -> Iterator[None]:
    """Add the time inside each stage to *spent*, in seconds, and the size of each recording to *operators*."""
    originals = [(owner, name, getattr(owner, name)) for _, owner, name in STAGES]
    for (title, owner, name), (_, _, original) in zip(STAGES, originals, strict=True):
        setattr(owner, name, timed(original, spent, title))
    joined = _capture._join

    def counting(*arguments: Any) -> Any:
        captured = joined(*arguments)
        operators.append(len(captured.operators))
        return captured

    _capture._join = counting
    try:
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)


def timed(function: Callable[..., Any], spent: dict[str, float], title: str) -> Callable[..., Any]:
    def wrapper(*arguments: Any, **keywords: Any) -> Any:
        begin = time.process_time()
        try:
            return function(*arguments, **keywords)
        finally:
            spent[title] += time.process_time() - begin

    return wrapper


def mlp() -> Callable[[], None]:
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)).npu()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs, targets = torch.randn(128, 64).npu(), torch.randint(0, 10, (128,)).npu()

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()

    return step


def gpt() -> Callable[[], None]:
    spec = importlib.util.spec_from_file_location("train_gpt", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    model = example.GPT().npu()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens = torch.randint(0, example.VOCABULARY, (example.BATCH, example.CONTEXT)).npu()

    def step() -> None:
        optimizer.zero_grad()
        model(tokens, tokens).backward()
        optimizer.step()

    return step


def run_steps(step: Callable[[], None], after: Callable[[], None]) -> list[float]:
    times = []
    for _ in range(RECORDED):
        begin = time.process_time()
        step()
        times.append(time.process_time() - begin)
        after()
    return times


def record(step: Callable[[], None], spent: dict[str, float], operators: list[int]) -> list[float]:
    """Return the times of the recorded steps."""
    # By default the toolkit's own files, which would be removed at the end, are not written at all.
    config = profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1, data_simplification=False)
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing), stopwatch(spent, operators):  # noqa: PTH123
        prof = profiler.profile(
            schedule=profiler.schedule(wait=0, warmup=1, active=RECORDED, repeat=1),
            on_trace_ready=profiler.tensorboard_trace_handler("."),
            record_shapes=True,
            experimental_config=config,
        )
        prof.start()
        step()
        prof.step()
        times = run_steps(step, prof.step)
        prof.stop()
    return times


def measure(title: str, step: Callable[[], None], rounds: int) -> None:
    for _ in range(WARM_UP):
        step()
    record(step, defaultdict(float), [])
    plain, recorded, operators = [], [], []
    spent: dict[str, float] = defaultdict(float)
    for _ in range(rounds):
        plain += run_steps(step, lambda: None)
        recorded += record(step, spent, operators)
    events = sum(operators)
    before, during = statistics.median(plain), statistics.median(recorded)
    print(f"{title}: {events / rounds / RECORDED:.0f} recorded operators a step")
    print(f"  step, plain       {before * 1e3:8.2f} ms")
    print(f"  step, recording   {during * 1e3:8.2f} ms   {during / before:.2f} x")
    record_ratio(f"{title}: step recording / plain", during / before)
    for name, _, _ in STAGES:
        print(f"  {name:18}{spent[name] / events * 1e6:8.2f} us/operator")
    print(f"  {'all of it':18}{sum(spent.values()) / events * 1e6:8.2f} us/operator")


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    os.environ["DRYNPU_QUIET"] = "1"
    torch.manual_seed(0)
    torch.set_num_threads(1)
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        try:
            measure("MLP, SGD", mlp(), rounds)
            measure("GPT of the example, AdamW", gpt(), rounds)
        finally:
            os.chdir(here)


if __name__ == "__main__":
    main()
