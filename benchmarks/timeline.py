"""
The timeline of a run of a million kernels: its index, its windows, the traces of windows, the picture of all.

``python benchmarks/timeline.py [kernels]``. A profile is made in memory: kernels of 200 ns to 20 us on three
streams, an operator, two entries of the task queue and three nested calls for each. Steps and overlap are computed
before the index, as they are for the first page of every run. The times are printed beside what sorting the starts of
all calls takes on the same machine at the same time, because a machine with other work slows both: a ratio says more
than a time.
"""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
from ratios import record_ratio

from drynpu import tables
from drynpu.analysis import overlap, step_ranges
from drynpu.tables import Profile
from drynpu.tables.stored import Gathered, Stored
from drynpu_pages.perfetto import busy_shares, export_perfetto, perfetto_trace, window_of
from drynpu_pages.timeline import timeline_document
from drynpu_pages.tracks import timeline_index

BEGIN_NS = 1_736_408_883_000_000_000
NAMES = [f"aclnn{name}_{number}" for name in ("Matmul", "Add", "Mul", "Softmax") for number in range(40)]
LONG = ("host_ops", "queue", "api", "tasks", "kernels")
STREAMS, ROUNDS = 3, 5
RAW_CHUNK, MEMORY = 1 << 22, Path("/dev/shm")
INDEX_GOAL_S, WINDOW_GOAL_S = 2.0, 1.0

T = TypeVar("T")


def timed(work: Callable[[], T], rounds: int = ROUNDS) -> tuple[float, T]:
    """Return the median of some runs in seconds, and what the last one returned."""
    times, result = [], None
    for _ in range(rounds):
        begin = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times), result  # type: ignore[return-value]


def filled(schema: pl.Schema, height: int, **columns: Any) -> pl.DataFrame:
    """Return a table with neutral values where nothing else is given."""
    neutral = {pl.String: "", pl.Int64: 0, pl.UInt64: 0, pl.Boolean: False}
    values = {
        name: columns.get(name, pl.repeat(neutral[dtype.base_type()], height, dtype=dtype, eager=True))
        for name, dtype in schema.items()
    }
    return pl.DataFrame(values, schema=schema)


def million(count: int) -> Profile:
    """Return a profile of *count* kernels and what launched them."""
    return profile_of(**frames_of(count))


def frames_of(count: int) -> dict[str, pl.DataFrame]:
    """Return the tables of *count* kernels and what launched them."""
    random = np.random.default_rng(7)
    launch = BEGIN_NS + np.arange(count, dtype=np.int64) * 12_000
    length = (10 ** random.uniform(2.3, 4.3, count)).astype(np.int64)
    stream = random.integers(0, STREAMS, count)
    start = np.empty(count, np.int64)
    for each in range(STREAMS):
        rows = np.flatnonzero(stream == each)
        before = np.concatenate([[0], np.cumsum(length[rows])[:-1]])
        # A kernel starts when it is launched, and not before the one ahead of it has ended.
        start[rows] = np.maximum.accumulate(launch[rows] + 9_000 - before) + before
    name = pl.Series(NAMES).gather(random.integers(0, len(NAMES), count))
    number = np.arange(count, dtype=np.int64)
    place = {
        "stream_id": stream,
        "task_id": number % 65_536,
        "context_id": np.full(count, tables.NO_CONTEXT),
        "start_ns": start,
        "duration_ns": length,
        "connection_id": 3 * number + 1,
    }
    tasks = filled(
        tables.TASKS,
        count,
        kernel_name=name,
        kernel_type=pl.repeat("AI_CORE", count, eager=True),
        copy_bytes=pl.Series([None]).new_from_index(0, count),
        copy_kind=pl.Series([None]).new_from_index(0, count),
        **place,
    )
    kernels = filled(
        tables.KERNELS,
        count,
        name=name,
        op_type=name.str.slice(5, 4),
        task_type=pl.repeat("AI_CORE", count, eager=True),
        **place,
    )
    ops = filled(
        tables.HOST_OPS, count, op_id=number, name=name, start_ns=launch, end_ns=launch + 8_000, tid=np.full(count, 1)
    )
    sides = {
        "correlation_id": np.repeat(number, 2),
        "name": name.gather(np.repeat(number, 2)),
        "side": pl.Series(["enqueue", "dequeue"]).gather(np.tile([0, 1], count)),
        "start_ns": (launch[:, None] + [2_000, 4_000]).ravel(),
        "end_ns": (launch[:, None] + [2_500, 7_900]).ravel(),
        "tid": np.tile([1, 2], count),
    }
    calls = {
        "connection_id": 3 * np.repeat(number, 3) + np.tile([0, 1, 2], count),
        "level": pl.Series(["acl", "node", "runtime"]).gather(np.tile([0, 1, 2], count)),
        "name": pl.Series(["aclnn", "launch", "KernelLaunch"]).gather(np.tile([0, 1, 2], count)),
        "start_ns": (launch[:, None] + [4_100, 4_300, 5_000]).ravel(),
        "end_ns": (launch[:, None] + [7_500, 7_300, 6_500]).ravel(),
        "tid": np.full(3 * count, 2),
    }
    empty = {
        name: pl.DataFrame(schema=schema)
        for name, schema in (
            ("allocations", tables.ALLOCATIONS),
            ("python_calls", tables.PYTHON_CALLS),
            ("gc", tables.GC),
            ("communication_ops", tables.COMMUNICATION_OPS),
        )
    }
    return {
        "host_ops": ops,
        "queue": filled(tables.QUEUE, 2 * count, **sides),
        "api": filled(tables.API, 3 * count, **calls),
        "tasks": tasks,
        "kernels": kernels,
        **empty,
    }


