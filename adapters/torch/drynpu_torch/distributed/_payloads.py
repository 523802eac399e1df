"""The operator of HCCL that a call of ``c10d`` becomes: its kind, bytes, type and peer, and its mark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import torch
from attrs import evolve, frozen

from drynpu.kernels.ops import ge_dtype
from drynpu_torch.distributed._groups import Group
from drynpu_torch.distributed._uneven import differ_in_size

_HCCL_DTYPES: Final = frozenset(
    ("FLOAT", "DOUBLE", "FLOAT16", "DT_BF16", "INT64", "INT32", "INT16", "INT8", "UINT8", "BOOL")
)
"""GE's names of the types that ProcessGroupHCCL passes to HCCL."""
_OTHER_DTYPE: Final = "RESERVED"
"""HCCL's name for a type that it does not have."""


_OPERATORS: Final = MappingProxyType(
    {
        "allReduce": "HcclAllreduce",
        "allGather": "HcclAllGather",
        "allGatherV": "HcclAllGatherV",
        "alltoall": "HcclAlltoAll",
        "alltoallv": "HcclAlltoAllV",
        "batchSendRecv": "HcclBatchSendRecv",
        "broadcast": "HcclBroadcast",
        "receive": "HcclRecv",
        "reduce": "HcclReduce",
        "reduceScatter": "HcclReduceScatter",
        "reduceScatterV": "HcclReduceScatterV",
        "scatter": "HcclScatter",
        "send": "HcclSend",
    }
)
"""HCCL operators as the marks of torch_npu name them (Ascend/pytorch csrc/distributed/ProcessGroupHCCL.cpp)."""
_MARK_DTYPES: Final = MappingProxyType(
    {
        "FLOAT": "fp32",
        "DOUBLE": "fp64",
        "FLOAT16": "fp16",
        "DT_BF16": "bfp16",
        "BOOL": "uint8",  # HCCL has none and moves it as bytes
    }
)
"""Types that torch_npu does not write as GE's name in small letters."""


@frozen
class Payload:
    """
    The kind of one communication operator and the data that it moves, as in `drynpu.simulate.Collective`.

    ``peer`` is a group rank; ``tag`` tells point-to-point messages of one pair apart; ``marked`` are count and type in
    the mark, where they are others than the operator's.
    """

    kind: str
    size_bytes: int
    dtype: str
    count: int
    peer: int | None = None
    tag: int = 0
    marked: tuple[int, str] | None = None

    def mark_message(self, group: Group) -> str:
        """
        Return the message of the range that torch_npu sets around the operator (torch_npu_profiler.md 1.10).

        The number of its stream belongs where ``{stream_id}`` stands. Ranks are ranks of the group; a send alone names
        its destination, a receive alone its source.
        """
        count, dtype = self.marked or (self.count, self.dtype)
        dtype = "na" if dtype == _OTHER_DTYPE else _MARK_DTYPES.get(dtype, dtype.lower())
        peer_field = {"receive": "srcRank", "send": "destRank"}.get(self.kind)
        fields = {
            "streamId": "{stream_id}",
            "count": count,
            "dataType": dtype,
            **({} if peer_field is None else {peer_field: self.peer}),
            "groupName": group.name,
            "opName": _OPERATORS[self.kind],
        }
        # The guide's example has a space after the colon and none after the comma.
        return "{" + ",".join(f'"{name}": "{value}"' for name, value in fields.items()) + "}"


Arguments = Mapping[str, Any]


def _tensors(value: object) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _moves(kind: str, payload: str, counted: str = "", root: str = "") -> Callable[[Arguments, int], Payload]:
    """Return the reader of calls that move their argument *payload*; HCCL counts the elements of *counted*."""

    def read(arguments: Arguments, ranks: int) -> Payload:  # noqa: ARG001 - one signature for all
        moved = list(_tensors(arguments[payload]))
        elements = sum(tensor.numel() for tensor in _tensors(arguments[counted or payload]))
        return Payload(
            kind,
            sum(tensor.numel() * tensor.element_size() for tensor in moved),
            _dtype(moved),
            elements,
            int(arguments[root]) if root else None,
            int(arguments.get("tag", 0)),
        )

    return read


