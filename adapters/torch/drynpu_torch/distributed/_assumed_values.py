"""
What collectives return where no other rank runs: what follows if every rank holds what this one holds.

Where that says nothing, as for a message, the tensor is filled with a stand-in (docs/world.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import torch
import torch.distributed as dist
from attrs import frozen

Arguments = Mapping[str, Any]
_UNCHANGED: Final = ("AVG", "MIN", "MAX", "BAND", "BOR")


@frozen
class Place:
    """Where this process stands in a group of ``size`` ranks: its group ``rank``; ``stand_in`` fills messages."""

    rank: int
    size: int
    stand_in: float

    def fill(self, tensor: torch.Tensor) -> None:
        """Fill a tensor with the stand-in: integers and truths with zero."""
        tensor.fill_(self.stand_in if tensor.is_floating_point() or tensor.is_complex() else 0)

    def fit(self, output: torch.Tensor, content: torch.Tensor) -> None:
        """Copy what fits of *content* to *output*, and fill the rest."""
        if output.shape == content.shape:
            output.copy_(content)
            return
        to, source = output.view(-1), content.reshape(-1)
        count = min(len(to), len(source))
        to[:count].copy_(source[:count])
        if count < len(to):
            self.fill(to[count:])

    def reduce(self, tensor: torch.Tensor, operation: Any) -> None:
        """Reduce as many equal tensors as there are ranks, in place."""
        name = dist.ReduceOp.RedOpType(operation.op()).name
        if name == "SUM":
            # A sum of truths is whether any holds.
            if tensor.dtype is not torch.bool:
                tensor.mul_(self.size)
        elif name == "PRODUCT":
            if tensor.dtype is not torch.bool:
                tensor.copy_(tensor.pow(self.size))
        elif name == "BXOR":
            if self.size % 2 == 0:
                tensor.zero_()
        elif name not in _UNCHANGED:
            raise ValueError(f"ReduceOp.{name} is not supported by hccl")


Rule = Callable[[Arguments, Place], bool]
"""Fills the outputs of a call, and returns whether their values were assumed."""


def _all_reduce(call: Arguments, place: Place) -> bool:
    for tensor in call["tensors"]:
        place.reduce(tensor, call["reduce_op"])
    return True


def _broadcast(call: Arguments, place: Place) -> bool:
    return bool(place.rank != call["root_rank"])


def _reduce(call: Arguments, place: Place) -> bool:
    return place.rank == call["root_rank"] and _all_reduce(call, place)


def _gather_lists(outputs: Sequence[Sequence[torch.Tensor]], inputs: Sequence[torch.Tensor], place: Place) -> bool:
    for parts, tensor in zip(outputs, inputs, strict=True):
        for part in parts:
            place.fit(part, tensor)
    return True


def _gather(call: Arguments, place: Place) -> bool:
    at_root = place.rank == call["root_rank"]
    return at_root and _gather_lists(call["output_tensors"], call["input_tensors"], place)


def _gather_whole(output: torch.Tensor, tensor: torch.Tensor, place: Place) -> None:
    flat = output.view(place.size, -1)
    flat.copy_(tensor.reshape(1, -1).expand_as(flat))


def _gather_base(call: Arguments, place: Place) -> bool:
    _gather_whole(call["output_tensor"], call["input_tensor"], place)
    return True


def _gather_bases(call: Arguments, place: Place) -> bool:
    for output, tensor in zip(call["outputs"], call["inputs"], strict=True):
        _gather_whole(output, tensor, place)
    return True


def _reduce_part(output: torch.Tensor, parts: torch.Tensor, call: Arguments, place: Place) -> None:
    output.copy_(parts.reshape(output.shape))
    place.reduce(output, call["reduce_op"])


def _reduce_scatter(call: Arguments, place: Place) -> bool:
    for output, parts in zip(call["output_tensors"], call["input_tensors"], strict=True):
        _reduce_part(output, parts[place.rank], call, place)
    return True


def _reduce_scatter_base(call: Arguments, place: Place) -> bool:
    _reduce_part(call["output_tensor"], call["input_tensor"].reshape(place.size, -1)[place.rank], call, place)
    return True


def _reduce_scatter_bases(call: Arguments, place: Place) -> bool:
    for output, tensor in zip(call["outputs"], call["inputs"], strict=True):
        _reduce_part(output, tensor.reshape(place.size, -1)[place.rank], call, place)
    return True


def _all_to_all(call: Arguments, place: Place) -> bool:
    """From each rank comes what goes to it, so that exchanged counts fit the data that is exchanged after them."""
    for output, tensor in zip(call["output_tensors"], call["input_tensors"], strict=True):
        place.fit(output, tensor)
    return True


def _all_to_all_base(call: Arguments, place: Place) -> bool:
    output, source = call["output"], call["input"]
    parts = [
        tensor.split(list(call[sizes]) or tensor.shape[0] // place.size) if len(tensor) else ()
        for tensor, sizes in ((output, "output_split_sizes"), (source, "input_split_sizes"))
    ]
    if [len(part) for part in parts[0]] == [len(part) for part in parts[1]]:
        output.copy_(source)
        return True
    for index, part in enumerate(parts[0]):
        place.fit(part, parts[1][index] if parts[1] else source)
    return True


def _scatter(call: Arguments, place: Place) -> bool:
    at_root = place.rank == call["root_rank"]
    for index, output in enumerate(call["output_tensors"]):
        if at_root:
            output.copy_(call["input_tensors"][index][place.rank])
        else:
            place.fill(output)
    return not at_root


def _receive(call: Arguments, place: Place) -> bool:
    for tensor in call["tensors"]:
        place.fill(tensor)
    return True


def _nothing(call: Arguments, place: Place) -> bool:  # noqa: ARG001 - a rule
    return False


RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        "allreduce_": _all_reduce,
        "allreduce_coalesced_": _all_reduce,
        "broadcast_": _broadcast,
        "reduce_": _reduce,
        "allgather_": lambda call, place: _gather_lists(call["output_tensors"], call["input_tensors"], place),
        "allgather_coalesced_": lambda call, place: _gather_lists(call["output_lists"], call["input_list"], place),
        "_allgather_base_": _gather_base,
        "allgather_into_tensor_coalesced_": _gather_bases,
        "reduce_scatter_": _reduce_scatter,
        "_reduce_scatter_base_": _reduce_scatter_base,
        "reduce_scatter_tensor_coalesced_": _reduce_scatter_bases,
        "alltoall_": _all_to_all,
        "alltoall_base_": _all_to_all_base,
        "gather_": _gather,
        "scatter_": _scatter,
        "barrier": _nothing,
        "send": _nothing,
        "recv_": _receive,
        "recv_any_source_": _receive,
    }
)
"""Operators of ``c10d`` by name."""
