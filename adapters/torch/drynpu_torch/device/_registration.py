"""Registration of the device in PyTorch."""

from __future__ import annotations

import os
import sys

import torch

from drynpu import CaptureError, cann_release
from drynpu.options import Settings, TorchDevice
from drynpu.plugins import join_parts
from drynpu_torch.device import npu
from drynpu_torch.device._autograd_profiler import patch_autograd_profiler
from drynpu_torch.device._formats import keep_formats_of_copies
from drynpu_torch.device._framework import patch_framework, patch_legacy_executor
from drynpu_torch.device._library import Library
from drynpu_torch.device._native import load_native, register_native
from drynpu_torch.device._report import patch_report
from drynpu_torch.device._sink import register_sink
from drynpu_torch.device._state import DEVICE_TYPE, state
from drynpu_torch.device._tensor import patch_tensor
from drynpu_torch.extension import find_build
from drynpu_torch.extension.choice import Choice, build_at_first_use, choose, has_sink


def register_device() -> tuple[torch.library.Library, ...]:
    """
    Register the ``npu`` device, ``torch.npu`` and the patches of this room; their kernels end with the libraries.

    ``drynpu_torch.install`` calls it, once per process, and says what it raises.
    """
    _check_slot()
    settings = Settings.from_environ(os.environ)
    library, choice = _load(settings)
    state().choice = choice
    libraries: tuple[torch.library.Library, ...] = ()
    if library is None:
        libraries = _register_sink(settings)
    else:
        register_native(library, state(), settings)
    keep_formats_of_copies()
    patch_autograd_profiler()
    patch_legacy_executor()
    _add_parts()
    alias_modules(f"torch.{DEVICE_TYPE}")
    torch.version.cann = cann_release()  # type: ignore[attr-defined] # as torch_npu/utils/collect_env.py
    return libraries


def _load(settings: Settings) -> tuple[Library | None, Choice]:
    """Return the native device, ``None`` where the sink serves, and the choice that was made."""
    build = find_build()
    if settings.build:
        build_at_first_use(settings, build)
    choice = choose(settings, build)
    if choice.device is TorchDevice.SINK:
        return None, choice
    try:
        return load_native(build, choice), choice
    except OSError as error:
        build.note_failure(f"the native device was compiled but does not load:\n{error}")
        if choice.is_asked or not has_sink(build):
            raise CaptureError(f"the native device does not load: {error}; run: drynpu native build --again") from error
        return None, Choice(
            TorchDevice.SINK, "the native device does not load", "to get it run: drynpu native build --again"
        )


def _register_sink(settings: Settings) -> tuple[torch.library.Library, ...]:
    libraries = register_sink()
    patch_tensor(state())
    patch_framework(state())
    if settings.report_device:
        patch_report(state())
    return libraries


def alias_modules(name: str) -> None:
    """Make the device module and its submodules importable as *name* too, e.g. ``torch_npu.npu``."""
    for module_name, module in list(sys.modules.items()):
        if module_name == npu.__name__ or module_name.startswith(npu.__name__ + "."):
            sys.modules[name + module_name.removeprefix(npu.__name__)] = module


def _add_parts() -> None:
    """Give ``torch.npu`` the modules and names of plugins."""
    names = join_parts("torch_npu.npu", npu)
    vars(npu).update(names)
    npu.__all__ += [name for name in names if not name.startswith("_") and name not in npu.__all__]


def _check_slot() -> None:
    backend = torch._C._get_privateuse1_backend_name()
    if backend != "privateuseone":  # the name of an unused slot
        raise RuntimeError(
            f"PyTorch's slot for an outside device is already taken by {backend!r} in this process; the simulated npu "
            "cannot be registered beside it"
        )
