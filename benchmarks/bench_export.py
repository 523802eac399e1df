"""
What exporting costs beside writing the same bytes raw.

``python benchmarks/bench_export.py [events] [rounds]`` writes synthetic host operators, device tasks and kernels as
trace_view.json and op_summary, then the same bytes again with plain writes, alternating within each round, and
prints the ratio of the medians, in time that passed and in processor time, which says more beside other work. Files lie
in memory (/dev/shm) where there is such a folder. Ratios compare runs on one machine; the absolute times are only
printed for scale.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from ratios import record_ratio

from drynpu.deliverables.tasks.op_summary import STARTS, op_summary
from drynpu.deliverables.tasks.timeline import Timeline, timeline_blocks
from drynpu.platforms import find_platform
from drynpu.products.torch._host_trace import HostTrace, host_blocks
from drynpu.tables import (
    API,
    COMMUNICATION_OPS,
    GC,
    HOST_OPS,
    KERNELS,
    NO_CONTEXT,
    NO_MODEL,
    PYTHON_CALLS,
    QUEUE,
    TASKS,
)
from drynpu.tables.stored import Stored, with_codes
from drynpu.writers.files import write_csv
from drynpu.writers.number_text import Writer
from drynpu.writers.trace_json import SPACED, write_trace

BEGIN_NS = 1_736_408_883_000_000_000
NAMES, SHAPES = 120, 128
RAW_CHUNK = 1 << 22
MEMORY = Path("/dev/shm")
GOAL_RATIO = 8


def frame(schema: pl.Schema, columns: dict[str, object], rows: int) -> pl.DataFrame:
    """Return a table of *schema*: given columns as they are, missing ones filled with one value."""
    fill = {pl.String: "", pl.Int64: 0, pl.Boolean: False}
    missing = {
        name: pl.repeat(fill[dtype.base_type()], rows, dtype=dtype, eager=True) for name, dtype in schema.items()
    }
    return pl.DataFrame(missing | columns).select(pl.col(name).cast(dtype) for name, dtype in schema.items())


def synthetic(count: int) -> tuple[HostTrace, Timeline, Stored]:
    """Return *count* operators, each with a node call, a task and a kernel, as a reader of raw data keeps them."""
    random = np.random.default_rng(0)
    start = BEGIN_NS + np.cumsum(random.integers(2_000, 20_000, count))
    names = np.array([f"aten::operator_{number}" for number in range(NAMES)])[random.integers(0, NAMES, count)]
    shapes = np.array([f"{size},{size * 2};{size},8;" for size in range(SHAPES)])[random.integers(0, SHAPES, count)]
    ids = np.arange(1, count + 1)
    kernels = np.char.add("aclnn_", names)
    host = frame(
        HOST_OPS,
        {"op_id": ids, "name": names, "start_ns": start, "end_ns": start + 1_500, "tid": np.full(count, 7),
         "input_shapes": shapes, "input_dtypes": np.full(count, "float;float;Scalar")},
        count,
    )  # fmt: skip
    api = frame(
        API,
        {"connection_id": ids, "level": np.full(count, "node"), "name": np.full(count, "launch"), "item": kernels,
         "start_ns": start + 100, "end_ns": start + 900},
        count,
    )  # fmt: skip
    device = {"connection_id": ids, "task_id": ids % 65536, "start_ns": start + 1_000,
              "duration_ns": random.integers(500, 1_900, count), "context_id": np.full(count, NO_CONTEXT),
              "model_id": np.full(count, NO_MODEL)}  # fmt: skip
    none = pl.repeat(None, count, dtype=pl.Int64, eager=True)
    kinds = np.full(count, "AI_CORE")
    tasks = frame(
        TASKS, {**device, "kernel_name": kernels, "kernel_type": kinds, "copy_bytes": none, "copy_kind": none}, count
    )
    table = frame(
        KERNELS,
        {**device, "name": kernels, "op_type": names, "task_type": kinds, "input_shapes": shapes,
         "input_dtypes": np.full(count, "FLOAT;FLOAT")},
        count,
    )  # fmt: skip
    counters = [pl.Series(f"aic_{number}_ratio", random.random(count).round(3)) for number in range(10)]
    trace = HostTrace(
        pid=1, device_ids=(0,), host_ops=host, queue=QUEUE.to_frame(), python_calls=PYTHON_CALLS.to_frame(),
        gc=GC.to_frame(),
    )  # fmt: skip
    timeline = Timeline(
        pid=1, api=api, tasks=tasks, communication_ops=COMMUNICATION_OPS.to_frame(),
    )  # fmt: skip
    return trace, timeline, with_codes(table.with_columns(counters))


def write_raw(path: Path, content: bytes) -> None:
    with path.open("wb", buffering=0) as stream:
        for offset in range(0, len(content), RAW_CHUNK):
            stream.write(content[offset : offset + RAW_CHUNK])


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds that passed, and the processor seconds."""
    begin, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - begin, time.process_time() - cpu


def compare(title: str, path: Path, export: Callable[[], object], rounds: int) -> None:
    export()
    content = path.read_bytes()
    exported, raw = [], []
    for _ in range(rounds):
        exported.append(seconds(export))
        raw.append(seconds(lambda: write_raw(path.with_name("raw"), content)))
    ours, theirs = (list(zip(*rounds_, strict=True)) for rounds_ in (exported, raw))
    passed, cpu = (statistics.median(ours[kind]) / statistics.median(theirs[kind]) for kind in (0, 1))
    spread = f"{min(ours[0]):.3f}-{max(ours[0]):.3f} s against {min(theirs[0]):.3f}-{max(theirs[0]):.3f} s"
    record_ratio(f"{title}: processor time of the export / of a plain write", cpu)
    ratios = f"{passed:6.2f} x raw {cpu:6.2f} x of processor (goal {GOAL_RATIO})"
    print(f"{title:16} {len(content) / 1e6:8.1f} MB   {ratios}   ({spread})")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    # Five events per operator: the operator, its node call, its task, two ends of an arrow.
    trace, timeline, kernels = synthetic(count // 5)
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as directory:
        json_path, csv_path = Path(directory) / "trace_view.json", Path(directory) / "op_summary.csv"

        def export_trace() -> None:
            blocks = [*host_blocks(trace, SPACED), *timeline_blocks(timeline, SPACED)]
            write_trace(json_path, blocks, SPACED)

        def export_summary() -> None:
            table = op_summary(
                kernels, COMMUNICATION_OPS.to_frame(), level="level1", platform=find_platform("5"), writer=Writer.NATIVE
            )
            write_csv(csv_path, table.drop(STARTS), line_end="\n")

        compare("trace_view.json", json_path, export_trace, rounds)
        compare("op_summary.csv", csv_path, export_summary, rounds)


if __name__ == "__main__":
    main()
