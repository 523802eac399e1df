"""A recording with a bit of everything, and a plain reader of databases."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import polars as pl
import pytest
from tests import by_hand
from tests.by_hand import BEGIN_NS, PID, setup

from drynpu.kernels import Allocations, Copy, KernelPlan, KernelSpec, Signature, TaskType, TensorDesc
from drynpu.options import Clock, ExportType, Level, ProfilingRequest, Sampling, Switches
from drynpu.products import export_msprof, export_msprof_db, export_torch, load_profile
from drynpu.recorder import write_recording
from drynpu.simulate import Collective, Destination, Mark, MarkKind, Recording
from drynpu.tables import Profile

NOW = datetime(2026, 1, 31, 23, 59, 58)
SMALL, LARGE = TensorDesc((256, 1024), "FLOAT16"), TensorDesc((64, 1024, 1024), "FLOAT")


def kernel(name: str, kind: TaskType, tensor: TensorDesc, **more: Any) -> KernelSpec:
    values: dict[str, Any] = {"bytes_read": tensor.size_bytes, "bytes_written": tensor.size_bytes} | more
    return KernelSpec(
        name=f"{name}_kernel", op_type=name, task_type=kind, inputs=(tensor, tensor), outputs=(tensor,), **values
    )


KERNELS = {
    "In": kernel("In", TaskType.MEMCPY, LARGE, copy=Copy.HOST_TO_DEVICE),
    "Small": kernel("Small", TaskType.AI_VECTOR_CORE, SMALL, vector_ops=SMALL.elements),
    "MatMul": kernel("MatMul", TaskType.AI_CORE, SMALL, cube_flops=2 * 256 * 1024 * 1024),
    "Large": kernel("Large", TaskType.AI_VECTOR_CORE, LARGE, vector_ops=LARGE.elements),
    "Where": kernel("Where", TaskType.AI_CPU, SMALL),
    "Out": kernel("Out", TaskType.MEMCPY, SMALL, copy=Copy.DEVICE_TO_HOST),
}
ORDER = ("In", "Small", "MatMul", "Large", "Where", "Large", "MatMul", "Out")


def plan(signature: Signature) -> KernelPlan:
    return KernelPlan(api=f"aclnn{signature.name}", kernels=(KERNELS[signature.name],))


def collective(kind: str, ms: float, ranks: tuple[int, ...], **more: Any) -> Collective:
    values: dict[str, Any] = {"thread": PID, "rank": 0, "size_bytes": 1 << 22, "dtype": "FLOAT16", "count": 1 << 21}
    values |= {"group": f"group{len(ranks)}", "start_ns": BEGIN_NS + round(ms * 1_000_000)} | more
    return Collective(kind=kind, ranks=ranks, **values)


COLLECTIVES = (
    collective("allReduce", 3.3, (0, 1, 2, 3)),
    collective("allGather", 4.01, (0, 1, 2, 3), blocking=False, dtype="DT_BF16"),
    collective("send", 10.2, (0, 1), peer=1),
)


def marks() -> tuple[Mark, ...]:
    def mark(kind: MarkKind, message: str, ms: float, **more: Any) -> Mark:
        start = BEGIN_NS + round(ms * 1_000_000)
        return Mark(kind=kind, message=message, start_ns=start, end_ns=start + 700_000, thread=PID, **more)

    return (
        mark(MarkKind.PUSH_POP, "plain", 1.5),
        mark(MarkKind.EXTENDED_POINT, "elsewhere", 2.5, domain="mine"),
        mark(MarkKind.START_END, "on a stream", 4.5, domain="mine", stream=0),
    )


def allocations() -> Allocations:
    """A tensor that an operator makes and one that is released."""
    return by_hand.allocations([(2_010_000, 4096, 65536), (3_010_000, 1 << 20, 2048), (4_010_000, 4096, -65536)])


def recorder(folder: Path, tools: Any) -> Callable[..., Profile]:
    """Return a function that records everything at once below a folder and loads it."""

    def make(
        *,
        level: Level = Level.L1,
        chip: str = "Ascend910B2",
        framework: str = "torch",
        device_id: int = 0,
        collectives: tuple[Collective, ...] = COLLECTIVES,
        switches: Switches | None = None,
        name: str = "run",
    ) -> Profile:
        directory = folder / f"{name}_ascend_pt"
        directory.mkdir()
        write_recording(
            Recording(
                operators=tools.calls_in_turn(ORDER, SMALL, known=tuple(KERNELS)),
                allocations=allocations(),
                begin_ns=BEGIN_NS,
                end_ns=BEGIN_NS + 40_000_000,
                collectives=collectives,
                marks=marks(),
            ),
            Destination(directory=directory, framework=framework, pid=PID, device_id=device_id),
            setup(
                plan,
                ProfilingRequest(
                    level=level,
                    switches=Switches(tx=True, profile_memory=True, task_memory=True) if switches is None else switches,
                    sampling=Sampling(hardware_memory_hz=200, io_hz=100, interconnection_hz=50),
                ),
                chip=chip,
                clock=Clock.WALL,
            ),
        )
        return load_profile(directory)

    return make


@pytest.fixture
def record(tmp_path: Path, tools: Any) -> Callable[..., Profile]:
    """Return a function that records everything at once and loads it."""
    return recorder(tmp_path, tools)


def rows_of(path: Path, query: str) -> list[Any]:
    """Return the rows of a query."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        return list(connection.execute(query))


