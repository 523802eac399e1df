"""
What one kernel takes in recordings of ten thousand, a hundred thousand, a million kernels.

``python benchmarks/bench_linear.py [--largest]``; with the switch of ten million, too, for which 40 GB of disk and an
hour are needed. Every stage runs in a process of its own (`bench_million`), and its processor time is told per kernel.
Fixed costs weigh on short recordings. So beside it stands what each further kernel takes that a recording has more than
the one before it: in linear time that stays the same, and the last column is how much it grew over all sizes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import bench_million
from ratios import record_ratio

SIZES, LARGEST = (10_000, 100_000, 1_000_000), 10_000_000
STAGES = ("write", "parse", *bench_million.EXPORTS)


def seconds(what: str, session: Path, count: int) -> float:
    """Return the processor seconds of a stage; its files are not kept, but for the session itself."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, __file__, what, str(session), out, str(count)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return float(json.loads(done.stdout))


def main() -> None:
    if len(sys.argv) > 2:
        what, session, out, count = sys.argv[1:]
        print(json.dumps(bench_million.run(what, Path(session), Path(out), int(count))[1]))
        return
    sizes = (*SIZES, LARGEST) if "--largest" in sys.argv else SIZES
    spent: dict[str, list[float]] = {what: [] for what in STAGES}
    for count in sizes:
        with tempfile.TemporaryDirectory() as session:
            for what in STAGES:
                spent[what].append(seconds(what, Path(session), count))
    print(f"{'ns of processor per kernel':28} " + " ".join(f"{count:>16,}" for count in sizes))
    for what, times in spent.items():
        each = [time / count * 1e9 for time, count in zip(times, sizes, strict=True)]
        further = [(times[at] - times[at - 1]) / (sizes[at] - sizes[at - 1]) * 1e9 for at in range(1, len(sizes))]
        cells = [f"{each[0]:16.0f}", *(f"{ns:7.0f} (+{more:6.0f})" for ns, more in zip(each[1:], further, strict=True))]
        record_ratio(
            f"{what}: each further kernel in the longest recording / in the shortest", further[-1] / further[0]
        )
        # The fewest kernels are written by simulating them; more than a million are copies of that.
        print(f"{what:28} {' '.join(cells)}   further kernels: {further[-1] / further[0]:.2f} times the first")


if __name__ == "__main__":
    main()
