"""
Gathers and scatters of parts that differ in size from rank to rank, which HCCL has (V) and gloo has not.

Each part is broadcast by its rank, or reduced to it, as ProcessGroupHCCL does where HCCL is too old to have them.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import torch
import torch.distributed as dist
from torch import Tensor

from drynpu_torch.distributed._groups import is_of_device

# The keys that the dispatcher goes through after those that choose a device.
BELOW: Final = torch._C._dispatch_keyset_full_after(torch._C.DispatchKey.BackendSelect)


def differ_in_size(parts: Sequence[Tensor]) -> bool:
    """Return whether not all parts have the same number of elements."""
    return len({part.numel() for part in parts}) > 1


def issue(name: str, keys: torch._C.DispatchKeySet, values: Mapping[str, Any]) -> Any:
    """Run the operator *name* of ``c10d`` below the key BackendSelect; *values* are its arguments by name."""
    if name in UNEVEN:
        parts, run = UNEVEN[name]
        # A plain group of gloo refuses such parts, also beside an NPU.
        if differ_in_size(values[parts][0]) and is_of_device(dist.ProcessGroup.unbox(values["process_group"])):
            return run(keys & BELOW, values)
    return _operator(name).redispatch(keys & BELOW, **values)


def all_gather_into_tensor_uneven(
    output: Tensor,
    input: Tensor,  # noqa: A002 - its name there
    output_split_sizes: Sequence[int] | None = None,
    group: dist.ProcessGroup | None = None,
    async_op: bool = False,
) -> Any:
    """Gather rows of all ranks into one tensor, of each rank as many as *output_split_sizes* says; equal without."""
    if not _are_of_device("all_gather_into_tensor_uneven", group, output, input):
        return None
    if not output_split_sizes:
        return dist.all_gather_into_tensor(output, input, group, async_op)
    return dist.all_gather(list(torch.split(output, list(output_split_sizes))), input, group, async_op)


def reduce_scatter_tensor_uneven(
    output: Tensor,
    input: Tensor,  # noqa: A002 - its name there
    input_split_sizes: Sequence[int] | None = None,
    op: object = dist.ReduceOp.SUM,
    group: dist.ProcessGroup | None = None,
    async_op: bool = False,
) -> Any:
    """Reduce a tensor over all ranks; each gets as many rows as *input_split_sizes* says; equal without."""
    if not _are_of_device("reduce_scatter_tensor_uneven", group, output, input):
        return None
    if not input_split_sizes:
        return dist.reduce_scatter_tensor(output, input, op, group, async_op)
    return dist.reduce_scatter(output, list(torch.split(input, list(input_split_sizes))), op, group, async_op)


def _are_of_device(name: str, group: dist.ProcessGroup | None, *tensors: Tensor) -> bool:
    """Return whether a rank of the group calls for tensors of the device; torch_npu warns of all else."""
    if dist.distributed_c10d._rank_not_in_group(group):
        dist.distributed_c10d._warn_not_in_group(name)
        return False
    if not all(tensor.is_npu for tensor in tensors):  # type: ignore[attr-defined]
        warnings.warn("Support for Tensors is limited to those of type npu", stacklevel=3)
        return False
    return True


@functools.cache
def argument_names(name: str) -> tuple[str, ...]:
    """Return the names of the arguments of an operator of ``c10d``."""
    return tuple(argument.name for argument in _operator(name)._schema.arguments)


def _operator(name: str) -> Any:
    return getattr(torch.ops.c10d, name).default


def _gather(keys: torch._C.DispatchKeySet, values: Mapping[str, Any]) -> Any:
    group, (part,) = values["process_group"], values["input_tensors"]
    rank, timeout = dist.ProcessGroup.unbox(group).rank(), values.get("timeout", -1)
    work: Any = None
    for root, place in enumerate(values["output_tensors"][0]):
        if root == rank:
            place.copy_(part)
        _, work = _operator("broadcast_").redispatch(keys, [place], group, root, 0, True, timeout)
        dist.Work.unbox(work).wait()
    return values["output_tensors"], work


def _scatter(keys: torch._C.DispatchKeySet, values: Mapping[str, Any]) -> Any:
    group, reduction = values["process_group"], values["reduce_op"]
    rank, timeout = dist.ProcessGroup.unbox(group).rank(), values.get("timeout", -1)
    work: Any = None
    for root, part in enumerate(values["input_tensors"][0]):
        total = part.clone()  # the others' tensors do not survive a reduction
        work = _operator("reduce_").redispatch(keys, [total], group, reduction, root, 0, True, timeout)
        dist.Work.unbox(work).wait()
        if root == rank:
            values["output_tensors"][0].copy_(total)
    return values["output_tensors"], work


UNEVEN: Final = MappingProxyType(
    {"allgather_": ("output_tensors", _gather), "reduce_scatter_": ("input_tensors", _scatter)}
)
"""Operators of ``c10d``: their argument with the parts of all ranks, and what runs where these differ in size."""
