"""Every kind of communication once, on four ranks: ``every_call.py hccl|gloo``; prints a digest of all results."""

from __future__ import annotations

import copy
import hashlib
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.nn.parallel import DistributedDataParallel

backend = sys.argv[1]
if backend == "hccl":
    import torch_npu

torch.set_num_threads(1)
dist.init_process_group(backend)
rank, size = dist.get_rank(), dist.get_world_size()
pairs = [dist.new_group([0, 1], group_desc="pair"), dist.new_group([2, 3], group_desc="pair")]
pair = pairs[rank // 2]
host = dist.new_group(backend="gloo")
digest = hashlib.sha256()
torch.manual_seed(rank)


def keep(*tensors: torch.Tensor) -> None:
    for tensor in tensors:
        digest.update(tensor.detach().contiguous().cpu().numpy().tobytes())


def zeros(count: int) -> list[torch.Tensor]:
    return [torch.zeros(count) for _ in range(size)]


def collectives() -> None:
    x = torch.randn(1000)
    dist.all_reduce(x)
    dist.all_reduce(x, op=dist.ReduceOp.MAX, group=pair)
    dist.broadcast(x, src=1)
    dist.reduce(x, dst=2)
    keep(x)
    work = dist.all_reduce(x, async_op=True)
    y = torch.randn(8, 8) @ torch.randn(8, 8)
    work.wait()
    keep(x, y)
    lists, flat = zeros(4), torch.zeros(4 * size)
    dist.all_gather(lists, x[:4].clone())
    dist.all_gather_into_tensor(flat, x[4:8].clone())
    keep(*lists, flat)
    part, whole = torch.zeros(2), torch.randn(2 * size)
    dist.reduce_scatter(part, list(torch.randn(size, 2).unbind()))
    dist.reduce_scatter_tensor(part, whole)
    keep(part)
    lists = zeros(2)
    dist.all_to_all(lists, list(torch.randn(size, 2).unbind()))
    even = torch.zeros(size)
    dist.all_to_all_single(even, torch.randn(size))
    splits = [1 + (rank + other) % 2 for other in range(size)]
    uneven = torch.zeros(sum(splits))
    dist.all_to_all_single(uneven, torch.randn(sum(splits)), splits, splits)
    keep(*lists, even, uneven)
    dist.scatter(part, list(torch.randn(size, 2).unbind()) if rank == 0 else None, src=0)
    lists = zeros(2) if rank == 0 else None
    dist.gather(part, lists, dst=0)
    keep(part, *(lists or ()))
    objects = [None] * size
    dist.all_gather_object(objects, rank)
    words = [{"from": rank}, None]
    dist.broadcast_object_list(words, src=3)
    assert words == [{"from": 3}, None]
    with torch.inference_mode():
        dist.all_reduce(even)
    keep(even, functional.all_reduce(x, "sum", dist.group.WORLD) + 1)
    dist.all_reduce(torch.ones(3), group=host)
    dist.barrier()


def messages() -> None:
    following, before = (rank + 1) % size, (rank - 1) % size
    x = torch.zeros(3)
    if rank == 0:
        dist.send(torch.randn(3), dst=1)
    elif rank == 1:
        dist.recv(x, src=0)
    elif rank == 2:
        dist.isend(torch.randn(3), dst=3).wait()
    else:
        dist.irecv(x, src=2).wait()
    keep(x)
    given, taken = torch.randn(5), torch.zeros(5)
    calls = [dist.P2POp(dist.isend, given, following), dist.P2POp(dist.irecv, taken, before)]
    for work in dist.batch_isend_irecv(calls):
        work.wait()
    keep(taken)


def models() -> None:
    torch.manual_seed(0)
    sharded = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    copied = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.BatchNorm1d(8))
    others = []
    if backend == "hccl":  # as a script for the device says it
        others = [FullyShardedDataParallel(copy.deepcopy(sharded).npu())]  # refuses to run without an accelerator
        fully_shard(sharded.npu())
        copied = DistributedDataParallel(copied.npu(), device_ids=[rank])
    else:
        fully_shard(sharded, mesh=init_device_mesh("cpu", (size,)))
        copied = DistributedDataParallel(copied)
    every = (sharded, copied, *others)
    # Not foreach, which a device chooses: it refuses to mix tensors with FSDP's.
    optimizer = torch.optim.AdamW([parameter for model in every for parameter in model.parameters()], foreach=False)
    torch.manual_seed(rank)
    for _ in range(2):
        inputs = torch.randn(8, 16)
        losses = [model(inputs).square().sum() for model in every]
        torch.stack(losses).sum().backward()
        optimizer.step()
        assert all(torch.equal(loss, losses[0]) for loss in losses[2:])
        keep(*losses[:2], *(parameter.grad for parameter in copied.parameters()))
        optimizer.zero_grad()


def everything() -> None:
    collectives()
    messages()
    models()


if backend == "hccl":
    torch.npu.set_device(rank)
    profiler = torch_npu.profiler
    with profiler.profile(
        schedule=profiler.schedule(wait=0, warmup=0, active=1, repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler("out"),
        experimental_config=profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1),
    ) as prof:
        everything()
        prof.step()
else:
    everything()
Path(f"{backend}_{rank}.txt").write_text(digest.hexdigest(), encoding="utf-8")
if backend == "gloo":
    # The reference, without drynpu: now and then PyTorch's threads end such a process with "terminate called without an
    # active exception" while its groups end. Nothing here is about that.
    dist.barrier()
    os._exit(0)
dist.destroy_process_group()
