"""
What a profiler costs a training loop: ``prof.step()`` in the waiting state, and one small operator in three states.

``python benchmarks/bench_step.py [rounds]``. The states alternate within each round, and the medians of the rounds are
compared. Ratios compare runs on one machine; the absolute times are printed for scale.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from ratios import record_ratio
from torch_npu import profiler

STEPS, CALLS = 200_000, 20_000
FAR_AWAY = 1_000_000_000


def waiting() -> profiler.profile:
    return make(profiler.schedule(wait=FAR_AWAY, warmup=1, active=1))


def recording() -> profiler.profile:
    return make(profiler.schedule(wait=0, warmup=0, active=FAR_AWAY))


def make(schedule: profiler.schedule) -> profiler.profile:
    config = profiler._ExperimentalConfig(aic_metrics=profiler.AiCMetrics.AiCoreNone)
    return profiler.profile(schedule=schedule, experimental_config=config)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):  # noqa: PTH123 - a device, no path
        yield


def ns_per_step(prof: profiler.profile) -> float:
    begin = time.perf_counter_ns()
    for _ in range(STEPS):
        prof.step()
    return (time.perf_counter_ns() - begin) / STEPS


def ns_per_add(a: torch.Tensor, b: torch.Tensor) -> float:
    begin = time.perf_counter_ns()
    for _ in range(CALLS):
        torch.add(a, b)
    return (time.perf_counter_ns() - begin) / CALLS


def under(factory: Callable[[], profiler.profile], work: Callable[[], float]) -> float:
    with silence():
        prof = factory()
        prof.start()
    try:
        return work()
    finally:
        with silence():
            prof.stop()


def steps_of(rounds: int) -> list[float]:
    with silence():
        prof = waiting()
        prof.start()
    times = [ns_per_step(prof) for _ in range(rounds)]
    with silence():
        prof.stop()
    return times


def row(title: str, times: list[float], base: float | None = None) -> None:
    median = statistics.median(times)
    ratio = "" if base is None else f"{median / base:6.2f} x"
    if base is not None:
        record_ratio(f"{title} / without profiler", [time / base for time in times])
    print(f"{title:34} {median:9.0f} ns {ratio:9} ({min(times):.0f}-{max(times):.0f})")


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    a, b = torch.ones(8), torch.ones(8)
    adds: dict[str, list[float]] = {"none": [], "waiting": [], "recording": []}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)  # results go to the working directory
        try:
            ns_per_add(a, b)
            steps = steps_of(rounds)
            for _ in range(rounds):
                adds["none"].append(ns_per_add(a, b))
                adds["waiting"].append(under(waiting, lambda: ns_per_add(a, b)))
                adds["recording"].append(under(recording, lambda: ns_per_add(a, b)))
        finally:
            os.chdir(here)
    base = statistics.median(adds["none"])
    row("prof.step() while waiting", steps)
    row("torch.add without profiler", adds["none"], base)
    row("torch.add, profiler waiting", adds["waiting"], base)
    row("torch.add, profiler recording", adds["recording"], base)


if __name__ == "__main__":
    main()
