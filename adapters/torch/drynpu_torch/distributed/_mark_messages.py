"""What torch_npu writes into the ranges that it puts around collectives (torch_npu_profiler.md 1.10)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from drynpu_torch.distributed._groups import Group
from drynpu_torch.distributed._requests import Asked

_OPERATORS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "allReduce": "HcclAllreduce",
        "allGather": "HcclAllgather",
        "alltoall": "HcclAlltoAll",
        "alltoallv": "HcclAlltoAllV",
        "batchSendRecv": "HcclBatchSendRecv",
        "broadcast": "HcclBroadcast",
        "receive": "HcclRecv",
        "reduce": "HcclReduce",
        "reduceScatter": "HcclReduceScatter",
        "scatter": "HcclScatter",
        "send": "HcclSend",
    }
)
"""HCCL operators as torch_npu calls them (Ascend/pytorch csrc/distributed/ProcessGroupHCCL.cpp)."""
_DTYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "FLOAT": "fp32",
        "DOUBLE": "fp64",
        "FLOAT16": "fp16",
        "DT_BF16": "bfp16",
        "BOOL": "uint8",  # HCCL has none and moves it as bytes
    }
)
_UNKNOWN: Final = "na"


def mark_message(of: Asked, group: Group) -> str:
    """
    Return the text for one operator, with ``{stream_id}`` where the number of its stream belongs.

    Ranks are those of the group; only a send names its target, only a receive its source.
    """
    dtype = _UNKNOWN if of.dtype == "RESERVED" else _DTYPES.get(of.dtype, of.dtype.lower())
    end = {"receive": "srcRank", "send": "destRank"}.get(of.kind)
    fields = {
        "streamId": "{stream_id}",
        "count": of.count,
        "dataType": dtype,
        **({} if end is None else {end: of.peer}),
        "groupName": group.name,
        "opName": _OPERATORS[of.kind],
    }
    # The guide's example has a space after the colon and none after the comma.
    return "{" + ",".join(f'"{name}": "{value}"' for name, value in fields.items()) + "}"
