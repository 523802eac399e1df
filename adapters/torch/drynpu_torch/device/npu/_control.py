"""
Calls that steer a real device and its runtime.

What has a meaning here is done; what the simulation does not follow is kept, as docs/torch-device.md says.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final

import torch

from drynpu_torch.device._errors import INVALID_VALUE, ErrCode, pta_error, tagged
from drynpu_torch.device._state import DEVICE_TYPE, DeviceLike, state
from drynpu_torch.device.npu._devices import device_count, get_device_properties
from drynpu_torch.device.npu.streams import Stream

__all__ = [
    "CubeMathType",
    "are_compatible_impl_enabled",
    "check_uce_in_memory",
    "clear_npu_overflow_flag",
    "current_blas_handle",
    "disable_deterministic_with_backward",
    "empty_virt_addr_cache",
    "enable_deterministic_with_backward",
    "get_allocator_backend",
    "get_autocast_dtype",
    "get_device_limit",
    "get_npu_overflow_flag",
    "get_stream_limit",
    "get_sync_debug_mode",
    "host_empty_cache",
    "ipc_collect",
    "is_autocast_enabled",
    "npu_check_overflow",
    "reset_stream_limit",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "set_deterministic_level",
    "set_device_limit",
    "set_op_timeout_ms",
    "set_stream_limit",
    "set_sync_debug_mode",
    "super_kernel_scope_begin",
    "super_kernel_scope_end",
    "use_compatible_impl",
]

_MODES: Final = {"default": 0, "warn": 1, "error": 2}
_COMPATIBLE: Final = "COMPATIBLE_IMPL"
_SYNC_DEBUG: Final = "SYNC_DEBUG_MODE"
_limits: Final[dict[object, dict[str, int]]] = {}


class CubeMathType(IntEnum):
    """How the cube unit computes products of float32 (``torch_npu/npu/npu_config.py``)."""

    KEEP_DTYPE = 0
    ALLOW_FP32_DOWN_PRECISION = 1
    USE_FP16 = 2
    USE_HF32 = 3
    FORCE_GRP_ACC_FOR_FP32 = 4
    USE_FP32_ADD = 4


def is_autocast_enabled() -> bool:
    """Return whether autocast is on for the device."""
    return torch.is_autocast_enabled(_autocast_device())


def set_autocast_enabled(enable: bool) -> None:
    """Turn autocast on or off for the device."""
    torch.set_autocast_enabled(_autocast_device(), enable)


def get_autocast_dtype() -> torch.dtype:
    """Return the dtype that autocast computes in on the device."""
    return torch.get_autocast_dtype(_autocast_device())


def set_autocast_dtype(dtype: torch.dtype) -> None:
    """Let autocast compute in *dtype* on the device."""
    torch.set_autocast_dtype(_autocast_device(), dtype)


def get_npu_overflow_flag() -> bool:
    """
    Return whether a kernel has overflowed since the flag was cleared, on chips that saturate.

    Raises
    ------
    RuntimeError
        The chip has infinities, as the genuine function says, or it saturates, which is not simulated.
    """
    if state().chip.split:
        raise RuntimeError("Unsupported api when soc_version >= Ascend910B1, please use npu_check_overflow")
    raise NotImplementedError(
        "drynpu does not follow the overflow flag of chips that saturate; look for infinities with npu_check_overflow"
    )


def clear_npu_overflow_flag() -> None:
    """Clear the overflow flag; chips with infinities have none."""
    if state().chip.split:
        warnings.warn(
            "When soc_version >= Ascend910B1, clear_npu_overflow_flag is useless. Please remove it.", stacklevel=2
        )


def npu_check_overflow(grad: float | torch.Tensor) -> bool:
    """Return whether the sum of *grad* is infinite or not a number."""
    if not isinstance(grad, (float, torch.Tensor)):
        raise RuntimeError("Unsupported type.")
    total = grad if isinstance(grad, float) else float(grad.float().sum())
    return total != total or total in (float("inf"), -float("inf"))


def set_sync_debug_mode(debug_mode: str | int) -> None:
    """Keep a mode: ``"default"`` (0), ``"warn"`` (1) or ``"error"`` (2). Synchronising calls do not look at it."""
    if isinstance(debug_mode, str) and debug_mode not in _MODES:
        raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`")
    if not isinstance(debug_mode, str) and int(debug_mode) not in _MODES.values():
        raise RuntimeError("invalid value of debug_mode, expected one of 0,1,2")
    state().options[_SYNC_DEBUG] = str(_MODES[debug_mode] if isinstance(debug_mode, str) else int(debug_mode))


def get_sync_debug_mode() -> int:
    """Return the mode that was set last."""
    return int(state().options.get(_SYNC_DEBUG, "0"))


def set_device_limit(device: int, cube_num: int = -1, vector_num: int = -1) -> None:
    """Keep a limit of cores for a device. Times of kernels do not follow it."""
    _set_limit(_device_key(device), cube_num, vector_num)


def get_device_limit(device: int) -> dict[str, int]:
    """Return the numbers of cores that a device may use."""
    return _limit(_device_key(device))


def set_stream_limit(stream: Stream, cube_num: int = -1, vector_num: int = -1) -> None:
    """Keep a limit of cores for a stream. Times of kernels do not follow it."""
    _set_limit(_stream_key(stream), cube_num, vector_num)


def reset_stream_limit(stream: Stream) -> None:
    """Forget the limit of a stream."""
    _limits.pop(_stream_key(stream), None)


def get_stream_limit(stream: Stream) -> dict[str, int]:
    """Return the numbers of cores that a stream may use."""
    return _limit(_stream_key(stream))


def set_deterministic_level(level: int) -> None:
    """Let operators be deterministic from level 1 on; every level gives the same results here."""
    if bool(level) != torch.are_deterministic_algorithms_enabled():
        wanted = bool(level)
        warnings.warn(
            "The current configuration value of 'torch_npu.npu.set_deterministic_level' conflicts with "
            f"'torch.use_deterministic_algorithms'. 'torch.use_deterministic_algorithms' has been configured to "
            f"'{wanted}'.",
            stacklevel=2,
        )
        torch.use_deterministic_algorithms(wanted)


def enable_deterministic_with_backward(tensor: torch.Tensor) -> torch.Tensor:
    """Let operators be deterministic from here on, and no longer once the gradient has passed here."""
    return _switch_deterministic(tensor, forward=True)


def disable_deterministic_with_backward(tensor: torch.Tensor) -> torch.Tensor:
    """Let operators be no longer deterministic from here on, and again once the gradient has passed here."""
    return _switch_deterministic(tensor, forward=False)


def use_compatible_impl(is_enabled: bool) -> None:
    """Keep whether operators compute as on other devices; results here are the CPU's in either case."""
    state().options[_COMPATIBLE] = str(int(is_enabled))


