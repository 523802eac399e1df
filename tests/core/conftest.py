"""Operator tables made by hand, with a rule for every kind of operator there is."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from attrs import frozen
from hypothesis import strategies as st
from tests.by_hand import ANCHORS, BEGIN_NS, PID, allocations, call_table, setup

from drynpu.cli import main
from drynpu.kernels import (
    Allocations,
    Copy,
    KernelPlan,
    KernelSpec,
    Operators,
    Placement,
    Signature,
    TaskType,
    TensorDesc,
    copy_plan,
    unmapped_plan,
)
from drynpu.options import Clock, ProfilingRequest, Switches
from drynpu.platforms import Chip, load_chip
from drynpu.products import load_profile
from drynpu.raw import ClockAnchors, write_document
from drynpu.recorder import Outcome, Setup, write_recording
from drynpu.simulate import Destination, LoweredLaunches, Recording, Simulation, simulate
from drynpu.simulate._lower import lower
from drynpu.tables import Profile, intervals

BIG = TensorDesc((256, 512), "FLOAT16")
SMALL = TensorDesc((3,), "FLOAT")


def kernel(name: str, task_type: TaskType = TaskType.AI_VECTOR_CORE, **fields: object) -> KernelSpec:
    tensors = {"inputs": (BIG,), "outputs": (BIG,), **fields}
    work = {"vector_ops": 131072, "bytes_read": BIG.size_bytes, "bytes_written": BIG.size_bytes, "cube_tiles": 8}
    return KernelSpec(name=f"aclnn{name}_{name}", op_type=name, task_type=task_type, **{**work, **tensors})


MIX = {"cube_flops": 2 * 256 * 512 * 128}
PLANS = {
    "add": KernelPlan(api="aclnnAdd", kernels=(kernel("Add"),)),
    "two": KernelPlan(api="aclnnTwo", kernels=(kernel("Cast"), kernel("Two"))),
    "view": KernelPlan(),
    "empty": KernelPlan(allocates=True),
    "composite": KernelPlan(claims=False),
    "index": KernelPlan(api="aclnnIndex", kernels=(kernel("Index"),), claims=False),
    "item": KernelPlan(api="aclnnItem", kernels=(kernel("Item"),), synchronizes=True),
    "single": KernelPlan(kernels=(kernel("TransData"), kernel("Conv2D", TaskType.AI_CORE, **MIX), kernel("TransData"))),
    "mm": KernelPlan(api="aclnnMm", kernels=(kernel("MatMulV2", TaskType.AI_CORE, hf32=True, **MIX),)),
    "attention": KernelPlan(api="aclnnFlash", kernels=(kernel("Flash", TaskType.MIX_AIC, **MIX),)),
    "reduce": KernelPlan(api="aclnnReduce", kernels=(kernel("Reduce", TaskType.MIX_AIV, **MIX),)),
    "long": KernelPlan(api="aclnnLong", kernels=(kernel("Long", TaskType.AI_CORE, cube_flops=10**11),)),
    "many": KernelPlan(
        api="aclnnMany",
        kernels=(kernel("Many", inputs=(BIG, SMALL, BIG, SMALL, TensorDesc((), "INT64"), BIG), outputs=(SMALL, BIG)),),
    ),
    "bernoulli": KernelPlan(api="aclnnRandom", kernels=(kernel("DSARandomUniform", TaskType.DSA),)),
    "node": KernelPlan(kernels=(kernel("Node"), kernel("Node")), in_graph=True),
    "copied": KernelPlan(
        kernels=(kernel("MEMCPY_ASYNC", TaskType.MEMCPY, copy=Copy.HOST_TO_DEVICE),), claims=True, in_graph=True
    ),
    "unique": KernelPlan(api="aclnnUnique", kernels=(kernel("Unique", TaskType.AI_CPU),)),
}


def plan(signature: Signature) -> KernelPlan:
    """Answer like a rule book: by placement first, then by name, and with the generic kernel for anything else."""
    if signature.placement is Placement.HOST:
        return KernelPlan()
    if signature.placement in {Placement.TO_DEVICE, Placement.TO_HOST}:
        return copy_plan(signature)
    return PLANS.get(signature.name) or unmapped_plan(signature)


@frozen
class Row:
    """One host event; ``name`` is a plan's name, ``unknown``, or an annotation (anything starting with ``#``)."""

    name: str
    start: int
    end: int
    thread: int = PID
    placement: Placement = Placement.DEVICE
    sequence: int = -1
    stack: str = ""


