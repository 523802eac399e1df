"""
One rank of a large job, without the others and without computing.

``python benchmarks/bench_world.py``. Rank 17 of 1 024 of a GPT of 64 layers with tensor and pipeline parallelism makes
two steps, one of them profiled: how long that takes and how much memory the process needs, beside what was aimed at.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ratios import record_ratio

EXAMPLE = Path(__file__).parents[1] / "examples" / "torch" / "train_gpt_parallel.py"
WORLD, RANK = 1024, 17
GOAL_S, GOAL_MB = 120, 4096
MODEL = {
    "--tp": 8,
    "--pp": 8,
    "--width": 8192,
    "--heads": 64,
    "--layers": 64,
    "--words": 128_000,
    "--tokens": 4096,
    "--batch": 1,
    "--micro-batches": 16,
}


def main() -> None:
    model = [str(word) for pair in MODEL.items() for word in pair]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "drynpu", "run", "--world", str(WORLD), "--ranks", str(RANK), "--no-compute"]
        begin = time.perf_counter()
        subprocess.run([*command, str(EXAMPLE), *model, "--bf16"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - begin
        (profile,) = Path(folder).rglob("kernel_details.csv")
        kernels = len(profile.read_text().splitlines()) - 1
    memory_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    print(f"rank {RANK} of {WORLD}: {kernels} kernels recorded")
    record_ratio("time of one rank of 1 024 / its goal", seconds / GOAL_S)
    record_ratio("memory of one rank of 1 024 / its goal", memory_mb / GOAL_MB)
    print(f"time     {seconds:.1f} s (goal {GOAL_S}, ratio {seconds / GOAL_S:.2f})")
    print(f"memory   {memory_mb} MB (goal {GOAL_MB}, ratio {memory_mb / GOAL_MB:.2f})")


if __name__ == "__main__":
    main()
