"""A recording becomes a directory: lower, simulate, write the raw records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from drynpu import __version__
from drynpu.chips import Chip
from drynpu.device import BEST_FIT_POOL, CACHING_POOL, Clock
from drynpu.kernels import MODEL_VERSION, Allocations, KernelPlan, Operators, Signature
from drynpu.options import Level, ProfilingRequest
from drynpu.raw import ClockAnchors, DeviceInfo, ProfWriter
from drynpu.session._acl_calls import AclCalls
from drynpu.session._controls import host_info, sample
from drynpu.session._counters import counter_notes, counter_records
from drynpu.session._device_records import MEMORY_HZ, device_records, step_records
from drynpu.session._framework import FrameworkOptions, write_framework
from drynpu.session._framework_events import FrameworkEvents
from drynpu.session._framework_ms import write_mindspore
from drynpu.session._host_order import HostMark
from drynpu.session._host_records import host_records
from drynpu.session._host_side import HostSide, api_events
from drynpu.session._inputs import Collective, DatasetEvent, GraphRun, Meeting, TxMark
from drynpu.session._lower import lower
from drynpu.session._python_side import PythonFrames, write_collections, write_frames
from drynpu.session._sampler import HostSamples
from drynpu.session._simulate import Simulation, simulate
from drynpu.session._target import MINDSPORE, Target
from drynpu.session._warp import Warp
from drynpu.session.families import BUILDERS, FamilyRecords, RecordContext

__all__ = ["Outcome", "Recording", "write_recording"]

_STEP_PREFIX = "ProfilerStep#"


@frozen(eq=False, kw_only=True)
class Recording:
    """What an adapter captured, on the measured host timeline (Unix ns). ``marks`` as for :func:`simulate`."""

    operators: Operators
    allocations: Allocations = field(factory=Allocations.empty)
    begin_ns: int
    end_ns: int
    marks: tuple[HostMark, ...] = ()
    streams: tuple[tuple[int, int, int], ...] = ()
    live_before_bytes: int = 0
    graphs: tuple[GraphRun, ...] = ()
    collectives: tuple[Collective, ...] = ()
    tx_marks: tuple[TxMark, ...] = ()
    dataset: tuple[DatasetEvent, ...] = ()
    host_samples: HostSamples | None = None
    meeting: Meeting | None = None
    """Who tells how long the collectives wait for other ranks; None: their ``wait_ns`` does."""
    python_frames: PythonFrames | None = None
    framework_events: FrameworkEvents | None = None
    """What the framework recorded of its own host side; written for MindSpore alone."""
    garbage_ns: tuple[tuple[int, int], ...] = ()
    """Start and end of every garbage collection to be shown, in time order."""
    calls: AclCalls | None = None
    """Calls that the script made into the vendor's library itself."""
    modelled: tuple[str, ...] = ()
    """What of it is no measurement but the adapter's model, named as the metadata shall name it."""