def operators(rows: Sequence[Row], shift: int = BEGIN_NS) -> Operators:
    """Return the table of *rows*, whose times are ns after *shift*."""
    rows = sorted(rows, key=lambda row: (row.start, -row.end))
    calls = [None if row.name.startswith("#") else (row.name, row.placement) for row in rows]
    distinct = sorted({call for call in calls if call}, key=str)
    names = sorted({row.name.removeprefix("#") for row in rows})
    stacks = sorted({row.stack for row in rows if row.stack})
    return Operators(
        names=tuple(names),
        name=np.array([names.index(row.name.removeprefix("#")) for row in rows], np.int32),
        start_ns=np.array([row.start + shift for row in rows], np.int64),
        end_ns=np.array([row.end + shift for row in rows], np.int64),
        thread=np.array([row.thread for row in rows], np.int64),
        fwd_thread=np.zeros(len(rows), np.int64),
        sequence=np.array([row.sequence for row in rows], np.int64),
        scope=np.array([7 if call is None else 0 for call in calls], np.uint8),
        signature=np.array([distinct.index(call) if call else -1 for call in calls], np.int32),
        signatures=tuple(Signature(name, (BIG, SMALL), placement=placement) for name, placement in distinct),
        texts=tuple(("c10::Half;float", "256,512;3") for _ in distinct),
        stack=np.array([stacks.index(row.stack) if row.stack else -1 for row in rows], np.int32),
        stacks=tuple(stacks),
    )


def calls_in_turn(
    order: Sequence[str],
    tensor: TensorDesc,
    known: Sequence[str] = (),
    first_ns: int = 1_000_000,
    every_ns: int = 1_000_000,
) -> Operators:
    """Return calls of 50 us, each of its name's signature on one tensor, on one thread: the first after *first_ns*."""
    names = tuple(known or dict.fromkeys(order))
    count = len(order)
    name = np.array([names.index(each) for each in order], np.int32)
    start = BEGIN_NS + first_ns + every_ns * np.arange(count, dtype=np.int64)
    return call_table(
        names,
        name,
        start,
        start + 50_000,
        tuple(Signature(each, (tensor,)) for each in names),
        texts=tuple(("c10::Half", ",".join(map(str, tensor.shape))) for _ in names),
    )


@st.composite
def forests(draw: st.DrawFn, *, names: Sequence[str] = (*PLANS, "unknown", "#note", "host")) -> list[Row]:
    """Rows that nest properly on each of up to three threads; threads overlap, and times may coincide."""
    rows: list[Row] = []
    for thread in range(PID, PID + draw(st.integers(1, 3))):
        clock, open_rows = draw(st.integers(0, 40_000)), []
        for opens in draw(st.lists(st.booleans(), max_size=10)):
            clock += draw(st.sampled_from([0, 1, 700, 15_000, 80_000]))
            if opens:
                open_rows.append((draw(st.sampled_from(names)), clock))
            elif open_rows:
                name, start = open_rows.pop()
                rows.append(_row(name, start, clock, thread))
        while open_rows:
            clock += draw(st.sampled_from([0, 1, 30_000]))
            name, start = open_rows.pop()
            rows.append(_row(name, start, clock, thread))
    return rows


def _row(name: str, start: int, end: int, thread: int) -> Row:
    return Row(name, start, end, thread, Placement.HOST if name == "host" else Placement.DEVICE)


def run(
    table: Operators,
    memory: Allocations | None = None,
    *,
    clock: Clock = Clock.PROJECTED,
    seed: int = 0,
    **rest: object,
) -> Simulation:
    """Simulate a table on an Ascend910B2."""
    end_ns = int(table.end_ns.max(initial=BEGIN_NS)) + 1000
    arguments = {"begin_ns": BEGIN_NS, "end_ns": end_ns, "base_ns": BEGIN_NS, "chip": load_chip("910B2"), **rest}
    device = {name: arguments.pop(name) for name in ("base_ns", "chip")}
    recording = Recording(operators=table, allocations=memory or Allocations.empty(), **arguments)
    return simulate(recording, plan=plan, clock=clock, seed=seed, **device)


