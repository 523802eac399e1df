"""What a session needs to be recorded."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

from attrs import define, field

from drynpu.options.profiling_options import ProfilingMode
from drynpu_tf.capture import RunKey, SessionCapture
from drynpu_tf.messages import say_once
from drynpu_tf.options import NpuOptions, npu_options_of, resolve_profiling, say_notices
from drynpu_tf.recording import PROCESS, Recorder, Step

__all__ = ["ProfiledSession", "profile_session"]

T = TypeVar("T")

_GRAPH_NUMBERS = count(1)
"""The adapter numbers its graph operators through the process; only their being distinct matters."""


@define(eq=False)
class ProfiledSession:
    """One session on the device: its graph, and the runs it has made while it was recorded."""

    graph: Any
    options: NpuOptions
    capture: SessionCapture = field(factory=SessionCapture)
    _names: dict[RunKey, str] = field(factory=dict)
    _lock: threading.Lock = field(factory=threading.Lock)

    def run(self, key: RunKey, options: Any, metadata: Any, call: Callable[[Any, Any], T]) -> T:
        """
        Make one run and record it.

        Parameters
        ----------
        key:
            What identifies the run (its fetches and feeds); the version of the graph is added here.
        options, metadata:
            The caller's own ``RunOptions`` and ``RunMetadata``; ``None`` where it has none. Its metadata hold what it
            asked for, as without the recording.
        call:
            Makes the run with the options and metadata that it is given.
        """
        from tensorflow.core.protobuf import config_pb2

        key = (self.graph.version, *key)
        recorder = self.recorder()
        if recorder is None:
            return call(options, metadata)
        own_options, own_metadata = config_pb2.RunOptions(), config_pb2.RunMetadata()
        if options is not None:
            own_options.CopyFrom(options)
        self.capture.prepare(own_options, key)
        begin_ns = time.time_ns()
        result = call(own_options, own_metadata)
        end_ns = time.time_ns()
        with self._lock:
            operators = self.capture.take(key, own_metadata, self.graph)
            name = self._names.setdefault(key, f"GeOp{next(_GRAPH_NUMBERS)}_0" if key not in self._names else "")
        step = Step(graph=name, start_ns=begin_ns, end_ns=end_ns, thread=threading.get_native_id())
        recorder.add(operators, step)
        if metadata is not None:
            _hand_over(own_metadata, metadata, options)
        return result

    def recorder(self) -> Recorder | None:
        """
        Return where the next run goes: the recording that the session was made with, or that of a local profiler.

        Raises
        ------
        tensorflow.errors.InvalidArgumentError
            There are both.
        """
        recorder = PROCESS.recorder(id(self))
        if not PROCESS.armed:
            return recorder
        if recorder is not None:
            from tensorflow import errors

            raise errors.InvalidArgumentError(
                None,
                None,
                "The option 'profiling_mode' or env variables 'PROFILING_MODE' cannot be set to true when using "
                "'profiler.Profiler'.",
            )
        return PROCESS.local_recorder(self.options.session_device_id or 0)

    def close(self) -> None:
        """The session has ended."""
        PROCESS.leave(id(self))


def profile_session(graph: Any, config: Any) -> ProfiledSession | None:
    """
    Return what a new session needs to be recorded, ``None`` if it stays on the host.

    A session that is not profiled by its options may still come under a local profiler.

    Raises
    ------
    OptionError
        Its profiling options, or those of the environment, are refused.
    """
    options = npu_options_of(config)
    if not options.on_device:
        return None
    session = ProfiledSession(graph, options)
    start = resolve_profiling(options)
    if start.mode is ProfilingMode.DYNAMIC:
        say_once(
            "PROFILING_MODE=dynamic waits for a command to attach, which drynpu does not have; nothing is recorded."
        )
    elif start.parsed is None:
        say_notices(start.notices)
    else:
        say_notices((*start.notices, *start.parsed.notices))
        PROCESS.join(id(session), start.parsed.request, options.session_device_id or 0)
    return session


def _hand_over(own: Any, theirs: Any, options: Any) -> None:
    """Give the caller's RunMetadata what its own options ask for."""
    theirs.CopyFrom(own)
    if options is None or not options.output_partition_graphs:
        theirs.ClearField("partition_graphs")
    if options is None or options.trace_level == type(options).NO_TRACE:
        theirs.ClearField("step_stats")
