"""One run directory, from its creation to its raw data."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, evolve, field

from drynpu import needs_plugin, say
from drynpu.kernels import Allocations, Call, Operators, concatenate, merge_equal
from drynpu.layouts.result_files import METADATA_FILE
from drynpu.options import Activity, Settings
from drynpu.products import FRAMEWORK_FOLDER
from drynpu.products.mindspore import WHOLE_GRAPH
from drynpu.raw import write_document
from drynpu.recorder import (
    Outcome,
    Planner,
    RankCall,
    RankRendezvous,
    Recorder,
    framework_plan,
    load_chosen_chip,
)
from drynpu.simulate import MINDSPORE, FrameworkEvents, GraphRun, Mark, Recording
from drynpu.tables import STEP_PREFIX
from drynpu_mindspore.capture import (
    CapturedMindSpore,
    CapturedPart,
    CaptureOptions,
    Capturing,
    GraphRuns,
    KernelGraph,
    MemoryModel,
    MemoryProgress,
    find_runs,
    write_pipeline,
)
from drynpu_mindspore.profiler import RunRequest
from drynpu_mindspore.recording._collectives import FoundCollectives, find_collectives, part_calls
from drynpu_mindspore.recording._directory import (
    clear_raw,
    info,
    info_name,
    make_run_directory,
    write_metadata,
)
from drynpu_mindspore.recording._iterations import graph_run, graph_runs
from drynpu_mindspore.recording._marks import ScriptMarks
from drynpu_mindspore.recording._memory import MODELLED, model_memory, planned_memory
from drynpu_mindspore.recording._plans import launching_plans, sunk_plans
from drynpu_mindspore.recording._ranks import JobRanks
from drynpu_mindspore.recording._request import profiling_request
from drynpu_mindspore.recording._saved import SavedProgress
from drynpu_mindspore.recording._sunk import KERNELS, GraphEngine, NewGraphEngine, SunkLaunches
from drynpu_mindspore.rules import unknown_without_tensors
from drynpu_mindspore.target import ASCEND

_GRAPHS = "iterations of graphs"
_UNKNOWN = "shapes or data types unknown of some launches of {}"
_NODE_BY_NODE = "graphs are shown node by node"
_HOST_HZ = 1_000_000_000
"""Rate of the host's counter in the records of op_range: here it counts nanoseconds."""


