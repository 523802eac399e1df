"""
The cluster analysis of many ranks, beside the vendor's on the same directories.

``python benchmarks/bench_cluster.py [ranks] [collectives per step]``. Some ranks are simulated, a synthetic cluster is
made of them (texts), and ``drynpu cluster`` and ``msprof-analyze cluster -m all`` each analyse it, as processes, one
after the other; the better of two rounds counts, in time that passed and in processor time, which says more where other
work runs. What they write has to be equal. Without ``.venv-consumers`` the vendor's part is left out.
"""

from __future__ import annotations

import ast
import csv
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from ratios import record_ratio

from drynpu.kernels import Allocations, KernelPlan, KernelSpec, Operators, Signature, TaskType, TensorDesc
from drynpu.options import Clock, Level, ProfilingRequest
from drynpu.platforms import load_chip
from drynpu.products import export_torch, load_profile
from drynpu.raw import ClockAnchors
from drynpu.recorder import Setup, write_recording
from drynpu.simulate import Collective, Destination, Recording

ROOT = Path(__file__).parents[1]
VENDOR = ROOT / ".venv-consumers" / "bin" / "msprof-analyze"
BEGIN_NS = 1_736_408_883_000_000_000
PID, RECORDED, STEPS, ROUNDS = 4321, 8, 3, 2
GAP_NS = 400_000
TENSOR = TensorDesc((1 << 20,), "FLOAT")
GOAL_RATIO, MANY, GOAL_MB = 10, 1024, 4096


def plan(signature: Signature) -> KernelPlan:
    spec = KernelSpec(
        name="aclnnAdd_AddAiCore_Add",
        op_type="Add",
        task_type=TaskType.AI_VECTOR_CORE,
        inputs=signature.tensors(),
        outputs=(TENSOR,),
        vector_ops=TENSOR.elements,
        bytes_read=TENSOR.size_bytes,
        bytes_written=TENSOR.size_bytes,
    )
    return KernelPlan(api="aclnnAdd", kernels=(spec,))


def operators(collectives: int) -> Operators:
    """Return steps of as many additions as collectives, alternating with them."""
    length = (collectives + 1) * GAP_NS
    rows = []
    for step in range(STEPS):
        start = BEGIN_NS + step * length
        rows.append((1 + step, start, start + length - 1000, -1))
        rows += [(0, start + at * GAP_NS + 1000, start + at * GAP_NS + 21_000, 0) for at in range(collectives)]
    name, start_ns, end_ns, signature = np.array(rows, np.int64).T
    return Operators(
        names=("aten::add", *(f"ProfilerStep#{step}" for step in range(STEPS))),
        name=name.astype(np.int32),
        start_ns=start_ns,
        end_ns=end_ns,
        thread=np.full(len(rows), PID),
        fwd_thread=np.zeros(len(rows), np.int64),
        sequence=np.full(len(rows), -1),
        scope=np.zeros(len(rows), np.uint8),
        signature=signature.astype(np.int32),
        signatures=(Signature("aten::add", (TENSOR, TENSOR)),),
        texts=(("float;float", "1048576;1048576"),),
    )


def record(directory: Path, rank: int, collectives: int) -> None:
    directory.mkdir(parents=True)
    length = (collectives + 1) * GAP_NS
    calls = tuple(
        Collective(
            kind=("allReduce", "allGather", "reduceScatter")[at % 3],
            start_ns=BEGIN_NS + step * length + at * GAP_NS + 100_000,
            group="dp",
            ranks=tuple(range(RECORDED)),
            thread=PID,
            rank=rank,
            dtype="FLOAT",
            count=1 << 18,
            size_bytes=1 << 20,
            wait_ns=1000 * (RECORDED - rank),
        )
        for step in range(STEPS)
        for at in range(collectives)
    )
    nothing = np.empty(0, np.int64)
    recording = Recording(
        operators=operators(collectives),
        allocations=Allocations(
            time_ns=nothing, thread=nothing, address=np.empty(0, np.uint64), size_bytes=nothing.copy()
        ),
        begin_ns=BEGIN_NS - 1_000_000,
        end_ns=BEGIN_NS + STEPS * length + 1_000_000,
        collectives=calls,
    )
    setup = Setup(
        request=ProfilingRequest(level=Level.L1),
        chip=load_chip("Ascend910B2"),
        clock=Clock.PROJECTED,
        seed=0,
        anchors=ClockAnchors(
            collection_begin_us=BEGIN_NS // 1000,
            monotonic_raw_ns=5_000_000_000,
            host_cntvct=5_000_000_000,
            device_cntvct=250_000_000,
            device_hz=50_000_000,
        ),
        plan=plan,
    )
    write_recording(
        recording,
        Destination(directory=directory, framework="torch", pid=PID + rank, device_id=rank, rank_id=rank),
        setup,
    )
    (directory / f"profiler_info_{rank}.json").write_text(json.dumps({"rank_id": rank}))
    groups = {"dp": {"group_name": "dp", "global_ranks": list(range(RECORDED))}}
    (directory / "profiler_metadata.json").write_text(json.dumps({"parallel_group_info": groups}))
    export_torch(load_profile(directory))


