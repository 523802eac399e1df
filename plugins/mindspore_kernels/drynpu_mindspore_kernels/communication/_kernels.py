"""
Primitives that communicate, each as one kernel of the CPU.

A function gets a `KernelCall` with the arguments of the launch. It returns the results, and what HCCL's operators move
for it on a device.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from attrs import evolve, frozen

from drynpu_mindspore_kernels.communication._exchange import (
    BARRIER,
    Exchange,
    RankGroup,
    Transfer,
    dtype_name,
    transfer,
)
from drynpu_mindspore_kernels.communication._neighbours import exchange_borders, exchange_gradients
from drynpu_mindspore_kernels.communication._products import PRODUCTS
from drynpu_mindspore_kernels.compositions import Attributes

SEND, RECEIVE = "isend", "irecv"
"""What a batch of messages calls its two directions."""


@frozen(eq=False)
class KernelCall:
    """One launch: the group of the primitive, its attributes, and the arrays that its results go to."""

    group: RankGroup
    attributes: Attributes
    outputs: Sequence[Any]
    name: str

    def value(self, name: str) -> Any:
        """Return an attribute of the primitive."""
        return self.attributes.value(name)


Found = tuple[Sequence[Any], Sequence[Transfer]]
Function = Callable[..., Found]


def _all_reduce(call: KernelCall, x: Any) -> Found:
    return [call.group.reduce(x, call.value("op"), call.name)], [transfer("allReduce", x)]


def _reduce(call: KernelCall, x: Any) -> Found:
    root = int(call.value("dest_rank"))
    total = call.group.reduce(x, call.value("op"), f"{call.name} to {root}")
    # MindSpore gives the others a result of one element, which HCCL leaves alone.
    result = total if call.outputs[0].size == x.size else np.zeros_like(call.outputs[0])
    return [result if call.group.place == root else np.zeros_like(call.outputs[0])], [transfer("reduce", x, peer=root)]


def _all_gather(call: KernelCall, x: Any) -> Found:
    return [np.concatenate(call.group.gather(x, call.name))], [transfer("allGather", x)]


def _all_gather_uneven(call: KernelCall, x: Any, *sizes: Any) -> Found:
    del sizes  # each rank's part says itself how long it is
    gathered = np.concatenate(call.group.gather(x, call.name, same=False))
    return [gathered], [averaged(gathered.size, gathered.dtype, call.group)]


def averaged(count: int, dtype: np.dtype[Any], group: RankGroup) -> Transfer:
    """Return a gather of parts of any sizes, of *count* elements in all: what a rank gives on the average."""
    return Transfer(
        kind="allGatherV",
        size_bytes=int(count) * dtype.itemsize // group.size,
        dtype=dtype_name(dtype),
        count=int(count) // group.size,
    )


def _reduce_scatter(call: KernelCall, x: Any) -> Found:
    total = call.group.reduce(x, call.value("op"), call.name).reshape(call.group.size, -1)
    return [total[call.group.place]], [transfer("reduceScatter", x, count=total.shape[1])]


def _reduce_scatter_uneven(call: KernelCall, x: Any, *sizes: Any) -> Found:
    counts = [int(size) for size in np.ravel(np.concatenate([np.ravel(each) for each in sizes]))]
    total = call.group.reduce(x, call.value("op"), call.name).reshape(-1)
    begin = sum(counts[: call.group.place])
    count = counts[call.group.place]
    return [total[begin : begin + count]], [transfer("reduceScatterV", x, count=count)]


def _broadcast(call: KernelCall, *inputs: Any) -> Found:
    root = int(call.value("root_rank"))
    results = [call.group.gather(x, f"{call.name} of {root}")[root] for x in inputs]
    return results, [transfer("broadcast", x, peer=root) for x in inputs]


def _scatter(call: KernelCall, x: Any) -> Found:
    """Scatter rows: a device's root sends each of the others its part (``HcomScatterKernel``)."""
    root, group = int(call.value("src_rank")), call.group
    rows = group.gather(x, f"{call.name} of {root}")[root].reshape(group.size, -1)
    others = [place for place in range(group.size) if place != root]
    if group.place != root:
        return [rows[group.place]], [transfer("receive", rows[group.place], peer=root)]
    return [rows[root]], [transfer("send", rows[place], peer=place) for place in others]


def _gather(call: KernelCall, x: Any) -> Found:
    """Gather at one rank: on a device the others send to it (``HcomGatherKernel``)."""
    root, group = int(call.value("dest_rank")), call.group
    parts = group.gather(x, f"{call.name} to {root}")
    if group.place != root:
        return [np.zeros_like(call.outputs[0])], [transfer("send", x, peer=root)]
    others = [place for place in range(group.size) if place != root]
    return [np.concatenate(parts)], [transfer("receive", x, peer=place) for place in others]


def _barrier(call: KernelCall) -> Found:
    call.group.reduce(np.zeros(1, np.float32), "sum", call.name)
    return [np.zeros_like(each) for each in call.outputs], [BARRIER]