@frozen(kw_only=True)
class Outcome:
    """What was written, and what of it is simulated."""

    directory: Path
    prof_path: Path | None
    chip: str
    clock: str
    seed: int
    end_ns: int
    kernels: int
    unmapped: Mapping[str, int]
    warp: Warp = field(repr=False)
    """Maps measured host times to those of the files."""
    collectives: int = 0
    modelled: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What was asked and is not written, and where the model goes beyond the hardware, one readable line each."""

    def describe(self) -> dict[str, object]:
        """Return the note that goes into the metadata, so that nobody takes modelled numbers for measured ones."""
        return {
            "version": __version__,
            "chip": self.chip,
            "clock": self.clock,
            "seed": self.seed,
            "model": MODEL_VERSION,
            "simulated": ["kernel times", "counters", "queue and CANN API times", "device memory reservation"]
            + (["communication: links, tasks and transfer times"] if self.collectives else [])
            + list(self.modelled),
            "measured": ["operators", "shapes", "threads", "tensor sizes"]
            + (["host times"] if self.clock == Clock.WALL.value else ["host times between operators"]),
            "unmapped_operators": dict(self.unmapped),
            **({"notes": list(self.notes)} if self.notes else {}),
        }


def write_recording(
    recording: Recording,
    target: Target,
    *,
    request: ProfilingRequest,
    chip: Chip,
    clock: Clock,
    seed: int,
    anchors: ClockAnchors,
    plan: Callable[[Signature], KernelPlan],
) -> Outcome:
    """
    Simulate a recording and write ``FRAMEWORK/`` and ``PROF_*/`` below ``target.directory``.

    ``anchors`` tie Unix time to the device's counter; ``plan`` maps an operator call to its kernels. The same
    recording, chip, clock and seed give the same device data bit for bit.
    """
    lowered = lower(recording.operators, plan)
    simulation = simulate(
        recording.operators,
        recording.allocations,
        lowered,
        chip=chip,
        clock=clock,
        seed=seed,
        begin_ns=recording.begin_ns,
        end_ns=recording.end_ns,
        base_ns=int(anchors.tick_to_unix(anchors.device_cntvct)),
        marks=recording.marks,
        streams=recording.streams,
        live_before_bytes=recording.live_before_bytes,
        pool=BEST_FIT_POOL if target.framework == MINDSPORE else CACHING_POOL,
        collectives=recording.collectives,
        meeting=recording.meeting,
    )
    launching = _launching_thread(recording, target.pid)
    if target.host_data:
        options = FrameworkOptions(
            prefix=target.framework,
            pid=target.pid,
            launching_thread=launching,
            device_id=target.device_id,
            to_raw_ns=-anchors.offset_ns,
            record_shapes=request.switches.record_shapes,
            profile_memory=request.switches.profile_memory,
            keep_computing=clock is Clock.WALL,
            rank=max(target.rank_id, 0),
            device_data=target.device_data,
        )
        directory = target.directory / "FRAMEWORK"
        if target.framework == MINDSPORE:
            write_mindspore(directory, simulation, recording.operators, options, recording.framework_events)
        else:
            write_framework(directory, simulation, recording.operators, options)
        _write_python(recording, simulation, target, -anchors.offset_ns)
    prof_path: Path | None = None
    notes: tuple[str, ...] = ()
    if target.device_data:
        host = HostSide(
            simulation=simulation,
            operators=recording.operators,
            level=request.level,
            launching=launching,
            device_id=target.device_id,
            to_raw_ns=-anchors.offset_ns,
            acl=request.switches.acl_api,
            runtime=request.switches.runtime_api,
            calls=recording.calls,
        )
        context = RecordContext(
            recording=recording,
            simulation=simulation,
            request=request,
            target=target,
            chip=chip,
            anchors=anchors,
            host=host,
            seed=seed,
        )
        prof_path, notes = write_prof([context], [target.device_id])
    return Outcome(
        directory=target.directory,
        prof_path=prof_path,
        chip=chip.name,
        clock=clock.value,
        seed=seed,
        end_ns=simulation.end_ns,
        kernels=len(lowered.launch_kernel),
        unmapped=lowered.unmapped,
        warp=simulation.warp,
        collectives=len(recording.collectives),
        modelled=recording.modelled,
        notes=notes,
    )


def _write_python(recording: Recording, simulation: Simulation, target: Target, to_raw_ns: int) -> None:
    directory, prefix = target.directory / "FRAMEWORK", target.framework

    def to_raw(time_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return simulation.warp(time_ns) + to_raw_ns

    if recording.python_frames is not None:
        write_frames(directory, prefix, recording.python_frames, to_raw, target.pid)
    garbage_ns = np.array(recording.garbage_ns, np.int64).reshape(-1, 2)
    write_collections(directory / f"{prefix}.gc_record", garbage_ns, to_raw, target.pid)


def _launching_thread(recording: Recording, pid: int) -> int:
    """
    Return an id for the simulated thread that launches kernels.

    It is one more than every id in the recording, so it is nobody else's there. The operating system may have
    given the number to a thread that left no trace, or to another process: readers tell those apart by the pid.
    """
    used = [pid, *(mark.thread for mark in recording.marks), *(thread for _, thread, _ in recording.streams)]
    used += [of.thread for of in recording.collectives]
    used += [of.thread if of.end_thread is None else max(of.thread, of.end_thread) for of in recording.tx_marks]
    columns = [recording.operators.thread, recording.allocations.thread]
    columns += [] if recording.calls is None else [recording.calls.thread]
    events = recording.framework_events
    columns += [] if events is None else [events.records["tid"].astype(np.int64)]
    return max(*used, *(int(column.max(initial=0)) for column in columns)) + 1


def write_prof(contexts: Sequence[RecordContext], devices: Sequence[int]) -> tuple[Path, tuple[str, ...]]:
    """Write a PROF directory: the host's records of the first context, the records of those *devices* of each."""
    context = contexts[0]
    target, request = context.target, context.request
    begun = datetime.fromtimestamp(context.recording.begin_ns / 1e9)
    writer = ProfWriter.create(
        target.directory,
        index=target.prof_number,
        pid=target.pid,
        now=begun,
        storage_limit_mb=request.output.storage_limit_mb,
    )
    built = {each.target.device_id: _all_records(each) for each in contexts}
    parameters = sample(request, context.chip, target, writer.path)
    for records in built[target.device_id]:
        parameters |= records.sample
    writer.write_controls(
        host_info(target, context.chip, context.anchors),
        [DeviceInfo.of_chip(context.chip, device_id) for device_id in devices],
        parameters,
        context.anchors,
        context.simulation.end_ns,
    )
    for records in built[target.device_id]:
        _write_host(writer, records)
    for device_id in devices:
        for records in built[device_id]:
            for family, rows in records.device.items():
                writer.write(family, rows, device_id=device_id)
            for family, lines in records.device_text.items():
                writer.write_text(family, lines, device_id=device_id)
    writer.write_dictionaries(context.host.texts.hashes, context.host.types.types)
    return writer.path, tuple(
        dict.fromkeys(note for own in built.values() for records in own for note in records.notes)
    )


