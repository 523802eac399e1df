"""
What recording costs by the native device's recorder and by ``torch.profiler``, beside steps without either.

``python benchmarks/bench_recorder.py [rounds]``. Everything runs in one process on the npu. The states take turns,
who is first changes from round to round, and both record shapes and nothing else. The overhead of one is what its steps
take longer than plain ones; a ratio divides the recorder's by ``torch.profiler``'s in the same round, and is the
median over rounds; the last one compares the least values of all rounds. Times are processor time of all threads,
with Python's garbage collector off. One thread computes.
``stop`` is the time from the end of the recording until its operators are there: as columns, or as what
``torch.profiler.profile.stop()`` keeps for ``events()`` and the trace.

The memory of a recorded operator is what the resident set grew by while many were recorded, before and after the stop.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib.util
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch_npu  # noqa: F401 - registers the device
from ratios import record_ratio
from torch import nn

from drynpu_torch.capture import Chunk, ColumnTracer

EXAMPLE = Path(__file__).parents[1] / "examples" / "torch" / "train_gpt.py"
MANY_OPERATORS = 300_000
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h of the GNU C library
KEPT_BYTES = 1 << 30
Step = Callable[[], object]


def tiny(operators: int = 2000, device: str = "npu") -> Step:
    """Return a step of operators on 8 elements each."""
    a = torch.ones(8, device=device)

    def step() -> None:
        for _ in range(operators):
            torch.add(a, a)

    return step


def train(model: nn.Module, loss: Callable[[], torch.Tensor]) -> Step:
    """Return a training step with AdamW, which changes many tensors in one call as it does on a device."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step


def convolutions(device: str = "npu") -> Step:
    """Return a training step of a small convolutional net."""
    layers = [nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(3600, 10)]
    model = nn.Sequential(*layers).to(device)
    images, labels = torch.randn(16, 3, 32, 32).to(device), torch.randint(0, 10, (16,)).to(device)
    return train(model, lambda: nn.functional.cross_entropy(model(images), labels))


def gpt(device: str = "npu") -> Step:
    """Return a training step of the example's GPT."""
    example = load_example()
    model = example.GPT().to(device)
    tokens = torch.randint(0, example.VOCABULARY, (example.BATCH, example.CONTEXT)).to(device)
    return train(model, lambda: model(tokens, tokens))


def load_example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("train_gpt", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    return example


def per_step_us(step: Step, steps: int) -> float:
    """Return the median processor time of a step."""
    times = []
    for _ in range(steps):
        begin = time.process_time()
        step()
        times.append(time.process_time() - begin)
    return statistics.median(times) * 1e6


def by_nothing(step: Step, steps: int) -> tuple[float]:
    """Return us of a plain step."""
    return (per_step_us(step, steps),)


def by_recorder(step: Step, steps: int) -> tuple[float, float, int]:
    """Return us of a recorded step and of the stop, and the number of operators."""
    tracer = ColumnTracer()
    tracer.start()
    spent = per_step_us(step, steps)
    begin = time.process_time()
    chunk = tracer.stop()
    return spent, (time.process_time() - begin) * 1e6, len(chunk.name)


def by_torch(step: Step, steps: int) -> tuple[float, float]:
    """Return us of a step under ``torch.profiler`` and of its stop."""
    profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True)
    profiler.start()
    spent = per_step_us(step, steps)
    begin = time.process_time()
    profiler.stop()
    return spent, (time.process_time() - begin) * 1e6


def compare(title: str, step: Step, steps: int, rounds: int) -> None:
    """Print what recording *step* costs by either."""
    per_step_us(step, 3)
    by_recorder(step, 2)
    by_torch(step, 2)
    rows = []
    for number in range(rounds):
        states: list[Callable[[Step, int], tuple[float, ...]]] = [by_nothing, by_recorder, by_torch]
        times = {}
        for state in states[number % 3 :] + states[: number % 3]:
            gc.collect()
            times[state] = state(step, steps)
        (plain,), (ours, our_stop, operators), (theirs, their_stop) = (times[state] for state in states)
        rows.append((plain, ours, theirs, (ours - plain) / (theirs - plain), our_stop, their_stop, operators))
    plain, ours, theirs, ratio, our_stop, their_stop, operators = map(statistics.median, zip(*rows, strict=True))
    each = operators / steps
    print(f"{title}: {each:.0f} operators a step of {plain:.0f} us")
    print(f"  recorder        {ours / plain:6.3f} x   {(ours - plain) / each:6.3f} us/operator")
    print(f"  torch.profiler  {theirs / plain:6.3f} x   {(theirs - plain) / each:6.3f} us/operator")
    spread = sorted(row[3] for row in rows)
    record_ratio(f"{title}: overhead of the recorder / of torch.profiler", spread)
    record_ratio(f"{title}: stop of the recorder / of torch.profiler", [row[4] / row[5] for row in rows])
    least_plain, least_ours, least_theirs = (min(row[state] for row in rows) for state in range(3))
    least = (least_ours - least_plain) / (least_theirs - least_plain)
    print(f"  overhead, recorder to torch.profiler  {ratio:.2f} ({spread[0]:.2f}-{spread[-1]:.2f}), least {least:.2f}")
    print(
        f"  stop            {our_stop / operators:.3f} us/operator to {their_stop / operators:.3f}, "
        f"{their_stop / our_stop:.0f} times less"
    )


def keep_memory() -> None:
    """
    Let the C library keep memory that is freed.

    Otherwise it gives some back and takes it again in each step of some processes and not of others, whatever the
    device: a thousand page faults, which are half of a step of the convolutional net.
    """
    with contextlib.suppress(AttributeError):
        for threshold in (M_TRIM_THRESHOLD, M_MMAP_THRESHOLD):
            ctypes.CDLL(None).mallopt(threshold, KEPT_BYTES)


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def bytes_of(chunk: Chunk) -> float:
    """Return the bytes of a row in the columns that the capture keeps."""
    arrays: list[Any] = [
        value for value in (getattr(chunk, name) for name in chunk.__slots__) if hasattr(value, "strides")
    ]
    return sum(each.strides[0] for each in arrays if len(each) == len(chunk.name))


def measure_memory() -> None:
    """Print the memory of a recorded operator."""
    step = tiny(MANY_OPERATORS)
    tracer = ColumnTracer()
    tracer.start()
    before = resident_bytes()
    step()
    recorded = resident_bytes() - before
    chunk = tracer.stop()
    kept = resident_bytes() - before
    count = len(chunk.name)
    print(f"memory of an operator, of {count}: {recorded / count:.0f} bytes while recorded, ", end="")
    print(f"{kept / count:.0f} after the stop ({bytes_of(chunk)} in columns)")


def main() -> None:
    """Measure in turn and print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    torch.manual_seed(0)
    torch.set_num_threads(1)
    measure_memory()
    keep_memory()
    gc.disable()
    compare("torch.add of 8 elements", tiny(), 5, rounds)
    compare("small convolutional net", convolutions(), 30, rounds)
    compare("GPT of the example", gpt(), 10, rounds)


if __name__ == "__main__":
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    with contextlib.suppress(BrokenPipeError):
        main()
