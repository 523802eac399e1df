"""Sessions on the device: which recording they belong to, and how their runs reach it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import count
from typing import TypeVar

from attrs import define, field

from drynpu import say_once
from drynpu.options.profiling_options import ProfilingMode
from drynpu_tf.capture import RunContent, RunKey, SessionCapture
from drynpu_tf.foreign import ConfigProto, Graph, RunMetadata, RunOptions
from drynpu_tf.options import (
    PRECISION_NOTE,
    NpuOptions,
    npu_options_of,
    precision_of,
    read_number,
    resolve_profiling,
    say_notices,
)
from drynpu_tf.recording import PROCESS, EngineRecording, GraphExecution
from drynpu_tf.sessions._fetches import fetched_names, loops_on_device
from drynpu_tf.sessions._pending import RUNS, PendingRun, PendingRuns

T = TypeVar("T")

_GRAPH_NUMBERS = count(1)
"""The adapter numbers its graph operators through the process; only their being distinct matters."""
_BOTH = (
    "The option 'profiling_mode' or env variables 'PROFILING_MODE' cannot be set to true when using "
    "'profiler.Profiler'."
)


@define(eq=False)
class DeviceSession:
    """
    One session on the device: its graph, and the runs it has made; each is recorded if something is recording.

    ``turns`` is how often a device repeats a run of a training loop: the steps that one run makes. What was recorded
    from ``opened_ns`` on are all its runs.
    """

    graph: Graph
    options: NpuOptions
    turns: int = 1
    capture: SessionCapture = field()
    opened_ns: int = field(factory=time.time_ns)
    _names: dict[RunKey, str] = field(factory=dict)
    _loops: dict[RunKey, bool] = field(factory=dict)
    _pending: PendingRuns | None = None
    _lock: threading.Lock = field(factory=threading.Lock)

    @capture.default
    def _default_capture(self) -> SessionCapture:
        precision = precision_of(self.options.parameters.get)
        return SessionCapture(sinks_data=self.options.enable_data_pre_proc, precision=precision)

    def run(
        self,
        recorder: EngineRecording | None,
        key: RunKey,
        options: RunOptions,
        metadata: RunMetadata,
        call: Callable[[RunOptions, RunMetadata], T],
    ) -> T:
        """
        Make one run and record it; a training loop is run once for every turn, and returns what its last turn does.

        Parameters
        ----------
        recorder:
            As :meth:`recorder` returned it.
        key:
            What identifies the run (its fetches and feeds); the version of the graph is added here.
        options, metadata:
            The caller's own ``RunOptions`` and ``RunMetadata``; ``None`` where it has none. Its metadata hold what it
            requested, as without the recording.
        call:
            Makes the run with the options and metadata that it is given.
        """
        key = (self.graph.version, *key)
        turns = self.turns if self.turns > 1 and self._is_loop(key) else 1
        for turn in range(1, turns):
            self._run(recorder, key, options, None, call, turn=(turn, turns))
        result = self._run(recorder, key, options, metadata, call, turn=(turns, turns))
        PROCESS.ran((id(self), key))
        return result

    @property
    def is_plain(self) -> bool:
        """Whether runs need not pass here while nothing records: they make one step each, and nobody follows them."""
        return self.turns == 1 and not PROCESS.follows

    def _is_loop(self, key: RunKey) -> bool:
        if key not in self._loops:
            sinks_data = self.options.enable_data_pre_proc
            self._loops[key] = loops_on_device(self.graph, fetched_names(key[1:]), sinks_data=sinks_data)
        return self._loops[key]

    def _run(
        self,
        recorder: EngineRecording | None,
        key: RunKey,
        options: RunOptions,
        metadata: RunMetadata,
        call: Callable[[RunOptions, RunMetadata], T],
        *,
        turn: tuple[int, int],
    ) -> T:
        if recorder is None:
            return call(options, metadata)
        traced = RunContent()
        prepared = recorder.parts.gather(RUNS, lambda: self._prepare(recorder, options, key), None)
        if prepared is None:
            return call(options, metadata)
        begin_ns = time.time_ns()
        result = call(prepared, traced)
        span = begin_ns, time.time_ns()
        recorder.parts.gather(RUNS, lambda: self._keep(recorder, key, traced.content, span, turn), None)
        if metadata is not None:
            _fill_metadata(traced.content, metadata, options)
        return result

    def _prepare(self, recorder: EngineRecording, options: RunOptions, key: RunKey) -> RunOptions:
        self.capture.split = recorder.split_cores
        if self.capture.precision is not None:
            recorder.remark(PRECISION_NOTE)
        return self.capture.prepare(options, key)

    def _keep(
        self, recorder: EngineRecording, key: RunKey, content: bytes, span: tuple[int, int], turn: tuple[int, int]
    ) -> None:
        """Hand a run on, which lasted for *span*."""
        with self._lock:
            content = self.capture.take(key, content, self.graph)
            # A number is drawn for a new name only.
            name = self._names.setdefault(key, "" if key in self._names else f"GeOp{next(_GRAPH_NUMBERS)}_0")
            if self._pending is None or self._pending.recorder is not recorder:
                self._pending = PendingRuns.open(recorder, self.capture)
            pending = self._pending
        step = GraphExecution(
            graph=name,
            start_ns=span[0],
            end_ns=span[1],
            thread=threading.get_native_id(),
            turn=turn[0],
            turns=turn[1],
            loads=self.opened_ns >= recorder.begin_ns,
        )
        pending.add(PendingRun(key, content, step))

    def recorder(self) -> EngineRecording | None:
        """
        Return what records the session now, ``None`` if nothing does.

        Raises
        ------
        InvalidArgumentError
            With the vendor's message: a session that is profiled by its options is to be profiled locally, too.
        """
        recorder = PROCESS.recorder(id(self))
        if not PROCESS.armed:
            return recorder
        if recorder is not None:
            from tensorflow.errors import InvalidArgumentError

            raise InvalidArgumentError(None, None, _BOTH)
        return PROCESS.local_recorder()

    def close(self) -> None:
        """Leave the recording: the session has ended."""
        PROCESS.leave(id(self))


def device_session(graph: Graph, config: ConfigProto) -> DeviceSession | None:
    """
    Return a new session on the device, recorded if it is profiled; ``None`` for one that stays on the host.

    Raises
    ------
    OptionError
        Its profiling options, or options of the environment, are refused.
    """
    options = npu_options_of(config)
    if not options.on_device:
        return None
    start = resolve_profiling(options)
    session = DeviceSession(graph, options)
    if start.mode is ProfilingMode.DYNAMIC:
        say_once("PROFILING_MODE=dynamic: there is no command to attach here, so nothing is recorded.")
    notices = start.notices if start.parsed is None else (*start.notices, *start.parsed.notices)
    say_notices(notices)
    PROCESS.noticed(notices)
    if start.parsed is not None:
        device_id = options.session_device_id
        # Without its own device a session is on the process's.
        device_id = read_number("ASCEND_DEVICE_ID", 0) if device_id is None else device_id
        PROCESS.join(id(session), start.parsed.request, device_id)
        session.opened_ns = time.time_ns()
    return session


def _fill_metadata(content: bytes, metadata: RunMetadata, options: RunOptions) -> None:
    """Fill the caller's RunMetadata with what its own options request."""
    metadata.ParseFromString(content)
    if options is None or not options.output_partition_graphs:
        metadata.ClearField("partition_graphs")
    if options is None or options.trace_level == type(options).NO_TRACE:
        metadata.ClearField("step_stats")
