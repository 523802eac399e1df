"""The library as one process has it, between ``acl.init`` and ``acl.finalize``."""

from __future__ import annotations

import os
import threading
import time
from typing import Protocol

from drynpu import DrynpuError, say, say_once
from drynpu.options import Settings
from drynpu.platforms import Chip
from drynpu.recorder import load_chosen_chip
from drynpu_acl.constants import ReturnCode
from drynpu_acl.handles import handle_numbers
from drynpu_acl.kernels import ACL_SIZES
from drynpu_acl.runtime._aipp_calls import AippCalls
from drynpu_acl.runtime._data import DataSets
from drynpu_acl.runtime._devices import Devices
from drynpu_acl.runtime._gears import ModelShapes
from drynpu_acl.runtime._listener import Lifecycle, Listener
from drynpu_acl.runtime._memory import Memory
from drynpu_acl.runtime._models import Models
from drynpu_acl.runtime._tensors import TensorDescriptions
from drynpu_acl.runtime._threads import Threads
from drynpu_acl.runtime._utilities import Utilities
from drynpu_acl.runtime._waiting import Waiting

_VERSION = (1, 16, 0)
"""Of the interface in CANN 8.5 (ACL_MAJOR_VERSION, ACL_MINOR_VERSION, ACL_PATCH_VERSION)."""
_HOST = 1
"""ACL_HOST of aclrtRunMode."""
_DEVICE_MEMORIES = (0, 1)
"""ACL_DDR_MEM and ACL_HBM_MEM, which are one memory here."""
_POLICIES = range(6)
"""Numbers of aclrtMemMallocPolicy; pages are the process's whatever they say."""


class Clearable(Protocol):
    """What forgets all that a program has made."""

    def clear(self) -> None:
        """Forget it."""


