"""
A session of a million kernels: written raw, parsed, and exported as csv, JSON, databases and PyTorch's text files.

``python benchmarks/bench_million.py [kernels]``. More than a million are a session of a million whose records follow
again, each time later, because simulating all at once would take more memory than what is measured. Every stage runs in
a process of its own, which says how much memory it had at most (``ru_maxrss``; for an export with the parsing before
it). Beside each stage that leaves files the same bytes are written again, plainly: once only handed to the system, once
with a flush to the disk. The ratios compare the stage with the medians of the plain writes, in time that passed;
processor time is told beside it, because it says more on a machine with other work.
No framework takes part: operators are made up, each launches
one kernel.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path

import numpy as np
from attrs import evolve
from ratios import record_ratio

from drynpu.deliverables.registry import GROUPS, RECORD_KINDS
from drynpu.kernels import Allocations, KernelPlan, KernelSpec, Operators, Signature, TaskType, TensorDesc
from drynpu.layouts.framework_torch import OP_MARK, OP_RANGE
from drynpu.options import Clock, ExportType, ProfilingRequest, Switches
from drynpu.platforms import load_chip
from drynpu.products import export_torch, load_profile
from drynpu.products.toolkit import _msprof
from drynpu.products.toolkit._db import export_msprof_db
from drynpu.products.toolkit._reports import Reports
from drynpu.raw import ClockAnchors, ProfReader, read_tlv, write_tlv
from drynpu.raw.slices import find_slices
from drynpu.recorder import Setup, _recording, write_recording
from drynpu.simulate import Destination, Recording
from drynpu.tables import Profile
from drynpu.writers.number_text import toolkit_writer

BEGIN_NS = 1_736_408_883_000_000_000
ANCHORS = ClockAnchors(
    collection_begin_us=BEGIN_NS // 1000,
    monotonic_raw_ns=5_000_000_000,
    host_cntvct=5_000_000_000,
    device_cntvct=250_000_000,
    device_hz=50_000_000,
)
PID = 4321
OPERATORS, SIGNATURES, ONCE = 40, 256, 1_000_000
BLOCK, ROUNDS = 1 << 22, 3
WRITERS = ("write_framework_data", "write_prof")
GOAL_RATIO, GOAL_MB = 8, 1500
EXPORTS = ("csv", "json", "db", "torch", "torch_db")

Spent = tuple[float, float]
"""Seconds that passed, and seconds of processor time."""


def plan(signature: Signature) -> KernelPlan:
    matrix = signature.inputs[0]
    kind = TaskType.AI_CORE if int(signature.name[2:]) % 2 else TaskType.AI_VECTOR_CORE
    kernel = KernelSpec(
        name=f"aclnn{signature.name}_{signature.name}AiCore_{signature.name}",
        op_type=signature.name,
        task_type=kind,
        inputs=signature.inputs,
        outputs=(matrix,),
        vector_ops=matrix.size_bytes // 2,
        cube_flops=matrix.size_bytes * 512 if kind is TaskType.AI_CORE else 0,
        bytes_read=matrix.size_bytes,
        bytes_written=matrix.size_bytes,
        cube_tiles=8,
    )
    return KernelPlan(api=f"aclnn{signature.name}", kernels=(kernel,))


def operators(count: int) -> Operators:
    """Return operators one after the other on one thread, drawn from a fixed set of signatures."""
    random = np.random.default_rng(0)
    shapes = [(16 * (1 + number % 32), 64 * (1 + number // 32)) for number in range(SIGNATURES)]
    signature = random.integers(0, SIGNATURES, count).astype(np.int32)
    start_ns = BEGIN_NS + 1000 + np.cumsum(random.integers(20_000, 60_000, count))
    return Operators(
        names=tuple(f"aten::op_{number}" for number in range(OPERATORS)),
        name=(signature % OPERATORS).astype(np.int32),
        start_ns=start_ns,
        end_ns=start_ns + 15_000,
        thread=np.full(count, PID),
        fwd_thread=np.zeros(count, np.int64),
        sequence=np.arange(count),
        scope=np.zeros(count, np.uint8),
        signature=signature,
        signatures=tuple(
            Signature(f"Op{number % OPERATORS}", (TensorDesc(shape, "FLOAT16"), TensorDesc(shape[1:], "FLOAT16")))
            for number, shape in enumerate(shapes)
        ),
        texts=tuple(("c10::Half;c10::Half", f"{rows},{columns};{columns}") for rows, columns in shapes),
    )


def write(directory: Path, count: int) -> Spent:
    """Write a session and return what its files took; making it up and simulating it is not counted."""
    spent: list[Spent] = []
    for name in WRITERS:
        setattr(_recording, name, timed(getattr(_recording, name), spent))
    table = operators(count)
    recording = Recording(
        operators=table,
        allocations=Allocations.empty(),
        begin_ns=BEGIN_NS,
        end_ns=int(table.end_ns[-1]) + 10_000,
    )
    write_recording(
        recording,
        Destination(directory=directory, framework="torch", pid=PID),
        Setup(
            request=ProfilingRequest(switches=Switches(record_shapes=True)),
            chip=load_chip("910B2"),
            clock=Clock.PROJECTED,
            seed=0,
            anchors=ANCHORS,
            plan=plan,
        ),
    )
    return sum(seconds for seconds, _ in spent), sum(cpu for _, cpu in spent)


HOST_KINDS = ("api_event", "node_basic_info", "tensor_info", "task_track")
DEVICE_KINDS = ("ffts_profile", "stars_soc")
TIMES = {"timestamp", "begin", "end", "tick", "start_tick", "end_tick"}
FRAMEWORK = {"torch.op_range": (OP_RANGE, 1, ("start", "end")), "torch.op_mark": (OP_MARK, 2, ("time",))}


def repeat(session: Path, times: int) -> None:
    """Let the records of a session follow *times* times, each time a whole session later."""
    (prof,) = session.glob("PROF_*")
    reader = ProfReader(prof, RECORD_KINDS)
    calls = reader.read("api_event")
    # Of whole ticks of 20 ns, and longer than the device had work for.
    later_ns = (int(calls["end"].max() - calls["begin"].min()) // 1000 + 100_000_000) * 1000
    for name in (*HOST_KINDS, *DEVICE_KINDS):
        on_device = name in DEVICE_KINDS
        kind, shift = RECORD_KINDS.record(name), later_ns // 20 if on_device else later_ns
        folder = prof / ("device_0" if on_device else "host") / "data"
        slices = find_slices(folder, kind.stem)
        records = np.frombuffer(b"".join(each.path.read_bytes() for each in slices), kind.dtype).copy()
        for each in slices[1:]:
            each.path.unlink()
        slices[0].path.with_name(f"{slices[0].path.name}.done").write_bytes(b"")
        with slices[0].path.open("wb") as stream:
            for _ in range(times):
                stream.write(records.tobytes())
                for field in TIMES.intersection(records.dtype.names or ()):
                    records[field] += np.uint64(shift)
    for name, (layout, number, fields) in FRAMEWORK.items():
        path = session / "FRAMEWORK" / name
        parsed = read_tlv(path, layout, number)
        fixed, part = parsed.fixed, session / "part"
        count = int(fixed["correlation_id"].max()) + 1 if "correlation_id" in (fixed.dtype.names or ()) else 0
        with path.open("wb") as stream:
            for _ in range(times):
                write_tlv(part, number, fixed, parsed.text_index, parsed.texts)
                stream.write(part.read_bytes())
                for field in fields:
                    fixed[field] += later_ns
                if count:
                    fixed["correlation_id"] += np.uint64(count)
        part.unlink()


def timed(function: Callable[..., object], spent: list[Spent]) -> Callable[..., object]:
    def wrapper(*arguments: object, **keywords: object) -> object:
        begin = now()
        try:
            return function(*arguments, **keywords)
        finally:
            spent.append(since(begin))

    return wrapper


def now() -> Spent:
    return time.perf_counter(), time.process_time()


def since(begin: Spent) -> Spent:
    return time.perf_counter() - begin[0], time.process_time() - begin[1]


def export(what: str, profile: Profile, directory: Path) -> Spent:
    moment = datetime.fromtimestamp(BEGIN_NS / 1e9)
    stamp, writer = moment.strftime("%Y%m%d%H%M%S"), toolkit_writer(profile.platform)
    begin = now()
    if what == "csv":
        _msprof._csv_tables(directory, stamp, _msprof.toolkit_tables(profile, writer, GROUPS))
    elif what == "json":
        _msprof._timelines(profile, directory, stamp, writer, Reports(), GROUPS)
    elif what == "db":
        export_msprof_db(profile, directory, moment)
    else:
        form = ExportType.TEXT if what == "torch" else ExportType.DB
        export_torch(evolve(profile, path=directory), (form,))
    return since(begin)


def run(what: str, session: Path, out: Path, count: int) -> Spent:
    """Run one stage in this process and return what it took, an export without the parsing before it."""
    if what == "write":
        seconds, cpu = write(session, min(count, ONCE))
        if count > ONCE:
            repeat(session, count // ONCE)
        return seconds, cpu
    begin = now()
    profile = load_profile(session)
    spent = since(begin)
    assert profile.table("kernels").height == count
    assert profile.notes == ()
    return export(what, profile, out) if what in EXPORTS else spent


def stage(what: str, session: Path, out: Path, count: int) -> None:
    """Run one stage in this process and print what it took as JSON."""
    seconds, cpu = run(what, session, out, count)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    written = {"write": session, "parse": None}.get(what, out)
    files = [] if written is None else sorted(path for path in written.rglob("*") if path.is_file())
    size = sum(path.stat().st_size for path in files)
    plain, flushed = plain_writes(files, out / "plain") if files else (0.0, 0.0)
    result = {"seconds": seconds, "cpu": cpu, "bytes": size, "plain": plain, "flushed": flushed, "peak_mb": peak_mb}
    print(json.dumps(result))


def plain_writes(files: Iterable[Path], target: Path) -> tuple[float, float]:
    """Return the median seconds of writing the bytes of *files* into one file, without and with a flush to disk."""
    handed, flushed = [], []
    for _ in range(ROUNDS):
        spent = 0.0
        with target.open("wb", buffering=0) as stream:
            for block in blocks(files):
                begin = time.perf_counter()
                stream.write(block)
                spent += time.perf_counter() - begin
            begin = time.perf_counter()
            os.fsync(stream.fileno())
            flushed.append(spent + time.perf_counter() - begin)
        handed.append(spent)
        target.unlink()
    return statistics.median(handed), statistics.median(flushed)


def blocks(files: Iterable[Path]) -> Iterator[bytes]:
    for path in files:
        with path.open("rb") as stream:
            while block := stream.read(BLOCK):
                yield block


def report(title: str, result: dict[str, float], count: int, *, goal: bool) -> None:
    seconds, peak = result["seconds"], result["peak_mb"]
    line = f"{title:8} {seconds:7.2f} s ({result['cpu']:6.2f} s of processor) {count / seconds:10.0f} kernels/s"
    if result["bytes"]:
        ratios = seconds / result["plain"], seconds / result["flushed"]
        record_ratio(f"{title}: time / a plain write with a flush", ratios[1])
        line += f" {result['bytes'] / 1e6:8.1f} MB {ratios[0]:7.1f} x write {ratios[1]:7.1f} x write and flush"
        line += "" if not goal or ratios[1] <= GOAL_RATIO else f" (goal {GOAL_RATIO})"
    else:
        line += " " * 53
    print(f"{line}   peak {peak:6.0f} MB{'' if peak <= GOAL_MB else f' (goal {GOAL_MB})'}", flush=True)


def main() -> None:
    if len(sys.argv) > 2:
        stage(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as directory:
        session = Path(directory) / "session"
        session.mkdir()
        for what in ("write", "parse", *EXPORTS):
            out = Path(directory) / what
            out.mkdir()
            command = [sys.executable, __file__, what, str(session), str(out), str(count)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            report(what, json.loads(done.stdout), count, goal=what in ("csv", "json"))


if __name__ == "__main__":
    main()
