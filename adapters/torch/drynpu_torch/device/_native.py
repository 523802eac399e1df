"""Registration of the native device: a device of PyTorch in C++, whose tensors say npu."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from typing import Any

import torch

from drynpu import CaptureError
from drynpu.options import Settings
from drynpu_torch.device import npu
from drynpu_torch.device._framework import patch_compile
from drynpu_torch.device._library import Library
from drynpu_torch.device._outlines import outline_parameters
from drynpu_torch.device._state import DEVICE_TYPE, DeviceState
from drynpu_torch.device.npu import memory
from drynpu_torch.extension import Build
from drynpu_torch.extension.choice import Choice

_GO_ON = "warn"
"""Value of ``DRYNPU_OOM`` with which a full memory is told once and the script goes on."""


def load_native(build: Build, choice: Choice) -> Library:
    """
    Load the native device, which registers its kernels in PyTorch.

    Raises
    ------
    CaptureError
        It is needed, and has not been built for this PyTorch.
    OSError
        It does not load.
    """
    if choice.is_missing:
        raise CaptureError(f"nothing serves the npu: it needs the {choice.sentence}")
    return Library(build.path)


def register_native(library: Library, state: DeviceState, settings: Settings) -> None:
    """Register the device that *library* is in PyTorch."""
    torch.utils.rename_privateuse1_backend(DEVICE_TYPE)
    if not settings.compute:
        library.compute_nothing(settings.values, settings.computed_bytes)
        outline_parameters(settings.computed_bytes)
    torch._register_device_module(DEVICE_TYPE, npu)  # type: ignore[no-untyped-call]
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    state.use(library, only_warn=os.environ.get("DRYNPU_OOM") == _GO_ON)
    atexit.register(library.finish_backward)
    patch_compile()
    _patch_accelerator()


# N22, docs/tricks.md
def _patch_accelerator() -> None:
    """Answer the questions of ``torch.accelerator`` about memory, which is modelled."""
    answers: dict[str, Callable[..., Any]] = {
        "isAllocatorInitialized": lambda: True,
        "emptyCache": memory.empty_cache,
        "emptyHostCache": lambda: None,
        "getDeviceStats": memory.memory_stats_as_nested_dict,
        "getMemoryInfo": memory.mem_get_info,
        "resetPeakStats": memory.reset_peak_memory_stats,
        "resetAccumulatedStats": memory.reset_accumulated_memory_stats,
    }
    for name, answer in answers.items():
        setattr(torch._C, f"_accelerator_{name}", answer)
