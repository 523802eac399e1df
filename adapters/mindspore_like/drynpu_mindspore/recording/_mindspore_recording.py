"""One run directory, from its creation to its raw data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, evolve, field

from drynpu.arrays import I64
from drynpu.kernels import Allocations, Call, KernelPlan, Operators, Signature, concatenate
from drynpu.options import Activity, Settings
from drynpu.products.mindspore import WHOLE_GRAPH
from drynpu.recorder import Outcome, Planner, Recorder, framework_plan, load_chosen_chip
from drynpu.simulate import FrameworkEvents, GraphRun, Iteration, Recording
from drynpu.tables import STEP_PREFIX
from drynpu_mindspore.capture import CaptureOptions, Capturing, GraphMemory, MemoryModel, write_pipeline
from drynpu_mindspore.profiler import RunRequest
from drynpu_mindspore.recording._directory import FRAMEWORK, clear_raw, make_run_directory, write_info, write_metadata
from drynpu_mindspore.recording._marks import ScriptMarks
from drynpu_mindspore.recording._request import profiling_request
from drynpu_mindspore.rules import api_of, unknown_without_tensors
from drynpu_mindspore.target import ASCEND

MODELLED = "device memory: allocations and releases, from the graphs"
"""The name of the model in the metadata."""
_PLANNED = "MindSpore's memory is not known: at jit level O2 the graph engine plans it, which is not modelled"
_NOTHING_KNOWN = "the memory of operators is not known: there are no graphs to tell of it"


def model_memory(run: RunRequest, parts: Sequence[GraphMemory | None], operators: Operators) -> MemoryModel:
    """
    Return the allocations of the *operators* of a recording, none where they were not asked for or are not known.

    *parts* are what each stop told; graphs that were known at one are known at the next.
    """
    nothing = MemoryModel(allocations=Allocations.empty())
    if not run.parameters.profile_memory or run.device_target != ASCEND:
        return nothing
    if run.jit_level == WHOLE_GRAPH:
        return evolve(nothing, notes=(_PLANNED,))
    known = [part for part in parts if part is not None]
    if not known:
        return evolve(nothing, notes=(_NOTHING_KNOWN,))
    memory = evolve(known[-1], gradients=any(part.gradients for part in known))
    return memory.model(operators)


def launching_plans(plan: Planner, *, whole_graph: bool) -> Planner:
    """
    Return *plan* as MindSpore launches it.

    With *whole_graph* (jit level O2) the graph engine launches node by node, without a call for each. Else each
    operator is a call of its own; where the rule names none, it is the aclnn operator that `api_of` has,
    for the single-op path of ACL, which compiles at every call, is none that MindSpore goes.
    """

    def planned(signature: Signature) -> KernelPlan:
        found = plan(signature)
        if not found.kernels:
            return found
        if whole_graph:
            return evolve(found, in_graph=True, synchronizes=False)
        return found if found.api else evolve(found, api=api_of(signature.name))

    return planned


_FRAMEWORK = "mindspore"
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
    _running: bool = False
    _parts: list[Operators] = field(factory=list)
    _events: list[FrameworkEvents] = field(factory=list)
    _memory: list[GraphMemory | None] = field(factory=list)
    _pool: list[I64] = field(factory=list)
    _dataset: Mapping[str, str] = field(factory=dict)
    _notes: tuple[str, ...] = ()
    _metadata: dict[str, Any] = field(factory=dict)
    _indent: int | None = None

    @classmethod
    def open(cls, run: RunRequest, capture: Capturing) -> MindSporeRecording:
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
            recorder=Recorder(framework=_FRAMEWORK, request=profiling_request(run, chip), settings=settings, chip=chip),
            capture=capture,
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
        )
        self._recorder.start(lambda: self._begin(options), host_hz=_HOST_HZ)

    def _begin(self, options: CaptureOptions) -> None:
        self._capture.start(options)
        self._running = True

    def stop(self) -> None:
        """Stop capturing, and write the raw data. Raises `OutputError`."""
        if not self._running:
            return
        self._running = False
        captured = self._capture.stop()
        self.marks.close_step()
        self._recorder.stop()
        self._parts.append(captured.operators)
        self._events.append(captured.host_events)
        self._memory.append(captured.memory)
        self._pool.append(captured.pool)
        self._dataset = captured.dataset or self._dataset
        self._notes += captured.notes
        self._write()

    def finalize(self) -> None:
        """Write what describes the run. Raises `OutputError`."""
        if self.run.device_target == ASCEND:
            write_info(self.path, self.run)

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
        begin_ns, graph_engine = recorder.begin_ns, self.run.jit_level == WHOLE_GRAPH
        # A step that was open before the first start is no part of the recording.
        calls = [call for call in self.marks.calls if call.start_ns >= begin_ns]
        operators = concatenate([*self._parts, Operators.from_calls(calls)])
        end_ns = recorder.end_ns(int(operators.end_ns.max(initial=0)))
        memory = model_memory(self.run, self._memory, operators)
        recording = Recording(
            operators=operators,
            allocations=memory.allocations,
            live_before_bytes=memory.live_before_bytes,
            # At jit level O2 a device plans memory ahead, which the pool of the CPU says nothing of.
            memory_totals=None if graph_engine else np.concatenate(self._pool),
            modelled=(MODELLED,) if len(memory.allocations) else (),
            begin_ns=min(begin_ns, int(operators.start_ns.min(initial=begin_ns))),
            end_ns=end_ns,
            graphs=self._graphs(calls, begin_ns, end_ns),
            host_samples=recorder.host_samples,
            framework_events=FrameworkEvents.join(self._events),
            marks=tuple(mark for mark in self.marks.tx if mark.start_ns >= begin_ns),
        )
        outcome = self._write_recording(recording, whole_graph=graph_engine)
        notes = tuple(dict.fromkeys((*self._notes, *memory.notes, *outcome.notes)))
        recorder.outcome = evolve(outcome, notes=notes)
        write_pipeline(self.path / FRAMEWORK, self._dataset, self.run.rank_id)
        self._write_metadata()
        self.finalize()

    def _write_recording(self, recording: Recording, *, whole_graph: bool) -> Outcome:
        run, activities = self.run, self._recorder.request.activities
        return self._recorder.write(
            {int(run.device_id) if run.device_id.isdecimal() else 0: recording},
            launching_plans(framework_plan(_FRAMEWORK, [unknown_without_tensors]), whole_graph=whole_graph),
            self.path,
            rank_id=int(run.rank_id) if run.rank_id.isdecimal() else 0,
            host_data=Activity.HOST in activities,
            device_data=run.device_target == ASCEND and Activity.DEVICE in activities,
        )

    def _graphs(self, calls: Sequence[Call], begin_ns: int, end_ns: int) -> tuple[GraphRun, ...]:
        """Return the graph whose iterations are the steps, where the iteration trace is asked for."""
        if not self._recorder.request.switches.training_trace:
            return ()
        steps = sorted((call.start_ns, call.end_ns) for call in calls if call.name.startswith(STEP_PREFIX))
        iterations = tuple(
            Iteration(index=number, start_ns=start, end_ns=end)
            for number, (start, end) in enumerate(steps or [(begin_ns, end_ns)], 1)
        )
        return (GraphRun(model_id=1, graph_id=1, model_name="kernel_graph_1", iterations=iterations),)
