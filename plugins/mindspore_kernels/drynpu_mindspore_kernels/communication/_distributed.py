"""
What ``mint.distributed`` calls: operators that write into the tensors that they are given.

MindSpore's CPU build moves data of two of them; its own functions check the arguments of all and call the ones here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from attrs import frozen

from drynpu_mindspore_kernels.communication._exchange import (
    BARRIER,
    Exchange,
    RankGroup,
    Transfer,
    dtype_name,
    transfer,
)
from drynpu_mindspore_kernels.communication._kernels import RECEIVE, SEND, averaged, batched, exchanged_rows
from drynpu_mindspore_kernels.communication._lines import Pending
from drynpu_mindspore_kernels.communication._memory import array_type, read, settle

_SENDS: Final = 0
"""In a batch of messages one that is sent."""


@frozen(eq=False)
class Job:
    """
    A call of one operator: what moves the data, the tensors that get it, and what moves on a device.

    ``run`` returns an array for each of ``places``, ``None`` for one that stays as it is.
    """

    group: RankGroup
    transfers: Sequence[Transfer]
    run: Callable[[], Sequence[Any]]
    places: Sequence[Any]
    line: str = ""
    """Jobs of a group in one line run one after another; messages of a peer have one of their own."""


def _all_reduce(group: RankGroup, x: Any, op: str) -> Job:
    data = read(x)
    return Job(group, [transfer("allReduce", data)], lambda: [group.reduce(data, op, "all_reduce")], [x])


def _reduce(group: RankGroup, x: Any, op: str, root: int) -> Job:
    data = read(x)
    if not 0 <= root < group.size:
        raise ValueError(
            f"reduce: dst is {root}; MindSpore passes it to HCCL as the place in group {group.name!r}, "
            f"which has {group.size} ranks: 0 to {group.size - 1}"
        )

    def run() -> list[Any]:
        total = group.reduce(data, op, f"reduce to {root}")
        return [total if group.place == root else None]

    return Job(group, [transfer("reduce", data, peer=root)], run, [x])


def _all_gather_into_tensor(group: RankGroup, output: Any, x: Any, size: int) -> Job:
    del size
    data = read(x)
    moved = [transfer("allGather", data)]
    return Job(group, moved, lambda: [np.concatenate(group.gather(data, "all_gather_into_tensor"))], [output])


def _all_gather_uneven(group: RankGroup, output: Any, x: Any, sizes: Sequence[int], size: int) -> Job:
    if not sizes:
        return _all_gather_into_tensor(group, output, x, size)
    data = read(x)
    _fits("all_gather_into_tensor_uneven", "output_split_sizes", sizes, group.size, output)
    _is_part("all_gather_into_tensor_uneven", "input", data, sizes[group.place])

    def run() -> list[Any]:
        return [np.concatenate(group.gather(data, "all_gather_into_tensor_uneven", same=False))]

    return Job(group, [averaged(output.size, array_type(output), group)], run, [output])


def _all_gather(group: RankGroup, outputs: Sequence[Any], x: Any, size: int) -> Job:
    del size
    data = read(x)
    same = len({int(each.size) for each in outputs}) == 1
    count = sum(int(each.size) for each in outputs)
    moved = transfer("allGather", data) if same else averaged(count, data.dtype, group)
    return Job(group, [moved], lambda: group.gather(data, "all_gather", same=same), outputs)


def _reduce_scatter_tensor(group: RankGroup, output: Any, x: Any, size: int, op: str) -> Job:
    data = read(x)
    count = data.size // size
    return Job(
        group,
        [transfer("reduceScatter", data, count=count)],
        lambda: [group.reduce(data, op, "reduce_scatter_tensor").reshape(size, -1)[group.place]],
        [output],
    )


def _reduce_scatter_uneven(group: RankGroup, output: Any, x: Any, sizes: Sequence[int], size: int, op: str) -> Job:
    if not sizes:
        return _reduce_scatter_tensor(group, output, x, size, op)
    data = read(x)
    _fits("reduce_scatter_tensor_uneven", "input_split_sizes", sizes, group.size, x)
    begin = sum(sizes[: group.place])

    def run() -> list[Any]:
        return [group.reduce(data, op, "reduce_scatter_tensor_uneven")[begin : begin + sizes[group.place]]]

    return Job(group, [transfer("reduceScatterV", data, count=int(output.size))], run, [output])


def _reduce_scatter(group: RankGroup, output: Any, parts: Sequence[Any], size: int, op: str) -> Job:
    del size
    arrays = [read(each) for each in parts]
    data = np.concatenate([each.reshape(-1) for each in arrays])
    begin, count = sum(each.size for each in arrays[: group.place]), arrays[group.place].size
    kind = "reduceScatter" if len({each.size for each in arrays}) == 1 else "reduceScatterV"
    return Job(
        group,
        [transfer(kind, data, count=count)],
        lambda: [group.reduce(data, op, "reduce_scatter")[begin : begin + count]],
        [output],
    )


def _broadcast(group: RankGroup, x: Any, root: int, place: int) -> Job:
    del place
    data = read(x)

    def run() -> list[Any]:
        content = group.gather(data if group.place == root else data[:0], f"broadcast of {root}", same=False)[root]
        return [None if group.place == root else content]

    return Job(group, [transfer("broadcast", data, peer=root)], run, [x])


def _gather(group: RankGroup, x: Any, outputs: Sequence[Any], size: int, root: int, place: int) -> Job:
    """Gather into a list; a device does it by a gather at all ranks (``DistCommGather``)."""
    del size, place
    data = read(x)

    places = outputs if group.place == root else []

    def run() -> Sequence[Any]:
        return group.gather(data, f"gather to {root}")[: len(places)]

    return Job(group, [transfer("allGather", data)], run, places)


def _gather_into_tensor(group: RankGroup, output: Any, x: Any, size: int, root: int, place: int) -> Job:
    del size, place
    data = read(x)

    def run() -> list[Any]:
        parts = group.gather(data, f"gather_into_tensor to {root}")
        return [np.concatenate(parts) if group.place == root else None]

    return Job(group, [transfer("allGather", data)], run, [output])


def _scatter_rows(group: RankGroup, output: Any, data: Any, root: int) -> Job:
    """Scatter an array of the root, whose rows are the parts; the other ranks' arrays are empty."""
    moved = Transfer(
        kind="scatter",
        size_bytes=int(output.size) * array_type(output).itemsize * group.size,
        dtype=dtype_name(data.dtype),
        count=int(output.size),
        peer=root,
    )

    def run() -> list[Any]:
        return [group.gather(data, f"scatter of {root}", same=False)[root].reshape(group.size, -1)[group.place]]

    return Job(group, [moved], run, [output])