def _send(call: KernelCall, x: Any) -> Found:
    peer = int(call.value("dest_rank"))
    tag = int(call.value("sr_tag"))
    call.group.send(x, peer, tag)
    return [x], [transfer("send", x, peer=peer, tag=tag)]


def _receive(call: KernelCall, *unused: Any) -> Found:
    del unused
    peer, tag, place = int(call.value("src_rank")), int(call.value("sr_tag")), call.outputs[0]
    received = call.group.receive(place.dtype, place.size, peer, tag)
    return [received], [transfer("receive", received, peer=peer, tag=tag)]


def batched(
    group: RankGroup, kinds: Sequence[str], peers: Sequence[int], sent: Sequence[Any], places: Sequence[Any]
) -> tuple[Callable[[], list[Any]], Transfer]:
    """
    Return what sends and receives in one operator, and what it moves.

    What comes has the shapes and types of *places*. The operator moves the bytes of the larger direction; its peer is
    the rank that sends most here, or gets most from here where nothing comes.
    """
    targets = [peer for kind, peer in zip(kinds, peers, strict=True) if kind == SEND]
    sources = [peer for kind, peer in zip(kinds, peers, strict=True) if kind == RECEIVE]

    def run() -> list[Any]:
        for array, peer in zip(sent, targets, strict=True):
            group.send(array, peer, "batch")
        return [
            group.receive(place.dtype, place.size, peer, "batch") for place, peer in zip(places, sources, strict=True)
        ]

    larger = max(sent, places, key=lambda side: sum(int(each.nbytes) for each in side))
    side = zip(places, sources, strict=True) if places else zip(sent, targets, strict=True)
    peer = max(side, key=lambda each: int(each[0].nbytes))[1]
    messages = tuple((kind == SEND, other) for kind, other in zip(kinds, peers, strict=True))
    return run, evolve(transfer("batchSendRecv", larger, peer=peer), messages=messages)


def _batch(call: KernelCall, *inputs: Any) -> Found:
    kinds, peers = call.value("op_types"), call.value("remote_ranks")
    # MindSpore has a result for every message; the result of a sent message is a number without meaning.
    comes = [kind == RECEIVE for kind in kinds]
    places = [place for place, is_result in zip(call.outputs, comes, strict=True) if is_result]
    run, moved = batched(call.group, kinds, peers, inputs, places)
    arrivals = iter(run())
    results = [
        next(arrivals) if is_result else np.zeros_like(place)
        for place, is_result in zip(call.outputs, comes, strict=True)
    ]
    return results, [moved]


def _all_to_all(call: KernelCall, x: Any) -> Found:
    count, split, concat = (int(call.value(name)) for name in ("split_count", "split_dim", "concat_dim"))
    if count != call.group.size:
        raise ValueError(f"AlltoAll: split_count is {count}, group {call.group.name!r} has {call.group.size} ranks")
    parts = np.split(x, count, split)
    parts_here = [each.reshape(parts[0].shape) for each in call.group.exchange(parts, call.name)]
    return [np.concatenate(parts_here, concat)], [transfer("alltoall", x)]


def _sliced(x: Any, sizes: Sequence[int]) -> list[Any]:
    ends = np.cumsum(sizes, dtype=np.int64)
    return [x.reshape(-1)[end - size : end] for size, end in zip(sizes, ends.tolist(), strict=True)]


def exchanged_rows(group: RankGroup, x: Any, sizes: Sequence[int], call: str) -> Any:
    """Return what the ranks send here, flat, for the parts of *x* with *sizes* elements that go to them."""
    return np.concatenate(group.exchange(_sliced(x, sizes), call))


def _all_to_all_uneven(call: KernelCall, x: Any, *sizes: Any) -> Found:
    size, flat = call.group.size, np.concatenate([np.ravel(each) for each in sizes])
    sent = (flat[:size] * int(call.value("block_size") or 1)).tolist()
    return [exchanged_rows(call.group, x, sent, call.name)], [transfer("alltoallv", x)]


def _all_to_all_matrix(call: KernelCall, x: Any, *matrix: Any) -> Found:
    group, counts = call.group, np.concatenate([np.ravel(each) for each in matrix]).reshape(call.group.size, -1)
    counts = (counts.T if call.value("transpose") else counts) * int(call.value("block_size") or 1)
    return [exchanged_rows(group, x, counts[group.place].tolist(), call.name)], [transfer("alltoallvc", x)]


def _neighbours(call: KernelCall, *inputs: Any) -> Found:
    targets, sources = call.value("send_rank_ids"), call.value("recv_rank_ids")
    for x, peer in zip(inputs, targets, strict=True):
        call.group.send(x, peer, call.name)
    received = [
        call.group.receive(place.dtype, place.size, peer, call.name)
        for place, peer in zip(call.outputs, sources, strict=True)
    ]
    return received, [transfer("alltoallv", list(inputs))]


def _borders(call: KernelCall, x: Any) -> Found:
    result, sent = exchange_borders(call.group, x, *_border_values(call))
    return [result], [transfer("alltoallv", sent or [x[:0]])]


