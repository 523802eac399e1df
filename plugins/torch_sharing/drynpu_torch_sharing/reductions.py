"""Pickling of tensors and events of the npu for another process, with the vendor's functions and arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from multiprocessing import reduction

import torch
from torch.multiprocessing import reductions

from drynpu_torch.device import Event, is_tensor, known_device
from drynpu_torch_sharing._events import from_ipc_handle, ipc_handle
from drynpu_torch_sharing._memory import open_shared, share

_Storage = torch.UntypedStorage | torch.TypedStorage
_Reduced = tuple[Callable[..., object], tuple[object, ...]]
_pytorchs_tensor: Callable[[torch.Tensor], _Reduced] = reductions.reduce_tensor
_pytorchs_storage: Callable[[_Storage], _Reduced] = reductions.reduce_storage


@functools.cache
def install() -> None:
    """Let ``torch.multiprocessing`` carry tensors and events of the device."""
    for kind in (torch.UntypedStorage, torch.TypedStorage):
        kind._share_npu_ = _share  # type: ignore[union-attr]
    Event.ipc_handle = ipc_handle  # type: ignore[method-assign, assignment]
    Event.from_ipc_handle = classmethod(from_ipc_handle)  # type: ignore[method-assign, assignment]
    reductions.reduce_tensor = reduce_tensor
    reductions.reduce_storage = reduce_storage
    reductions.init_reductions()  # type: ignore[no-untyped-call]
    reduction.register(Event, reduce_event)


def reduce_tensor(tensor: torch.Tensor) -> _Reduced:
    """Return how another process makes a tensor again; one of the npu in the same memory."""
    if not _is_shared_by_us(tensor):
        return _pytorchs_tensor(tensor)
    torch.utils.hooks.warn_if_has_hooks(tensor)
    storage = tensor._typed_storage()  # type: ignore[no-untyped-call]
    device, handle, size_bytes, offset_bytes, *counter_and_event = storage._share_npu_()
    shape = (type(tensor), tensor.size(), tensor.stride(), tensor.storage_offset(), type(storage), tensor.dtype)
    memory = (device, handle, size_bytes, offset_bytes)
    return rebuild_npu_tensor, (*shape, *memory, tensor.requires_grad, *counter_and_event)


def rebuild_npu_tensor(
    tensor_cls: type[torch.Tensor],
    tensor_size: torch.Size,
    tensor_stride: tuple[int, ...],
    tensor_offset: int,
    storage_cls: type,
    dtype: torch.dtype,
    storage_device: int,
    storage_handle: bytes | None,
    storage_size_bytes: int,
    storage_offset_bytes: int,
    requires_grad: bool,
    ref_counter_handle: bytes,
    ref_counter_offset: int,
    event_handle: bytes,
    event_sync_required: bool,
) -> torch.Tensor:
    """Return the tensor that :func:`reduce_tensor` had in another process."""
    del storage_cls, ref_counter_handle, ref_counter_offset, event_handle, event_sync_required
    storage = open_shared(storage_device, storage_handle, storage_size_bytes, storage_offset_bytes)
    typed = torch.TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)  # type: ignore[no-untyped-call]
    tensor: torch.Tensor = torch._utils._rebuild_tensor(typed, tensor_offset, tensor_size, tensor_stride)  # type: ignore[no-untyped-call]
    if tensor_cls is torch.nn.Parameter:
        return torch.nn.Parameter(tensor, requires_grad=requires_grad)
    return tensor.requires_grad_(requires_grad)


def reduce_storage(storage: _Storage) -> _Reduced:
    """
    Return how another process makes a storage again.

    Raises
    ------
    RuntimeError
        It is one of the npu, which only tensors take to other processes.
    """
    if storage.device.type == "npu":
        raise RuntimeError("Cannot pickle NPU storage; try pickling a NPU tensor instead")
    return _pytorchs_storage(storage)


def reduce_event(event: Event) -> _Reduced:
    """Return how another process makes an event again."""
    return rebuild_npu_event, (event.device, event.ipc_handle())


def rebuild_npu_event(device: torch.device, handle: bytes) -> Event:
    """Return the event of a handle."""
    return from_ipc_handle(Event, device, handle)


def _is_shared_by_us(tensor: torch.Tensor) -> bool:
    """Return whether it is a plain tensor of the npu; of those that PyTorch refuses or takes apart it is not."""
    if not is_tensor(tensor) or tensor.is_nested or tensor.layout != torch.strided:
        return False
    return known_device(tensor) is not None and not (tensor.requires_grad and not tensor.is_leaf)


def _share(storage: _Storage) -> tuple[object, ...]:
    return share(storage if isinstance(storage, torch.UntypedStorage) else storage._untyped_storage)