def _scatter(group: RankGroup, output: Any, parts: Sequence[Any], size: int, root: int, place: int) -> Job:
    del size, place
    arrays = [read(each).reshape(-1) for each in parts] if group.place == root else []
    return _scatter_rows(group, output, np.concatenate(arrays) if arrays else np.empty(0, array_type(output)), root)


def _scatter_tensor(group: RankGroup, output: Any, x: Any, size: int, root: int, place: int) -> Job:
    del size, place
    return _scatter_rows(group, output, read(x) if group.place == root else np.empty(0, array_type(output)), root)


def _barrier(group: RankGroup) -> Job:
    def run() -> list[Any]:
        group.reduce(np.zeros(1, np.float32), "sum", "barrier")
        return []

    return Job(group, [BARRIER], run, [])


def _send(group: RankGroup, x: Any, peer: int, tag: int) -> Job:
    data = read(x)

    def run() -> list[Any]:
        group.send(data, peer, tag)
        return []

    return Job(group, [transfer("send", data, peer=peer, tag=tag)], run, [], f">{peer}")


def _receive(group: RankGroup, x: Any, tag: int, peer: int) -> Job:
    dtype, count = array_type(x), int(x.size)
    moved = Transfer(
        kind="receive", size_bytes=count * dtype.itemsize, dtype=dtype_name(dtype), count=count, peer=peer, tag=tag
    )
    return Job(group, [moved], lambda: [group.receive(dtype, count, peer, tag)], [x], f"<{peer}")


def _batch(group: RankGroup, tensors: Sequence[Any], kinds: Sequence[int], peers: Sequence[int]) -> Job:
    names = [SEND if kind == _SENDS else RECEIVE for kind in kinds]
    sent = [read(each) for each, name in zip(tensors, names, strict=True) if name == SEND]
    places = [each for each, name in zip(tensors, names, strict=True) if name == RECEIVE]
    run, moved = batched(group, names, peers, sent, [np.empty(each.shape, array_type(each)) for each in places])
    return Job(group, [moved], run, places, "batch")


def _name(dtype: np.dtype[Any]) -> str:
    return transfer("receive", np.empty(0, dtype)).dtype


def _all_to_all(
    group: RankGroup, outputs: Sequence[Any], x: Any, sent: Sequence[int], got: Sequence[int], size: int
) -> Job:
    del size
    data = read(x)

    def run() -> list[Any]:
        rows = exchanged_rows(group, data, sent, "all_to_all")
        ends = np.cumsum(got).tolist()
        return [rows[end - count : end] for end, count in zip(ends, got, strict=True)]

    return Job(group, [transfer("alltoallv", data)], run, outputs)


def _all_to_all_single(
    group: RankGroup, output: Any, x: Any, sent: Sequence[int], got: Sequence[int], size: int, even: bool
) -> Job:
    del got, size
    data = read(x)
    moved = [transfer("alltoall" if even else "alltoallv", data)]
    return Job(group, moved, lambda: [exchanged_rows(group, data, sent, "all_to_all_single")], [output])


