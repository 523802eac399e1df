"""The root of the adapter: it puts the device and what stands on it together, once per process."""

from __future__ import annotations

import functools

import torch

from drynpu.plugins import from_plugins
from drynpu_torch.deferred_operators import defer_operators
from drynpu_torch.device import DeviceState, EventTimer, register_device, state
from drynpu_torch.distributed import install_hccl


def install() -> DeviceState:
    """
    Install the ``npu`` device, ``torch.npu``, the backend ``hccl`` and the patches; later calls only return the state.

    Raises
    ------
    RuntimeError
        Another package uses PyTorch's one slot for an outside device (PrivateUse1).
    OptionError
        ``DRYNPU_DEVICES`` cannot be used.
    CaptureError
        The native device has not been built or does not load, and ``DRYNPU_DEVICE=native``, ``DRYNPU_COMPUTE=0`` or a
        release of PyTorch that the sink cannot serve needs it.
    """
    _install()
    return state()


@functools.cache
def _install() -> tuple[torch.library.Library, ...]:
    """Install everything; the cache keeps the libraries, whose kernels end with them."""
    libraries = register_device()
    install_hccl()
    defer_operators()
    state().new_timer = _new_timer
    from_plugins(lambda plugins: plugins.device_installed("torch"))
    return libraries


def _new_timer() -> EventTimer:
    """Return the timer of events: the first event with timing makes it, for its modules take 0.1 s to load."""
    from drynpu_torch.event_timer import SimulatedTimer

    return SimulatedTimer.from_environment()
