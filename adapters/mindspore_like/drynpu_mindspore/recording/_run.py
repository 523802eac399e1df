"""One run directory, from its creation to its raw data."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, evolve, field

from drynpu.kernels import Operators, build_rule_book, concatenate
from drynpu.options import Activity, ProfilingRequest, Settings
from drynpu.platforms import Chip, load_chip
from drynpu.plugins import build_manager
from drynpu.raw import ClockAnchors
from drynpu.recorder import HostSampler, Outcome, Setup, write_recording
from drynpu.simulate import FrameworkEvents, GraphRun, HostSamples, Iteration, Recording, Target
from drynpu_mindspore.capture import CaptureOptions, DatasetPipeline, GraphMemory
from drynpu_mindspore.profiler import RunRequest
from drynpu_mindspore.recording._capture import CaptureLike
from drynpu_mindspore.recording._directory import FRAMEWORK, clear_raw, make_run_directory, write_info, write_metadata
from drynpu_mindspore.recording._marks import Marks
from drynpu_mindspore.recording._memory import MODELLED, model_memory
from drynpu_mindspore.recording._pipeline import write_pipeline
from drynpu_mindspore.recording._plans import launching_plans
from drynpu_mindspore.recording._request import WHOLE_GRAPH, profiling_request

__all__ = ["Run"]

I64 = npt.NDArray[np.int64]

_FRAMEWORK = "mindspore"
_HOST_HZ = 1_000_000_000
"""Times of op_range are counts of the host, here of nanoseconds."""
_ASCEND = "Ascend"
_STEP = "ProfilerStep#"
_PROF_NUMBERS: Iterator[int] = itertools.count()


@define(kw_only=True)
class Run:
    """
    A recording and the run directory that it goes to.

    Raw data is written whenever the recording stops: everything since :meth:`open`, in place of what an earlier stop
    wrote.
    """

    run: RunRequest
    path: Path
    marks: Marks
    outcome: Outcome | None = None
    _request: ProfilingRequest
    _settings: Settings
    _chip: Chip
    _capture: CaptureLike
    _running: bool = False
    _anchors: ClockAnchors | None = None
    _sampler: HostSampler | None = None
    _samples: list[HostSamples] = field(factory=list)
    _parts: list[Operators] = field(factory=list)
    _events: list[FrameworkEvents] = field(factory=list)
    _memory: list[GraphMemory | None] = field(factory=list)
    _pool: list[I64] = field(factory=list)
    _dataset: DatasetPipeline | None = None
    _notes: tuple[str, ...] = ()
    _metadata: dict[str, Any] = field(factory=dict)
    _indent: int | None = None

    @classmethod
    def open(cls, run: RunRequest, capture: CaptureLike) -> Run:
        """
        Make the run directory.

        Raises
        ------
        OutputError
            It cannot be made.
        ChipError
            The chip of the settings does not exist.
        """
        settings = Settings.from_environ(os.environ)
        chip = load_chip(settings.chip, extra_files=build_manager().chip_files())
        given = run.parameters
        capture.graphs.begin()
        return cls(
            run=run,
            path=make_run_directory(run),
            marks=Marks(frozenset(given.mstx_domain_include), frozenset(given.mstx_domain_exclude)),
            request=profiling_request(run, chip),
            settings=settings,
            chip=chip,
            capture=capture,
        )

    @property
    def chip_name(self) -> str:
        """The simulated chip."""
        return self._chip.name

    @property
    def recording(self) -> bool:
        """Whether something is being captured right now."""
        return self._running

    def start(self) -> None:
        """Capture from now on."""
        if self._running:
            return
        if self._anchors is None:
            self._anchors = evolve(ClockAnchors.now(self._chip.hwts_hz), host_hz=_HOST_HZ)
        given = self.run.parameters
        self._capture.start(
            CaptureOptions(
                data_process=given.data_process,
                host_events=Activity.HOST in self._request.activities,
                with_stack=given.with_stack,
                profile_memory=given.profile_memory,
            )
        )
        self._running = True
        if self._sampler is None:
            self._sampler = HostSampler(self._request.sampling)
            self._sampler.start()

    def stop(self) -> None:
        """Capture no longer, and write the raw data. Raises `OutputError`."""
        if not self._running:
            return
        self._running = False
        captured = self._capture.stop()
        self.marks.close_step()
        if self._sampler is not None:
            taken, self._sampler = self._sampler.stop(), None
            self._samples += [] if taken is None else [taken]
        self._parts.append(captured.operators)
        self._events.append(captured.host_events)
        self._memory.append(captured.memory)
        self._pool.append(captured.pool)
        self._dataset = self._dataset if captured.dataset is None else captured.dataset
        self._notes += captured.notes
        self._write()

    def finalize(self) -> None:
        """Write what describes the run. Raises `OutputError`."""
        if self.run.device_target == _ASCEND:
            write_info(self.path, self.run)

    def write_metadata(self, metadata: dict[str, Any], indent: int | None) -> None:
        """Write the script's metadata, beside what the simulation says of itself. Raises `OutputError`."""
        self._metadata |= metadata
        self._indent = indent
        self._write_metadata()

    def _write_metadata(self) -> None:
        own = {} if self.outcome is None else {"drynpu": self.outcome.describe()}
        write_metadata(self.path, {**self._metadata, **own}, self._indent)

    def _write(self) -> None:
        assert self._anchors is not None  # set by start
        clear_raw(self.path)
        begin_ns = self._anchors.collection_begin_us * 1000
        # A step that was open before the first start is no part of the recording.
        calls = [call for call in self.marks.calls if call.start_ns >= begin_ns]
        operators = concatenate([*self._parts, Operators.from_calls(calls)])
        end_ns = max(time.time_ns(), begin_ns + 1, int(operators.end_ns.max(initial=0)))
        memory = model_memory(self.run, self._memory, operators)
        rules = build_rule_book(build_manager().kernel_rules(_FRAMEWORK)).plan
        recording = Recording(
            operators=operators,
            allocations=memory.allocations,
            live_before_bytes=memory.live_before_bytes,
            # At jit level O2 a device plans memory ahead, which the pool of the CPU says nothing of.
            memory_totals=None if self.run.jit_level == WHOLE_GRAPH else np.concatenate(self._pool),
            modelled=(MODELLED,) if len(memory.allocations) else (),
            begin_ns=min(begin_ns, int(operators.start_ns.min(initial=begin_ns))),
            end_ns=end_ns,
            graphs=self._graphs(calls, begin_ns, end_ns),
            host_samples=HostSamples.join(self._samples),
            framework_events=FrameworkEvents.join(self._events),
            tx_marks=tuple(mark for mark in self.marks.tx if mark.start_ns >= begin_ns),
        )
        self.outcome = write_recording(
            recording,
            self._target(),
            Setup(
                request=self._request,
                chip=self._chip,
                clock=self._settings.clock,
                seed=self._settings.seed,
                anchors=self._anchors,
                plan=launching_plans(rules, whole_graph=self.run.jit_level == WHOLE_GRAPH),
            ),
        )
        self.outcome = evolve(
            self.outcome, notes=tuple(dict.fromkeys((*self._notes, *memory.notes, *self.outcome.notes)))
        )
        write_pipeline(self.path / FRAMEWORK, self._dataset, self.run.rank_id)
        self._write_metadata()
        if self.run.device_target == _ASCEND:
            write_info(self.path, self.run)

    def _graphs(self, calls: list[Any], begin_ns: int, end_ns: int) -> tuple[GraphRun, ...]:
        """Return the graph whose iterations are the steps, where the iteration trace is asked for."""
        if not self._request.switches.training_trace:
            return ()
        steps = sorted((call.start_ns, call.end_ns) for call in calls if call.name.startswith(_STEP))
        iterations = tuple(
            Iteration(index=number, start_ns=start, end_ns=end)
            for number, (start, end) in enumerate(steps or [(begin_ns, end_ns)], 1)
        )
        return (GraphRun(model_id=1, graph_id=1, model_name="kernel_graph_1", iterations=iterations),)

    def _target(self) -> Target:
        rank = self.run.rank_id
        ascend = self.run.device_target == _ASCEND
        return Target(
            directory=self.path,
            framework=_FRAMEWORK,
            pid=os.getpid(),
            device_id=int(self.run.device_id) if self.run.device_id.isdecimal() else 0,
            rank_id=int(rank) if rank.isdecimal() else 0,
            prof_number=next(_PROF_NUMBERS),
            host_data=Activity.HOST in self._request.activities,
            device_data=ascend and Activity.DEVICE in self._request.activities,
        )
