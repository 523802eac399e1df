"""Tensors that lie one after another in one buffer: ``torch_npu/utils/combine_tensors.py``."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from drynpu_torch.device import DEVICE_TYPE, change_data_ptr, known_device, state, storage_elements

_SHARING = (torch.float32, torch.float16, torch.bfloat16)
"""Types whose tensors the vendor lets lie in the memory of others."""


def combine(tensors: Sequence[torch.Tensor | None], require_copy_value: bool = True) -> torch.Tensor | None:
    """
    Move tensors into one new buffer and return it; each tensor is a part of the buffer from then on.

    Parameters
    ----------
    tensors:
        Contiguous tensors of one dtype on the device, of any shapes.
    require_copy_value:
        False leaves zeros in place of their values.

    Returns
    -------
    torch.Tensor | None
        The buffer, of one dimension; ``None`` where there is nothing to combine.

    Raises
    ------
    RuntimeError
        The tensors cannot be combined.
    """
    if not tensors:
        return None
    parts = [tensor for tensor in tensors if tensor is not None]
    if len(parts) < len(tensors):
        raise RuntimeError("Tensors to combine must not have `None`.")
    for tensor in parts:
        _check(tensor, parts[0].dtype)
    count = sum(tensor.numel() for tensor in parts)
    if count == 0:
        return None
    buffer = torch.zeros(count, dtype=parts[0].dtype, device=_device(parts[0]))
    start = 0
    for tensor in parts:
        _move(tensor, buffer, start, copy=require_copy_value)
        start += tensor.numel()
    return buffer


def combined_part(buffer: torch.Tensor | None, index: int, size: int) -> torch.Tensor | None:
    """Return *size* elements of *buffer* from *index* on, which share its memory; ``None`` for nothing."""
    if buffer is None or size == 0:
        return None
    if index + size > buffer.numel():
        raise RuntimeError(
            f"(index + size) ({index + size}) > torch_npu.get_storage_size(combined_tensor) ({buffer.numel()})"
        )
    return buffer[index : index + size]


def storage_size(tensor: torch.Tensor) -> int:
    """
    Return how many elements *tensor* takes in a buffer: its own, without the vendor's padding.

    Raises
    ------
    RuntimeError
        The tensor is of another type than float32 and float16.
    """
    if tensor.dtype not in (torch.float32, torch.float16):
        raise RuntimeError("Fused optimizers only support weights and grads with dtype torch.float or torch.float16.")
    return tensor.numel()


def is_combined(buffer: torch.Tensor | None, tensors: Sequence[torch.Tensor | None]) -> bool:
    """Return whether every tensor is a contiguous part of *buffer*."""
    if not tensors:
        return True
    if buffer is None:
        return False
    first = buffer.data_ptr()
    end = first + buffer.numel() * buffer.element_size()
    return all(tensor is not None and first <= tensor.data_ptr() < end and tensor.is_contiguous() for tensor in tensors)


def _move(tensor: torch.Tensor, buffer: torch.Tensor, start: int, *, copy: bool) -> None:
    """Let *tensor* lie in *buffer* from element *start* on, with a storage of its own where there are values."""
    part = buffer[start : start + tensor.numel()].view(tensor.shape)
    if copy:
        part.copy_(tensor.detach())
    if state().computes and storage_elements(tensor) == tensor.numel() and tensor.dtype in _SHARING:
        change_data_ptr(tensor, buffer, start)
    else:
        tensor.data = part


def _check(tensor: torch.Tensor, dtype: torch.dtype) -> None:
    if tensor.dtype != dtype:
        raise RuntimeError("Tensors to combine must have the same dtype.")
    if not tensor.is_contiguous():
        raise RuntimeError("Tensors to combine must be contiguous.")


def _device(tensor: torch.Tensor) -> torch.device:
    """Return where *tensor* is; the sink's tensors say cpu."""
    index = known_device(tensor)
    return tensor.device if index is None else torch.device(DEVICE_TYPE, index)
