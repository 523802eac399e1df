"""Ways to call the command line, and a result directory to call it on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from attrs import frozen

from drynpu.cli import main
from drynpu.kernels import (
    Allocations,
    KernelPlan,
    KernelSpec,
    Operators,
    Signature,
    TaskType,
    TensorDesc,
    unmapped_plan,
)
from drynpu.options import Clock, ProfilingRequest, Switches
from drynpu.platforms import load_chip
from drynpu.raw import ClockAnchors, write_document
from drynpu.recorder import Setup, write_recording
from drynpu.simulate import Destination, Recording

BEGIN_NS = 1_736_408_883_000_000_000


@frozen
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def drynpu(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended]:
    """Return a function that runs the console script's entry in this process."""
    for name in list(os.environ):
        if name.startswith("DRYNPU_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments: object) -> Ended:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        code = ended.value.code
        return Ended(code if isinstance(code, int) else int(code is not None), out, err)

    return call


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., Ended]:
    """Return a function that runs ``python -m drynpu`` in a process of its own, from the test's folder."""

    def call(*arguments: object, environment: Mapping[str, str] | None = None, python: tuple[str, ...] = ()) -> Ended:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("DRYNPU_")}
        command = [sys.executable, *python, "-m", "drynpu", *map(str, arguments)]
        done = subprocess.run(
            command, cwd=tmp_path, env={**clean, **(environment or {})}, capture_output=True, text=True, timeout=60
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    return call


def plan(signature: Signature) -> KernelPlan:
    if signature.name != "aten::add":
        return unmapped_plan(signature)
    tensor = TensorDesc((256, 512), "FLOAT16")
    spec = KernelSpec(
        name="aclnnAdd_AddAiCore_Add",
        op_type="Add",
        task_type=TaskType.AI_VECTOR_CORE,
        inputs=(tensor, tensor),
        outputs=(tensor,),
        vector_ops=tensor.elements,
        bytes_read=2 * tensor.size_bytes,
        bytes_written=tensor.size_bytes,
    )
    return KernelPlan(api="aclnnAdd", kernels=(spec,))


@pytest.fixture
def profile() -> Callable[[Path], Path]:
    """Return a function that makes a result directory: two steps of two known and one unknown operator each."""

    def make(directory: Path) -> Path:
        directory.mkdir(parents=True)
        rows = []
        for step in range(2):
            at = BEGIN_NS + 1_000_000 * (step + 1)
            rows.append((2 + step, at, at + 900_000, 7, -1))
            rows += [(0, at + 100_000 * i, at + 100_000 * i + 50_000, 0, 0) for i in (1, 2)]
            rows.append((1, at + 400_000, at + 450_000, 0, 1))
        name, start, end, scope, signature = np.array(rows, np.int64).T
        tensor = TensorDesc((256, 512), "FLOAT16")
        operators = Operators(
            names=("aten::add", "odd::thing", "ProfilerStep#0", "ProfilerStep#1"),
            name=name.astype(np.int32),
            start_ns=start,
            end_ns=end,
            thread=np.full(len(name), 77),
            fwd_thread=np.zeros(len(name), np.int64),
            sequence=np.full(len(name), -1),
            scope=scope.astype(np.uint8),
            signature=signature.astype(np.int32),
            signatures=(Signature("aten::add", (tensor, tensor)), Signature("odd::thing", (tensor,))),
            texts=(("c10::Half;c10::Half", "256,512;256,512"), ("c10::Half", "256,512")),
        )
        outcome = write_recording(
            Recording(operators=operators, allocations=Allocations.empty(), begin_ns=BEGIN_NS, end_ns=BEGIN_NS + 10**7),
            Destination(directory=directory, framework="torch", pid=77),
            Setup(
                request=ProfilingRequest(switches=Switches(record_shapes=True)),
                chip=load_chip("910B3"),
                clock=Clock.PROJECTED,
                seed=0,
                anchors=ClockAnchors(BEGIN_NS // 1000, 5_000_000_000, 5_000_000_000, 250_000_000, 50_000_000),
                plan=plan,
            ),
        )
        write_document(directory / "profiler_info_0.json", "{}")
        write_document(directory / "profiler_metadata.json", json.dumps({"drynpu": outcome.describe()}))
        return directory

    return make
