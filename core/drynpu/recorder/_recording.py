"""A recording becomes a directory: lower, simulate, write the raw records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import evolve, field, frozen

from drynpu import __version__
from drynpu.deliverables._record_context import RecordContext
from drynpu.device import BEST_FIT_POOL, CACHING_POOL, Clock
from drynpu.kernels import MODEL_VERSION, KernelPlan, Signature
from drynpu.options import ProfilingRequest
from drynpu.platforms import Chip
from drynpu.products.mindspore._framework_files import write_mindspore
from drynpu.products.toolkit._prof import write_prof
from drynpu.products.torch._framework_files import FrameworkOptions, write_framework
from drynpu.raw import ClockAnchors
from drynpu.simulate._host_side import HostSide
from drynpu.simulate._lower import lower
from drynpu.simulate._python_side import write_collections, write_frames
from drynpu.simulate._recording import Recording
from drynpu.simulate._simulate import Simulation, simulate
from drynpu.simulate._target import MINDSPORE, Target
from drynpu.simulate._texts import MarkIds, TextIds, TypeIds
from drynpu.simulate._warp import Warp


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
    context = _context(recording, target, request, chip, clock, seed, anchors, plan)
    if target.host_data:
        _write_framework(context, keep_computing=clock is Clock.WALL)
    written = write_prof([context], [context]) if target.device_data else (None, ())
    return _outcome([context], clock, *written)


def write_devices(
    recordings: Mapping[int, Recording],
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
    Simulate what one process did on several devices and write one ``PROF_*/`` with all of them; no ``FRAMEWORK/``.

    *recordings* are by device id, of the same time; what belongs to no device, samples of the host among it, is in
    the first. The simulated host serves each device on its own, as if another thread did: on the projected clock one
    that serves several in turn may be shown with calls that overlap. The rest is as in `write_recording`.
    """
    used = max(_launching_thread(recording, target.pid) for recording in recordings.values())
    shared: dict[str, Any] = {"texts": TextIds(), "types": TypeIds(), "mark_ids": MarkIds()}
    further = evolve(request, sampling=evolve(request.sampling, host_systems=(), host_usage=()))
    contexts = [
        _context(
            recording,
            evolve(target, device_id=device_id),
            further if number else request,
            chip,
            clock,
            seed,
            anchors,
            plan,
            launching=used + number,
            **shared,
        )
        for number, (device_id, recording) in enumerate(recordings.items())
    ]
    return _outcome(contexts, clock, *write_prof(contexts, contexts))


def _context(
    recording: Recording,
    target: Target,
    request: ProfilingRequest,
    chip: Chip,
    clock: Clock,
    seed: int,
    anchors: ClockAnchors,
    plan: Callable[[Signature], KernelPlan],
    *,
    launching: int | None = None,
    **shared: Any,
) -> RecordContext:
    """Simulate a recording; *shared* is what hosts of one directory have in common."""
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
    host = HostSide(
        simulation=simulation,
        operators=recording.operators,
        level=request.level,
        launching=_launching_thread(recording, target.pid) if launching is None else launching,
        device_id=target.device_id,
        to_raw_ns=-anchors.offset_ns,
        acl=request.switches.acl_api,
        runtime=request.switches.runtime_api,
        calls=recording.calls,
        **shared,
    )
    return RecordContext(
        recording=recording,
        simulation=simulation,
        request=request,
        target=target,
        chip=chip,
        anchors=anchors,
        host=host,
        seed=seed,
    )


def _outcome(contexts: Sequence[RecordContext], clock: Clock, path: Path | None, notes: tuple[str, ...]) -> Outcome:
    first = contexts[0]
    unmapped: Counter[str] = Counter()
    for each in contexts:
        unmapped.update(each.simulation.lowered.unmapped)
    return Outcome(
        directory=first.target.directory,
        prof_path=path,
        chip=first.chip.name,
        clock=clock.value,
        seed=first.seed,
        end_ns=max(each.simulation.end_ns for each in contexts),
        kernels=sum(len(each.simulation.lowered.launch_kernel) for each in contexts),
        unmapped=dict(unmapped),
        warp=first.simulation.warp,
        collectives=sum(len(each.recording.collectives) for each in contexts),
        modelled=tuple(dict.fromkeys(name for each in contexts for name in each.recording.modelled)),
        notes=notes,
    )


def _write_framework(context: RecordContext, *, keep_computing: bool) -> None:
    """Write ``FRAMEWORK/``: what the framework's own profiler recorded."""
    recording, target, switches = context.recording, context.target, context.request.switches
    options = FrameworkOptions(
        prefix=target.framework,
        pid=target.pid,
        launching_thread=context.launching,
        device_id=target.device_id,
        to_raw_ns=context.to_raw_ns,
        record_shapes=switches.record_shapes,
        profile_memory=switches.profile_memory,
        keep_computing=keep_computing,
        rank=max(target.rank_id, 0),
        device_data=target.device_data,
    )
    directory = target.directory / "FRAMEWORK"
    if target.framework == MINDSPORE:
        write_mindspore(
            directory,
            context.simulation,
            recording.operators,
            options,
            events=recording.framework_events,
            totals=recording.memory_totals,
        )
    else:
        write_framework(directory, context.simulation, recording.operators, options)
    _write_python(recording, context.simulation, target, context.to_raw_ns)


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
