"""Records as bytes; and a hand-made recording that moves bytes every way there is."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve, field, frozen
from tests import by_hand
from tests.by_hand import ANCHORS, BEGIN_NS, PID, setup

from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.kernels import Allocations, Copy, KernelPlan, KernelSpec, Signature, TaskType, TensorDesc
from drynpu.options import Clock, Level, MetricGroup, ProfilingRequest, Sampling, Switches
from drynpu.platforms import load_chip
from drynpu.products import export_msprof, export_torch, load_profile
from drynpu.raw import ProfReader
from drynpu.recorder import Outcome, write_recording
from drynpu.simulate import Collective, Destination, Recording
from drynpu.tables import Profile

sys.path.insert(0, str(Path(__file__).parents[1]))

from record_bytes import fits, host_head, number, pack, plausible

__all__ = ["fits", "host_head", "number", "pack", "plausible"]

LENGTH_NS = 60_000_000
NOW = datetime(2026, 1, 31, 23, 59, 58)
SMALL = TensorDesc((256, 1024), "FLOAT16")
LARGE = TensorDesc((64, 1024, 1024), "FLOAT")


def _kernel(name: str, kind: TaskType, tensor: TensorDesc, **more: Any) -> KernelSpec:
    values: dict[str, Any] = {
        "inputs": (tensor,),
        "outputs": (tensor,),
        "bytes_read": tensor.size_bytes,
        "bytes_written": tensor.size_bytes,
    } | more
    return KernelSpec(name=f"{name}_kernel", op_type=name, task_type=kind, **values)


KERNELS = {
    "Small": _kernel("Small", TaskType.AI_VECTOR_CORE, SMALL, vector_ops=SMALL.elements),
    "Large": _kernel("Large", TaskType.AI_VECTOR_CORE, LARGE, vector_ops=LARGE.elements),
    "MatMul": _kernel("MatMul", TaskType.AI_CORE, SMALL, cube_flops=2 * 256 * 1024 * 1024),
    "Where": _kernel("Where", TaskType.AI_CPU, SMALL),
    "In": _kernel("In", TaskType.MEMCPY, LARGE, copy=Copy.HOST_TO_DEVICE),
    "Out": _kernel("Out", TaskType.MEMCPY, SMALL, copy=Copy.DEVICE_TO_HOST),
}


def plan(signature: Signature) -> KernelPlan:
    """Map every operator to its one kernel."""
    return KernelPlan(api=f"aclnn{signature.name}", kernels=(KERNELS[signature.name],))


def no_allocations() -> Allocations:
    none = np.empty(0, np.int64)
    return Allocations(time_ns=none, thread=none, address=none.astype(np.uint64), size_bytes=none)


def one_allocation() -> Allocations:
    """A tensor that an operator makes and nobody releases."""
    return by_hand.allocations([(2_010_000, 4096, 1_000_000)])


def all_reduce(ranks: tuple[int, ...] = (0, 1, 2, 3), size: int = 8_000_000, **more: Any) -> Collective:
    values: dict[str, Any] = {
        "kind": "allReduce",
        "start_ns": BEGIN_NS + 20_500_000,
        "thread": PID,
        "group": "world",
        "ranks": ranks,
        "rank": 0,
        "size_bytes": size,
        "dtype": "FLOAT",
        "count": size // 4,
    }
    return Collective(**(values | more))


@frozen(eq=False, kw_only=True)
class Run:
    """One recording on disk."""

    outcome: Outcome
    profile: Profile = field(repr=False)

    @property
    def reader(self) -> ProfReader:
        assert self.profile.prof_path is not None
        return ProfReader(self.profile.prof_path, RECORD_KINDS)

    def files(self) -> dict[str, Path]:
        """Export as the toolkit does: files by name without time."""
        return {path.name.replace("_20260131235958", ""): path for path in export_msprof(self.profile, now=NOW)}

    def torch_files(self) -> dict[str, Path]:
        return {path.name: path for path in export_torch(self.profile)}


def table(path: Path) -> tuple[list[str], list[list[str]]]:
    """Read a csv file: header and rows."""
    with path.open(newline="", encoding="utf-8") as lines:
        header, *rows = csv.reader(lines)
    return header, rows


def counter_events(path: Path, layer: int) -> list[dict[str, Any]]:
    """Read the counters of one layer out of a timeline."""
    events = json.loads(path.read_text(encoding="utf-8"))
    return [event for event in events if event["ph"] == "C" and event["pid"] >> 5 & 31 == layer]


def layer_names(path: Path) -> set[str]:
    events = json.loads(path.read_text(encoding="utf-8"))
    return {event["args"]["name"] for event in events if event["ph"] == "M" and event["name"] == "process_name"}


@pytest.fixture
def read_table() -> Callable[[Path], tuple[list[str], list[list[str]]]]:
    return table


@pytest.fixture
def read_counters() -> Callable[[Path, int], list[dict[str, Any]]]:
    return counter_events


@pytest.fixture
def read_layers() -> Callable[[Path], set[str]]:
    return layer_names


@pytest.fixture
def kernel_specs() -> dict[str, KernelSpec]:
    return KERNELS


@pytest.fixture
def collective() -> Callable[..., Collective]:
    return all_reduce


@pytest.fixture
def run(tmp_path: Path, tools: Any) -> Callable[..., Run]:
    """Return a function that records, writes and loads."""

    def make(
        *,
        chip: str = "Ascend910B2",
        names: tuple[str, ...] = ("In", "Small", "Large", "MatMul", "Where", "Large", "Out"),
        collectives: tuple[Collective, ...] = (),
        streams: tuple[tuple[int, int, int], ...] = (),
        switches: Switches | None = None,
        device_id: int = 0,
        length_ns: int = LENGTH_NS,
        level: Level = Level.L1,
        metrics: MetricGroup = MetricGroup.PIPE_UTILIZATION,
        allocated: bool = False,
        **sampling: Any,
    ) -> Run:
        directory = tmp_path / f"run{len(list(tmp_path.iterdir()))}_ascend_pt"
        directory.mkdir()
        known = load_chip(chip)
        outcome = write_recording(
            Recording(
                operators=tools.calls_in_turn(names, SMALL, known=tuple(KERNELS)),
                allocations=one_allocation() if allocated else no_allocations(),
                begin_ns=BEGIN_NS + 123_456,
                end_ns=BEGIN_NS + length_ns,
                collectives=collectives,
                streams=streams,
            ),
            Destination(directory=directory, framework="torch", pid=PID, device_id=device_id),
            setup(
                plan,
                ProfilingRequest(
                    level=level,
                    aic_metrics=metrics,
                    switches=Switches() if switches is None else switches,
                    sampling=Sampling(**sampling),
                ),
                chip=known,
                clock=Clock.WALL,
                anchors=evolve(ANCHORS, monotonic_raw_ns=5_000_000_777, host_cntvct=5_000_000_777),
            ),
        )
        return Run(outcome=outcome, profile=load_profile(directory))

    return make