def _border_gradients(call: KernelCall, x: Any) -> Found:
    result, sent = exchange_gradients(call.group, x, *_border_values(call))
    return [result], [transfer("alltoallv", sent or [x[:0]])]


def _border_values(call: KernelCall) -> tuple[Any, ...]:
    return tuple(call.value(name) for name in ("send_rank_ids", "send_lens", "recv_rank_ids", "recv_lens"))


def _inner_all_reduce(call: KernelCall, x: Any, op: str, *rest: Any) -> Found:
    del rest
    return [call.group.reduce(x, op, call.name)], [transfer("allReduce", x)]


def _inner_all_gather(call: KernelCall, x: Any, *rest: Any) -> Found:
    del rest
    return _all_gather(call, x)


def _inner_reduce_scatter(call: KernelCall, x: Any, size: Any, op: str, *rest: Any) -> Found:
    del size, rest
    total = call.group.reduce(x, op, call.name).reshape(call.group.size, -1)
    return [total[call.group.place]], [transfer("reduceScatter", x, count=total.shape[1])]


def _inner_all_to_all(call: KernelCall, x: Any, group: str, *numbers: Any) -> Found:
    """Exchange parts; sizes of what is sent, of what comes and of the group, and whether all are equal, are numbers."""
    del group
    flat = np.concatenate([np.ravel(each) for each in numbers])
    sent = [int(size) for size in flat[: call.group.size]]
    kind = "alltoall" if flat[-1] else "alltoallv"
    return [exchanged_rows(call.group, x, sent, call.name)], [transfer(kind, x)]


def _inner_send(call: KernelCall, x: Any, peer: Any, group: str, tag: Any) -> Found:
    del group
    call.group.send(x, int(peer), int(tag))
    return [x], [transfer("send", x, peer=int(peer), tag=int(tag))]


def _inner_receive(call: KernelCall, tag: Any, peer: Any, *rest: Any) -> Found:
    del rest
    place = call.outputs[0]
    received = call.group.receive(place.dtype, place.size, int(peer), int(tag))
    return [received], [transfer("receive", received, peer=int(peer), tag=int(tag))]


_WITH_GROUP: Final[Mapping[str, Function]] = MappingProxyType(
    {
        "InnerCommAllGather": _inner_all_gather,
        "InnerCommAllReduce": _inner_all_reduce,
        "InnerCommAllToAllV": _inner_all_to_all,
        "InnerCommIrecv": _inner_receive,
        "InnerCommIsend": _inner_send,
        "InnerCommReduceScatter": _inner_reduce_scatter,
        **PRODUCTS,
    }
)
"""Primitives whose group is the last text among their arguments: ``comm_func`` in graphs, products."""
_FUNCTIONS: Final[Mapping[str, Function]] = MappingProxyType(
    {
        "AllGather": _all_gather,
        "AllGatherV": _all_gather_uneven,
        "AllReduce": _all_reduce,
        "AlltoAll": _all_to_all,
        "AlltoAllV": _all_to_all_uneven,
        "AlltoAllVC": _all_to_all_matrix,
        "Barrier": _barrier,
        "BatchISendIRecv": _batch,
        "Broadcast": _broadcast,
        "CollectiveGather": _gather,
        "CollectiveScatter": _scatter,
        "NeighborExchange": _neighbours,
        "NeighborExchangeV2": _borders,
        "NeighborExchangeV2Grad": _border_gradients,
        "Receive": _receive,
        "Reduce": _reduce,
        "ReduceScatter": _reduce_scatter,
        "ReduceScatterV": _reduce_scatter_uneven,
        "Send": _send,
    }
)
PRIMITIVES: Final = (*_FUNCTIONS, *_WITH_GROUP)
"""Primitives that communicate and are computed here."""


def build_collectives(exchange: Exchange) -> dict[str, Callable[[Attributes, Sequence[Any], Sequence[Any]], None]]:
    """Return what computes each primitive, as `drynpu_mindspore_kernels.compositions.serve_compositions` takes it."""
    return {name: _kernel(name, function, exchange) for name, function in {**_FUNCTIONS, **_WITH_GROUP}.items()}


def _kernel(name: str, function: Function, exchange: Exchange) -> Callable[..., None]:
    def launch(attributes: Attributes, arguments: Sequence[Any], results: Sequence[Any]) -> None:
        begin_ns = time.time_ns()
        texts = [each for each in arguments if isinstance(each, str)]
        group = exchange.group(texts[-1] if name in _WITH_GROUP else attributes.value("group"))
        exchange.lines.settle(group.name)  # what the script called before comes first on all ranks
        values, transfers = function(KernelCall(group, attributes, results, name), *arguments)
        for place, value in zip(results, values, strict=True):
            if place is not None and place.size:
                place[...] = np.reshape(value, place.shape)
        exchange.noted(name, group, transfers, begin_ns, time.time_ns(), launch=True)

    return launch
