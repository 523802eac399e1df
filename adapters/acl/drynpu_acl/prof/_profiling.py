"""
Profiling of a process: what its calls share, and what it takes over from the runtime.

Which call may follow which is in `drynpu_acl.prof._active_api`, the calls are in the modules beside it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from typing import Any, Protocol

from attrs import define, field

from drynpu import say
from drynpu.host import waited_ns
from drynpu.kernels import KernelPlan, Operators, Signature
from drynpu_acl.constants import ReturnCode
from drynpu_acl.prof._acl_json import read_acl_json
from drynpu_acl.prof._active_api import ActiveApi, ActiveApiLock
from drynpu_acl.prof._collector import LibraryCollector
from drynpu_acl.prof._event_timer import SimulatedTimer
from drynpu_acl.prof._mark_handles import MarkHandles
from drynpu_acl.prof._readers import OpReaders
from drynpu_acl.prof._session import Sessions
from drynpu_acl.prof._session_calls import SessionCalls
from drynpu_acl.prof._settings import AclSettings
from drynpu_acl.prof._steps import Steps
from drynpu_acl.prof._subscriptions import SubscriptionCalls, Subscriptions
from drynpu_acl.recording import ApiCall, CapturedCalls, CopyCall, DeviceStream, MarkRows, ModelExecution, graph_plans

_OTHER_COLLECTOR = "PROFILER_SAMPLECONFIG"
"""Set by the vendor's msprof for a program that it starts."""
_HANDLES: Mapping[str, tuple[int | None, int | None]] = {
    "aclrtSynchronizeStream": (0, None),
    "aclrtSynchronizeStreamWithTimeout": (0, None),
    "aclrtSynchronizeEvent": (None, 0),
    "aclrtRecordEvent": (1, 0),
    "aclrtStreamWaitEvent": (0, 1),
    "aclrtMemcpyAsync": (-1, None),
}
"""Name of a call -> positions of the stream and of the event among its arguments; ``None`` for none."""


class Runtime(Protocol):
    """What profiling reads from the runtime beside it: models, streams, devices, plans."""

    def model_name(self, model_id: int) -> str | None:
        """Return the name of a loaded model; ``None`` if there is none with that id."""

    def model_load(self, model_id: int) -> tuple[int, int]:
        """Return from when to when a model was loaded, Unix ns."""

    def stream_id(self, stream: int) -> int | None:
        """Return the number of the stream of a handle, 0 being the default stream; ``None`` if there is none."""

    def device_id(self) -> int:
        """Return the device of the calling thread; 0 if it has none."""

    def plan(self, signature: Signature) -> KernelPlan:
        """Return what an operator of a model launches."""