@define(kw_only=True)
class MindSporeRecording:
    """
    A recording and the run directory that it goes to.

    Raw data is written whenever the recording stops: everything since :meth:`open`, in place of what an earlier stop
    wrote.
    """

    run: RunRequest
    path: Path
    marks: ScriptMarks
    _recorder: Recorder
    _capture: Capturing
    _ranks: JobRanks
    _whole: GraphEngine | None
    _running: bool = False
    _parts: list[CapturedPart] = field(factory=list)
    """What was cut off since the start, and is to be read at the stop if the journal has not done so."""
    _saved: int = 0
    """How many of the parts are in the journal."""
    _captured: list[CapturedMindSpore] = field(factory=list)
    _metadata: dict[str, Any] = field(factory=dict)
    _indent: int | None = None
    _progress: SavedProgress | None = None
    """How far the journal is; None where there is none: before the start, and for a start after a stop."""

    @classmethod
    def open(
        cls, run: RunRequest, capture: Capturing, ranks: JobRanks, new_graph_engine: NewGraphEngine | None
    ) -> MindSporeRecording:
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
        chip = load_chosen_chip(settings)
        parameters = run.parameters
        capture.graphs.begin()
        return cls(
            run=run,
            path=make_run_directory(run),
            marks=ScriptMarks(frozenset(parameters.mstx_domain_include), frozenset(parameters.mstx_domain_exclude)),
            recorder=Recorder(framework=MINDSPORE, request=profiling_request(run, chip), settings=settings, chip=chip),
            capture=capture,
            ranks=ranks,
            whole=None if new_graph_engine is None else new_graph_engine(chip.split),
        )

    @property
    def outcome(self) -> Outcome | None:
        """The result of the last stop."""
        return self._recorder.outcome

    @property
    def chip_name(self) -> str:
        """The simulated chip."""
        return self._recorder.chip.name

    @property
    def recording(self) -> bool:
        """Whether a capture is under way."""
        return self._running

    def start(self) -> None:
        """Start capturing."""
        if self._running:
            return
        parameters = self.run.parameters
        options = CaptureOptions(
            data_process=parameters.data_process,
            host_events=Activity.HOST in self._recorder.request.activities,
            with_stack=parameters.with_stack,
            profile_memory=parameters.profile_memory,
            parts=self._recorder.parts,
        )
        self._recorder.start(lambda: self._begin(options), host_hz=_HOST_HZ)

    def _begin(self, options: CaptureOptions) -> None:
        self._recorder.parts.gather("the meeting with other ranks", self._ranks.begin_recording, None)
        self._capture.start(options)
        self._running = True
        # What a stop wrote stands: of starts behind it nothing is saved.
        self._progress = None if self._captured else SavedProgress(time.time_ns())

    def save(self, settle: Callable[[], None], metadata: Mapping[str, object]) -> None:
        """
        Have the steps since the last call saved for the case of a kill, where enough time has passed since it.

        *settle* waits until all operators have run; *metadata* are what the script will have written.
        """
        progress, now_ns = self._progress, time.time_ns()
        if not self._running or progress is None or now_ns < progress.due_ns:
            return
        settle()
        self.cut()
        unsaved, self._saved = self._parts[self._saved :], len(self._parts)
        calls, marks = progress.new_marks(self.marks)
        self._recorder.save(
            lambda: {
                self._device_id: self._recording(
                    [part.read() for part in unsaved], calls, marks, now_ns, progress.memory
                )[0]
            },
            self._planner,
            self.path,
            warn=say,
            documents=self._documents(metadata),
            **self._destination(),
        )
        progress.postpone(now_ns)

    def cut(self) -> CapturedPart | None:
        """End a part of the recording under way and go on; return the part, ``None`` where nothing is recorded."""
        if not self._running:
            return None
        self._parts.append(self._capture.cut())
        return self._parts[-1]

    def stop(self) -> None:
        """Stop capturing, and write the raw data. Raises `OutputError`."""
        if not self._running:
            return
        self._running = False
        captured = self._capture.stop()
        self.marks.close_step()
        self._recorder.stop()
        parts, self._parts = self._parts, []
        self._captured += [*(part.read() for part in parts), captured]
        self._write()
        self._recorder.settle()

    def finalize(self) -> None:
        """Write what describes the run. Raises `OutputError`."""
        if self.run.device_target == ASCEND:
            write_document(self.path / info_name(self.run), json.dumps(info(self.run), indent=4, ensure_ascii=False))

    def _documents(self, metadata: Mapping[str, object]) -> dict[str, dict[str, Any]]:
        """Return the documents that the run would leave now, with further *metadata*."""
        described = {info_name(self.run): info(self.run)} if self.run.device_target == ASCEND else {}
        return {**described, METADATA_FILE: {**self._metadata, **metadata}}

    def write_metadata(self, metadata: dict[str, Any], indent: int | None) -> None:
        """Write the script's metadata, beside what the simulation says of itself. Raises `OutputError`."""
        self._metadata |= metadata
        self._indent = indent
        self._write_metadata()

    def _write_metadata(self) -> None:
        simulated = {} if self.outcome is None else {"drynpu": self.outcome.describe()}
        write_metadata(self.path, {**self._metadata, **simulated}, self._indent)

    def _write(self) -> None:
        recorder = self._recorder
        clear_raw(self.path)
        recording, more, rank_calls = self._recording(self._captured, self.marks.calls, self.marks.tx)
        with recorder.parts.during(
            "the meeting with other ranks", lambda: self._ranks.end_recording(rank_calls), RankRendezvous()
        ) as others:
            recording = evolve(recording, host_samples=recorder.host_samples, rendezvous=others)
            outcome = recorder.write({self._device_id: recording}, self._planner(), self.path, **self._destination())
        from drynpu.views import say_notes

        say_notes(outcome.notes)
        notes = [note for captured in self._captured for note in captured.notes]
        if unknown := sorted({name for captured in self._captured for name in captured.unknown}):
            notes.append(_UNKNOWN.format(", ".join(unknown)))
        recorder.outcome = evolve(outcome, notes=tuple(dict.fromkeys((*notes, *more, *outcome.notes, *others.notes))))
        dataset = next((captured.dataset for captured in reversed(self._captured) if captured.dataset), {})
        recorder.parts.gather(
            "the data pipeline (data_process)",
            lambda: write_pipeline(self.path / FRAMEWORK_FOLDER, dataset, self.run.rank_id),
            None,
        )
        recorder.parts.gather("the metadata", self._write_metadata, None)
        self.finalize()

    def _recording(
        self,
        parts: Sequence[CapturedMindSpore],
        calls: Sequence[Call],
        marks: Sequence[Mark],
        cut_ns: int = 0,
        progress: MemoryProgress | None = None,
    ) -> tuple[Recording, tuple[str, ...], tuple[RankCall, ...]]:
        """
        Return a recording of *parts* with the script's steps and marks, notes on it, and what it tells other ranks.

        It ends now; a part of one at *cut_ns*, and *progress* is what the parts before left of memory.
        """
        recorder, graph_engine = self._recorder, self._graph_engine
        # A step that was open before the first start is no part of the recording.
        noted, calls = part_calls(call for call in calls if call.start_ns >= recorder.begin_ns)
        operators = merge_equal(concatenate([*(part.operators for part in parts), Operators.from_calls(calls)]))
        begin_ns, end_ns = recorder.begin_ns, cut_ns or recorder.end_ns(int(operators.end_ns.max(initial=0)))
        gather = recorder.parts.gather
        communication = gather(
            "collectives",
            lambda: find_collectives(operators, self._rank_id, self._ranks.groups, noted),
            FoundCollectives(),
        )
        memory = gather(
            "allocations of memory (profile_memory)",
            lambda: model_memory(self.run, [part.memory for part in parts], operators, progress),
            MemoryModel(allocations=Allocations.empty()),
        )
        # Graphs that were known at one part are known at the next.
        known = next((part.memory.graphs for part in reversed(parts) if part.memory is not None), ())
        runs: GraphRuns = gather(_GRAPHS, lambda: find_runs(known, operators), {})
        graph_calls = np.concatenate([part.graph_calls for part in parts])
        sunk = gather(_GRAPHS, lambda: self._sunk(known, runs, operators), SunkLaunches(operators))
        recording = Recording(
            operators=sunk.operators,
            collectives=communication.collectives,
            allocations=memory.allocations,
            live_before_bytes=memory.live_before_bytes,
            # At jit level O2 a device plans memory ahead, which the pool of the CPU says nothing of.
            memory_totals=None if graph_engine else np.concatenate([part.pool for part in parts]),
            modelled=(MODELLED,) if len(memory.allocations) else (),
            begin_ns=min(begin_ns, int(operators.start_ns.min(initial=begin_ns))),
            end_ns=end_ns,
            graphs=gather(
                _GRAPHS,
                lambda: graph_runs(runs, graph_calls, operators, sunk.fusions, planned_memory(self.run, known)),
                (),
            )
            or self._unsaved_graph(calls, begin_ns, end_ns),
            framework_events=FrameworkEvents.join([part.host_events for part in parts]),
            marks=tuple(mark for mark in marks if mark.start_ns >= begin_ns),
        )
        return recording, (*memory.notes, *communication.notes, *sunk.notes), communication.calls

    def _sunk(self, graphs: Sequence[KernelGraph], runs: GraphRuns, operators: Operators) -> SunkLaunches:
        """Return the launches of a recording as the graph engine runs them, or as they are below jit level O2."""
        if not self._graph_engine:
            return SunkLaunches(operators)
        if self._whole is None:
            return SunkLaunches(operators, notes=(f"{_NODE_BY_NODE}: {needs_plugin('jit_level O2', KERNELS)}",))
        return self._whole.sink(graphs, runs, operators)

    @property
    def _graph_engine(self) -> bool:
        return self.run.jit_level == WHOLE_GRAPH

    @property
    def _device_id(self) -> int:
        return int(self.run.device_id) if self.run.device_id.isdecimal() else 0

    @property
    def _rank_id(self) -> int:
        return int(self.run.rank_id) if self.run.rank_id.isdecimal() else 0

    def _planner(self) -> Planner:
        plan = framework_plan(MINDSPORE, [unknown_without_tensors])
        return sunk_plans(plan, self._recorder.chip.platform) if self._graph_engine else launching_plans(plan)

    def _destination(self) -> dict[str, Any]:
        """Return further fields of `Destination`."""
        run, activities = self.run, self._recorder.request.activities
        return {
            "rank_id": self._rank_id,
            "host_data": Activity.HOST in activities,
            "device_data": run.device_target == ASCEND and Activity.DEVICE in activities,
        }

    def _unsaved_graph(self, calls: Sequence[Call], begin_ns: int, end_ns: int) -> tuple[GraphRun, ...]:
        """Return the graph of a recording at jit level O2 that knows none: its iterations are the steps."""
        if not self._graph_engine:
            return ()
        steps = sorted((call.start_ns, call.end_ns) for call in calls if call.name.startswith(STEP_PREFIX))
        return (graph_run(1, steps or [(begin_ns, end_ns)]),)
