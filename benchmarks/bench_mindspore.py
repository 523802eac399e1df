"""
What recording costs under MindSpore, beside MindSpore's own profiler on the CPU.

``python benchmarks/bench_mindspore.py [rounds]``, in an environment with MindSpore. A transformer block trains in GRAPH
and in PyNative mode. Every measurement is a process of its own; states take turns. A ratio is the median over the
rounds of what was measured in the same round; beside it stands the ratio of the least values, which other programs
disturb less. A step is the processor time of a stretch of steps divided by their number; from the end of a recording to
its files it is the time that passes. MindSpore's own profiler records the host on the CPU and leaves one trace; ours
simulates a device and leaves raw records and tables.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ratios import record_ratio

STEPS = {"graph": 100, "pynative": 40}
WARM_UP = 5
PLAIN, OWN, IDLE = "plain", "MindSpore's profiler", "drynpu, not profiling"
RECORDING: dict[str, dict[str, bool]] = {
    "drynpu, recording": {},
    "drynpu, with_stack": {"with_stack": True},
    "drynpu, profile_memory": {"profile_memory": True},
}
STATES = (PLAIN, OWN, IDLE, *RECORDING)
WIDTH, BATCH = 64, (8, 16)

Result = dict[str, float]


def training() -> Callable[[], None]:
    """Return one step of the training of a transformer block."""
    import mindspore as ms
    import numpy as np
    from mindspore import nn, ops

    class Block(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value = (nn.Dense(WIDTH, WIDTH) for _ in range(3))
            self.outside, self.norm, self.softmax = nn.Dense(WIDTH, WIDTH), nn.LayerNorm((WIDTH,)), nn.Softmax()
            self.up, self.gelu, self.down = nn.Dense(WIDTH, 4 * WIDTH), nn.GELU(), nn.Dense(4 * WIDTH, WIDTH)

        def construct(self, x: Any) -> Any:
            scores = ops.matmul(self.query(x), self.key(x).swapaxes(-1, -2))
            x = self.norm(x + self.outside(ops.matmul(self.softmax(scores), self.value(x))))
            return self.norm(x + self.down(self.gelu(self.up(x))))

    random = np.random.default_rng(0)
    x, y = (ms.Tensor(random.random((*BATCH, WIDTH), np.float32)) for _ in range(2))
    network = nn.WithLossCell(Block(), nn.MSELoss())
    step = nn.TrainOneStepCell(network, nn.Adam(network.trainable_params(), 1e-3))
    step.set_train()
    return lambda: step(x, y).asnumpy()


def work(mode: str, state: str) -> None:
    """Measure in this process, and print the result as the last line."""
    import mindspore as ms
    from mindspore.profiler import ProfilerActivity, profile, tensorboard_trace_handler

    ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
    ms.set_device("CPU" if state in (PLAIN, OWN) else "Ascend")
    step = training()
    recorder = contextlib.nullcontext()
    if state not in (PLAIN, IDLE):
        activities = [ProfilerActivity.CPU] + ([] if state == OWN else [ProfilerActivity.NPU])
        handler = tensorboard_trace_handler("out")
        options = {"activities": activities, "on_trace_ready": handler, "start_profile": False}
        recorder = profile(**options, **RECORDING.get(state, {}))
    for _ in range(WARM_UP):
        step()
    with recorder:
        begin = time.process_time()
        for _ in range(STEPS[mode]):
            step()
        step_ms = (time.process_time() - begin) * 1e3 / STEPS[mode]
        begin = time.perf_counter()
    files_s = time.perf_counter() - begin
    written = sum(path.stat().st_size for path in Path("out").rglob("*") if path.is_file())
    print(json.dumps({"step_ms": step_ms, "files_s": files_s, "written_mb": written / 1e6}))


def measured(mode: str, state: str) -> Result:
    """Return what one process measured."""
    under = [] if state in (PLAIN, OWN) else ["-m", "drynpu", "run", "--quiet"]
    with tempfile.TemporaryDirectory(prefix="drynpu-") as folder:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", *under, str(Path(__file__).resolve()), "--work", mode, state],
            cwd=folder,
            env={**os.environ, "GLOG_v": "3", "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    result: Result = json.loads(done.stdout.splitlines()[-1])
    return result


def report(mode: str, measurements: dict[str, list[Result]]) -> None:
    """Print the medians of one mode, and as multiples of plain MindSpore and of its own profiler."""

    def line(label: str, unit: str, state: str, key: str, base: str) -> None:
        values, bases = ([result[key] for result in measurements[of]] for of in (state, base))
        rounds = [value / other for value, other in zip(values, bases, strict=True)]
        record_ratio(f"{mode}: {label} / {base}", rounds)
        median = statistics.median(rounds)
        least = min(values) / min(bases)
        print(f"  {label:44} {statistics.median(values):9.2f} {unit:2} {median:7.2f} x {least:6.2f} x")

    print(f"{mode}, {STEPS[mode]} steps")
    for state in STATES:
        line(f"step, {state}", "ms", state, "step_ms", PLAIN)
    for label, unit, key in (("end to files", "s", "files_s"), ("written", "MB", "written_mb")):
        for state in (OWN, *RECORDING):
            line(f"{label}, {state}", unit, state, key, OWN)


def main() -> None:
    """Measure in turn and print."""
    if "--work" in sys.argv:
        work(*sys.argv[-2:])
        return
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    print("ratios to plain MindSpore; what is left, to its own profiler")
    for mode in STEPS:
        measurements: dict[str, list[Result]] = defaultdict(list)
        for turn in range(rounds):
            for state in STATES[:: -1 if turn % 2 else 1]:
                measurements[state].append(measured(mode, state))
        report(mode, measurements)


if __name__ == "__main__":
    main()