@define(kw_only=True)
class Profiling:
    """
    Profiling of one process. It implements ``Listener`` and ``Lifecycle`` of the runtime.

    Attributes
    ----------
    calls, subscribing, stamps, steps, readers:
        The calls, by what they are about.
    sessions_class:
        What records; for a script that is checked `CheckedSessions`.
    """

    settings: AclSettings
    runtime: Runtime
    sessions_class: type[Sessions] = Sessions
    owner: ActiveApiLock = field(factory=ActiveApiLock)
    steps: Steps = field(factory=Steps)
    readers: OpReaders = field(factory=OpReaders)
    sessions: Sessions = field(init=False)
    timer: SimulatedTimer = field(init=False)
    stamps: MarkHandles = field(init=False)
    calls: SessionCalls = field(init=False)
    subscriptions: Subscriptions = field(init=False)
    subscribing: SubscriptionCalls = field(init=False)
    _collector: LibraryCollector = field(init=False)

    def __attrs_post_init__(self) -> None:
        shared = self.settings.shared
        self.stamps = MarkHandles(self._marks)
        self.sessions = self.sessions_class(self.settings, self._plan, self.stamps.forget)
        self.timer = SimulatedTimer(settings=self.settings, plan=self._plan)
        self.calls = SessionCalls(settings=self.settings, owner=self.owner, sessions=self.sessions)
        self.subscriptions = Subscriptions(self.readers, self.settings.chip, shared.seed, graph_plans(self._plan))
        self.subscribing = SubscriptionCalls(
            owner=self.owner,
            subscriptions=self.subscriptions,
            is_loaded=self._is_loaded,
            device_id=lambda: self.runtime.device_id(),
        )
        self._collector = LibraryCollector(owner=self.owner, sessions=self.sessions, devices=shared.devices)

    def _plan(self, signature: Signature) -> KernelPlan:
        return self.runtime.plan(signature)

    def _marks(self) -> MarkRows | None:
        return self.sessions.marks

    def _is_loaded(self, model_id: int) -> bool:
        return self.runtime.model_name(model_id) is not None

    def _device_stream(self, stream: int) -> DeviceStream | None:
        number = self.runtime.stream_id(stream)
        return None if number is None else (self.runtime.device_id(), number)

    # -- stamps and steps that need more than themselves

    def create_stamp(self) -> int:
        """Return the handle of a stamp, 0 if there is none to have."""
        self.sessions.tell_missing_bit()
        return self.stamps.create()

    def mark_ex(self, message: str, stream: int) -> int:
        """Mark the host now and the device behind the work of a stream."""
        self.sessions.tell_missing_bit()
        return self.stamps.mark_stream(message, self._device_stream(stream) if stream else None)

    def get_step_timestamp(self, handle: int, tag: int, stream: int) -> int:
        """Record the start or the end of a step."""
        return self.steps.stamp(handle, tag, self._device_stream(stream), self.sessions.captured)

    # -- the life of the library

    def initialize(self, config_path: str | None) -> int:
        """Begin what ``acl.init``'s file, or the collector that started this process, requests; return the code."""
        with self.owner.lock:
            if self.owner.mode is not ActiveApi.OFF or self._collector.open(os.environ):
                return ReturnCode.SUCCESS
            if os.environ.get(_OTHER_COLLECTOR):
                self.owner.mode = ActiveApi.COMMAND
                say(f"acl.init: {_OTHER_COLLECTOR} says that another msprof records; drynpu does not, nor by acl.json")
                return ReturnCode.SUCCESS
            if not config_path:
                return ReturnCode.SUCCESS
            code, profiler = read_acl_json(config_path, self.settings.chip, strict=self.settings.shared.strict)
            if profiler is not None:
                request, directory = profiler
                every = tuple(range(max(self.settings.shared.devices, 1)))
                self.sessions.begin(request, directory, devices=every, marks=request.switches.tx)
                self.owner.mode = ActiveApi.COMMAND
            return int(code)

    def finalize(self) -> None:
        """End what ``initialize`` began: the library ends. What the calls began lasts until they end it."""
        with self.owner.lock:
            self._collector.close()
            if self.owner.mode is ActiveApi.COMMAND:
                self.sessions.end()
                self.owner.mode = ActiveApi.OFF

    def shut_down(self) -> None:
        """End whatever runs: the process ends."""
        self.finalize()
        self.subscriptions.close()
        with self.owner.lock:
            self.owner.mode = ActiveApi.OFF
            self.calls.end()

    # -- what runs

    def _captured(self) -> list[CapturedCalls]:
        """Return what takes over: a recording, and the timer of events."""
        return [each for each in (self.sessions.captured, self.timer.captured) if each is not None]

    def executed(self, model_id: int, stream: int, operators: Operators, start_ns: int, end_ns: int) -> None:
        """Take over one run of a model."""
        device_id = self.runtime.device_id()
        for captured in self._captured():
            name = self.runtime.model_name(model_id) or str(model_id)
            load = self.runtime.model_load(model_id)
            captured.executions.append(
                ModelExecution(model_id, name, stream, operators, start_ns, end_ns, device_id, load)
            )
        self.subscriptions.executed(model_id, operators, start_ns, end_ns, device_id)

    def memcpy(self, kind: int, size: int, start_ns: int, end_ns: int) -> None:
        """Take over a copy."""
        for captured in self._captured():
            thread, device_id = threading.get_native_id(), self.runtime.device_id()
            captured.copies.append(CopyCall(kind, size, start_ns, end_ns, thread, device_id))

    def api(self, name: str, start_ns: int, end_ns: int, arguments: tuple[Any, ...], waited: int) -> None:
        """Take over a call of the library."""
        kept = self._captured()
        if not kept:
            return
        stream_at, event_at = _HANDLES.get(name, (None, None))
        stream = None if stream_at is None else self.runtime.stream_id(arguments[stream_at])
        event = 0 if event_at is None else arguments[event_at]
        thread, device_id = threading.get_native_id(), self.runtime.device_id()
        call = ApiCall(name, start_ns, end_ns, thread, device_id, stream, event)
        for captured in kept:
            captured.note_call(call, waited, waited_ns())
        self.sessions.save()
        for captured in kept:
            captured.note_recording(call, time.time_ns(), waited_ns())