@frozen
class Tools:
    """What tests of the core share; a fixture, because test folders are no packages."""

    begin_ns: int = BEGIN_NS
    pid: int = PID
    anchors: ClockAnchors = ANCHORS
    Row: type[Row] = Row
    names: tuple[str, ...] = (
        *("add", "two", "single", "mm", "attention", "reduce", "many"),
        *("bernoulli", "unique", "unknown", "item", "index"),
    )

    def operators(self, rows: Sequence[Row], shift: int = BEGIN_NS) -> Operators:
        return operators(rows, shift)

    def calls_in_turn(self, order: Sequence[str], tensor: TensorDesc, **more: Any) -> Operators:
        return calls_in_turn(order, tensor, **more)

    def allocations(self, rows: Sequence[tuple[int, int, int]], thread: int = PID) -> Allocations:
        return allocations(rows, thread)

    def forests(self) -> st.SearchStrategy[list[Row]]:
        return forests()

    def plan(self, signature: Signature) -> KernelPlan:
        return plan(signature)

    def lower(self, table: Operators, **more: Any) -> LoweredLaunches:
        return lower(Recording(operators=table, begin_ns=BEGIN_NS, end_ns=BEGIN_NS, **more), plan)

    def mixture(self) -> Operators:
        """Every kind of operator once, copies both ways, two steps, and a second thread."""
        rows = [Row("#ProfilerStep#7", 0, 2_000_000), Row("#ProfilerStep#8", 2_000_100, 2_100_000)]
        rows += [Row(name, 1000 + 100_000 * i, 60_000 + 100_000 * i, sequence=i) for i, name in enumerate(self.names)]
        rows += [Row("copy", 1_300_000, 1_350_000, placement=Placement.TO_DEVICE)]
        rows += [Row("copy", 1_400_000, 1_450_000, placement=Placement.TO_HOST)]
        rows += [Row("view", 1_500_000, 1_500_300), Row("view", 1_500_100, 1_500_200)]
        rows += [Row("mm", 1_290_000, 1_420_000, PID + 3), Row("composite", 1_300_000, 1_310_000, PID + 3)]
        return operators(rows)

    def read(self, outcome: Outcome) -> Profile:
        """Load what was written; the reader must have had nothing to tolerate."""
        profile = load_profile(outcome.directory)
        assert profile.notes == ()
        return profile

    def inside(self, inner: pl.DataFrame, outer: pl.DataFrame) -> np.ndarray[Any, Any]:
        """For every inner row, the outer row on the same thread that is open at both of its ends, -1 if none."""
        columns = [outer[name].to_numpy() for name in ("start_ns", "end_ns", "tid")]
        thread = inner["tid"].to_numpy()
        at = [intervals.innermost(*columns, inner[edge].to_numpy(), thread) for edge in ("start_ns", "end_ns")]
        return np.where(at[0] == at[1], at[0], -1)

    def simulate(self, table: Operators, memory: Allocations | None = None, **rest: object) -> Simulation:
        return run(table, memory, **rest)


@pytest.fixture(scope="session")
def tools() -> Tools:
    return Tools()


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Outcome]:
    """Return a function that writes a recording; keywords of Recording, Destination and Setup are sorted out."""

    def make(table: Operators, name: str = "run", **given: object) -> Outcome:
        # Not called *_ascend_pt: to such a directory belongs what the surface writes when this is done.
        directory = tmp_path / name
        directory.mkdir()
        recording = {"allocations": Allocations.empty(), "begin_ns": BEGIN_NS}
        recording["end_ns"] = int(table.end_ns.max(initial=BEGIN_NS)) + 10_000
        target = {"framework": "torch", "pid": PID, "directory": directory}
        how = {"request": ProfilingRequest(switches=Switches(record_shapes=True)), "chip": load_chip("910B2")}
        how |= {"clock": Clock.PROJECTED, "seed": 0, "anchors": ANCHORS, "plan": plan}
        for kind, cls in ((recording, Recording), (target, Destination), (how, None)):
            fields = {f.name for f in cls.__attrs_attrs__} if cls else set(given)
            kind.update({key: given.pop(key) for key in tuple(given) if key in fields})
        return write_recording(Recording(operators=table, **recording), Destination(**target), Setup(**how))

    return make


@pytest.fixture
def chip() -> Chip:
    return load_chip("910B2")


def two_step_plan(signature: Signature) -> KernelPlan:
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
        operators = call_table(
            ("aten::add", "odd::thing", "ProfilerStep#0", "ProfilerStep#1"),
            name,
            start,
            end,
            (Signature("aten::add", (tensor, tensor)), Signature("odd::thing", (tensor,))),
            signature=signature,
            texts=(("c10::Half;c10::Half", "256,512;256,512"), ("c10::Half", "256,512")),
            thread=77,
            scope=scope,
        )
        outcome = write_recording(
            Recording(operators=operators, allocations=Allocations.empty(), begin_ns=BEGIN_NS, end_ns=BEGIN_NS + 10**7),
            Destination(directory=directory, framework="torch", pid=77),
            setup(two_step_plan, ProfilingRequest(switches=Switches(record_shapes=True)), chip="910B3"),
        )
        write_document(directory / "profiler_info_0.json", "{}")
        write_document(directory / "profiler_metadata.json", json.dumps({"drynpu": outcome.describe()}))
        return directory

    return make


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
