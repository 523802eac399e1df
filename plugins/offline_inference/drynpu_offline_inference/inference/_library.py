"""The library as the sessions of a process share it: its beginning and end, contexts, copies, what copies took."""

from __future__ import annotations

import ctypes
import threading
import time
import weakref
from collections.abc import Callable

import numpy as np
from attrs import define, field

from drynpu.arrays import U8
from drynpu_acl.constants import ReturnCode
from drynpu_acl.recording import ApiCall, CopyCall, ModelExecution
from drynpu_acl.runtime import Process
from drynpu_offline_inference.inference._calls import Calls
from drynpu_offline_inference.inference._console import DEBUG, ERROR, INFO, Console
from drynpu_offline_inference.inference._failures import BAD_COPY, INVALID, INVALID_ARGUMENT, NO_MEMORY, failure
from drynpu_offline_inference.inference._times import DeviceTimes

TO_DEVICE, TO_HOST, ON_DEVICE = 1, 2, 3
"""The vendor's numbers of the directions of copies between host and device, and within the device."""
_NS_PER_MS = 1e6


@define(eq=False)
class Block:
    """Memory of a device, which is free when nothing holds the block any more."""

    pointer: int
    size: int
    device_id: int


@define(eq=False)
class CopyTimes:
    """How long the copies of a process took, ms, in their order."""

    to_device_ms: list[float] = field(factory=list)
    to_host_ms: list[float] = field(factory=list)


