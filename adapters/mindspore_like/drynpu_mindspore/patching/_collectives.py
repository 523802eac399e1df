"""
Collectives of ``mint.distributed`` and ``communication.comm_func`` that MindSpore's CPU build has no kernel for.

They are made of ``ops.AllGather``, ``AllReduce`` and ``Broadcast``, which it has. Imported where MindSpore is loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

from mindspore import Tensor, mint, ops
from mindspore.communication import GlobalComm, get_group_rank_from_world_rank, get_group_size, get_rank

from drynpu_mindspore.patching._ranks import replace_everywhere

_DISTRIBUTED: Final = "mindspore.mint.distributed.distributed"
_FUNCTIONS: Final = "mindspore.communication.comm_func"


class Finished:
    """The handle of a collective that has ended by the time it returns."""

    def wait(self) -> None:
        """Wait for nothing."""


def _group(group: Any) -> str:
    return str(group) if group else str(GlobalComm.WORLD_COMM_GROUP)


def _handle(async_op: bool) -> Finished | None:
    return Finished() if async_op else None


def _place(rank: int, group: Any) -> int:
    """Return the place of a rank of the world in a group."""
    name = _group(group)
    return rank if name == str(GlobalComm.WORLD_COMM_GROUP) else int(get_group_rank_from_world_rank(rank, name))


def _gathered(tensor: Any, group: Any) -> Any:
    return ops.AllGather(_group(group))(tensor)


_BEYOND_SUMS: Final = {"max": mint.amax, "min": mint.amin, "prod": mint.prod}
"""Reductions that the kernel of the CPU lacks, over the first dim."""


def _reduced(tensor: Any, op: str, group: Any) -> Any:
    if op not in _BEYOND_SUMS:
        return ops.AllReduce(op, _group(group))(tensor)
    return _BEYOND_SUMS[op](_gathered(tensor.reshape((1, *tensor.shape)), group), 0)


def _scattered(tensor: Any, op: str, group: Any) -> Any:
    return _rows(_reduced(tensor, op, group), None, group)[_place(get_rank(), group)]


def all_gather_into_tensor(output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False) -> Any:
    """Gather equal tensors of all ranks into one."""
    output_tensor.copy_(_gathered(input_tensor, group).reshape(output_tensor.shape))
    return _handle(async_op)


def all_gather(tensor_list: Sequence[Any], tensor: Any, group: Any = None, async_op: bool = False) -> Any:
    """Gather equal tensors of all ranks into a list."""
    for place, part in zip(tensor_list, _gathered(tensor, group).reshape((-1, *tensor.shape)), strict=True):
        place.copy_(part)
    return _handle(async_op)


def reduce_scatter_tensor(output: Any, input: Any, op: str = "sum", group: Any = None, async_op: bool = False) -> Any:  # noqa: A002 - its name
    """Reduce tensors of all ranks; each gets its part."""
    output.copy_(_scattered(input, op, group).reshape(output.shape))
    return _handle(async_op)


def reduce_scatter(
    output: Any, input_list: Sequence[Any], op: str = "sum", group: Any = None, async_op: bool = False
) -> Any:
    """Reduce lists of tensors of all ranks; each gets its part."""
    return reduce_scatter_tensor(output, mint.stack(tuple(input_list)), op, group, async_op)


def reduce(tensor: Any, dst: int, op: str = "sum", group: Any = None, async_op: bool = False) -> Any:
    """Reduce tensors of all ranks; one gets the result."""
    result = _reduced(tensor, op, group)
    if get_rank() == dst:
        tensor.copy_(result)
    return _handle(async_op)


def gather(tensor: Any, gather_list: Sequence[Any], dst: int = 0, group: Any = None, async_op: bool = False) -> Any:
    """Gather equal tensors of all ranks into a list of one."""
    found = _gathered(tensor, group).reshape((-1, *tensor.shape))
    if get_rank() == dst:
        for place, part in zip(gather_list, found, strict=True):
            place.copy_(part)
    return _handle(async_op)


def _exchanged(parts: Sequence[Any], group: Any) -> list[Any]:
    """Return what all ranks send here, flat, in the order of ranks; ``parts[k]`` goes to the k-th of them."""
    name, sizes = _group(group), [int(part.size) for part in parts]
    counts = _gathered(Tensor([sizes]), group).asnumpy()
    here = _place(get_rank(), group)
    longest = int(counts.sum(1).max())
    flat = mint.cat([part.reshape(-1) for part in parts])
    padded = mint.nn.functional.pad(flat, (0, longest - int(flat.size)))
    rows = _gathered(padded.reshape(1, longest), group)
    begins = counts.cumsum(1) - counts
    return [
        rows[rank, int(begins[rank, here]) : int(begins[rank, here] + counts[rank, here])]
        for rank in range(get_group_size(name))
    ]


def all_to_all(
    output_tensor_list: Sequence[Any], input_tensor_list: Sequence[Any], group: Any = None, async_op: bool = False
) -> Any:
    """Send a tensor to each rank and get one of each."""
    for place, part in zip(output_tensor_list, _exchanged(input_tensor_list, group), strict=True):
        place.copy_(part.reshape(place.shape))
    return _handle(async_op)


def _rows(tensor: Any, sizes: Sequence[int] | None, group: Any) -> list[Any]:
    """Return parts of the first dim: of *sizes*, or equal ones."""
    count = get_group_size(_group(group))
    return list(mint.split(tensor, list(sizes) if sizes else tensor.shape[0] // count))


def all_to_all_single(
    output: Any,
    input: Any,  # noqa: A002 - its name there
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Any:
    """Send rows to each rank and get some of each; what comes says itself how long it is."""
    del output_split_sizes
    output.copy_(mint.cat(_exchanged(_rows(input, input_split_sizes, group), group)).reshape(output.shape))
    return _handle(async_op)


def functional_all_gather(tensor: Any, group: Any = None, async_op: bool = False) -> Any:
    """Return equal tensors of all ranks as one, and a handle."""
    return _gathered(tensor, group), _handle(async_op)


def functional_reduce_scatter(tensor: Any, op: str = "sum", group: Any = None, async_op: bool = False) -> Any:
    """Return this rank's part of what all reduce, and a handle."""
    return _scattered(tensor, op, group), _handle(async_op)


