"""
Run by every rank, under ``drynpu run``: primitives that communicate in cells, in both modes, and ``comm_func``.

``primitive_calls.py FOLDER``; writes what each rank gets into a file. Rank r holds the numbers of ``held(rows)``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import nn, ops
from mindspore.communication import comm_func, get_group_size, get_rank, init
from mindspore.ops.operations import comm_ops
from mindspore.profiler import ProfilerLevel, _ExperimentalConfig, profile, tensorboard_trace_handler

ms.set_context(mode=ms.PYNATIVE_MODE, device_target="Ascend")
init()
rank, size = get_rank(), get_group_size()
after, before = (rank + 1) % size, (rank - 1) % size
results: dict[str, Any] = {}


class Cell(nn.Cell):
    """Calls one operator."""

    def __init__(self, operator: Any) -> None:
        super().__init__()
        self.operator = operator

    def construct(self, *arguments: Any) -> Any:
        return self.operator(*arguments)


def held(rows: int) -> Any:
    """Return rows of two numbers that tell ranks and places apart."""
    return ms.Tensor((np.arange(2 * rows).reshape(rows, 2) + 100 * rank).astype(np.float32))


def flat(rows: int) -> Any:
    return ms.Tensor(held(rows).asnumpy().reshape(-1))


def keep(name: str, found: Any) -> None:
    tensors = found if isinstance(found, (tuple, list)) else [found]
    for place, tensor in enumerate(tensors):
        results[f"{name}.{place}"] = tensor.asnumpy()


counts = [each + 1 for each in range(size)]
numbers = tuple(2 * each for each in counts)
total = sum(counts)
CELLS: dict[str, Callable[[], Any]] = {
    "AllReduce": lambda: Cell(ops.AllReduce("max"))(held(3)),
    "AllGather": lambda: Cell(ops.AllGather())(held(2)),
    "ReduceScatter": lambda: Cell(ops.ReduceScatter())(held(size)),
    "Broadcast": lambda: Cell(ops.Broadcast(1))((held(2), held(1))),
    "Reduce": lambda: Cell(ops.Reduce(1))(held(2)),
    "CollectiveScatter": lambda: Cell(ops.CollectiveScatter(1))(held(size)),
    "CollectiveGather": lambda: Cell(ops.CollectiveGather(1))(held(1)),
    "Barrier": lambda: Cell(ops.Barrier())(),
    "AlltoAll": lambda: Cell(ops.AlltoAll(size, 0, 1))(held(size)),
    "AlltoAllV": lambda: Cell(ops.AlltoAllV())(flat(total), numbers, (2 * (rank + 1),) * size),
    "AlltoAllVC": lambda: Cell(comm_ops.AlltoAllVC())(flat(total), numbers * size),
    "AllGatherV": lambda: Cell(comm_ops.AllGatherV())(flat(rank + 1), numbers),
    "ReduceScatterV": lambda: Cell(comm_ops.ReduceScatterV())(flat(total), numbers),
    "BatchISendIRecv": lambda: Cell(
        comm_ops.BatchISendIRecv(["isend", "irecv"], [after, before], [[2, 2]], [ms.float32])
    )([held(2)])[1],
}


def pairs() -> Any:
    """Send from rank 0 to 1."""
    if rank == 0:
        Cell(ops.Send(5, 1))(held(2))
    elif rank == 1:
        return Cell(ops.Receive(5, 0, [2, 2], ms.float32))()
    return held(1)


def neighbours() -> Any:
    return Cell(ops.NeighborExchange([after], [before], ([2, 2],), ([2, 2],), ms.float32))((held(2),))


above, below = ([rank - 1] if rank else [-1]), ([rank + 1] if rank < size - 1 else [-1])
borders = comm_ops.NeighborExchangeV2(
    [*above, -1, -1, -1, *below, -1, -1, -1],
    [1, 1, 0, 0],
    [*above, -1, -1, -1, *below, -1, -1, -1],
    [1, 1, 0, 0],
    "NCHW",
)


def tiles() -> Any:
    """Exchange a row with the tiles above and below."""
    return Cell(borders)(held(2).reshape(1, 1, 2, 2))


def gradients() -> Any:
    reduce, gather, scatter = ops.AllReduce(), ops.AllGather(), ops.ReduceScatter()
    exchange = ops.AlltoAll(size, 0, 0)

    def loss(x: Any) -> Any:
        return (reduce(x) * x).sum() + (gather(x) ** 2).sum() + (scatter(x) ** 2).sum() + (exchange(x) * x).sum()

    return ms.grad(loss)(held(size))


def functions() -> None:
    keep("all_reduce", comm_func.all_reduce(held(2))[0])
    found, handle = comm_func.all_gather_into_tensor(held(1), async_op=True)
    handle.wait()
    keep("all_gather_into_tensor", found)
    keep("reduce_scatter_tensor", comm_func.reduce_scatter_tensor(held(size), "max")[0])
    keep("reduce", comm_func.reduce(held(2), 1))
    keep("scatter_tensor", comm_func.scatter_tensor(held(size), 1))
    keep("gather_into_tensor", comm_func.gather_into_tensor(held(1), 1))
    keep("broadcast", comm_func.broadcast(held(1), 1))
    comm_func.barrier()
    sent = comm_func.isend(held(1), after)
    found, handle = comm_func.irecv(held(1), before)
    sent.wait()
    handle.wait()
    keep("irecv", found)
    if rank == 0:
        comm_func.send(held(2), 1)
    elif rank == 1:
        keep("recv", comm_func.recv(held(2), 0))
    batch = [comm_func.P2POp("isend", held(1), after), comm_func.P2POp("irecv", held(1), before)]
    keep("batch_isend_irecv", comm_func.batch_isend_irecv(batch)[1])
    shapes = [(rank + 1, 2)] * size
    keep("all_to_all", comm_func.all_to_all_with_output_shape(shapes, [held(each) for each in counts])[0])
    keep("all_to_all_single", comm_func.all_to_all_single_with_output_shape((size, 2), held(size))[0])
    shape = ((rank + 1) * size, 2)
    uneven = comm_func.all_to_all_single_with_output_shape(shape, held(total), [rank + 1] * size, counts)
    keep("all_to_all_single uneven", uneven[0])
    whole = held(size)
    comm_func.all_to_all_v_c(whole, held(size), [1] * size**2)
    keep("all_to_all_v_c", whole)


def function_gradients() -> Any:
    def loss(x: Any) -> Any:
        whole, _ = comm_func.all_gather_into_tensor(x)
        part, _ = comm_func.reduce_scatter_tensor(x)
        exchanged, _ = comm_func.all_to_all_single_with_output_shape((size, 2), x)
        return (comm_func.all_reduce(x)[0] * x).sum() + (whole**2).sum() + (part**2).sum() + (exchanged * x).sum()

    return ms.grad(loss)(held(size))


class Functions(nn.Cell):
    """Calls ``comm_func`` inside of a graph."""

    def construct(self, x: Any) -> Any:
        return (
            comm_func.all_reduce(x, "max")[0],
            comm_func.all_gather_into_tensor(x)[0],
            comm_func.reduce_scatter_tensor(x)[0],
            comm_func.all_to_all_single_with_output_shape((size, 2), x)[0],
        )


def recorded(name: str, run: Callable[[], Any]) -> None:
    config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1)
    with profile(on_trace_ready=tensorboard_trace_handler(f"{sys.argv[1]}/{name}"), experimental_config=config):
        run()


def cells(mode: str) -> None:
    for name, call in {**CELLS, "Receive": pairs}.items():
        keep(f"{mode} {name}", call())


recorded("functions", functions)
recorded("pynative", lambda: cells("pynative"))
keep("pynative gradients", gradients())
keep("function gradients", function_gradients())
ms.set_context(mode=ms.GRAPH_MODE)
recorded("graph", lambda: cells("graph"))
keep("graph NeighborExchange", neighbours())
keep("graph NeighborExchangeV2", tiles())
keep("graph gradients", gradients())
keep("graph functions", Functions()(held(size)))
np.savez(f"{sys.argv[1]}/rank{rank}.npz", **results)
