"""A recording becomes a directory: lowered, simulated, written as raw records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from attrs import evolve, field, frozen

from drynpu import __version__
from drynpu.deliverables.dictionaries import MarkNumbers, TextIds, TypeIds
from drynpu.deliverables.host_rows import HostRows
from drynpu.deliverables.record_context import RecordContext
from drynpu.device import BEST_FIT_POOL, CACHING_POOL
from drynpu.kernels import MODEL_VERSION, usual_calibration
from drynpu.options import Clock, Level, ProfilingRequest
from drynpu.platforms import Chip
from drynpu.products import write_framework_data, write_prof
from drynpu.raw import ClockAnchors
from drynpu.simulate import MINDSPORE, Destination, Planner, Recording, TimeMap, simulate

_MEASURED_TIMES = {
    Clock.PROJECTED: "host times between operators",
    Clock.MODELLED: "long gaps between operators",
    Clock.WALL: "host times",
}


@frozen(kw_only=True)
class Setup:
    """
    What a recording is simulated with, besides what was captured.

    The same recording with an equal setup gives exactly the same device data.

    Attributes
    ----------
    request:
        What the user asked to record.
    anchors:
        Readings of the clocks at the start; they tie Unix time to the device's counter.
    plan:
        Maps an operator call to its kernels.
    """

    request: ProfilingRequest
    chip: Chip
    clock: Clock
    seed: int
    anchors: ClockAnchors
    plan: Planner
    topology: str = ""
    """The file that the links of ``chip`` are from; empty: the chip's own description."""


@frozen(kw_only=True)
class Outcome:
    """The files of a recording, and which of their contents are simulated."""

    directory: Path
    prof_path: Path | None
    chip: str
    clock: str
    seed: int
    end_ns: int
    kernels: int
    unmapped: Mapping[str, int]
    unknown: Mapping[str, int]
    time_map: TimeMap = field(repr=False)
    """Maps measured host times to the times in the files."""
    collectives: int = 0
    modelled: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Requested data that is not written, and places where the model goes beyond the hardware, a readable line each."""
    run_notes: tuple[str, ...] = ()
    """What readers have to know of the run itself, a line each."""
    served_by: str = ""
    """What played the NPU for the framework, where there are several."""
    topology: str = ""
    """The file that the links are from, where it is not the chip's description."""

    def describe(self) -> dict[str, object]:
        """Return the note that goes into the metadata, so that nobody takes modelled numbers for measured ones."""
        calibration = usual_calibration()
        return {
            "version": __version__,
            "chip": self.chip,
            **({"topology": self.topology} if self.topology else {}),
            "clock": self.clock,
            "seed": self.seed,
            "model": MODEL_VERSION,
            **({"served_by": self.served_by} if self.served_by else {}),
            "calibration": calibration.label,
            "simulated": ["kernel times", "counters", "queue and CANN API times", "device memory reservation"]
            + (["host times of calls"] if self.clock == Clock.MODELLED.value else [])
            + (["communication: links, tasks and transfer times"] if self.collectives else [])
            + list(self.modelled),
            "measured": ["operators", "shapes", "threads", "tensor sizes", _MEASURED_TIMES[Clock(self.clock)]],
            "unmapped_operators": dict(self.unmapped),
            **({"unknown_kernels": dict(self.unknown)} if self.unknown else {}),
            **({"notes": list(self.notes)} if self.notes else {}),
            **({"run_notes": list(self.run_notes)} if self.run_notes else {}),
        }


def write_recording(recording: Recording, destination: Destination, setup: Setup) -> Outcome:
    """Simulate what one device did and write ``FRAMEWORK/`` and ``PROF_*/`` below ``destination.directory``."""
    return write_devices({destination.device_id: recording}, destination, setup)


def write_devices(recordings: Mapping[int, Recording], destination: Destination, setup: Setup) -> Outcome:
    """
    Simulate what one process did on several devices and write one ``PROF_*/`` with all of them.

    *recordings* are by device id, of the same time. What belongs to no device is in the first: samples of the host,
    and what goes to ``FRAMEWORK/``. The simulated host serves each device on its own, as if another thread did: on the
    projected clock one that serves several in turn may be shown with calls that overlap.

    Raises
    ------
    OutputError
        A file cannot be written.
    """
    contexts = simulate_devices(recordings, destination, setup)
    if destination.host_data:
        write_framework_data(contexts[0], keep_computing=setup.clock is Clock.WALL)
    path, notes = write_prof(contexts, contexts) if destination.device_data else (None, ())
    unmapped: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    for each in contexts:
        unmapped.update(each.simulation.lowered.unmapped)
        unknown.update(each.simulation.lowered.unknown)
    return Outcome(
        directory=destination.directory,
        prof_path=path,
        chip=setup.chip.name,
        clock=setup.clock.value,
        seed=setup.seed,
        end_ns=max(each.simulation.end_ns for each in contexts),
        kernels=sum(len(each.simulation.lowered.launch_kernel) for each in contexts),
        unmapped=dict(unmapped),
        unknown=dict(unknown),
        time_map=contexts[0].simulation.time_map,
        collectives=sum(len(each.recording.collectives) for each in contexts),
        modelled=tuple(dict.fromkeys(name for each in contexts for name in each.recording.modelled)),
        notes=notes,
        run_notes=tuple(dict.fromkeys(note for each in contexts for note in each.recording.notes)),
        served_by=contexts[0].recording.served_by,
        topology=setup.topology,
    )


def simulate_devices(
    recordings: Mapping[int, Recording], destination: Destination, setup: Setup
) -> list[RecordContext]:
    """Return what `write_prof` writes of each device; all share the ids of texts, types and marks of one directory."""
    request, anchors = setup.request, setup.anchors
    texts, types, mark_numbers = TextIds(), TypeIds(), MarkNumbers()
    launching = max(recording.highest_thread(destination.pid) for recording in recordings.values()) + 1
    contexts = []
    for number, (device_id, recording) in enumerate(recordings.items()):
        if number and recording.host_samples is None:  # the host is sampled once, with the first device
            request = evolve(request, sampling=evolve(request.sampling, host_systems=(), host_usage=()))
        simulation = simulate(
            recording,
            plan=setup.plan,
            chip=setup.chip,
            clock=setup.clock,
            seed=setup.seed,
            base_ns=int(anchors.tick_to_unix(anchors.device_cntvct)),
            pool=BEST_FIT_POOL if destination.framework == MINDSPORE else CACHING_POOL,
            l2_counters=request.switches.l2_cache and request.level is not Level.NONE,
        )
        host = HostRows(
            simulation=simulation,
            operators=recording.operators,
            level=request.level,
            launching=launching + number,
            loading=launching + len(recordings) + number,
            device_id=device_id,
            to_raw_ns=-anchors.offset_ns,
            acl=request.switches.acl_api,
            runtime=request.switches.runtime_api,
            calls=recording.calls,
            texts=texts,
            types=types,
            mark_numbers=mark_numbers,
        )
        context = RecordContext(
            recording=recording,
            simulation=simulation,
            request=request,
            destination=evolve(destination, device_id=device_id),
            chip=setup.chip,
            anchors=anchors,
            host=host,
            seed=setup.seed,
        )
        contexts.append(context)
    return contexts
