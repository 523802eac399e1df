"""PyTorch's own profiler where a script asks it for the times of a device: it gives the host's, and says so."""

from __future__ import annotations

import functools
from operator import attrgetter
from typing import Any

import torch
from torch.autograd import profiler, profiler_util

from drynpu import say_once
from drynpu_torch.device._state import DEVICE_TYPE

_FORMER = ("use_npu", "use_npu_simple")
"""Arguments that torch_npu added up to PyTorch 1.11; scripts of that time still pass them."""
_TIMES = ("device_time", "device_time_total", "self_device_time_total")
_NOTICE = (
    "torch.autograd.profiler records this host's times alone; torch_npu.profiler.profile has the kernels of the device"
)


def patch_autograd_profiler() -> None:
    """Let ``torch.autograd.profiler.profile`` take the device, and its events the names of the device's times."""
    original = profiler.profile.__init__

    @functools.wraps(original)
    def init(self: profiler.profile, enabled: bool = True, **options: Any) -> None:
        former = [options.pop(name, False) for name in _FORMER]
        names_device = any(former)
        device = "cuda" if options.get("use_cuda") else options.get("use_device")
        if device == DEVICE_TYPE or (device == "cuda" and torch.cuda.is_available() and not _has_cuda()):
            names_device = True
            if not options.get("use_kineto"):  # it would ask the device about each operator
                options.pop("use_cuda", None)
                options.pop("use_device", None)
        if names_device and enabled:
            say_once(_NOTICE)
        original(self, enabled, **options)

    profiler.profile.__init__ = init  # type: ignore[method-assign]
    for kind in (profiler_util.FunctionEvent, profiler_util.FunctionEventAvg):
        for name in _TIMES:
            setattr(kind, name.replace("device", DEVICE_TYPE), property(attrgetter(name)))


def _has_cuda() -> bool:
    """Return whether there is a GPU: ``transfer_to_npu`` lets ``torch.cuda`` say so without one."""
    count = getattr(torch._C, "_cuda_getDeviceCount", None)
    return count is not None and count() > 0
