"""
Functions of ``torch.distributed`` that send objects, where the sender does not run.

The same collectives run as with all ranks, with the sizes of what this rank holds; objects of others stay what they are
here. ``all_gather_object`` and ``gather_object`` need no help: every place holds this rank's object.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch
import torch.distributed as dist


def _device(group: dist.ProcessGroup | None, device: torch.device | None) -> torch.device:
    chosen: torch.device = device or dist.distributed_c10d._get_object_coll_device(group)  # type: ignore[assignment]
    return torch.device(chosen)


def _buffers(objects: list[Any], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the tensors that objects travel in: the size of each, and all their bytes."""
    sizes = [len(pickle.dumps(each)) for each in objects]
    return torch.tensor(sizes, device=device), torch.zeros(sum(sizes), dtype=torch.uint8, device=device)


def _sender(src: int | None, group: dist.ProcessGroup | None, group_src: int | None) -> int | None:
    if src is None and group_src is not None:
        return dist.get_global_rank(group or dist.group.WORLD, group_src)  # type: ignore[arg-type]
    return 0 if src is None else src


_broadcast_objects, _scatter_objects = dist.broadcast_object_list, dist.scatter_object_list


@functools.wraps(_broadcast_objects)
def _broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: dist.ProcessGroup | None = None,
    device: torch.device | None = None,
    group_src: int | None = None,
    **kwargs: object,
) -> None:
    sender = _sender(src, group, group_src)
    if sender == dist.get_rank():
        _broadcast_objects(object_list, src, group, device, group_src, **kwargs)
        return
    for buffer in _buffers(object_list, _device(group, device)):
        dist.broadcast(buffer, sender, group)


@functools.wraps(_scatter_objects)
def _scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: dist.ProcessGroup | None = None,
    group_src: int | None = None,
) -> None:
    sender = _sender(src, group, group_src)
    if sender == dist.get_rank():
        _scatter_objects(scatter_object_output_list, scatter_object_input_list, src, group, group_src)
        return
    sizes, content = _buffers(scatter_object_output_list[:1], _device(group, None))
    dist.broadcast(sizes, sender, group)
    dist.scatter(content, None, sender, group)
    dist.scatter(sizes, None, sender, group)


def _recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: dist.ProcessGroup | None = None,
    device: torch.device | None = None,
    group_src: int | None = None,
    **kwargs: object,
) -> int:
    del kwargs
    sender = _sender(src, group, group_src) or 0
    for buffer in _buffers(object_list, _device(group, device)):
        dist.recv(buffer, sender, group)
    return sender


OBJECT_FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "broadcast_object_list": _broadcast_object_list,
        "scatter_object_list": _scatter_object_list,
        "recv_object_list": _recv_object_list,
    }
)
"""Functions by name."""