def compressed(frame: pl.DataFrame) -> Stored:
    """Return a table as a reader of raw data keeps it."""
    parts = Gathered(frame.schema)
    parts.append(frame)
    return parts.table()


def profile_of(**frames: pl.DataFrame) -> Profile:
    """Return a profile of one device with these tables."""
    from drynpu.deliverables.registry import GROUPS, schemas
    from drynpu.products.mindspore._schemas import SCHEMAS

    kept = {name: compressed(frame) for name, frame in frames.items() if name in LONG}
    kept |= {name: frame for name, frame in frames.items() if name not in LONG}
    return Profile(
        path=Path(), prof_path=None, framework_path=None, pid=1, pid_name="", hostname="", rank_id=-1, device_ids=(0,),
        platform_version="5", aic_mhz=1800, aiv_mhz=1800, aic_cores=24, aiv_cores=48, level="level1", aic_metrics="",
        begin_ns=0, end_ns=0, notes=(), profiler_info={}, metadata={}, schemas={**schemas(GROUPS), **SCHEMAS}, **kept,
    )  # fmt: skip


def whole_trace(profile: Profile, rounds: int = 3) -> None:
    """Print what writing the trace of the whole run costs beside writing the same bytes, in processor time."""
    times: dict[str, list[float]] = {"trace": [], "plain": []}
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        for _ in range(rounds):
            begin = time.process_time()
            (path,) = export_perfetto(profile, Path(name))
            times["trace"].append(time.process_time() - begin)
            content = path.read_bytes()
            begin = time.process_time()
            with (Path(name) / "plain").open("wb", buffering=0) as stream:
                for offset in range(0, len(content), RAW_CHUNK):
                    stream.write(content[offset : offset + RAW_CHUNK])
            times["plain"].append(time.process_time() - begin)
    trace, plain = (statistics.median(spent) for spent in times.values())
    record_ratio("trace of the whole run / a plain write of its bytes, processor time", trace / plain)
    print(f"whole trace, {len(content) / 1e6:.0f} MB: {trace:.2f} s of processor, {trace / plain:.1f} x a plain write")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    profile = million(count)
    shuffled = np.random.default_rng(1).permutation(profile.api["start_ns"].to_numpy())
    unit, _ = timed(lambda: np.sort(shuffled))
    print(f"{count} kernels; sorting {len(shuffled)} numbers takes {unit:.3f} s, the unit of the ratios")

    def report(what: str, seconds: float, goal: float) -> None:
        record_ratio(f"{what} / sorting as many numbers as the run has calls", seconds / unit)
        print(f"{what:44s} {seconds * 1000:9.1f} ms {seconds / unit:7.2f} x  goal {goal * 1000:.0f} ms")

    seconds, _ = timed(lambda: step_ranges(profile), 1)
    report("before: steps", seconds, INDEX_GOAL_S)
    seconds, _ = timed(lambda: overlap(profile), 1)
    report("before: overlap", seconds, INDEX_GOAL_S)
    seconds, index = timed(lambda: timeline_index(profile), 1)
    report(f"index of {index.events} events", seconds, INDEX_GOAL_S)
    middle = (index.start_ns + index.end_ns) // 2
    for name, around in (("begin", None), ("middle", (middle, middle + 1))):
        seconds, window = timed(lambda around=around: window_of([index], around))
        report(f"window at the {name}: {window.events} events", seconds, WINDOW_GOAL_S)
        for nth in ("first", "again"):
            seconds, size = timed(lambda window=window: sum(map(len, perfetto_trace({"rank": profile}, window))), 1)
            report(f"its trace, {nth}: {size / 1e6:.0f} MB", seconds, WINDOW_GOAL_S)
    seconds, _ = timed(lambda: busy_shares(index, index.start_ns, index.end_ns, bins=600))
    report("strip of the whole run", seconds, WINDOW_GOAL_S)
    seconds, document = timed(lambda: timeline_document(index, (index.start_ns, index.end_ns)))
    report(f"picture of the whole run: {len(document['data'])} kinds", seconds, WINDOW_GOAL_S)
    whole_trace(profile)
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