def _dtype(tensors: list[torch.Tensor]) -> str:
    name = ge_dtype(str(tensors[0].dtype).removeprefix("torch.")) if tensors else _OTHER_DTYPE
    return name if name in _HCCL_DTYPES else _OTHER_DTYPE


def _all_to_all(arguments: Arguments, ranks: int) -> Payload:
    """Read alltoall_base_, which is HCCL's alltoallv where the sizes differ from rank to rank."""
    uneven = any(len(set(arguments[name])) > 1 for name in ("input_split_sizes", "output_split_sizes"))
    part = _moves("alltoallv" if uneven else "alltoall", "input")(arguments, ranks)
    # The mark counts the ranks, or what one of them gets.
    return evolve(part, marked=(ranks if uneven else part.count // ranks, part.dtype))


def _all_to_all_lists(arguments: Arguments, ranks: int) -> Payload:
    part = _moves("alltoallv", "input_tensors")(arguments, ranks)
    return evolve(part, marked=(ranks, part.dtype))


def _gather_lists(arguments: Arguments, ranks: int) -> Payload:
    """Read allgather_; where parts differ in size, HCCL's model has what a rank gives on the average."""
    part = _moves("allGather", "input_tensors")(arguments, ranks)
    parts = list(_tensors(arguments["output_tensors"]))
    if not differ_in_size(parts):
        return part
    return evolve(
        part, kind="allGatherV", size_bytes=sum(each.numel() * each.element_size() for each in parts) // ranks
    )


def _scatter_lists(arguments: Arguments, ranks: int) -> Payload:
    """Read reduce_scatter_, which is HCCL's reduceScatterV where the parts differ in size."""
    part = _moves("reduceScatter", "input_tensors", "output_tensors")(arguments, ranks)
    return evolve(part, kind="reduceScatterV") if differ_in_size(list(_tensors(arguments["input_tensors"]))) else part


def _scatter(arguments: Arguments, ranks: int) -> Payload:
    """Read scatter_ by its output, because only the root has the input and every rank has its part."""
    part = _moves("scatter", "output_tensors", root="root_rank")(arguments, ranks)
    return Payload(part.kind, part.size_bytes * ranks, part.dtype, part.count, part.peer)


def _barrier(arguments: Arguments, ranks: int) -> Payload:  # noqa: ARG001
    """Read barrier, which ProcessGroupHCCL runs as an allReduce of one float32."""
    return Payload("allReduce", 4, "FLOAT", 1)


CALLS: Final[Mapping[str, Callable[[Arguments, int], Payload]]] = MappingProxyType(
    {
        "allreduce_": _moves("allReduce", "tensors"),
        "allreduce_coalesced_": _moves("allReduce", "tensors"),
        "broadcast_": _moves("broadcast", "tensors", root="root_rank"),
        "reduce_": _moves("reduce", "tensors", root="root_rank"),
        "allgather_": _gather_lists,
        "_allgather_base_": _moves("allGather", "input_tensor"),
        "allgather_coalesced_": _moves("allGather", "input_list"),
        "allgather_into_tensor_coalesced_": _moves("allGather", "inputs"),
        "reduce_scatter_": _scatter_lists,
        "_reduce_scatter_base_": _moves("reduceScatter", "input_tensor", "output_tensor"),
        "reduce_scatter_tensor_coalesced_": _moves("reduceScatter", "inputs", "outputs"),
        "alltoall_": _all_to_all_lists,
        "alltoall_base_": _all_to_all,
        # ProcessGroupHCCL has no gather; torch_npu gathers by allGather.
        "gather_": _moves("allGather", "input_tensors"),
        "scatter_": _scatter,
        "barrier": _barrier,
        "send": _moves("send", "tensors", root="dst"),
        "recv_": _moves("receive", "tensors", root="src"),
    }
)
"""Operators of ``c10d`` by name, with the function from a call's arguments and the number of ranks to its payload."""