def timed(*command: str | Path) -> tuple[float, float, int]:
    """Return the seconds and processor seconds of a process, and the most memory of all processes so far, in MB."""
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return seconds, cpu, after.ru_maxrss // 1024


def best(command: Callable[[], tuple[float, float, int]]) -> tuple[float, float]:
    """Return the least seconds and the least processor seconds of some rounds."""
    rounds = [command() for _ in range(ROUNDS)]
    return min(seconds for seconds, _, _ in rounds), min(cpu for _, cpu, _ in rounds)


def content(folder: Path) -> dict[str, Any]:
    """Return what an analysis wrote, sets of ranks and rows in order."""
    contents: dict[str, Any] = {}
    for path in sorted((folder / "cluster_analysis_output").iterdir()):
        if path.suffix == ".csv":
            with path.open(newline="") as file:
                contents[path.name] = sorted(csv.reader(file))
        elif path.name == "communication_group.json":
            groups = json.loads(path.read_text())
            contents[path.name] = {key: sorted(rows, key=str) for key, rows in groups.items()}
        else:
            document = json.loads(path.read_text())
            contents[path.name] = {tuple(sorted(ast.literal_eval(key))): value for key, value in document.items()}
    return contents


def drynpu(*words: str | Path) -> tuple[float, float, int]:
    return timed(sys.executable, "-m", "drynpu", *words)


def main() -> None:
    ranks = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    collectives = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for rank in range(RECORDED):
            stamp = 20_260_101_000_000_000 + rank
            record(place / "run" / f"host_{PID + rank}_{stamp}_ascend_pt", rank, collectives)
        made, _, memory = drynpu("synth", place / "run", "--ranks", str(ranks), "-o", place / "many")
        count = f"{ranks} ranks, {STEPS * collectives} collectives each"
        print(f"synth    {count}: {made:.2f} s, at most {memory} MB a process")
        ours, our_cpu = best(lambda: drynpu("cluster", place / "many", "-o", place / "ours"))
        print(f"cluster  {count}: {ours:.2f} s, {our_cpu:.2f} s of processor", flush=True)
        if not VENDOR.is_file():
            print(f"vendor   not installed: {VENDOR.relative_to(ROOT)}")
            return
        command = (VENDOR, "cluster", "-m", "all", "-d", place / "many", "-o", place / "theirs", "--force")
        theirs, their_cpu = best(lambda: timed(*command))
        equal = content(place / "ours") == content(place / "theirs")
        ratios = f"ratio {theirs / ours:.1f}, of processor time {their_cpu / our_cpu:.1f} (goal {GOAL_RATIO})"
        record_ratio("processor time of msprof-analyze / drynpu cluster", their_cpu / our_cpu)
        print(f"vendor   {count}: {theirs:.2f} s, {their_cpu:.2f} s of processor, {ratios}, equal: {equal}", flush=True)
        if ranks < 64:
            return
        made, _, memory = drynpu("synth", place / "run", "--ranks", str(MANY), "-o", place / "thousand")
        print(f"synth    {MANY} ranks: {made:.1f} s, at most {memory} MB a process (goal {GOAL_MB})")


if __name__ == "__main__":
    main()
