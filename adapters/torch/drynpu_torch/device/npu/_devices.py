"""The number of devices, the current one, and their properties."""

from __future__ import annotations

import functools
import os
import re

import torch
from attrs import frozen

from drynpu_torch.device._errors import INVALID_VALUE, tagged
from drynpu_torch.device._placement import known_device
from drynpu_torch.device._start_settings import check_start_settings
from drynpu_torch.device._state import DeviceLike, state

__all__ = [
    "DeviceProperties",
    "can_device_access_peer",
    "current_device",
    "device",
    "device_count",
    "device_of",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "init",
    "is_available",
    "is_initialized",
    "set_device",
]

_CAPABILITY = "TORCH_NPU_DEVICE_CAPABILITY"
"""The code of the vendor's errors for a device that is not there, where a function only asks for it."""


@frozen
class DeviceProperties:
    """
    Properties of a device. ``total_memory`` and ``L2_cache_size`` are in bytes.

    Properties that other devices of PyTorch have and an NPU has not are ``None``, as the vendor has them.
    """

    name: str
    total_memory: int
    cube_core_num: int
    vector_core_num: int
    L2_cache_size: int
    major: None = None
    minor: None = None
    is_multi_gpu_board: None = None
    is_integrated: None = None
    multi_processor_count: None = None
    max_threads_per_multi_processor: None = None
    warp_size: None = None
    regs_per_multiprocessor: None = None
    gcnArchName: None = None  # noqa: N815 - the vendor's name

    def __repr__(self) -> str:
        """Return the form that the vendor's class has."""
        return (
            f"_NPUDeviceProperties(name='{self.name}', total_memory={self.total_memory / 2**20:g}MB, "
            f"cube_core_num={self.cube_core_num}, vector_core_num={self.vector_core_num}, "
            f"L2_cache_size={self.L2_cache_size / 2**20:g}MB)"
        )


def init() -> None:
    """
    Initialise the device.

    Raises
    ------
    RuntimeError
        The process is a fork of one that had used the device (native device).
    """
    library = state().library
    if library is not None and not library.use_device():
        raise RuntimeError(
            "Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, you must use the 'spawn' "
            "start method"
        )


def is_in_bad_fork() -> bool:
    """Return whether the process is a fork of one that had used the device; the sink does not know."""
    library = state().library
    return library is not None and library.is_refused


def is_initialized() -> bool:
    """Return whether the device is initialised, as it is once it is registered."""
    return True


def is_available() -> bool:
    """Return whether there is a device: ``DRYNPU_DEVICES`` is not 0."""
    return state().device_count > 0


def device_count() -> int:
    """Return the number of devices: ``DRYNPU_DEVICES``, less those that ``ASCEND_RT_VISIBLE_DEVICES`` hides."""
    return state().device_count


def current_device() -> int:
    """Return the index of this thread's device."""
    init()
    return state().current_device


@functools.cache
def _check_start() -> None:
    """Check the environment's settings, once per process."""
    check_start_settings(os.environ)


def set_device(device: DeviceLike) -> None:
    """
    Make *device* (index, ``"npu:N"`` or ``torch.device``) the device of this thread.

    Raises
    ------
    RuntimeError
        There is no device of that index; the message gives the range.
    ValueError
        The device is of another type.
    """
    _check_start()
    init()
    state().select_device(state().device_index(device))


class device:  # noqa: N801
    """Context manager in which *device* is current. ``None`` and negative indices change nothing."""

    def __init__(self, device: DeviceLike) -> None:
        unchanged = device is None or (isinstance(device, int) and device < 0)
        self.idx = -1 if unchanged else state().device_index(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        """Select the device."""
        self.prev_idx = state().select_device(self.idx)

    def __exit__(self, *error: object) -> None:
        """Select the previous device."""
        state().select_device(self.prev_idx)


class device_of(device):  # noqa: N801
    """Context manager in which the device that *obj* was created for is current, if that device is known."""

    def __init__(self, obj: torch.Tensor) -> None:
        super().__init__(known_device(obj))


def get_device_name(device: DeviceLike = None) -> str:
    """Return the chip's name, e.g. ``Ascend910B2``; raise ``AssertionError`` if there is no such device."""
    return get_device_properties(device).name


def get_device_properties(device: DeviceLike = None) -> DeviceProperties:
    """Return the properties of *device*; raise ``AssertionError``, as the vendor does, if there is none."""
    _existing(device)
    chip = state().chip
    return DeviceProperties(chip.name, chip.memory_bytes, chip.cube_cores, chip.vector_cores, chip.l2_bytes)


def get_device_capability(device: DeviceLike = None) -> tuple[int, int] | None:  # noqa: ARG001
    """
    Return the value of ``TORCH_NPU_DEVICE_CAPABILITY`` (``major.minor``), or None.

    NPUs have no such number; the vendor has the variable for scripts that were written for other devices.
    """
    match = re.fullmatch(r"(\d+)\.(\d+)", os.environ.get(_CAPABILITY, ""))
    return (int(match[1]), int(match[2])) if match else None


def can_device_access_peer(device_id: DeviceLike, peer_device_id: DeviceLike) -> bool:
    """Return whether two devices reach each other's memory, as they do if the chip has links between devices."""
    same = _existing(device_id) == _existing(peer_device_id, "peer device id")
    return not same and state().chip.hccs_gbs > 0


def _existing(device: DeviceLike, what: str = "device id") -> int:
    try:
        return state().device_index(device)
    except RuntimeError:
        text = f"Invalid {what}, {state().valid_range}"
        raise AssertionError(tagged(text, INVALID_VALUE)) from None
