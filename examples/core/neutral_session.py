"""
A profiling session without any framework: a transformer layer written down by hand, profiled on a simulated NPU.

    python examples/core/neutral_session.py --chip Ascend910B2 --output out --options aicpu=on l2=on host_sys=cpu,mem

Everything that an adapter does with drynpu's core stands here once, from top to bottom, by public names:
rules (operator -> kernels), a recording (what happened on the host), a request (what to collect), and the
way from there to the files. docs/core-api.md walks through it.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

from drynpu import DrynpuError
from drynpu.device import DispatchKind
from drynpu.kernels import (
    Allocations,
    Call,
    KernelPlan,
    KernelSpec,
    Operators,
    Placement,
    Signature,
    TaskType,
    TensorDesc,
    build_rule_book,
)
from drynpu.options import Clock, ExportType, Parsed, ProfilingRequest, profiling_options
from drynpu.platforms import Chip, load_chip
from drynpu.products import export_msprof, export_msprof_db, load_profile
from drynpu.raw import ClockAnchors
from drynpu.recorder import HostSampler, Outcome, Setup, write_recording
from drynpu.simulate import (
    Collective,
    DatasetEvent,
    Destination,
    FusionOp,
    GraphPoints,
    GraphRun,
    HostCall,
    HostSamples,
    Iteration,
    Mark,
    MarkKind,
    Recording,
    StaticMemory,
)

# -- 1. Rules: which kernels one call of an operator launches, and how much work each is. Never a time. ---------------


def elementwise(signature: Signature, task_type: TaskType = TaskType.AI_VECTOR_CORE) -> KernelPlan:
    """One kernel over all inputs, with an output like the first."""
    name, tensors = signature.name, signature.tensors()
    kernel = KernelSpec(
        name=f"aclnn{name}_{name}",
        op_type=name,
        task_type=task_type,
        inputs=tensors,
        outputs=tensors[:1],
        vector_ops=tensors[0].elements,
        bytes_read=sum(tensor.size_bytes for tensor in tensors),
        bytes_written=tensors[0].size_bytes,
    )
    return KernelPlan(api=f"aclnn{name}", kernels=(kernel,))


def matmul(signature: Signature) -> KernelPlan:
    """``[m, k] x [k, n]`` on the cube cores: 2mkn operations, output tiles of 128 x 256."""
    left, right = signature.tensors()
    (m, k), n = left.shape, right.shape[1]
    result = TensorDesc((m, n), left.dtype)
    kernel = KernelSpec(
        name="aclnnMatmul_MatMulV2",
        op_type="MatMulV2",
        task_type=TaskType.AI_CORE,
        inputs=(left, right),
        outputs=(result,),
        cube_flops=2 * m * k * n,
        cube_tiles=-(-m // 128) * -(-n // 256),
        bytes_read=left.size_bytes + right.size_bytes,
        bytes_written=result.size_bytes,
    )
    return KernelPlan(api="aclnnMatmul", kernels=(kernel,))


RULES = build_rule_book(
    {
        **dict.fromkeys(("LayerNorm", "SoftmaxV2", "Add", "SoftmaxGrad"), elementwise),
        **dict.fromkeys(("MatMul", "MatMulGrad"), matmul),
        "Multinomial": lambda signature: elementwise(signature, TaskType.AI_CPU),
    }
)

# -- 2. The recording: what happened on the host, in Unix ns. An adapter captures this from its framework. ------------

TOKENS, WIDTH, RANKS = 512, 1024, (0, 1)
HIDDEN, WEIGHT, SCORES = (TensorDesc(shape, "FLOAT16") for shape in ((TOKENS, WIDTH), (WIDTH, WIDTH), (TOKENS, TOKENS)))
LAYER = (
    Signature("CopyIn", (HIDDEN,), placement=Placement.TO_DEVICE),
    Signature("LayerNorm", (HIDDEN,)),
    Signature("MatMul", (HIDDEN, WEIGHT)),
    Signature("MatMul", (HIDDEN, TensorDesc((WIDTH, TOKENS), "FLOAT16"))),
    Signature("SoftmaxV2", (SCORES,)),
    Signature("MatMul", (SCORES, HIDDEN)),
    Signature("Add", (HIDDEN, HIDDEN)),
    Signature("Multinomial", (SCORES,)),
    Signature("SoftmaxGrad", (SCORES, SCORES)),
    Signature("MatMulGrad", (HIDDEN, WEIGHT)),
)
STEPS, STEP_NS, CALL_NS = 2, 15_000_000, 1_000_000


def record(begin_ns: int, host_samples: HostSamples | None = None) -> Recording:
    """Two iterations of the layer, 15 ms each, on this thread; everything that a recording can hold is in it."""
    thread, starts = os.getpid(), [begin_ns + 1_000_000 + step * STEP_NS for step in range(STEPS)]
    call_starts = [start + (1 + number) * CALL_NS for start in starts for number in range(len(LAYER))]
    calls = [Call(of, at, at + 50_000, thread) for of, at in zip(LAYER * STEPS, call_starts, strict=True)]
    steps = [Call(f"ProfilerStep#{n}", start, start + STEP_NS - 1, thread) for n, start in enumerate(starts)]
    blocks = [
        (at, thread, 0x1000_0000, size)
        for start in starts
        for at, size in ((start + 2_010_000, HIDDEN.size_bytes), (start + 12_000_000, -HIDDEN.size_bytes))
    ]
    graph = GraphRun(
        model_id=1,
        model_name="layer",
        iterations=tuple(
            Iteration(index=n + 1, start_ns=start, end_ns=start + STEP_NS - 1) for n, start in enumerate(starts)
        ),
        points=GraphPoints(forward=("LayerNorm",), backward=("MatMulGrad",)),
        fusions=(FusionOp(name="AddLayerNorm", original_ops=("Add", "LayerNorm"), output_bytes=HIDDEN.size_bytes),),
        static_memory=(StaticMemory(op_name="MatMul", size_bytes=SCORES.size_bytes, first_node=1, last_node=4),),
    )
    reduction = {"kind": "allReduce", "group": "data_parallel", "ranks": RANKS, "rank": 0, "dtype": "FLOAT16"}
    return Recording(
        operators=Operators.from_calls([*steps, *calls]),
        allocations=Allocations.from_rows(blocks),
        begin_ns=begin_ns,
        end_ns=begin_ns + 2_000_000 + STEPS * STEP_NS,
        host_calls=tuple(HostCall(start + 13_000_000, thread, DispatchKind.WAIT_DEVICE) for start in starts),
        graphs=(graph,),
        collectives=tuple(
            Collective(
                start_ns=start + 11_500_000,
                thread=thread,
                size_bytes=WEIGHT.size_bytes,
                count=WEIGHT.elements,
                **reduction,
            )
            for start in starts
        ),
        marks=(
            Mark(kind=MarkKind.POINT, message="begin", start_ns=starts[0], end_ns=starts[0], thread=thread),
            Mark(
                kind=MarkKind.START_END,
                message="attention",
                start_ns=starts[0] + 2_500_000,
                end_ns=starts[0] + 6_500_000,
                thread=thread,
                stream=2,
            ),
        ),
        dataset=tuple(
            DatasetEvent(time_ns=start + 500_000, action="Dequeue", source="tokens", buffered=8, duration_ns=20_000)
            for start in starts
        ),
        host_samples=host_samples,
    )


# -- 3. The session: measure the host meanwhile, then simulate and write the raw records. -----------------------------


def profile(request: ProfilingRequest, chip: Chip, directory: Path) -> Outcome:
    """Record the layer and write ``PROF_*`` below *directory*."""
    anchors = ClockAnchors.now(chip.hwts_hz)
    begin_ns = anchors.collection_begin_us * 1000
    sampler = HostSampler(request.sampling)
    sampler.start()
    time.sleep(max(begin_ns + STEPS * STEP_NS - time.time_ns(), 0) / 1e9)  # here a framework would run
    return write(record(begin_ns, sampler.stop()), anchors, request, chip, directory)


def write(
    recording: Recording, anchors: ClockAnchors, request: ProfilingRequest, chip: Chip, directory: Path
) -> Outcome:
    """Put a recording on the simulated device; a script with a framework also has ``host_data``."""
    return write_recording(
        recording,
        Destination(directory=directory, framework="neutral", pid=os.getpid(), rank_id=RANKS[0], host_data=False),
        Setup(request=request, chip=chip, clock=Clock.PROJECTED, seed=0, anchors=anchors, plan=RULES.plan),
    )


def export(prof_path: Path, request: ProfilingRequest) -> list[Path]:
    """Read the records back and write the deliverables, as ``drynpu msprof --export=on`` does."""
    loaded = load_profile(prof_path)
    written = export_msprof(loaded) if ExportType.TEXT in request.output.export else []
    database = export_msprof_db(loaded)
    return written if database is None else [*written, database]


# -- 4. The request: options as the user writes them. ------------------------------------------------------------------


def read_options(texts: Sequence[str], chip: Chip, output: Path) -> Parsed:
    """Read ``key=value`` items, or one JSON document, as the profiling_options of the collector."""
    if texts and texts[0].lstrip().startswith("{"):
        options = json.loads(" ".join(texts))
    else:
        pairs = (text.partition("=") for text in texts)
        options = {key: int(value) if key.endswith("_freq") else value for key, _, value in pairs}
    return profiling_options.parse({**options, "output": str(output)}, chip=chip.name)


def main() -> None:
    """Read the command line, profile, export, and say what was written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chip", default="Ascend910B2", help="a name of drynpu chips (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=Path("neutral_out"), help="default: ./%(default)s")
    parser.add_argument("--options", nargs="*", default=[], metavar="K=V", help="profiling_options: k=v ..., or JSON")
    arguments = parser.parse_args()
    try:
        chip = load_chip(arguments.chip)
        parsed = read_options(arguments.options, chip, arguments.output)
        arguments.output.mkdir(parents=True, exist_ok=True)
        outcome = profile(parsed.request, chip, arguments.output)
        written = export(outcome.prof_path, parsed.request) if outcome.prof_path else []
    except (DrynpuError, ValueError) as error:
        parser.error(str(error))
    for line in (*map(str, parsed.notices), *outcome.notes):
        print(f"note: {line}")
    print(f"{outcome.kernels} kernels on {outcome.chip}, simulated; {len(written)} files in {outcome.prof_path}:")
    for path in written:
        print(f"  {path.relative_to(outcome.prof_path)}")


if __name__ == "__main__":
    main()