def tables_of(path: Path) -> dict[str, str]:
    """Return the statement that made each table."""
    return {row["name"]: row["sql"] for row in rows_of(path, "SELECT name, sql FROM sqlite_master WHERE type='table'")}


@pytest.fixture(scope="session")
def read() -> SimpleNamespace:
    """Return readers of a database: ``rows(path, query)`` and ``tables(path)``."""
    return SimpleNamespace(rows=rows_of, tables=tables_of)


def text_and_database(profile: Profile) -> SimpleNamespace:
    """Write both forms of the toolkit: ``profile``, ``files`` by name, ``db``."""
    files = {path.name.replace("_20260131235958", ""): path for path in export_msprof(profile, now=NOW)}
    path = export_msprof_db(profile, now=NOW)
    assert path is not None
    return SimpleNamespace(profile=profile, files=files, db=path)


@pytest.fixture
def both(record: Callable[..., Profile]) -> Callable[..., SimpleNamespace]:
    """Return a function that records and writes text and database: ``profile``, ``files`` by name, ``db``."""
    return lambda **given: text_and_database(record(**given))


@pytest.fixture(scope="session")
def toolkit_made(tmp_path_factory: pytest.TempPathFactory, tools: Any) -> SimpleNamespace:
    """Return what ``both`` writes of a recording with everything; tests only read it."""
    return text_and_database(recorder(tmp_path_factory.mktemp("toolkit"), tools)())


