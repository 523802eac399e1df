"""``init``, ``start``, ``stop`` and ``finalize``, and the configurations that they take (pyacl_prof.md 5)."""

from __future__ import annotations

import os
from pathlib import Path

from attrs import define, evolve, field

from drynpu import OptionError, say
from drynpu.options.profiling_options import forbidden_characters, prepare_output
from drynpu_acl.constants import ConfigType, DataType, ReturnCode
from drynpu_acl.handles import Handles, handle_numbers
from drynpu_acl.prof._active_api import DYNAMIC, ActiveApi, ActiveApiLock
from drynpu_acl.prof._config import MAX_DEVICES, Config, check_config, config_code, config_request, read_devices
from drynpu_acl.prof._session import Sessions
from drynpu_acl.prof._settings import AclSettings

_LONGEST_PATH = 4095
"""Bytes; PATH_MAX without the terminating zero."""
_DEFAULT = Config((), 1, DataType.ACL_API | DataType.TASK_TIME | DataType.AICORE_METRICS | DataType.RUNTIME_API)
"""What ``start(0)`` records: the defaults of acl.json, as the vendor's are not documented."""


@define(kw_only=True)
class SessionCalls:
    """
    The calls that record into directories.

    Attributes
    ----------
    running:
        What the calls are recording, None for nothing.
    """

    settings: AclSettings
    owner: ActiveApiLock
    sessions: Sessions
    running: Config | None = None
    _configs: Handles[Config] = field(factory=lambda: Handles(handle_numbers(0x1_0000_0000)))
    _values: dict[int, str] = field(factory=dict)
    """What ``set_config`` has set."""
    _path: Path | None = None
    _started: set[int] = field(factory=set)
    """Handles of the configurations that were started."""

    @property
    def _chip(self) -> str:
        return self.settings.chip.platform_version

    # -- configurations

    def create_config(self, device_list: object, metrics: int, events: int, mask: int) -> int:
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
            with self.owner.lock:
                self._values[config_type] = text
        return code

    # -- init, start, stop, finalize

    def init(self, path: str) -> int:
        """Give the calls control of profiling, and set the directory of the results."""
        with self.owner.lock:
            if self.owner.mode is ActiveApi.CALLS:
                return ReturnCode.REPEAT_INITIALIZE
            if code := self.owner.refuses_calls:
                return code
            if self.owner.dynamic or os.environ.get("PROFILING_MODE") == DYNAMIC:
                return ReturnCode.FEATURE_UNSUPPORTED
            if not 0 < len(path.encode()) <= _LONGEST_PATH:
                return ReturnCode.INVALID_PARAM
            if forbidden_characters(path):
                return ReturnCode.INVALID_FILE
            directory = Path.cwd() / path
            if not self.settings.deferred and not _usable(directory):
                return ReturnCode.INVALID_FILE
            self.owner.mode, self._path = ActiveApi.CALLS, directory
            return ReturnCode.SUCCESS

    def start(self, handle: int) -> int:
        """Begin a recording with a configuration."""
        with self.owner.lock:
            config = self._configs.get(handle) if handle else self._default()
            if config is None:
                return ReturnCode.INVALID_PARAM
            code = check_config(config, self._chip) or self.owner.refuses_calls
            if code:
                return code
            if self.owner.mode is ActiveApi.OFF and not self.settings.deferred:
                return ReturnCode.PROF_NOT_RUN
            if self.running is not None:
                return self._start_more(handle, config, self.running)
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
            self.running = evolve(running, devices=(*running.devices, *config.devices))
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
        marks = bool(config.mask & DataType.MSPROFTX) or not self.settings.shared.strict
        self.sessions.begin(request, directory, devices=tuple(sorted(config.devices)) or (0,), marks=marks)
        self.owner.mode, self.running, self._started = ActiveApi.CALLS, config, {handle}
        return ReturnCode.SUCCESS

    def stop(self, handle: int) -> int:
        """End the recording of all devices and write it."""
        with self.owner.lock:
            config = self._configs.get(handle) if handle else None
            if config is None:
                return ReturnCode.INVALID_PARAM
            if code := self.owner.refuses_calls:
                return code
            if self.owner.mode is ActiveApi.OFF or self.running is None:
                return self._nothing_runs()
            if config.mask != self.running.mask:
                return ReturnCode.INVALID_PROFILING_CONFIG
            return self.end()

    def _nothing_runs(self) -> int:
        return ReturnCode.SUCCESS if self.settings.deferred else ReturnCode.PROF_NOT_RUN

    def end(self) -> int:
        """
        Write what the calls record, if they do, and return the code, which is success.

        The vendor's calls return before the toolkit has written, and know of no full disk; a line tells of it.
        """
        if self.running is not None:
            self.running = None
            self._started.clear()
            self.sessions.end()
        return ReturnCode.SUCCESS

    def finish(self) -> int:
        """Give up control; what still runs is ended first."""
        with self.owner.lock:
            if code := self.owner.refuses_calls:
                return code
            if self.owner.mode is ActiveApi.OFF:
                return self._nothing_runs()
            self.owner.mode, self._path = ActiveApi.OFF, None
            return self.end()


def _usable(directory: Path) -> bool:
    try:
        prepare_output(str(directory))
    except OptionError:
        return False
    return True
