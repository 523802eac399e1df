"""
What is approved of recordings made by hand: their simulation and their raw records, on ten chips.

What differs between the chips is chosen so that every value of an option, every kind of collective and every clock is
there on one of them at least.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import polars as pl
import psutil
from attrs import frozen
from describe import describe
from handmade import BEGIN_NS, PID, plan, recording

from drynpu.deliverables.registry import record_kinds, registered_groups
from drynpu.options import (
    Activity,
    Clock,
    HostSystem,
    HostUsage,
    Level,
    LlcMode,
    MetricGroup,
    ProfilingRequest,
    Sampling,
    Switches,
)
from drynpu.platforms import Chip, load_chip
from drynpu.raw import ClockAnchors, ProfReader
from drynpu.recorder import Outcome, Setup, write_recording
from drynpu.simulate import (
    Destination,
    Simulation,
    simulate,
)

_MEMORY_KB = 24_684_084
"""Of the machine that the approved recordings tell of."""


@frozen
class Case:
    """One recording on one chip, with the options that differ from chip to chip."""

    name: str
    chip: str
    number: int
    metrics: MetricGroup
    clock: Clock = Clock.MODELLED
    framework: str = "torch"
    level: Level = Level.L2
    llc: LlcMode = LlcMode.READ

    @property
    def request(self) -> ProfilingRequest:
        """Everything on."""
        return ProfilingRequest(
            level=self.level,
            activities=(Activity.HOST, Activity.DEVICE),
            aic_metrics=self.metrics,
            switches=Switches(
                record_shapes=True,
                profile_memory=self.number % 2 == 0,
                with_stack=True,
                with_modules=True,
                l2_cache=True,
                tx=True,
                aicpu=True,
                communication=True,
                training_trace=True,
                runtime_api=True,
                task_memory=True,
                gc_threshold_ms=0.0,
            ),
            sampling=Sampling(
                hardware_memory_hz=200,
                llc=self.llc,
                io_hz=100,
                interconnection_hz=50,
                ai_core_hz=100 if self.number % 4 == 3 else None,
                host_systems=(HostSystem.CPU, HostSystem.MEMORY, HostSystem.DISK, HostSystem.NETWORK),
                host_usage=(HostUsage.CPU, HostUsage.MEMORY),
            ),
        )

    def setup(self) -> Setup:
        """Return what the recording is simulated with."""
        chip = load_chip(self.chip)
        return Setup(
            request=self.request, chip=chip, clock=self.clock, seed=self.number, anchors=anchors_of(chip), plan=plan
        )

    def write(self, folder: Path) -> Outcome:
        """Write the recording below a folder."""
        suffix = {"torch": "ascend_pt", "mindspore": "ascend_ms"}.get(self.framework, "neutral")
        directory = folder / f"{self.name}_{suffix}"
        directory.mkdir(parents=True)
        destination = Destination(
            directory=directory,
            framework=self.framework,
            pid=PID,
            device_id=self.number % 4,
            rank_id=1,
            host_data=self.framework != "neutral",
        )
        with (
            # The records describe the program and the machine.
            patch.object(sys, "argv", ["train.py"]),
            patch.object(os, "cpu_count", lambda: 2),
            patch.object(psutil, "virtual_memory", lambda: SimpleNamespace(total=_MEMORY_KB * 1024)),
            patch.object(psutil, "net_if_stats", dict),
        ):
            return write_recording(recording(self.number), destination, self.setup())


def anchors_of(chip: Chip) -> ClockAnchors:
    """Return readings of the clocks that differ in every number."""
    return ClockAnchors(
        collection_begin_us=BEGIN_NS // 1000,
        monotonic_raw_ns=5_000_000_000,
        host_cntvct=7_000_000_123,
        device_cntvct=250_000_000,
        device_hz=chip.hwts_hz,
    )


CASES = tuple(
    Case(name=f"on_{chip}", chip=f"Ascend{chip}", number=number, **more)
    for number, (chip, more) in enumerate(
        {
            "310": {"metrics": MetricGroup.PIPE_UTILIZATION, "framework": "neutral"},
            "310P3": {"metrics": MetricGroup.MEMORY, "clock": Clock.PROJECTED},
            "910A": {"metrics": MetricGroup.ARITHMETIC_UTILIZATION, "framework": "mindspore", "llc": LlcMode.WRITE},
            "910B1": {"metrics": MetricGroup.L2_CACHE, "clock": Clock.WALL},
            "910B2": {"metrics": MetricGroup.PIPE_UTILIZATION, "framework": "mindspore", "clock": Clock.PROJECTED},
            "910B3": {"metrics": MetricGroup.MEMORY_UB, "level": Level.L1, "framework": "neutral"},
            "910B4": {"metrics": MetricGroup.MEMORY_ACCESS, "llc": LlcMode.WRITE},
            "910_93": {"metrics": MetricGroup.RESOURCE_CONFLICT_RATIO, "framework": "mindspore"},
            "950PR": {"metrics": MetricGroup.PIPE_UTILIZATION, "clock": Clock.PROJECTED},
            "910B4-1": {"metrics": MetricGroup.MEMORY_L0, "level": Level.L0, "clock": Clock.WALL},
        }.items()
    )
)


def simulated(case: Case) -> Iterator[str]:
    """Yield every column of the simulation of a case."""
    setup = case.setup()
    simulation: Simulation = simulate(
        recording(case.number),
        plan=setup.plan,
        chip=setup.chip,
        clock=setup.clock,
        seed=setup.seed,
        base_ns=int(setup.anchors.tick_to_unix(setup.anchors.device_cntvct)),
    )
    yield from describe(simulation, "simulation")


def records(outcome: Outcome) -> Iterator[str]:
    """Yield all raw records, the text files and the dictionaries of the PROF directory that a recording left."""
    assert outcome.prof_path is not None
    groups = registered_groups()
    reader = ProfReader(outcome.prof_path, record_kinds(groups))
    for name, kind in sorted(record_kinds(groups).records.items()):
        for device_id in reader.device_ids if kind.side == "device" else (None,):
            rows = reader.read(name, device_id)
            if len(rows):
                yield from describe(rows, f"{name} of device {device_id}")
    texts = record_kinds(groups).texts
    for name in sorted(texts):
        for path in sorted(outcome.prof_path.rglob(f"*{name}*.slice_0")):
            yield f"## {path.relative_to(outcome.prof_path)}"
            yield from path.read_text(encoding="utf-8", errors="replace").splitlines()
    yield from describe(pl.DataFrame({"text": sorted(reader.hashes.values())}), "hashes")
    yield from describe(dict(sorted(reader.types.items())), "types")
    yield from describe(outcome.notes, "notes")
    framework = outcome.directory / "FRAMEWORK"
    for path in sorted(framework.glob("*")) if framework.exists() else ():
        data = path.read_bytes()
        yield f"## {path.name}: {len(data)} bytes"
        yield from (data[first : first + 64].hex(" ", 8) for first in range(0, len(data), 64))