@define(eq=False)
class Library:
    """
    The library of a process.

    Attributes
    ----------
    console:
        What is printed.
    times:
        How long runs and copies take on the device.
    copies:
        Times of copies that were worked out.
    """

    process: Process
    times: DeviceTimes
    console: Console = field(factory=Console)
    copies: CopyTimes = field(factory=CopyTimes)
    calls: Calls = field(init=False)
    _contexts: dict[int, dict[int, int]] = field(factory=dict)
    _next_index: dict[int, int] = field(factory=dict)
    _begun: bool = False
    _lock: threading.RLock = field(factory=threading.RLock)

    def __attrs_post_init__(self) -> None:
        self.calls = Calls(self.process)

    # Beginning and end ------------------------------------------------------------------------------------------

    def begin(self, acl_json_path: str) -> None:
        """Begin the library with the configuration of the first session, unless it has begun."""
        with self._lock:
            if self._begun or self.process.ready() == ReturnCode.SUCCESS:
                return
            code = self.process.init(acl_json_path or None)
            if code != ReturnCode.SUCCESS:
                raise self.refuse(code, "acl init failed")
            self._begun = True
        self.console.say(INFO, "acl init success")

    def finalize(self) -> None:
        """End what `begin` began: contexts, devices and memory are gone, recordings are written."""
        with self._lock:
            if not self._begun:
                return
            self.times.settle()
            for device_id, contexts in self._contexts.items():
                for handle in contexts.values():
                    self.calls.destroy_context(handle)
                self.calls.reset_device(device_id)
                self.console.say(INFO, f"end to reset device {device_id}")
            self._contexts.clear()
            self.process.finalize()
            self._begun = False
        self.console.say(INFO, "end to finalize acl")

    def refuse(self, code: int, what: str, number: int = INVALID) -> RuntimeError:
        """Print what failed with the library's reason, and return the error for it."""
        reason = self.process.get_recent_err_msg() or f"code {code}"
        self.console.say(ERROR, f"{what}: {reason}")
        return failure(number, f"{what}: {reason}")

    # Contexts ---------------------------------------------------------------------------------------------------

    def create_context(self, device_id: int) -> int:
        """Return the index of a new context on a device, which is opened if no session has."""
        with self._lock:
            if device_id not in self._contexts:
                if code := self.calls.set_device(device_id):
                    known = f"0 to {self.process.devices.count - 1} (DRYNPU_DEVICES)"
                    raise failure(code, f"acl open device {device_id} failed; devices are {known}")
                self.console.say(INFO, f"open device {device_id} success")
                self._contexts[device_id] = {}
            handle, code = self.calls.create_context(device_id)
            if code:
                raise self.refuse(code, "acl create context failed")
            index = self._next_index.get(device_id, 0)
            self._next_index[device_id] = index + 1
            self._contexts[device_id][index] = handle
        self.console.say(DEBUG, f"finish create context {index} in device {device_id}")
        return index

    def enter_context(self, device_id: int, index: int) -> None:
        """Make a context current in this thread."""
        handle = self._contexts.get(device_id, {}).get(index)
        if handle is None or self.calls.set_context(handle):
            text = f"SetContext failed: device {device_id} is not set or context {index} is not created."
            self.console.say(ERROR, text)
            raise failure(INVALID, text)

    def destroy_context(self, device_id: int, index: int) -> None:
        """Give up a context; nothing for one that is gone."""
        handle = self._contexts.get(device_id, {}).pop(index, None)
        if handle is None:
            self.console.say(ERROR, f"DestroyContext failed: context id {index} cannot be find")
        else:
            self.calls.destroy_context(handle)

    # Memory -----------------------------------------------------------------------------------------------------

    def check_device(self, device_id: int) -> None:
        """Refuse a device that there is not, and any device before a session has begun the library."""
        count = self.process.devices.count if self.process.ready() == ReturnCode.SUCCESS else 0
        if not 0 <= device_id < count:
            text = f"deviceId({device_id}) is bigger than deviceCount({count})"
            self.console.say(ERROR, text)
            raise failure(INVALID_ARGUMENT, text if count else f"{text}; make an InferenceSession first")

    def allocate(self, size: int, device_id: int) -> Block:
        """Return memory on the device of this thread's context."""
        pointer, code = self.calls.malloc(max(size, 1), 0)
        if code:
            raise self.refuse(code, f"no {size} bytes on device {device_id}", NO_MEMORY)
        block = Block(pointer, size, device_id)
        weakref.finalize(block, self.calls.free, pointer).atexit = False
        return block

    def send(self, content: U8, device_id: int) -> Block:
        """Return a block on the device of this thread's context with the bytes of a contiguous array."""
        block = self.allocate(content.nbytes, device_id)
        self._copy(block.pointer, self.process.memory.lend(content), content.nbytes, TO_DEVICE)
        return block

    def send_memory(self, pointer: int, size: int, device_id: int) -> Block:
        """
        Return a block with *size* bytes of the program's memory at *pointer*.

        The pointer cannot be checked: one that is wrong ends the process, as it does with the vendor's module.
        """
        content = np.frombuffer(memoryview((ctypes.c_uint8 * size).from_address(pointer)), np.uint8) if size else _EMPTY
        return self.send(content, device_id)

    def fetch(self, block: Block) -> U8:
        """Return a copy of a block on the host."""
        content: U8 = np.empty(block.size, np.uint8)
        self._copy(self.process.memory.lend(content), block.pointer, block.size, TO_HOST)
        return content

    def copy_block(self, destination: int, source: int, size: int) -> None:
        """Copy within the device."""
        self._copy(destination, source, size, ON_DEVICE)

    def _copy(self, destination: int, source: int, size: int, kind: int) -> None:
        if not size:
            return
        call, code = self._timed("aclrtMemcpy", lambda: self.calls.memcpy(destination, size, source, size, kind))
        if code:
            raise self.refuse(code, f"copy of {size} bytes failed", BAD_COPY)
        copies = {TO_DEVICE: self.copies.to_device_ms, TO_HOST: self.copies.to_host_ms}.get(kind)
        copy = CopyCall(kind, size, call.start_ns, call.end_ns, call.thread, call.device_id)

        def note(start_ns: int, end_ns: int) -> None:
            if copies is not None:
                copies.append((end_ns - start_ns) / _NS_PER_MS)

        self.times.add_copy(self.copies, copy, call, note)

    # Runs -------------------------------------------------------------------------------------------------------

    def execute(self, model_id: int, inputs: int, outputs: int, owner: object, sink: Callable[[int, int], None]) -> int:
        """Run a model on the default stream and return the code; *sink* takes the times of a run that did not fail."""
        call, code = self._timed("aclmdlExecute", lambda: self.calls.execute(model_id, inputs, outputs))
        run, model = self.process.models.last_run, self.process.models.get(model_id)
        if code == ReturnCode.SUCCESS and run is not None and model is not None:
            execution = ModelExecution(model_id, model.name, 0, run.operators, run.start_ns, run.end_ns, call.device_id)
            # Without what Python does around the call, which a program in C does not have.
            call = call._replace(start_ns=run.start_ns - 1, end_ns=run.end_ns + 1)
            self.times.add_run(owner, execution, call, sink)
            if self.console.level <= DEBUG:
                self.times.settle()
        return code

    def _timed(self, name: str, function: Callable[[], int]) -> tuple[ApiCall, int]:
        """Return a call of the library as a recording would have it, and its code."""
        context = self.process.devices.current
        start_ns = time.time_ns()
        code = function()
        end_ns = max(time.time_ns(), start_ns + 1)
        device_id = 0 if context is None else context.device_id
        return ApiCall(name, start_ns, end_ns, threading.get_native_id(), device_id), code


_EMPTY: U8 = np.empty(0, np.uint8)
