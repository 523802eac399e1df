"""The functions that scripts import from ``torch_npu.npu.utils``."""

from __future__ import annotations

import re
from collections.abc import Sequence

import torch

from drynpu import cann_release
from drynpu_torch.device._errors import ErrCode, pta_error
from drynpu_torch.device._state import DEVICE_TYPE, state
from drynpu_torch.device.npu._control import clear_npu_overflow_flag as clear_npu_overflow_flag
from drynpu_torch.device.npu._control import get_npu_overflow_flag as get_npu_overflow_flag
from drynpu_torch.device.npu._control import npu_check_overflow as npu_check_overflow
from drynpu_torch.device.npu._devices import current_device as current_device
from drynpu_torch.device.npu._devices import device as device
from drynpu_torch.device.npu._devices import device_of as device_of
from drynpu_torch.device.npu._devices import get_device_name as get_device_name
from drynpu_torch.device.npu._devices import get_device_properties as get_device_properties
from drynpu_torch.device.npu._devices import set_device as set_device
from drynpu_torch.device.npu._versions import get_soc_version as get_soc_version
from drynpu_torch.device.npu.amp import is_bf16_supported as is_bf16_supported
from drynpu_torch.device.npu.streams import StreamContext as StreamContext
from drynpu_torch.device.npu.streams import current_stream as current_stream
from drynpu_torch.device.npu.streams import default_stream as default_stream
from drynpu_torch.device.npu.streams import set_stream as set_stream
from drynpu_torch.device.npu.streams import stream as stream
from drynpu_torch.device.npu.streams import synchronize as synchronize

_MODULES = ("CANN", "RUNTIME", "COMPILER", "HCCL", "TOOLKIT", "OPP", "OPP_KERNEL", "DRIVER")
"""CANN's parts."""


def get_cann_version(module: str = "CANN") -> str:
    """
    Return the release of CANN that is simulated, e.g. ``9.0.0``.

    *module* is one of CANN's parts, which all have that release. Of the driver nothing is known: the text is empty,
    as it is for a part that is not installed.
    """
    return cann_release() if module in _MODULES and module != "DRIVER" else ""


def is_gte_cann_version(version: str, module: str = "CANN") -> bool:
    """Whether a part of CANN has the release *version* or a later one; a part without a release has not."""
    release = get_cann_version(module)
    return bool(release) and _numbers(release) >= _numbers(version)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


_is_gte_cann_version = is_gte_cann_version


def is_support_inf_nan() -> bool:
    """Return whether the chip has infinities; one that has none saturates."""
    return state().chip.split


def empty_strided_npu(size: Sequence[int], stride: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Return a tensor of the current device with these sizes and strides, as compiled graphs ask for one."""
    return torch.empty_strided(tuple(size), tuple(stride), dtype=dtype, device=DEVICE_TYPE)


def _get_device_index(device: object, optional: bool = False, allow_cpu: bool = False) -> int:
    """
    Return the index of a device; ``npu`` alone is the current one if *optional*, ``cpu`` is -1.

    Raises
    ------
    ValueError
        It is a device of another type, or none is given.
    RuntimeError
        The text is no device.
    """
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device) and device.type not in ((DEVICE_TYPE, "cpu") if allow_cpu else (DEVICE_TYPE,)):
        kinds = "npu or cpu" if allow_cpu else "npu"
        raise ValueError(f"Expected a {kinds} device, but got: {device}" + pta_error(ErrCode.VALUE))
    return int(torch._utils._get_device_index(device, optional, allow_cpu))


def weak_ref_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor on the same memory, which stays for as long as either is used; the vendor's does not keep it."""
    return tensor.detach()
