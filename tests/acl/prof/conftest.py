"""The functions of acl.prof on a state of their own, beside a runtime with one model of three operators."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from drynpu.kernels import Call, KernelPlan, KernelSpec, Operators, Signature, TaskType, TensorDesc
from drynpu_acl.prof import AclSettings, Profiling, functions

MODEL = 1
STREAM = 0x5000
_SQUARE = TensorDesc((1024, 1024), "FLOAT16")
_NODES = (Signature("MatMul", (_SQUARE, _SQUARE), ("fc1",)), Signature("Relu", (_SQUARE,), ("relu",)))
_SIGNATURES = (*_NODES, Signature("MatMul", (_SQUARE, _SQUARE), ("fc2",)))


class OneModel:
    """What is loaded: models 1 and 2, and a stream; ``device`` is the one of all threads."""

    device = 0

    def model_load(self, model_id: int) -> tuple[int, int]:
        return (0, 0)

    def model_name(self, model_id: int) -> str | None:
        return "mlp" if model_id in (MODEL, MODEL + 1) else None

    def stream_id(self, stream: int) -> int | None:
        return {0: 0, STREAM: 1}.get(stream)

    def device_id(self) -> int:
        return self.device

    def plan(self, signature: Signature) -> KernelPlan:
        cube = signature.name == "MatMul"
        kernel = KernelSpec(
            name=str(signature.attributes[0]),
            op_type="MatMulV2" if cube else "Relu",
            task_type=TaskType.AI_CORE if cube else TaskType.AI_VECTOR_CORE,
            inputs=signature.tensors(),
            outputs=(_SQUARE,),
            cube_flops=2 * 1024**3 if cube else 0,
            cube_tiles=32 if cube else 0,
            vector_ops=0 if cube else 1024**2,
            bytes_read=sum(tensor.size_bytes for tensor in signature.tensors()),
            bytes_written=_SQUARE.size_bytes,
        )
        return KernelPlan(kernels=(kernel,))


@define
class Acl:
    """``acl.prof`` as attributes, and ``execute`` in place of ``acl.mdl``."""

    profiling: Profiling
    calls: dict[str, Callable[..., Any]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.calls = functions(self.profiling)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        try:
            return self.calls[name]
        except KeyError:
            raise AttributeError(name) from None

    def execute(self, model_id: int = MODEL, tell: Callable[..., None] | None = None) -> None:
        begin_ns, thread = time.time_ns(), threading.get_native_id()
        rows = []
        for signature in _SIGNATURES:
            start_ns = time.time_ns()
            time.sleep(0.0005)
            rows.append(Call(signature, start_ns, time.time_ns(), thread))
        end_ns = time.time_ns()
        (tell or self.profiling.executed)(model_id, 0, Operators.from_calls(rows), begin_ns, end_ns)
        self.profiling.api("aclmdlExecute", begin_ns, end_ns, (), 0)


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Acl]]:
    """Makes ``acl.prof`` with settings (names without ``DRYNPU_``); the working directory is a fresh one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("drynpu.recorder._recorder._PROF_NUMBERS", itertools.count())  # numbers of a process
    for name in ("PROFILING_MODE", "ASCEND_WORK_PATH", "DRYNPU_COLLECT"):
        monkeypatch.delenv(name, raising=False)
    made: list[Acl] = []

    def of(**settings: str) -> Acl:
        chosen = AclSettings.from_environ({f"DRYNPU_{k}": v for k, v in settings.items()})
        made.append(Acl(Profiling(settings=chosen, runtime=OneModel())))
        return made[-1]

    yield of
    for each in made:
        each.profiling.shut_down()


@pytest.fixture
def acl(make: Callable[..., Acl]) -> Acl:
    return make()