def _all_to_all_matrix(group: RankGroup, output: Any, x: Any, counts: Sequence[int], size: int, place: int) -> Job:
    data = read(x)
    sent = counts[place * size : (place + 1) * size]
    return Job(
        group, [transfer("alltoallvc", data)], lambda: [exchanged_rows(group, data, sent, "all_to_all_v_c")], [output]
    )


def _fits(call: str, parameter: str, sizes: Sequence[int], ranks: int, whole: Any) -> None:
    if len(sizes) != ranks or sum(sizes) != whole.shape[0]:
        raise ValueError(
            f"{call}: {parameter} is {list(sizes)}; {ranks} numbers, one for each rank, have to sum up to the "
            f"{whole.shape[0]} rows of a tensor of shape {tuple(whole.shape)}"
        )


def _is_part(call: str, parameter: str, data: Any, rows: int) -> None:
    if data.shape[0] != rows:
        raise ValueError(f"{call}: {parameter} has {data.shape[0]} rows, the sizes say {rows} for this rank")


@frozen
class _Operator:
    """An operator: the primitive that a device has for it, its function, and where its arguments have the group."""

    primitive: str
    function: Callable[..., Job]
    group_at: int


_OPERATORS: Final[Mapping[str, _Operator]] = MappingProxyType(
    {
        "dist_comm_all_gather_into_tensor_op": _Operator("DistCommAllGatherIntoTensor", _all_gather_into_tensor, 3),
        "dist_comm_all_gather_into_tensor_uneven_op": _Operator(
            "DistCommAllGatherIntoTensorUneven", _all_gather_uneven, 4
        ),
        "dist_comm_all_gather_op": _Operator("DistCommAllGather", _all_gather, 3),
        "dist_comm_all_reduce_op": _Operator("DistCommAllReduce", _all_reduce, 2),
        "dist_comm_all_to_all_v_c_op": _Operator("DistCommAllToAllVC", _all_to_all_matrix, 2),
        "dist_comm_all_to_all_v_op": _Operator("DistCommAllToAllV", _all_to_all, 2),
        "dist_comm_all_to_all_v_single_op": _Operator("DistCommAllToAllVSingle", _all_to_all_single, 2),
        "dist_comm_barrier_op": _Operator("DistCommBarrier", _barrier, 0),
        "dist_comm_batch_isend_irecv_op": _Operator("DistCommBatchIsendIrecv", _batch, 1),
        "dist_comm_broadcast_op": _Operator("DistCommBroadcast", _broadcast, 3),
        "dist_comm_gather_into_tensor_op": _Operator("DistCommGatherIntoTensor", _gather_into_tensor, 5),
        "dist_comm_gather_op": _Operator("DistCommGather", _gather, 5),
        "dist_comm_irecv_op": _Operator("DistCommIrecv", _receive, 3),
        "dist_comm_isend_op": _Operator("DistCommIsend", _send, 2),
        "dist_comm_reduce_op": _Operator("DistCommReduce", _reduce, 3),
        "dist_comm_reduce_scatter_op": _Operator("DistCommReduceScatter", _reduce_scatter, 4),
        "dist_comm_reduce_scatter_tensor_op": _Operator("DistCommReduceScatterTensor", _reduce_scatter_tensor, 4),
        "dist_comm_reduce_scatter_tensor_uneven_op": _Operator(
            "DistCommReduceScatterTensorUneven", _reduce_scatter_uneven, 5
        ),
        "dist_comm_scatter_op": _Operator("DistCommScatter", _scatter, 5),
        "dist_comm_scatter_tensor_op": _Operator("DistCommScatterTensor", _scatter_tensor, 5),
    }
)
"""By the name under which MindSpore's modules have the operator."""
IN_PLACE: Final = tuple(sorted(each.primitive for each in _OPERATORS.values()))
"""Primitives of operators that write into tensors that they are given."""


def build_operators(exchange: Exchange) -> dict[str, Callable[..., Any]]:
    """Return the operators by the names that MindSpore's modules have them under."""
    return {name: _called(each, exchange) for name, each in _OPERATORS.items()}


def _called(operator: _Operator, exchange: Exchange) -> Callable[..., Any]:
    def call(*arguments: Any) -> tuple[Any, Pending]:
        settle()
        begin_ns = time.time_ns()
        group = exchange.group(arguments[operator.group_at])
        rest = [each for place, each in enumerate(arguments) if place != operator.group_at]
        job = operator.function(group, *rest)
        pending = exchange.lines.start(group.name + job.line, job.run, job.places)
        exchange.noted(operator.primitive, group, job.transfers, begin_ns, time.time_ns(), launch=False)
        return None, pending

    return call
