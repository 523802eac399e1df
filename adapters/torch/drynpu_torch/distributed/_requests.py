"""What a call of ``c10d`` asks of the device: which HCCL operator, how many bytes, of what type, from whom."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import torch
from attrs import frozen

_GE_NAMES: Final = MappingProxyType(
    {
        torch.float32: "FLOAT",
        torch.float64: "DOUBLE",
        torch.float16: "FLOAT16",
        torch.bfloat16: "DT_BF16",
        torch.int64: "INT64",
        torch.int32: "INT32",
        torch.int16: "INT16",
        torch.int8: "INT8",
        torch.uint8: "UINT8",
        torch.bool: "BOOL",
    }
)
POINT_TO_POINT: Final = ("send", "receive")


@frozen
class Asked:
    """
    One communication operator as `drynpu.simulate.Collective` has it.

    ``peer`` is a group rank; ``tag`` tells point-to-point messages of one pair apart.
    """

    kind: str
    size_bytes: int
    dtype: str
    count: int
    peer: int | None = None
    tag: int = 0


Arguments = Mapping[str, Any]


def _tensors(value: object) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _moves(kind: str, payload: str, counted: str = "", root: str = "") -> Callable[[Arguments, int], Asked]:
    """Return the reading of a call that moves its argument *payload*; HCCL counts the elements of *counted*."""

    def read(arguments: Arguments, ranks: int) -> Asked:  # noqa: ARG001 - one signature for all
        moved = list(_tensors(arguments[payload]))
        elements = sum(tensor.numel() for tensor in _tensors(arguments[counted or payload]))
        return Asked(
            kind,
            sum(tensor.numel() * tensor.element_size() for tensor in moved),
            _dtype(moved),
            elements,
            int(arguments[root]) if root else None,
            int(arguments.get("tag", 0)),
        )

    return read


def _dtype(tensors: list[torch.Tensor]) -> str:
    return _GE_NAMES.get(tensors[0].dtype, "RESERVED") if tensors else "RESERVED"


def _all_to_all(arguments: Arguments, ranks: int) -> Asked:
    """Read alltoall_base_: with sizes of its own per rank it is HCCL's alltoallv."""
    uneven = any(len(set(arguments[name])) > 1 for name in ("input_split_sizes", "output_split_sizes"))
    return _moves("alltoallv" if uneven else "alltoall", "input")(arguments, ranks)


def _scatter(arguments: Arguments, ranks: int) -> Asked:
    """Read scatter_: only the root has the input, every rank knows its own part of it."""
    part = _moves("scatter", "output_tensors", root="root_rank")(arguments, ranks)
    return Asked(part.kind, part.size_bytes * ranks, part.dtype, part.count, part.peer)


def _barrier(arguments: Arguments, ranks: int) -> Asked:  # noqa: ARG001
    """Read barrier, which is an allReduce of one float32 (ProcessGroupHCCL)."""
    return Asked("allReduce", 4, "FLOAT", 1)


CALLS: Final[Mapping[str, Callable[[Arguments, int], Asked]]] = MappingProxyType(
    {
        "allreduce_": _moves("allReduce", "tensors"),
        "allreduce_coalesced_": _moves("allReduce", "tensors"),
        "broadcast_": _moves("broadcast", "tensors", root="root_rank"),
        "reduce_": _moves("reduce", "tensors", root="root_rank"),
        "allgather_": _moves("allGather", "input_tensors"),
        "_allgather_base_": _moves("allGather", "input_tensor"),
        "allgather_coalesced_": _moves("allGather", "input_list"),
        "allgather_into_tensor_coalesced_": _moves("allGather", "inputs"),
        "reduce_scatter_": _moves("reduceScatter", "input_tensors", "output_tensors"),
        "_reduce_scatter_base_": _moves("reduceScatter", "input_tensor", "output_tensor"),
        "reduce_scatter_tensor_coalesced_": _moves("reduceScatter", "inputs", "outputs"),
        "alltoall_": _moves("alltoallv", "input_tensors"),
        "alltoall_base_": _all_to_all,
        # ProcessGroupHCCL has no gather; torch_npu gathers by allGather.
        "gather_": _moves("allGather", "input_tensors"),
        "scatter_": _scatter,
        "barrier": _barrier,
        "send": _moves("send", "tensors", root="dst"),
        "recv_": _moves("receive", "tensors", root="src"),
    }
)
"""Operators of ``c10d`` by name; each reads the call's arguments and the size of the group."""


def asked(name: str, arguments: Arguments, ranks: int) -> Asked:
    """Return what call *name* of ``c10d`` asks in a group of *ranks*."""
    return CALLS[name](arguments, ranks)
