"""
Handles of events that another process opens.

Work of the simulated npu runs when it is called for. So an event has happened wherever its handle is, as one that was
not recorded has; nothing but the handle goes from one process to the other.
"""

from __future__ import annotations

import os
import struct

import torch

from drynpu_torch.device import DEVICE_TYPE, ErrCode, Event, pta_error, state

_SIZE = 64
"""Bytes of the vendor's ``aclrtIpcEventHandle``."""


def ipc_handle(event: Event) -> bytes:
    """
    Return the handle of an event for other processes.

    Raises
    ------
    RuntimeError
        The event was made without ``interprocess=True``.
    """
    if not event.interprocess:
        text = f"{event!r} has no handle for other processes: make it with torch.npu.Event(interprocess=True)"
        raise RuntimeError(text + pta_error(ErrCode.PARAM))
    return struct.pack("<qq", os.getpid(), event.npu_event).ljust(_SIZE, b"\0")


def from_ipc_handle(cls: type[Event], device: torch.device | str | int, ipc_handle: bytes) -> Event:
    """
    Return the event of a handle of another process.

    Raises
    ------
    RuntimeError
        The handle has another size, or the device is no npu.
    """
    if len(ipc_handle) != _SIZE:
        text = f"aclrtIpcEventHandle expects byte-like object of size {_SIZE}, but got {len(ipc_handle)}"
        raise RuntimeError(text + pta_error(ErrCode.PARAM))
    if not isinstance(device, int) and torch.device(device).type != DEVICE_TYPE:
        kind = torch.device(device).type
        text = f"Event can only be created on PrivateUse1 devices, but got device type {kind}"
        raise RuntimeError(text + pta_error(ErrCode.PARAM))
    state().device_index(device)  # raises for a device that is not there
    return cls(interprocess=True)
