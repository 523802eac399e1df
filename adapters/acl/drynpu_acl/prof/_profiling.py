"""
The state of profiling in a process (pyacl_prof.md 5): one for all threads and devices, behind one lock.

It is off, controlled by the calls (``init`` to ``finalize``), subscribed to, or owned by a configuration file or a
collector outside (*command*). Of these only one at a time.
"""

from __future__ import annotations

import enum
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import define, evolve, field

from drynpu import OptionError
from drynpu.kernels import KernelPlan, Operators, Signature
from drynpu.options.profiling_options import forbidden_characters, prepare_output
from drynpu_acl.constants import ConfigType, DataType, ReturnCode
from drynpu_acl.handles import Handles, handle_numbers
from drynpu_acl.messages import say
from drynpu_acl.prof._acl_json import Asked, read_acl_json
from drynpu_acl.prof._collector import Collector
from drynpu_acl.prof._config import MAX_DEVICES, Config, check_config, config_code, config_request, read_devices
from drynpu_acl.prof._readers import OpReaders
from drynpu_acl.prof._runtime import NoRuntime, Runtime
from drynpu_acl.prof._session import Sessions
from drynpu_acl.prof._settings import AclSettings
from drynpu_acl.prof._stamps import Stamps
from drynpu_acl.prof._steps import Steps
from drynpu_acl.prof._subscriptions import SubscribeConfig, Subscriptions
from drynpu_acl.recording import ApiCall, Copy, Marks, Run, graph_plans

__all__ = ["Profiling"]

_LONGEST_PATH = 4095
_DEFAULT = Config((), 1, DataType.ACL_API | DataType.TASK_TIME | DataType.AICORE_METRICS | DataType.RUNTIME_API)
"""What ``start(0)`` records: the defaults of acl.json, as the vendor's are not documented."""

_HANDLES: Mapping[str, tuple[int | None, int | None]] = {
    "aclrtSynchronizeStream": (0, None),
    "aclrtSynchronizeStreamWithTimeout": (0, None),
    "aclrtSynchronizeEvent": (None, 0),
    "aclrtRecordEvent": (1, 0),
    "aclrtStreamWaitEvent": (0, 1),
    "aclrtMemcpyAsync": (-1, None),
}
"""Which argument of a call is its stream, which its event."""


class Mode(enum.Enum):
    """Who controls profiling."""

    OFF = "off"
    CALLS = "calls"
    SUBSCRIBED = "subscribed"
    COMMAND = "command"


_REFUSED = {Mode.SUBSCRIBED: ReturnCode.PROF_API_CONFLICT, Mode.COMMAND: ReturnCode.PROF_ALREADY_RUN}