def functional_all_reduce(tensor: Any, op: str = "sum", group: Any = None, async_op: bool = False) -> Any:
    """Return what all ranks reduce, and a handle."""
    return _reduced(tensor, op, group), _handle(async_op)


def functional_reduce(tensor: Any, dst: int, op: str = "sum", group: Any = None) -> Any:
    """Return what all ranks reduce; on a device only *dst* gets it."""
    result = _reduced(tensor, op, group)
    return result if get_rank() == dst else tensor


def functional_broadcast(tensor: Any, src: int = 0, group: Any = None) -> Any:
    """Return the tensor of one rank."""
    return ops.Broadcast(_place(src, group), _group(group))((tensor,))[0]


def functional_barrier(group: Any = None) -> None:
    """Wait for the others."""
    _reduced(Tensor([1.0]), "sum", group).asnumpy()


def functional_gather(tensor: Any, dst: int = 0, group: Any = None) -> Any:
    """Return equal tensors of all ranks as one; on a device only *dst* gets it."""
    found = _gathered(tensor, group)
    return found if get_rank() == dst else mint.zeros_like(found)


def functional_scatter(tensor: Any, src: int = 0, group: Any = None) -> Any:
    """Return this rank's part of the rows of one rank."""
    return _rows(functional_broadcast(tensor, src, group), None, group)[_place(get_rank(), group)]


def functional_all_to_all(
    output_shape_list: Sequence[Any], input_tensor_list: Sequence[Any], group: Any = None, async_op: bool = False
) -> Any:
    """Return a tensor of each rank for one that goes to it, and a handle."""
    shapes = [each.shape if isinstance(each, Tensor) else each for each in output_shape_list]
    found = zip(_exchanged(input_tensor_list, group), shapes, strict=True)
    return tuple(part.reshape(shape) for part, shape in found), _handle(async_op)


def functional_all_to_all_rows(
    output_shape: Any,
    tensor: Any,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Any:
    """Return rows of each rank for those that go to it, and a handle."""
    del output_split_sizes
    shape = output_shape.shape if isinstance(output_shape, Tensor) else output_shape
    found = mint.cat(_exchanged(_rows(tensor, input_split_sizes, group), group))
    return found.reshape(shape), _handle(async_op)


_REPLACED: Final[dict[str, dict[str, Any]]] = {
    _DISTRIBUTED: {
        each.__name__: each
        for each in (
            *(all_gather, all_gather_into_tensor, all_to_all, all_to_all_single),
            *(gather, reduce, reduce_scatter, reduce_scatter_tensor),
        )
    },
    _FUNCTIONS: {
        "all_gather_into_tensor": functional_all_gather,
        "all_reduce": functional_all_reduce,
        "all_to_all_single_with_output_shape": functional_all_to_all_rows,
        "all_to_all_with_output_shape": functional_all_to_all,
        "barrier": functional_barrier,
        "broadcast": functional_broadcast,
        "gather_into_tensor": functional_gather,
        "reduce": functional_reduce,
        "reduce_scatter_tensor": functional_reduce_scatter,
        "scatter_tensor": functional_scatter,
    },
}


def replace_collectives() -> None:
    """Put the functions in place of MindSpore's, in all modules that have them."""
    for home, functions in _REPLACED.items():
        for name, function in functions.items():
            if (genuine := getattr(sys.modules.get(home), name, None)) is not None:
                replace_everywhere(name, genuine, function)
