"""
Run by every rank, under ``drynpu run``: all functions of ``mint.distributed``; writes what each rank gets into a file.

``mint_calls.py FOLDER``. Rank r holds the numbers of ``held(r)``; the last two ranks are a group as well.
"""

from __future__ import annotations

import sys
from typing import Any

import mindspore as ms
import numpy as np
from mindspore.mint import distributed as dist
from mindspore.profiler import ProfilerLevel, _ExperimentalConfig, profile, tensorboard_trace_handler

ms.set_context(mode=ms.PYNATIVE_MODE, device_target="Ascend")
dist.init_process_group()
rank, size = dist.get_rank(), dist.get_world_size()
pair = [size - 2, size - 1]
group = dist.new_group(pair)
results: dict[str, Any] = {}


def held(rows: int, *, dtype: Any = np.float32) -> Any:
    """Return rows of two numbers that tell ranks and places apart."""
    return ms.Tensor((np.arange(2 * rows).reshape(rows, 2) + 100 * rank).astype(dtype))


def empty(rows: int, *, dtype: Any = np.float32) -> Any:
    return ms.Tensor(np.zeros((rows, 2), dtype))


def keep(name: str, *tensors: Any) -> None:
    for place, tensor in enumerate(tensors):
        results[f"{name}.{place}"] = tensor.astype(ms.float32).asnumpy()


def reductions() -> None:
    for op in ("sum", "prod", "max", "min"):
        x = held(3)
        assert dist.all_reduce(x, op) is None
        keep(f"all_reduce {op}", x)
    for name, dtype in (("half", ms.float16), ("bfloat", ms.bfloat16), ("whole", ms.int32)):
        x = held(3).astype(dtype)
        dist.all_reduce(x)
        keep(f"all_reduce {name}", x)
    x = held(2)
    dist.reduce(x, 1)
    keep("reduce", x)
    x = held(2)
    handle = dist.reduce(x, 0, "max", None, True)
    handle.wait()
    keep("reduce later", x)


def gathers() -> None:
    whole, parts = empty(2 * size), [empty(2) for _ in range(size)]
    dist.all_gather_into_tensor(whole, held(2))
    dist.all_gather(parts, held(2))
    keep("all_gather_into_tensor", whole)
    keep("all_gather", *parts)
    sizes = [each + 1 for each in range(size)]
    whole, parts = empty(sum(sizes)), [empty(each) for each in sizes]
    dist.all_gather_into_tensor_uneven(whole, held(rank + 1), sizes)
    dist.all_gather(parts, held(rank + 1))
    keep("all_gather_into_tensor_uneven", whole)
    keep("all_gather uneven", *parts)
    parts = [empty(2) for _ in range(size)]
    dist.gather(held(2), parts, 1)
    keep("gather", *parts)
    whole = empty(2 * size)
    dist.all_gather_into_tensor(whole, held(2), None, True).wait()
    keep("all_gather_into_tensor later", whole)


def scatters() -> None:
    part = empty(1)
    dist.reduce_scatter_tensor(part, held(size))
    keep("reduce_scatter_tensor", part)
    sizes = [each + 1 for each in range(size)]
    part = empty(rank + 1)
    dist.reduce_scatter_tensor_uneven(part, held(sum(sizes)), sizes, "max")
    keep("reduce_scatter_tensor_uneven", part)
    part = empty(2)
    dist.reduce_scatter(part, [held(2) for _ in range(size)])
    keep("reduce_scatter", part)
    part = empty(rank + 1)
    dist.reduce_scatter(part, [held(each) for each in sizes])
    keep("reduce_scatter uneven", part)
    part = empty(2)
    dist.scatter(part, [ms.Tensor(np.full((2, 2), 10 * rank + to, np.float32)) for to in range(size)], 1)
    keep("scatter", part)
    x = held(2)
    dist.broadcast(x, 1)
    keep("broadcast", x)


def exchanges() -> None:
    got = [empty(rank + 1) for _ in range(size)]
    dist.all_to_all(got, [held(to + 1) for to in range(size)])
    keep("all_to_all", *got)
    x = empty(size)
    dist.all_to_all_single(x, held(size))
    keep("all_to_all_single", x)
    x = empty(size * (rank + 1))
    dist.all_to_all_single(x, held(sum(range(1, size + 1))), [rank + 1] * size, list(range(1, size + 1)))
    keep("all_to_all_single uneven", x)


def messages() -> None:
    after, before = (rank + 1) % size, (rank - 1) % size
    x = empty(2)
    sent = dist.isend(held(2), after)
    received = dist.irecv(x, before)
    received.wait()
    sent.wait()
    keep("irecv", x)
    x, y = empty(2), empty(1)
    if rank == 0:
        dist.send(held(1), 1)
        received = dist.irecv(x, 1, None, 7)  # before it is sent
        received.wait()
        keep("irecv first", x)
    elif rank == 1:
        dist.recv(y, 0)
        dist.send(held(2), 0, None, 7)
        keep("recv", y)
    x = empty(3)
    batch = [dist.P2POp("isend", held(3), after), dist.P2POp(dist.irecv, x, before)]
    for handle in dist.batch_isend_irecv(batch):
        handle.wait()
    keep("batch_isend_irecv", x)


def groups() -> None:
    if rank in pair:
        x, whole, part, got = held(2), empty(4), empty(1), [empty(1), empty(1)]
        dist.all_reduce(x, group=group)
        dist.all_gather_into_tensor(whole, held(2), group)
        dist.reduce_scatter_tensor(part, held(2), group=group)
        dist.all_to_all(got, [held(1), held(1)], group)
        dist.barrier(group)
        keep("group", x, whole, part, *got)
        x = held(2)
        dist.broadcast(x, pair[1], group)
        keep("group broadcast", x)


def objects() -> None:
    found: list[Any] = [None] * size
    dist.all_gather_object(found, {"rank": rank})
    assert found == [{"rank": each} for each in range(size)]
    listed = [f"from {rank}", rank]
    dist.broadcast_object_list(listed, 1)
    assert listed == ["from 1", 1]
    one: list[Any] = [None]
    dist.scatter_object_list(one, [f"to {to}" for to in range(size)], 0)
    assert one == [f"to {rank}"]
    gathered: list[Any] = [None] * size
    dist.gather_object(rank, gathered if rank == 0 else None, 0)
    assert rank or gathered == list(range(size))


config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1)
for function in (reductions, gathers, scatters, exchanges, messages, groups, dist.barrier):
    with profile(
        on_trace_ready=tensorboard_trace_handler(f"{sys.argv[1]}/{function.__name__}"), experimental_config=config
    ):
        function()
objects()
view = held(4)
dist.all_reduce(view[:, 1])  # what is no whole tensor
later = ms.ops.add(view, 1)
keep("view", later)
np.savez(f"{sys.argv[1]}/rank{rank}.npz", **results)