@define(kw_only=True)
class Profiling:
    """
    Profiling of one process. It implements what the runtime tells: `drynpu_acl.runtime.Listener` and ``Lifecycle``.

    Attributes
    ----------
    stamps, steps, readers:
        The calls that do not depend on the mode.
    """

    settings: AclSettings
    runtime: Runtime = field(factory=NoRuntime)
    sessions: Sessions = field(init=False)
    stamps: Stamps = field(init=False)
    steps: Steps = field(factory=Steps)
    readers: OpReaders = field(factory=OpReaders)
    subscriptions: Subscriptions = field(init=False)
    _mode: Mode = Mode.OFF
    _lock: threading.RLock = field(factory=threading.RLock)
    _configs: Handles[Config] = field(factory=lambda: Handles(handle_numbers(0x1_0000_0000)))
    _subscribe_configs: Handles[SubscribeConfig] = field(factory=lambda: Handles(handle_numbers(0x4_0000_0000)))
    _values: dict[int, str] = field(factory=dict)
    """What ``set_config`` has set."""
    _path: Path | None = None
    _running: Config | None = None
    _started: set[int] = field(factory=set)
    """Handles of the configurations that were started."""
    _collector: Collector | None = None

    def __attrs_post_init__(self) -> None:
        self.sessions = Sessions(self.settings)
        self.stamps = Stamps(self._marks)
        self.subscriptions = Subscriptions(
            self.readers, self.settings.chip, self.settings.shared.seed, graph_plans(self._plan)
        )

    @property
    def _chip(self) -> str:
        return self.settings.chip.platform_version

    def _plan(self, signature: Signature) -> KernelPlan:
        return self.runtime.plan(signature)

    def _marks(self) -> Marks | None:
        return self.sessions.marks

    # -- configurations

    def create_config(self, device_list: Any, metrics: int, events: int, mask: int) -> int:
        """Return the handle of a configuration, 0 for arguments that make none."""
        devices = read_devices(device_list)
        count = self.settings.shared.devices
        wrong = events != 0 or len(devices) > min(MAX_DEVICES, count) or len(set(devices)) < len(devices)
        if wrong or any(device >= count for device in devices) or not (devices or mask & DataType.MSPROFTX):
            return 0
        return self._configs.add(Config(devices, metrics, mask))

    def destroy_config(self, handle: int) -> int:
        """Free a configuration, whatever runs with it."""
        return ReturnCode.INVALID_PARAM if self._configs.remove(handle) is None else ReturnCode.SUCCESS

    def set_config(self, config_type: int, text: str) -> int:
        """Keep a value for all later starts of the process."""
        code = config_code(config_type, text, self._chip)
        if code == ReturnCode.SUCCESS:
            with self._lock:
                self._values[config_type] = text
        return code

    # -- init, start, stop, finalize

    def init(self, path: str) -> int:
        """Take over control and the directory of the results."""
        with self._lock:
            if self._mode is Mode.CALLS:
                return ReturnCode.REPEAT_INITIALIZE
            if self._mode in _REFUSED:
                return _REFUSED[self._mode]
            if os.environ.get("PROFILING_MODE") == "dynamic":
                return ReturnCode.FEATURE_UNSUPPORTED
            if not 0 < len(path.encode()) <= _LONGEST_PATH:
                return ReturnCode.INVALID_PARAM
            if forbidden_characters(path):
                return ReturnCode.INVALID_FILE
            directory = Path.cwd() / path
            if not self.settings.deferred and not _usable(directory):
                return ReturnCode.INVALID_FILE
            self._mode, self._path = Mode.CALLS, directory
            return ReturnCode.SUCCESS

    def start(self, handle: int) -> int:
        """Begin a recording with a configuration."""
        with self._lock:
            config = self._configs.get(handle) if handle else self._default()
            if config is None:
                return ReturnCode.INVALID_PARAM
            code = check_config(config, self._chip)
            if code != ReturnCode.SUCCESS:
                return code
            if self._mode in _REFUSED:
                return _REFUSED[self._mode]
            if self._mode is Mode.OFF and not self.settings.deferred:
                return ReturnCode.PROF_NOT_RUN
            if self._running is not None:
                return self._start_more(handle, config, self._running)
            return self._begin(handle, config)

    def _default(self) -> Config:
        return evolve(_DEFAULT, devices=tuple(range(self.settings.shared.devices)))

    def _start_more(self, handle: int, config: Config, running: Config) -> int:
        overlap = handle in self._started or set(config.devices) & set(running.devices)
        if overlap and not self.settings.source_rules:
            return ReturnCode.PROF_ALREADY_RUN
        if config.mask != running.mask:
            return ReturnCode.INVALID_PROFILING_CONFIG
        if not self.settings.source_rules:
            self._running = evolve(running, devices=(*running.devices, *config.devices))
            self.sessions.extend(config.devices)
            self._started.add(handle)
        return ReturnCode.SUCCESS

    def _begin(self, handle: int, config: Config) -> int:
        chosen = self._values.get(ConfigType.PATH)
        directory = Path.cwd() / (chosen or self._path or ".")
        if not _usable(directory):
            return ReturnCode.INVALID_FILE
        try:
            request = config_request(config, self._values, self._chip)
        except OptionError as error:
            for problem in error.problems:
                say(f"acl.prof.start: {problem}")
            return ReturnCode.INVALID_PROFILING_CONFIG
        lenient = not config.mask & DataType.MSPROFTX and not self.settings.shared.strict
        self.sessions.begin(
            request,
            directory,
            self.runtime,
            devices=tuple(sorted(config.devices)) or (0,),
            marks=lenient or bool(config.mask & DataType.MSPROFTX),
        )
        self._mode, self._running, self._started = Mode.CALLS, config, {handle}
        return ReturnCode.SUCCESS

    def stop(self, handle: int) -> int:
        """End the recording of all devices and write it."""
        with self._lock:
            config = self._configs.get(handle) if handle else None
            if config is None:
                return ReturnCode.INVALID_PARAM
            if self._mode in _REFUSED:
                return _REFUSED[self._mode]
            if self._mode is Mode.OFF or self._running is None:
                return self._nothing_runs()
            if config.mask != self._running.mask:
                return ReturnCode.INVALID_PROFILING_CONFIG
            return self._end()

    def _nothing_runs(self) -> int:
        return ReturnCode.SUCCESS if self.settings.deferred else ReturnCode.PROF_NOT_RUN

    def _end(self) -> int:
        self._running = None
        self._started.clear()
        self.stamps.forget()
        return ReturnCode.SUCCESS if self.sessions.end() else ReturnCode.PROFILING_FAILURE

    def finish(self) -> int:
        """Give up control; what still runs is ended first."""
        with self._lock:
            if self._mode in _REFUSED:
                return _REFUSED[self._mode]
            if self._mode is Mode.OFF:
                return self._nothing_runs()
            self._mode, self._path = Mode.OFF, None
            return self._end() if self._running is not None else ReturnCode.SUCCESS

    # -- subscriptions

    def create_subscribe_config(self, switch: int, metrics: int, descriptor: int) -> int:
        """Return the handle of a subscription's configuration; 0 for a switch that is neither 0 nor 1."""
        return self._subscribe_configs.add(SubscribeConfig.of(switch, metrics, descriptor)) if switch in (0, 1) else 0

    def destroy_subscribe_config(self, handle: int) -> int:
        """Free the configuration of a subscription, whatever runs with it."""
        freed = self._subscribe_configs.remove(handle)
        return ReturnCode.INVALID_PARAM if freed is None else ReturnCode.SUCCESS

    def model_subscribe(self, model_id: int, handle: int) -> int:
        """Begin a subscription of a loaded model."""
        with self._lock:
            config = self._subscribe_configs.get(handle)
            if config is None:
                return ReturnCode.INVALID_PARAM
            if self._mode is Mode.COMMAND:
                return ReturnCode.PROF_ALREADY_RUN
            if self._mode is Mode.CALLS:
                return ReturnCode.PROF_API_CONFLICT
            if self.runtime.model_name(model_id) is None:
                return ReturnCode.INVALID_MODEL_ID
            code = self.subscriptions.subscribe(model_id, config)
            if self.subscriptions:
                self._mode = Mode.SUBSCRIBED
            return code

    def model_unsubscribe(self, model_id: int) -> int:
        """End a subscription: flush, and close the writing end after the last one that uses it."""
        with self._lock:
            if self._mode is Mode.COMMAND:
                return ReturnCode.PROF_ALREADY_RUN
            if self._mode is Mode.CALLS:
                return ReturnCode.PROF_API_CONFLICT
        # Without the lock: the reader and the models go on while it flushes.
        code = self.subscriptions.unsubscribe(model_id)
        with self._lock:
            if self._mode is Mode.SUBSCRIBED and not self.subscriptions:
                self._mode = Mode.OFF
        return code

    # -- stamps and steps that name a stream

    def create_stamp(self) -> int:
        """Return the handle of a stamp, 0 if there is none to have."""
        running = self._running
        if running is not None and not running.mask & DataType.MSPROFTX:
            self._tell_missing_bit()
        return self.stamps.create()

    def mark_ex(self, message: str, stream: int) -> int:
        """Mark the host now and the device behind the work of a stream."""
        number = self.runtime.stream_id(stream) if stream else None
        return self.stamps.mark_stream(message, None if number is None else (self.runtime.device_id(), number))

    def get_step_timestamp(self, handle: int, tag: int, stream: int) -> int:
        """Tell the start or the end of a step."""
        number = self.runtime.stream_id(stream)
        place = None if number is None else (self.runtime.device_id(), number)
        return self.steps.stamp(handle, tag, place, self.sessions.captured)

    def _tell_missing_bit(self) -> None:
        if self.settings.shared.strict:
            say("acl.prof: no stamps: the configuration lacks ACL_PROF_MSPROFTX (0x80)")
        else:
            say(
                "acl.prof: the configuration lacks ACL_PROF_MSPROFTX (0x80); stamps are recorded all the same. "
                "A device gives none (DRYNPU_STRICT=1 shows that)."
            )

    # -- what the runtime tells

    def initialize(self, config_path: str | None) -> int:
        """Begin what ``acl.init``'s file, or the collector that started this process, asks for; return the code."""
        with self._lock:
            if self._mode is not Mode.OFF:
                return 0
            asked: Asked | None
            self._collector = Collector.of_process(os.environ)
            if self._collector is not None:
                code, asked = 0, self._collector.asked
            elif config_path:
                code, asked = read_acl_json(config_path, self.settings.chip, strict=self.settings.shared.strict)
            else:
                return 0
            if asked is not None:
                request, directory = asked
                every = tuple(range(max(self.settings.shared.devices, 1)))
                self.sessions.begin(request, directory, self.runtime, devices=every, marks=request.switches.tx)
                self._mode = Mode.COMMAND
            return int(code)

    def finalize(self) -> None:
        """End what ``initialize`` began: the library ends. What the calls began lasts until they end it."""
        with self._lock:
            if self._mode is Mode.COMMAND:
                self._end()
                self._mode = Mode.OFF
                if self._collector is not None:
                    self._collector.report(self.sessions)

    def shut_down(self) -> None:
        """End whatever runs: the process ends."""
        self.finalize()
        self.subscriptions.close()
        with self._lock:
            self._mode = Mode.OFF
            if self._running is not None:
                self._end()

    def unload(self, model_id: int) -> None:
        """Take leave of a model: its subscription lasts until it is ended."""

    def executed(self, model_id: int, stream: int, operators: Operators, start_ns: int, end_ns: int) -> None:
        """Take over one run of a model."""
        captured = self.sessions.captured
        if captured is not None:
            name = self.runtime.model_name(model_id) or str(model_id)
            captured.runs.append(Run(model_id, name, stream, operators, start_ns, end_ns, self.runtime.device_id()))
        self.subscriptions.executed(model_id, operators, start_ns, end_ns, self.runtime.device_id())

    def memcpy(self, kind: int, size: int, start_ns: int, end_ns: int) -> None:
        """Take over a copy."""
        captured = self.sessions.captured
        if captured is not None:
            captured.copies.append(
                Copy(kind, size, start_ns, end_ns, threading.get_native_id(), self.runtime.device_id())
            )

    def api(self, name: str, start_ns: int, end_ns: int, arguments: tuple[Any, ...] = ()) -> None:
        """Take over a call of the library."""
        captured = self.sessions.captured
        if captured is None:
            return
        stream_at, event_at = _HANDLES.get(name, (None, None))
        stream = None if stream_at is None else self.runtime.stream_id(arguments[stream_at])
        event = 0 if event_at is None else arguments[event_at]
        thread, device_id = threading.get_native_id(), self.runtime.device_id()
        captured.calls.append(ApiCall(name, start_ns, end_ns, thread, device_id, stream, event))


def _usable(directory: Path) -> bool:
    try:
        prepare_output(str(directory))
    except OptionError:
        return False
    return True