class Process:
    """
    The library: everything that functions of ``acl`` reach.

    Attributes
    ----------
    listener, lifecycle:
        What takes over calls and runs, and what begins and ends with the library; ``None`` for nothing.
    numbers:
        The handles that come next; whoever keeps objects of a program takes them from here.
    cleared_at_end:
        What ``acl.finalize`` clears. A plugin that keeps objects of a program adds itself.
    """

    def __init__(self) -> None:
        self.listener: Listener | None = None
        self.lifecycle: Lifecycle | None = None
        self._references = 0
        self._finalized = False
        self._lock = threading.RLock()
        self._messages = threading.local()
        self.chip: Chip | None = None
        self.numbers = numbers = handle_numbers()
        self.devices = Devices(0, numbers)
        self.waiting = Waiting(self.devices)
        self.memory = Memory(0)
        self.data = DataSets(numbers)
        self.threads = Threads()
        self.utilities = Utilities(self.memory)
        self.models = Models(
            self.devices,
            self.memory,
            self.data,
            split=lambda: self.chip is None or self.chip.split,
            listener=lambda: self.listener,
            complain=self.complain,
        )
        self.shapes = ModelShapes(self.models, self.data, self.memory, self.complain)
        self.tensors = TensorDescriptions(numbers, self.data)
        self.aipp = AippCalls(numbers, self.models, self.data, self.complain)
        self.cleared_at_end: list[Clearable] = [
            self.devices,
            self.data,
            self.memory,
            self.aipp.settings,
            self.tensors.descriptions,
        ]

    # Beginning and end ------------------------------------------------------------------------------------------

    def ready(self) -> int:
        """Return 0 between ``acl.init`` and ``acl.finalize``, else the code for that."""
        return ReturnCode.SUCCESS if self._references else ReturnCode.UNINITIALIZE

    def init(self, config_path: str | None = None) -> int:
        """Begin; a second time only counts. A configuration that does not hold leaves the library as it was."""
        with self._lock:
            if self._references:
                self._references += 1
                return ReturnCode.REPEAT_INITIALIZE
            settings = Settings.from_environ(os.environ)
            try:
                self.chip = load_chosen_chip(settings)
            except DrynpuError as error:
                say(f"acl.init: {error}")
                return ReturnCode.INVALID_PARAM
            self.devices.count, self.memory.capacity_bytes = settings.devices, self.chip.memory_bytes
            code = ReturnCode.SUCCESS if self.lifecycle is None else self.lifecycle.initialize(config_path or None)
            self._references = int(code == ReturnCode.SUCCESS)
            return int(code)

    def finalize(self) -> int:
        """End: recordings are written, handles and memory are gone."""
        with self._lock:
            if not self._references:
                return ReturnCode.REPEAT_FINALIZE if self._finalized else ReturnCode.UNINITIALIZE
            if self.lifecycle is not None:
                self.lifecycle.finalize()
            self.waiting.close()
            self.models.clear()
            for each in self.cleared_at_end:
                each.clear()
            self._references, self._finalized = 0, True
            return ReturnCode.SUCCESS

    def finalize_reference(self) -> tuple[int, int]:
        """Take one off the number of ``acl.init`` calls and end at 0; return ``(number, code)``."""
        with self._lock:
            if self._references > 1:
                self._references -= 1
                return self._references, ReturnCode.SUCCESS
            return 0, self.finalize()

    def complain(self, reason: str, *, aloud: bool = False) -> None:
        """Keep why a call of this thread failed, for ``acl.get_recent_err_msg``; *aloud* also prints it, once."""
        self._messages.recent = reason
        if aloud:
            say_once(f"acl: {reason}")

    def get_recent_err_msg(self) -> str | None:
        """Return why the last failing call of this thread failed, ``None`` where nothing was said."""
        return getattr(self._messages, "recent", None)

    def get_version(self) -> tuple[int, int, int, int]:
        """Return ``(major, minor, patch, code)`` of the interface."""
        return (*_VERSION, ReturnCode.SUCCESS)

    def get_soc_name(self) -> str:
        """Return the name of the chip, empty for an unknown one. As on a device ``acl.init`` need not come first."""
        try:
            return load_chosen_chip(Settings.from_environ(os.environ)).name
        except DrynpuError:
            return ""

    def data_type_size(self, dtype: int) -> int:
        """Return the bytes of one element of an aclDataType, 0 for an unknown one."""
        return ACL_SIZES.get(dtype, 0)

    # Devices ----------------------------------------------------------------------------------------------------

    def get_device_count(self) -> tuple[int, int]:
        """Return ``(number, code)``, before ``acl.init`` too; from then on the number stays."""
        if self._references:
            return self.devices.count, ReturnCode.SUCCESS
        try:
            return Settings.from_environ(os.environ).devices, ReturnCode.SUCCESS
        except DrynpuError as error:
            say(f"acl.rt.get_device_count: {error}")
            return 0, ReturnCode.INVALID_PARAM

    def get_run_mode(self) -> tuple[int, int]:
        """Return ``(mode, code)``: the program runs on a host beside the device."""
        return _HOST, ReturnCode.SUCCESS

    def reset_device(self, device_id: int) -> int:
        """Give up what is on a device, its memory too."""
        code = self.devices.reset_device(device_id)
        if code == ReturnCode.SUCCESS:
            self.memory.free_device(device_id)
        return code

    # Memory -----------------------------------------------------------------------------------------------------

    def malloc(self, size: int, policy: int) -> tuple[int, int]:
        """Return ``(pointer, code)`` of *size* bytes on this thread's device."""
        context = self.devices.current
        if context is None:
            return 0, ReturnCode.CONTEXT_NULL
        return self.memory.allocate(size, context.device_id) if policy in _POLICIES else (0, ReturnCode.INVALID_PARAM)

    def malloc_host(self, size: int) -> tuple[int, int]:
        """Return ``(pointer, code)`` of *size* bytes on the host."""
        return (0, ReturnCode.CONTEXT_NULL) if self.devices.current is None else self.memory.allocate(size, None)

    def free(self, pointer: int) -> int:
        """Release device memory."""
        return self.memory.free(pointer, on_device=True)

    def free_host(self, pointer: int) -> int:
        """Release host memory."""
        return self.memory.free(pointer, on_device=False)

    def memset(self, pointer: int, room: int, value: int, count: int) -> int:
        """Set *count* bytes."""
        return (
            ReturnCode.CONTEXT_NULL if self.devices.current is None else self.memory.fill(pointer, room, value, count)
        )

    def memset_async(self, pointer: int, room: int, value: int, count: int, stream: int) -> int:
        """Set *count* bytes, in the order of a stream."""
        return self.devices.stream(stream)[0] or self.memset(pointer, room, value, count)

    def memcpy(self, destination: int, room: int, source: int, count: int, kind: int) -> int:
        """Copy *count* bytes and wait for it."""
        if self.devices.current is None:
            return ReturnCode.CONTEXT_NULL
        start_ns = time.time_ns()
        code = self.memory.copy(destination, room, source, count, kind)
        listener = self.listener
        if listener is not None and code == ReturnCode.SUCCESS:
            listener.memcpy(
                self.memory.kind(destination, source, kind), count, start_ns, max(time.time_ns(), start_ns + 1)
            )
        return code

    def memcpy_async(self, destination: int, room: int, source: int, count: int, kind: int, stream: int) -> int:
        """Copy *count* bytes, in the order of a stream."""
        return self.devices.stream(stream)[0] or self.memcpy(destination, room, source, count, kind)

    def get_mem_info(self, attribute: int) -> tuple[int, int, int]:
        """Return ``(free, total, code)`` in bytes of the memory of this thread's device."""
        context = self.devices.current
        if context is None:
            return 0, 0, ReturnCode.CONTEXT_NULL
        if attribute not in _DEVICE_MEMORIES:
            return 0, 0, ReturnCode.INVALID_PARAM
        total = self.memory.capacity_bytes
        return total - self.memory.used_bytes(context.device_id), total, ReturnCode.SUCCESS


PROCESS = Process()
"""The one process-wide state of the runtime: the vendor's library is process-wide itself."""
