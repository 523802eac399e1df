"""
The memory of a storage, where several processes have it.

The simulated npu computes in host memory, so its storages are shared as PyTorch shares the CPU's: by a name, with a
count of users in the memory itself, and ``torch_shm_manager`` that removes it when all of them are gone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch
from attrs import astuple, frozen
from torch.multiprocessing.reductions import StorageWeakRef, shared_cache

from drynpu_torch.device import DEVICE_TYPE, ErrCode, known_device, mark_storage, pta_error, state

_DIVIDER = b"\n"
"""Between the two names of a handle; no file of a system has it in its name."""
_NO_VALUES = b""
"""The handle of a storage whose values are not computed."""

_LATE: Final = "timed out"
_TRIES: Final = 60
"""How many times the manager is asked; PyTorch gives it a second each time."""


@frozen
class Shared:
    """What the vendor's ``_share_npu_`` returns of a storage; there is one count of users, and nothing to wait for."""

    device: int
    handle: bytes | None
    size_bytes: int
    offset_bytes: int = 0
    ref_counter_handle: bytes = b""
    ref_counter_offset: int = 0
    event_handle: bytes = b""
    event_sync_required: bool = False


def share(storage: torch.UntypedStorage) -> tuple[object, ...]:
    """
    Put the values of a storage of the npu where other processes can have them, and return :class:`Shared` as a tuple.

    The memory is in use until the other process has opened it and both have dropped it, as on the CPU.
    """
    tensor = whole(storage)
    device = known_device(tensor)
    if device is None:
        raise RuntimeError("_share_npu_: only available on NPU." + pta_error(ErrCode.PARAM))
    if not storage.nbytes():
        return astuple(Shared(device, None, 0))
    host = _host(tensor, shared=True)
    if host is None:
        return astuple(Shared(device, _NO_VALUES, storage.nbytes()))
    manager, name, size = host._share_filename_cpu_()
    host._shared_incref()  # type: ignore[no-untyped-call]  # given back by whoever opens it, for this process may drop the storage before
    handle = manager + _DIVIDER + name
    _keep((handle, 0, device), storage)
    return astuple(Shared(device, handle, size))


def open_shared(device: int, handle: bytes | None, size_bytes: int, offset_bytes: int) -> torch.UntypedStorage:
    """
    Return the storage that another process shares, on *device*; the same one for the same handle.

    Where values are not computed it has none, too.
    """
    key = (handle, offset_bytes, device)
    if known := shared_cache.get(key):  # type: ignore[no-untyped-call]
        storage: torch.UntypedStorage | None = torch.UntypedStorage._new_with_weak_ptr(known.cdata)
        if storage is not None:
            host = _host(whole(storage))
            assert host is not None
            host._shared_decref()
            return storage
    if not handle:
        return torch.empty(size_bytes, dtype=torch.uint8, device=torch.device(DEVICE_TYPE, device)).untyped_storage()
    manager, _, name = handle.partition(_DIVIDER)
    opened = _patiently(lambda: torch.UntypedStorage._new_shared_filename_cpu(manager, name, size_bytes))
    opened._shared_decref()
    if state().library is None:
        return _keep(key, mark_storage(opened, device))
    return _keep(key, torch.ops.drynpu.device_bytes(whole(opened), device).untyped_storage())


def _keep(key: tuple[object, ...], storage: torch.UntypedStorage) -> torch.UntypedStorage:
    """Find a storage by *key* as long as it lives."""
    shared_cache[key] = StorageWeakRef(storage)  # type: ignore[no-untyped-call]
    return storage


def whole(storage: torch.UntypedStorage) -> torch.Tensor:
    """Return all bytes of a storage as a tensor."""
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)


def _host(tensor: torch.Tensor, *, shared: bool = False) -> torch.UntypedStorage | None:
    """
    Return the storage of the CPU whose memory a tensor of the npu has, ``None`` where values are not computed.

    With *shared* its memory can be shared: a new one with the same values takes its place, if need be. PyTorch's own
    ``share_memory_`` would free the one before while other threads may read it.
    """
    if state().library is None:
        return tensor.untyped_storage()
    host: torch.Tensor | None = torch.ops.drynpu.host_bytes(tensor)
    if host is None or not shared or host.is_shared():  # type: ignore[no-untyped-call]
        return None if host is None else host.untyped_storage()
    size_bytes = host.nbytes
    moved = _patiently(lambda: torch.UntypedStorage._new_using_filename_cpu(size_bytes))
    torch.ops.drynpu.use_bytes(tensor, whole(moved).copy_(host))
    return moved


def _patiently(make: Callable[[], torch.UntypedStorage]) -> torch.UntypedStorage:
    """
    Return what *make* makes, which tells ``torch_shm_manager`` its name.

    A device needs no such process. Beside busy ones it does not answer within the second that PyTorch waits. A name
    that was told in vain is one without memory, which the manager passes over.
    """
    for _ in range(_TRIES - 1):
        try:
            return make()
        except RuntimeError as error:
            if _LATE not in str(error):
                raise
    return make()
