"""
The vendor's own tools, which live in an environment of their own and open what we write.

``make test`` makes that environment; a missing one is a failure, not a skip, so that nobody believes these
tests ran when they did not.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from tests.by_hand import BEGIN_NS, PID, call_table, setup
from tests.warm_process import WarmProcess, warm_process

from drynpu.kernels import KernelPlan, KernelSpec, Operators, Signature, TaskType, TensorDesc
from drynpu.options import Level, ProfilingRequest
from drynpu.products import export_msprof, export_torch, load_profile
from drynpu.recorder import write_recording
from drynpu.simulate import Collective, Destination, Recording

ROOT = Path(__file__).parents[2]
_FORKED = Path(__file__).with_name("forked_tool.py")

Tool: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def warm_tool() -> Iterator[tuple[Path, WarmProcess | None]]:
    """Return the tool, and a process of its Python that has imported it, which takes longer than most analyses do."""
    folder = Path(os.environ.get("DRYNPU_CONSUMERS_VENV") or ROOT / ".venv-consumers")
    program = folder / "bin" / "msprof-analyze"
    if not program.is_file():
        pytest.fail(f"{program} is not there; make venv-consumers sets it up (or set DRYNPU_CONSUMERS_VENV)")
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as replaced:
            replaced.setattr("sys.executable", str(program.with_name("python")))
            process = stack.enter_context(warm_process(["msprof_analyze.cli.entrance"], os.environ))
        yield program, process


@pytest.fixture(scope="session")
def msprof_analyze(warm_tool: tuple[Path, WarmProcess | None]) -> Tool:
    """
    Return a function that runs ``msprof-analyze`` with the arguments it is given and returns the finished process.

    Its exit status says little (0 even when nothing was analysed), so look at the files and at ``[ERROR]`` lines;
    stdout and stderr come as one text.
    """
    program, process = warm_tool

    def run(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        texts, timeout_s = list(map(str, arguments)), 800
        if process is not None:
            _, done = process.run([str(_FORKED), *texts], cwd or Path.cwd(), os.environ, timeout_s)
            return subprocess.CompletedProcess(done.args, done.returncode, done.stdout + done.stderr)
        return subprocess.run(
            [str(program), *texts],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            cwd=cwd,
            timeout=timeout_s,
        )

    return run


RANKS = (0, 1, 2, 3)
STEPS = 2
TENSOR = TensorDesc((1 << 20,), "FLOAT")


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


def operators() -> Operators:
    rows = []
    for step in range(STEPS):
        start = BEGIN_NS + 1_000_000 * (1 + 2 * step)
        rows.append((1 + step, start, start + 1_900_000, -1))
        rows.append((0, start + 100_000, start + 120_000, 0))
        rows.append((0, start + 600_000, start + 620_000, 0))
    name, start, end, signature = np.array(rows, np.int64).T
    return call_table(
        ("aten::add", *(f"ProfilerStep#{step}" for step in range(STEPS))),
        name,
        start,
        end,
        (Signature("aten::add", (TENSOR, TENSOR)),),
        signature=signature,
        texts=(("float;float", "1048576;1048576"),),
    )


def collectives(rank: int) -> tuple[Collective, ...]:
    """Return, per step, an allReduce of all for which rank 3 comes last, and a message within each pair."""
    pair = (rank & ~1, rank | 1)
    common: dict[str, Any] = {"thread": PID, "rank": rank, "dtype": "FLOAT", "count": 1 << 20, "size_bytes": 1 << 22}
    found = []
    for step in range(STEPS):
        start = BEGIN_NS + 1_000_000 * (1 + 2 * step)
        late = 10_000 * (3 - rank)
        found.append(
            Collective(kind="allReduce", start_ns=start + 300_000, group="dp", ranks=RANKS, wait_ns=late, **common)
        )
        kind = "receive" if rank % 2 else "send"
        group = f"pp{pair[0]}"
        found.append(Collective(kind=kind, start_ns=start + 700_000, group=group, ranks=pair, peer=rank ^ 1, **common))
    return tuple(found)


def record(directory: Path, rank: int) -> None:
    directory.mkdir(parents=True)
    write_recording(
        Recording(
            operators=operators(),
            begin_ns=BEGIN_NS,
            end_ns=BEGIN_NS + 6_000_000,
            collectives=collectives(rank),
        ),
        Destination(directory=directory, framework="torch", pid=PID + rank, device_id=rank, rank_id=rank),
        setup(plan, ProfilingRequest(level=Level.L1)),
    )


@pytest.fixture(scope="session")
def four_ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four directories as torch's profiler leaves them, with the toolkit's own files below."""
    folder = tmp_path_factory.mktemp("run")
    for rank in RANKS:
        directory = folder / f"host_{PID + rank}_{20260101000000000 + rank}_ascend_pt"
        record(directory, rank)
        (directory / f"profiler_info_{rank}.json").write_text(json.dumps({"rank_id": rank}))
        groups = {"dp": {"group_name": "dp", "global_ranks": list(RANKS)}}
        (directory / "profiler_metadata.json").write_text(json.dumps({"parallel_group_info": groups}))
        profile = load_profile(directory)
        export_torch(profile)
        export_msprof(profile)
    return folder
