"""
What a step costs on the npu beside the same step on the CPU: what the native device adds to each operator.

``python benchmarks/bench_device.py [rounds]``. Both take turns in one process, nothing is recorded, one thread
computes. A ratio is the median over rounds of measurements in the same round, beside the ratio of the least values.
Times are processor time of all threads, with Python's garbage collector off.
"""

from __future__ import annotations

import contextlib
import gc
import statistics
import sys
from collections.abc import Callable

import torch
from bench_recorder import Step, convolutions, gpt, keep_memory, per_step_us, tiny
from ratios import record_ratio

DEVICES = ("cpu", "npu")


def compare(title: str, make: Callable[[str], Step], steps: int, rounds: int) -> None:
    """Print what a step that *make* returns for a device costs on each."""
    step_by_device = {device: make(device) for device in DEVICES}
    for step in step_by_device.values():
        per_step_us(step, 3)
    rows = []
    for number in range(rounds):
        times_us = {}
        for device in DEVICES[:: -1 if number % 2 else 1]:
            gc.collect()
            times_us[device] = per_step_us(step_by_device[device], steps)
        rows.append((times_us["cpu"], times_us["npu"]))
    ratios = sorted(npu / cpu for cpu, npu in rows)
    cpu, npu = (statistics.median(each) for each in zip(*rows, strict=True))
    least_cpu, least_npu = (min(each) for each in zip(*rows, strict=True))
    record_ratio(f"{title}: step on the npu / on the CPU", ratios)
    print(f"{title}: {cpu:.0f} us on the CPU, {npu:.0f} us on the npu")
    spread = f"({ratios[0]:.2f}-{ratios[-1]:.2f})"
    print(f"  ratio {statistics.median(ratios):.2f} {spread}, of the least {least_npu / least_cpu:.2f}")


def main() -> None:
    """Measure in turn and print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    torch.manual_seed(0)
    torch.set_num_threads(1)
    gc.disable()
    keep_memory()
    compare("torch.add of 8 elements, 2000 times", lambda device: tiny(device=device), 5, rounds)
    compare("small convolutional net", convolutions, 30, rounds)
    compare("GPT of the example", gpt, 10, rounds)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        main()
