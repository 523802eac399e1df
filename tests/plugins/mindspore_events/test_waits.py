"""What threads waited for a processor is told from what the script slept."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drynpu.kernels import Operators
from drynpu_mindspore_events._waits import Looks, Reading, read_counts, spread

MS = 1_000_000


def test_the_shortest_gaps_were_waits_altogether() -> None:
    start_ns, gap_ns = np.array([100, 200, 300]), np.array([50, 7, 20])
    assert list(spread(start_ns, gap_ns, 40)) == [(200, 7), (300, 20), (100, 13)]
    assert list(spread(start_ns, gap_ns, 0)) == []
    assert sum(part for _, part in spread(start_ns, gap_ns, 500)) == 77


def operators(*starts_ms: int) -> Operators:
    """Return operators of 1 ms on thread 9."""
    times = np.array(starts_ms) * MS
    return Operators(
        names=("MatMul",),
        name=np.zeros(len(times), np.int32),
        start_ns=times,
        end_ns=times + MS,
        thread=np.full(len(times), 9),
        fwd_thread=np.zeros(len(times), np.int64),
        sequence=np.full(len(times), -1),
        scope=np.zeros(len(times), np.uint8),
        signature=np.full(len(times), -1, np.int32),
        signatures=(),
    )


@pytest.mark.parametrize(("ran_or_ready_ms", "left_ms"), [(90, 20), (40, 60)])
def test_what_the_script_slept_stays_in_the_gaps(ran_or_ready_ms: int, left_ms: int) -> None:
    """Between two readings 100 ms apart lie gaps of 10, 50 and 30 ms; thread 9 waited for 70 ms, thread 7 for 5 s."""
    first = Reading(0, {1: 3 * MS, 9: 5 * MS, 7: 0}, 0, is_inside=False)
    second = Reading(100 * MS, {1: 3 * MS, 9: 75 * MS, 7: 5000 * MS}, ran_or_ready_ms * MS, is_inside=False)
    looks = Looks([first, second])
    rows = looks.waits(operators(10, 61, 92), script=1)
    assert 90 - rows[:, 1].sum() / MS == left_ms
    assert set(rows[:, 0] // MS) <= {10, 61, 92}


def test_the_counts_grow() -> None:
    before = read_counts(is_inside=False)
    sum(range(3_000_000))
    after = read_counts(is_inside=True)
    assert after.time_ns > before.time_ns
    assert set(before.waited_ns) & set(after.waited_ns) or not before.waited_ns
    assert after.script_ns > before.script_ns or not before.waited_ns


BUSY = """
import json, os, subprocess, sys
os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
try:
    import mindspore, numpy
    from mindspore import Tensor, ops
    mindspore.set_context(device_target="Ascend")
    x = Tensor(numpy.ones((64, 65), numpy.float32))
    y = Tensor(numpy.ones((65, 64), numpy.float32))

    def timed():
        begin, end = (mindspore.runtime.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(6):
            ops.matmul(x, y)
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)

    print(json.dumps([timed() for _ in range(20)]))
finally:
    for loop in loops:
        loop.kill()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="nobody can choose processors here")
def test_times_are_the_same_beside_busy_processes(scripts: Any, tmp_path: Path) -> None:
    script = tmp_path / "busy.py"
    script.write_text(BUSY)
    times = json.loads(scripts.simulated(script).stdout.splitlines()[-1])
    assert len(times) == 20
    assert times == pytest.approx([times[-1]] * 20, rel=0.02)