def are_compatible_impl_enabled() -> bool:
    """Return what :func:`use_compatible_impl` was told."""
    return state().options.get(_COMPATIBLE) == "1"


def set_op_timeout_ms(timeout: int) -> None:
    """Keep how long an operator may run, in ms (at least 0). None runs longer here."""
    if timeout < 0:
        raise OverflowError("can't convert negative value to unsigned int")
    if timeout >= 1 << 32:
        raise OverflowError("Overflow when unpacking unsigned int")
    state().options["OP_TIMEOUT_MS"] = str(int(timeout))


def check_uce_in_memory(device_id: int) -> int:
    """Return the kind of memory fault found on a device: 0, none."""
    state().device_index(device_id)
    return 0


def get_allocator_backend() -> str:
    """Return the name of the allocator."""
    return "native"


def current_blas_handle() -> None:
    """Warn that there is no such handle."""
    warnings.warn("NPU does not use blas handle.", stacklevel=2)


def empty_virt_addr_cache() -> None:
    """Release unused virtual addresses, of which there are none."""


def host_empty_cache() -> None:
    """Release unused pinned memory, of which none is kept."""


def ipc_collect() -> None:
    """Release memory that other processes have let go of; processes share none here."""


def super_kernel_scope_begin(scope_name: str | None = None) -> None:
    """Begin a range that a graph compiler may fuse; operators run one by one here."""
    _check_scope(scope_name)


def super_kernel_scope_end(scope_name: str | None = None) -> None:
    """End a range that a graph compiler may fuse."""
    _check_scope(scope_name)


def _check_scope(name: str | None) -> None:
    if name is not None and not name.strip():
        raise RuntimeError("scope_name should be None or a non-empty string.", pta_error(ErrCode.PARAM))


def lazy_call(callback: Callable[[], Any]) -> None:
    """Run *callback* once the device is initialised, which it is."""
    callback()


def _autocast_device() -> str:
    """Return the device whose autocast serves the npu: the sink computes on the CPU's."""
    return DEVICE_TYPE if state().library is not None else "cpu"


def _switch_deterministic(tensor: torch.Tensor, *, forward: bool) -> torch.Tensor:
    torch.use_deterministic_algorithms(forward)
    if not tensor.requires_grad:
        return tensor
    result = tensor.view_as(tensor)

    def passed(gradient: torch.Tensor) -> torch.Tensor:
        torch.use_deterministic_algorithms(not forward)
        return gradient

    result.register_hook(passed)  # type: ignore[no-untyped-call]
    return result


def _device_key(device: int) -> int:
    if isinstance(device, bool) or not isinstance(device, int):
        raise TypeError(f"device must be an int, but got {type(device).__name__}")
    if not 0 <= device < device_count():
        raise AssertionError(tagged("Invalid device id", INVALID_VALUE))
    return device


def _stream_key(stream: Stream) -> tuple[int, int]:
    if not isinstance(stream, Stream):
        raise AssertionError(
            "stream cannot be None"
            if stream is None
            else f"stream should be torch_npu.npu.Stream, could not be {type(stream)}"
        )
    return stream.device_index, stream.stream_id


def _limit(key: object, device: DeviceLike = None) -> dict[str, int]:
    properties = get_device_properties(device)
    cores = {"cube_core_num": properties.cube_core_num, "vector_core_num": properties.vector_core_num}
    return cores | _limits.get(key, {})


def _set_limit(key: object, cube_num: int, vector_num: int) -> None:
    limits = {"cube_core_num": cube_num, "vector_core_num": vector_num}
    _limits[key] = _limits.get(key, {}) | {name: number for name, number in limits.items() if number != -1}
