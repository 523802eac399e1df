"""Names of the vendor's module that drynpu does not serve: they can be imported, and using them says why."""

from __future__ import annotations

from typing import Final, NoReturn

_DUMP: Final = "there are no operators of a device to dump; look at tensors with PyTorch"
_ALLOCATOR: Final = "allocators other than the device's are not simulated"
_MACHINE: Final = "there is no machine to ask or to stop"

_CLASSES: Final = {
    "MemPool": _ALLOCATOR,
    "NPUPluggableAllocator": _ALLOCATOR,
}
_FUNCTIONS: Final = {
    "change_current_allocator": _ALLOCATOR,
    "finalize_dump": _DUMP,
    "host_memory_stats": "pinned memory is not counted",
    "host_memory_stats_as_nested_dict": "pinned memory is not counted",
    "init_dump": _DUMP,
    "obfuscation_calculate": _MACHINE,
    "obfuscation_finalize": _MACHINE,
    "obfuscation_initialize": _MACHINE,
    "reset_accumulated_host_memory_stats": "pinned memory is not counted",
    "reset_peak_host_memory_stats": "pinned memory is not counted",
    "restart_device": _MACHINE,
    "set_aoe": "there is no compiler of operators to tune",
    "set_dump": _DUMP,
    "stop_device": _MACHINE,
    "stress_detect": _MACHINE,
    "use_mem_pool": _ALLOCATOR,
    "utilization": "how busy a device is now is not known; profile the run",
}


class _Refused:
    """The base of classes that cannot be instantiated; they may be derived from and named in annotations."""

    reason = ""

    def __init__(self, *args: object, **kwargs: object) -> NoReturn:
        del args, kwargs
        _refuse(type(self).__name__, self.reason)


def _refuse(name: str, reason: str) -> NoReturn:
    raise NotImplementedError(f"torch.npu.{name} exists in torch_npu, but drynpu does not provide it: {reason}")


def _function(name: str, reason: str) -> object:
    def refused(*args: object, **kwargs: object) -> NoReturn:
        del args, kwargs
        _refuse(name, reason)

    refused.__name__ = refused.__qualname__ = name
    refused.__doc__ = f"Raise NotImplementedError: {reason}."
    return refused


REFUSED: Final[dict[str, object]] = {
    name: type(name, (_Refused,), {"reason": reason, "__doc__": f"Not provided: {reason}."})
    for name, reason in _CLASSES.items()
} | {name: _function(name, reason) for name, reason in _FUNCTIONS.items()}
"""Stand-ins by name."""