def _all_records(context: RecordContext) -> list[FamilyRecords]:
    further = [build(context) for build in BUILDERS]
    core = _core_records(context) if context.request.level > Level.NONE else _call_records(context)
    return [core, *further]


def _write_host(writer: ProfWriter, records: FamilyRecords) -> None:
    for family, rows in records.host.items():
        writer.write(family, rows)
    for family, lines in records.host_text.items():
        by_process = lines if isinstance(lines, Mapping) else {None: lines}
        for pid, own in by_process.items():
            writer.write_text(family, own, pid=pid)


def _call_records(context: RecordContext) -> FamilyRecords:
    """Build what a recording without tasks still has: calls into ACL and the runtime, if they are asked for."""
    return FamilyRecords(host={"api_event": api_events(context.host)})


def _core_records(context: RecordContext) -> FamilyRecords:
    """Build what every recording of tasks has: API calls, launches, descriptions, tasks, counters, samples."""
    simulation, request, anchors = context.simulation, context.request, context.anchors
    memory_hz = request.sampling.hardware_memory_hz or (MEMORY_HZ if request.switches.profile_memory else None)
    device = device_records(simulation, context.chip, anchors, memory_hz=memory_hz)
    device["ts_track_step"] = step_records(_steps(context.recording, simulation), anchors)
    device |= counter_records(simulation, request, device_cntvct=anchors.device_cntvct)
    return FamilyRecords(host=host_records(context.host), device=device, notes=counter_notes(request, context.chip))


def _steps(recording: Recording, simulation: Simulation) -> tuple[tuple[int, int, int], ...]:
    operators = recording.operators
    numbers = {
        index: int(name.removeprefix(_STEP_PREFIX))
        for index, name in enumerate(operators.names)
        if name.startswith(_STEP_PREFIX) and name.removeprefix(_STEP_PREFIX).isdigit()
    }
    rows = np.flatnonzero(np.isin(operators.name, list(numbers)))
    return tuple(
        (numbers[int(operators.name[row])], int(simulation.op_start_ns[row]), int(simulation.op_end_ns[row]))
        for row in rows
    )
