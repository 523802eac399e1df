"""Threads that wait for a processor, and memory that operators touch: what the recorder notes beside the operators."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from drynpu_torch.capture import ColumnTracer
from drynpu_torch.capture._garbage import collection_costs
from drynpu_torch.install import install


def delayed() -> object:
    """Compute on one processor together with a process that is never idle; return what was waited for and the times."""
    processor = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {processor})
    x, tracer = torch.zeros(3, device="npu"), ColumnTracer()
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        tracer.start()
        for _ in range(200):
            x.exp()
            end_ns = time.thread_time_ns() + 5_000_000
            while time.thread_time_ns() < end_ns:
                pass
        chunk = tracer.stop()
    finally:
        busy.kill()
        busy.wait()
    time_ns, waited_ns = chunk.delays.T
    inside = bool(np.all((time_ns >= chunk.begin_ns) & (time_ns <= chunk.end_ns) & (np.diff(time_ns, prepend=0) >= 0)))
    return int(waited_ns.sum()), int(waited_ns.min()), inside, chunk.end_ns - chunk.begin_ns


def _waited_ns() -> int:
    return int(Path("/proc/thread-self/schedstat").read_text().split()[1])


def watched() -> object:
    """
    Record while a thread that is watched shares its processor with a process that is never idle.

    Returns what was noted, what this thread waited for a processor, and what the watched one did, in ns.
    """
    x, tracer, done = torch.zeros(3, device="npu"), ColumnTracer(), threading.Event()
    processor, waited_ns = min(os.sched_getaffinity(0)), []

    def write() -> None:
        os.sched_setaffinity(0, {processor})
        tracer.library.watch_this_thread()
        begin_ns = _waited_ns()
        while not done.is_set():
            sum(range(20_000))
        waited_ns.append(_waited_ns() - begin_ns)

    busy = subprocess.Popen(
        [sys.executable, "-c", f"import os\nos.sched_setaffinity(0, {{{processor}}})\nwhile True: pass"]
    )
    thread = threading.Thread(target=write)
    try:
        tracer.start()
        here_ns = _waited_ns()
        thread.start()
        for _ in range(100):
            x.exp()
            time.sleep(0.01)
        here_ns = _waited_ns() - here_ns
        done.set()
        thread.join()
        chunk = tracer.stop()
    finally:
        busy.kill()
        busy.wait()
    return int(chunk.delays[:, 1].sum()), here_ns, waited_ns[0]


def handed_over() -> object:
    """
    Wait for a processor after an operator, and have another thread run the next one.

    Returns what was noted up to that one and in all, and what this thread had waited, in ns.
    """
    x, tracer, go, done = torch.zeros(3, device="npu"), ColumnTracer(), threading.Event(), threading.Event()
    processors = sorted(os.sched_getaffinity(0))

    def work() -> None:
        os.sched_setaffinity(0, {processors[-1]})
        go.wait()
        x.exp()
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    os.sched_setaffinity(0, {processors[0]})
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        tracer.start()
        x.exp()
        begin_ns, end_ns = _waited_ns(), time.thread_time_ns() + 100_000_000
        while time.thread_time_ns() < end_ns:
            len(bytearray(100_000))
        go.set()
        done.wait()
        handed_ns, waited_ns = time.time_ns(), _waited_ns() - begin_ns
        x.exp()
        chunk = tracer.stop()
    finally:
        busy.kill()
        busy.wait()
        thread.join()
    time_ns, noted_ns = chunk.delays.T
    return int(noted_ns[time_ns <= handed_ns].sum()), int(noted_ns.sum()), waited_ns


def slept() -> object:
    """
    Sleep after many short turns, while the thread that writes waits for a processor.

    Returns what was noted beside the waits of this thread, and the sleep, in ns.
    """
    x, tracer, begun, done = torch.zeros(3, device="npu"), ColumnTracer(), threading.Event(), threading.Event()
    processor = min(os.sched_getaffinity(0))

    def write() -> None:
        os.sched_setaffinity(0, {processor})
        tracer.library.watch_this_thread()
        begun.set()
        done.wait()
        end_ns = time.thread_time_ns() + 200_000_000
        while time.thread_time_ns() < end_ns:
            len(bytearray(1_000_000))

    busy = subprocess.Popen(
        [sys.executable, "-c", f"import os\nos.sched_setaffinity(0, {{{processor}}})\nwhile True: pass"]
    )
    thread = threading.Thread(target=write)
    try:
        thread.start()
        begun.wait()
        tracer.start()
        x.exp()
        here_ns = _waited_ns()
        # Each nap is a turn, and too short for a wait to be looked for.
        end_ns = time.perf_counter_ns() + 100_000_000
        while time.perf_counter_ns() < end_ns:
            x.exp()
            time.sleep(0.00005)
        done.set()
        time.sleep(0.3)
        x.exp()
        here_ns = _waited_ns() - here_ns
        chunk = tracer.stop()
    finally:
        busy.kill()
        busy.wait()
        thread.join()
    return int(chunk.delays[:, 1].sum()) - here_ns, 300_000_000


def collected() -> object:
    """
    Collect garbage here and then, while this thread sleeps, in another thread; all of it a few times.

    Returns, for both collections of each time, what it took, and what was noted beside the waits of this thread, in ns.
    """
    tracer, costs, objects = ColumnTracer(), [], [[] for _ in range(2_000_000)]
    x = torch.zeros(3, device="npu")
    gc.disable()

    def note(cost_ns: int) -> None:
        costs.append(cost_ns)
        tracer.library.note_collection(cost_ns)

    def beside_waits_ns(collect: Callable[[], object]) -> int:
        before_ns = _waited_ns()
        tracer.start()
        x.exp()
        collect()
        x.exp()
        noted_ns = int(tracer.stop().delays[:, 1].sum())
        return noted_ns - (_waited_ns() - before_ns)

    def elsewhere() -> None:
        thread = threading.Thread(target=gc.collect)
        thread.start()
        # Longer than any collection: a thread that wakes during one waits for Python's lock.
        time.sleep(max(0.5, 4e-9 * max(costs)))
        thread.join()

    with collection_costs(note):
        noted_ns = [beside_waits_ns(collect) for _ in range(5) for collect in (gc.collect, elsewhere)]
    del objects
    return list(zip(costs, noted_ns, strict=True))


def touched() -> object:
    """Return the accesses of some operators: block, offset, bytes, whether written, in the order of their times."""
    tracer = ColumnTracer()
    x, small = torch.zeros(256, 512, device="npu"), torch.zeros(8, 8, device="npu")
    half = x[128:]
    tracer.start()
    y = x + 1.0  # read, and a new block
    half.mul_(2.0)  # a part of a block, read and written
    y.copy_(x)  # the target is written alone
    small.add_(1.0)
    y.view(-1)
    chunk = tracer.stop()
    rows = chunk.accesses
    blocks = {int(each): number for number, each in enumerate(dict.fromkeys(rows["block"].tolist()))}
    inside = bool(np.all((rows["time_ns"] >= chunk.begin_ns) & (rows["time_ns"] <= chunk.end_ns)))
    table = [[blocks[int(row["block"])], int(row["offset"]), int(row["bytes"]), bool(row["written"])] for row in rows]
    return table, inside, sorted({int(each) for each in rows["block_bytes"]})


CASES = {case.__name__: case for case in (delayed, watched, handed_over, slept, collected, touched)}

if __name__ == "__main__":
    install()
    print(json.dumps(CASES[sys.argv[1]]()))
