"""Opening a device: options are read here, once, and what runs after :meth:`NpuDeviceHandle.as_default` is its work."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import define, field

from drynpu import ChipError, OptionError, OutputError, say_once
from drynpu.options import ProfilingRequest
from drynpu.options.profiling_options import ProfilingMode
from drynpu_tf.capture import TraceCapture
from drynpu_tf.device2._device_capture import DeviceCapture
from drynpu_tf.device2._hooks import install
from drynpu_tf.device2.options import NpuConfig
from drynpu_tf.inside import FUNCTIONS, has
from drynpu_tf.options import PRECISION_NOTE, NpuOptions, precision_of, resolve_profiling, say_notices
from drynpu_tf.ranks import rank_number
from drynpu_tf.recording import PROCESS, EngineRecording

_NAME = "/job:localhost/replica:0/task:0/device:NPU"


class NpuDeviceHandle:
    """An open device."""

    def __init__(self, device_id: int, workers_num: int, worker_id: int, devices: Devices) -> None:
        self._device_id, self._devices = device_id, devices
        self.workers_num, self.worker_id = workers_num, worker_id
        self.recorder: DeviceCapture | None = None

    def name(self) -> str:
        """Return the device's name; no device of that name is there for ``tf.device``."""
        return f"{_NAME}:{self._device_id}"

    @contextlib.contextmanager
    def scope(self) -> Iterator[None]:
        """Have what runs inside recorded as the device's work."""
        recorder = self.recorder
        if recorder is None or recorder.active:
            yield
            return
        install(recorder)
        recorder.start()
        try:
            yield
        finally:
            recorder.stop()

    def is_cluster_worker(self) -> bool:
        """Whether it is one of several workers."""
        return self.workers_num > 1 and self.workers_num > self.worker_id >= 0

    def as_default(self) -> NpuDeviceHandle:
        """Have everything that runs from now on recorded as the device's work, and return the handle."""
        self._devices.default = self
        install(self.recorder)
        if self.recorder is not None:
            self.recorder.start()
        return self


@define
class Devices:
    """The options and the handle of a process's device; the vendor's are process-wide as well."""

    default: NpuDeviceHandle | None = None
    loop_size: int = 1
    saturation_mode: int | None = None
    _options: NpuConfig | None = None
    _handles: dict[int, NpuDeviceHandle] = field(factory=dict)
    _lock: threading.RLock = field(factory=threading.RLock)

    def options(self) -> NpuConfig:
        """Return the process's options, always the same tree."""
        with self._lock:
            if self._options is None:
                self._options = NpuConfig()
                self._options.watch(self._changed)
            return self._options

    @property
    def opened(self) -> int | None:
        """The device that is open."""
        return next(iter(self._handles), None)

    def open(self, device_id: int | None = None) -> NpuDeviceHandle:
        """
        Open a device, or return it if it is open.

        Raises
        ------
        RuntimeError, ValueError
            With the vendor's messages: another device is open, the cluster is not described, or (with the
            collector's identifiers) profiling options are refused.
        """
        if device_id is None:
            device_id = int(os.environ.get("ASCEND_DEVICE_ID", "0"))
        with self._lock:
            if device_id in self._handles:
                return self._handles[device_id]
            if self._handles:
                raise RuntimeError(
                    f"Failed create npu instance on device {device_id} as existed instance on {list(self._handles)}"
                )
            options = self.options().as_dict()
            workers = _count_workers(os.environ)
            if workers > 1:
                _check_cluster(os.environ)
            handle = NpuDeviceHandle(device_id, workers, rank_number(os.environ) if workers > 1 else 0, self)
            handle.recorder = self._recorder(handle, options)
            self._handles[device_id] = handle
            return handle

    def close(self) -> None:
        """End the device and its recording; it may be opened again."""
        with self._lock:
            handles, self._handles, self.default = list(self._handles.values()), {}, None
        for handle in handles:
            if handle.recorder is not None:
                handle.recorder.stop()
                PROCESS.leave(id(handle))
                handle.recorder = None

    def _recorder(self, handle: NpuDeviceHandle, options: dict[str, str]) -> DeviceCapture | None:
        device_id = handle._device_id
        try:
            start = resolve_profiling(self._npu_options(options))
        except (OptionError, ChipError, OutputError) as error:
            raise RuntimeError(f"Failed open npu device {device_id} : {error}") from error
        if start.mode is ProfilingMode.DYNAMIC:
            say_once("PROFILING_MODE=dynamic waits for a command to attach, which drynpu does not have.")
            return None
        notices = start.notices if start.parsed is None else (*start.notices, *start.parsed.notices)
        say_notices(notices)
        PROCESS.noticed(notices)
        if start.parsed is None and not PROCESS.follows:
            return None
        if not has(FUNCTIONS, "functions and eager operators are not recorded"):
            return None
        if start.parsed is not None:
            recorder = PROCESS.join(id(handle), start.parsed.request, device_id)
        else:
            recorder = EngineRecording.unopened(ProfilingRequest(), Path(), device_id=device_id)
        # After the recording's own, so before it: what is left has to be handed over while it is open.
        atexit.register(self.close)
        precision = precision_of(options.get)
        if precision is not None:
            recorder.remark(PRECISION_NOTE)
        return DeviceCapture(user=id(handle), capture=TraceCapture(split=recorder.split_cores, precision=precision))

    def _npu_options(self, options: dict[str, str]) -> NpuOptions:
        """Return the options as sessions have theirs; a switch that nobody set leaves it to the environment."""
        switch: Any = self.options().__dict__["profiling_config"].enable_profiling
        mode = options["enable_profiling"] == "1" if switch.is_set else None
        text = options["profiling_options"].encode() if mode else None
        return NpuOptions(present=True, profiling_mode=mode, profiling_options=text)

    def _changed(self, name: str) -> None:
        if self._handles:
            say_once(f"npu_device: {name} was set after open() and has no effect; options are read there, once.")


def _count_workers(environ: Mapping[str, str]) -> int:
    """Return the number of workers; ``ValueError`` if two variables say it."""
    if "CM_WORKER_SIZE" in environ and "RANK_SIZE" in environ:
        raise ValueError("RANK_SIZE and CM_WORK_SIZE cannot be configured at the same time")
    return int(environ.get("RANK_SIZE", environ.get("CM_WORKER_SIZE", "1")))


def _check_cluster(environ: Mapping[str, str]) -> None:
    """Check what more than one worker needs; ``RuntimeError`` names what is missing."""
    chief, table = environ.get("CM_CHIEF_IP"), environ.get("RANK_TABLE_FILE")
    if chief is not None and table is not None:
        raise RuntimeError("CM_CHIEF_IP and RANK_TABLE_FILE cannot be configured at the same time.")
    if chief is None and table is None:
        raise RuntimeError("CM_CHIEF_IP and RANK_TABLE_FILE are all not be configured.")
    needed = {"port": "CM_CHIEF_PORT", "device": "CM_CHIEF_DEVICE", "ip": "CM_CHIEF_IP"}
    if table is not None:
        if not environ.get("RANK_ID"):
            raise RuntimeError("You must specify rank id by set env RANK_ID in distribution mode")
        return
    for what, name in needed.items():
        if not environ.get(name):
            raise RuntimeError(f"You must specify cm chief {what} by set env {name} in distribution mode")


DEVICES = Devices()
"""The one process-wide state of this room: a process has one device."""
