"""
Train for many steps without computing and see that nothing grows: ``soak.py [--steps 100000] [--cycle 1000]``.

A day of training is as many steps; on shapes alone they take minutes. The profiler records two steps of each cycle, so
a hundred results are written. After the first fifth memory may grow by ``--mb``, descriptors and threads not at all.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from attrs import frozen

_SETTLED = 0.2
"""Part of the run in which caches fill."""


@frozen
class Sample:
    """One moment of the run."""

    step: int
    rss_bytes: int
    descriptors: int
    threads: int


@frozen
class Growth:
    """What grew after the run had settled: memory by its fitted line, the others from then to the end."""

    memory_bytes: float
    descriptors: int
    threads: int


def run(steps: int, cycle: int, samples: int) -> list[Sample]:
    """Train, and return what was seen."""
    script = Path(__file__).with_name("training.py")
    command = [sys.executable, "-m", "drynpu", "run", "--quiet", "--no-compute", str(script)]
    environment = {**os.environ, "KINETO_LOG_LEVEL": "99", "OMP_NUM_THREADS": "1"}
    found = []
    with subprocess.Popen(
        [*command, str(steps), str(cycle), str(samples)], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("soak "):
                sample = Sample(*json.loads(line[5:]))
                found.append(sample)
                print(
                    f"step {sample.step:>7}: {sample.rss_bytes / 2**20:8.1f} MB, {sample.descriptors} descriptors,"
                    f" {sample.threads} threads",
                    flush=True,
                )
    if process.returncode:
        raise SystemExit(f"the training ended with status {process.returncode}")
    return found


def growth(samples: Sequence[Sample]) -> Growth:
    """Return what grew after the first fifth of the run."""
    settled = [each for each in samples if each.step >= _SETTLED * samples[-1].step]
    steps = np.array([each.step for each in settled], float)
    slope = float(np.polyfit(steps, [each.rss_bytes for each in settled], 1)[0])
    first, last = settled[0], settled[-1]
    return Growth(slope * (steps[-1] - steps[0]), last.descriptors - first.descriptors, last.threads - first.threads)


def main() -> int:
    """Run, print what grew, and return the status."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--steps", type=int, default=100_000)
    arguments.add_argument("--cycle", type=int, default=1000)
    arguments.add_argument("--samples", type=int, default=50)
    arguments.add_argument("--mb", type=float, default=8.0, help="that memory may grow by")
    chosen = arguments.parse_args()
    found = growth(run(chosen.steps, chosen.cycle, chosen.samples))
    flat = found.memory_bytes <= chosen.mb * 2**20 and found.descriptors <= 0 and found.threads <= 0
    print(
        f"{chosen.steps} steps, {chosen.steps // chosen.cycle} recordings: memory {found.memory_bytes / 2**20:+.1f} MB,"
        f" descriptors {found.descriptors:+d}, threads {found.threads:+d} after the first fifth:"
        f" {'flat' if flat else 'NOT FLAT'}"
    )
    return int(not flat)


if __name__ == "__main__":
    sys.exit(main())
