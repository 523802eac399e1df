"""Put the device into PyTorch, once per process."""

from __future__ import annotations

import functools
import os
import sys

import torch

from drynpu.options import Settings
from drynpu_torch.device import npu
from drynpu_torch.device._compile import patch_compile
from drynpu_torch.device._framework import patch_framework
from drynpu_torch.device._report import patch_report
from drynpu_torch.device._sink import known_device, register_sink
from drynpu_torch.device._state import DEVICE_TYPE, DeviceState, state
from drynpu_torch.device._tensor import patch_tensor


def install() -> DeviceState:
    """
    Register the ``npu`` device, ``torch.npu`` and the patches; later calls only return the state.

    Raises
    ------
    RuntimeError
        Another package has taken PyTorch's one slot for a device from outside (PrivateUse1).
    OptionError
        ``DRYNPU_DEVICES`` cannot be used.
    """
    _register()
    return state()


@functools.cache
def _register() -> tuple[torch.library.Library, ...]:
    """Register, and keep the libraries alive in the cache."""
    _check_slot()
    now = state()
    libraries = register_sink()
    alias_modules(f"torch.{DEVICE_TYPE}")
    patch_tensor(now)
    patch_framework(now)
    patch_compile()
    if Settings.from_environ(os.environ).report_device:
        patch_report(now)
    # Not above: it needs this package whole.
    from drynpu_torch.distributed import batch_of_device, install_hccl

    install_hccl(now.index_of, known_device, batch_of_device)
    return libraries


def alias_modules(name: str) -> None:
    """Make the device module and its submodules importable as *name* too, e.g. ``torch_npu.npu``."""
    for own, module in list(sys.modules.items()):
        if own == npu.__name__ or own.startswith(npu.__name__ + "."):
            sys.modules[name + own.removeprefix(npu.__name__)] = module


def _check_slot() -> None:
    taken = torch._C._get_privateuse1_backend_name()
    if taken != "privateuseone":
        raise RuntimeError(
            f"PyTorch's slot for an outside device is already taken by {taken!r} in this process; the simulated npu "
            "cannot be registered beside it"
        )