def with_framework(profile: Profile) -> Profile:
    """Give a profile what its recording cannot have yet: steps, stacks, a backward operator, frames and more."""
    ops = profile.host_ops
    row = pl.int_range(pl.len())
    stack = pl.when(row < 2).then(pl.lit("train.py(3): step;train.py(9): <module>")).when(row == 5).then(pl.lit("one"))
    ops = ops.with_columns(
        stack.otherwise(pl.lit("")).alias("call_stack"),
        pl.when(row.is_in([2, 6])).then(7).otherwise(pl.col("sequence")).alias("sequence"),
        pl.when(row == 6).then(PID).otherwise(0).cast(pl.Int64).alias("fwd_tid"),
    )
    marker = ops.head(2).with_columns(
        pl.Series("name", ["ProfilerStep#3", "ProfilerStep#4"]),
        pl.Series("start_ns", [BEGIN_NS + 500_000, BEGIN_NS + 3_950_000]),
        pl.Series("end_ns", [BEGIN_NS + 3_900_000, BEGIN_NS + 9_500_000]),
        *(pl.lit("").alias(name) for name in ("input_dtypes", "input_shapes", "call_stack")),
    )
    ops = pl.concat([ops, marker]).sort("start_ns").with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias("op_id"))
    calls = pl.DataFrame(
        {
            "time_ns": [BEGIN_NS + 1000 * n for n in (600, 610, 690, 700)],
            "pid": [PID] * 4,
            "tid": [PID] * 4,
            "name": ["train.py(9): <module>", "Net######17", "Net######17", "train.py(9): <module>"],
            "tag": [0, 0, 1, 1],
        },
        schema=profile.python_calls.schema,
    )
    gc = pl.DataFrame(
        {"pid": [PID], "start_ns": [BEGIN_NS + 800_000], "end_ns": [BEGIN_NS + 802_500]}, schema=profile.gc.schema
    )
    ge = pl.DataFrame(
        {
            "device_id": [0, 0, 0],
            "time_ns": [BEGIN_NS + 2_015_000, BEGIN_NS + 2_500_000, BEGIN_NS + 3_500_000],
            "name": ["Small", "MatMul", "Small"],
            "address": [1 << 40, 1 << 41, 1 << 40],
            "size_bytes": [1024, 512, -1024],
            "total_allocated_bytes": [1024, 1536, 512],
            "total_reserved_bytes": [4096, 4096, 4096],
            "tid": [PID] * 3,
        },
        schema=profile.frame("cann_allocations").schema,
    )
    tables = {**profile.group_tables, "cann_allocations": ge}
    return attrs.evolve(profile, host_ops=ops, python_calls=calls, gc=gc, group_tables=tables)


class TorchFiles:
    """Text and databases of torch's profiler, of one profile."""

    def __init__(self, profile: Profile, read: SimpleNamespace) -> None:
        self.profile = profile
        self.files = {path.name: path for path in export_torch(profile, (ExportType.TEXT, ExportType.DB))}
        self._read = read

    @property
    def tables(self) -> dict[str, str]:
        found: dict[str, str] = self._read.tables(self.path)
        return found

    @property
    def path(self) -> Path:
        return self.files["ascend_pytorch_profiler.db"]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self._read.rows(self.path, query)]

    def analysis(self, query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self._read.rows(self.files["analysis.db"], query)]

    @staticmethod
    def nanoseconds(us: str | float) -> int:
        """Return printed microseconds as exact nanoseconds."""
        whole, _, rest = str(us).partition(".")
        return int(whole) * 1000 + int(rest.ljust(3, "0")[:3])

    def of_category(self, category: str) -> list[dict[str, Any]]:
        """Return the X events of a category of the trace."""
        return [event for event in self.trace if event["ph"] == "X" and event.get("cat") == category]

    def cells(self, name: str) -> list[dict[str, str]]:
        with self.files[name].open(encoding="utf-8", newline="") as stream:
            return [{key: value.rstrip("\t") for key, value in row.items()} for row in csv.DictReader(stream)]

    @property
    def trace(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.files["trace_view.json"].read_text(encoding="utf-8"))
        return found

    def document(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.files[name].read_text(encoding="utf-8"))
        return found


@pytest.fixture
def torch_files(read: SimpleNamespace) -> Callable[[Profile], TorchFiles]:
    """Return a function that writes both forms of a profile; queries go to ``rows`` and ``analysis``."""
    return lambda profile: TorchFiles(profile, read)


@pytest.fixture(scope="session")
def torch_made(tmp_path_factory: pytest.TempPathFactory, tools: Any, read: SimpleNamespace) -> TorchFiles:
    """Return text and databases of a profile that has everything torch's profiler can have; tests only read them."""
    switches = Switches(profile_memory=True, record_shapes=True)
    profile = recorder(tmp_path_factory.mktemp("torch"), tools)(switches=switches)
    return TorchFiles(with_framework(profile), read)
